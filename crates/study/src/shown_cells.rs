//! Names the cells that the first screen of a report shows whatever they decide: small random requests.

use halfpower_spec::{Direction, Pattern};

use crate::observed_path::ObservedPath;

/// Block size of the pages of most databases.
const DATABASE_BS_BYTES: u64 = 8192;

/// The cells of a direct path of random requests that are shown: the smallest block size at the first and the last
/// depth; and of reads the size next to a database's pages at every depth, since advice for it needs them.
pub(crate) fn shown_cells(path: &ObservedPath) -> Vec<usize> {
    if path.pattern != Pattern::Random || !path.cache.direct() {
        return Vec::new();
    }
    let last = path.depths.len() - 1;
    let mut cells = vec![path.cell_at(0, 0), path.cell_at(last, 0)];
    if path.direction == Direction::Read {
        let far = |size: &usize| (path.sizes[*size].0 as f64 / DATABASE_BS_BYTES as f64).ln().abs();
        let nearest = (0..path.sizes.len()).min_by(|one, other| far(one).total_cmp(&far(other)));
        cells.extend(
            nearest
                .into_iter()
                .flat_map(|size| (0..=last).map(move |depth| (depth, size)))
                .map(|(depth, size)| path.cell_at(depth, size)),
        );
    }
    cells.sort_unstable();
    cells.dedup();
    cells.retain(|cell| !path.closed(*cell));
    cells
}
