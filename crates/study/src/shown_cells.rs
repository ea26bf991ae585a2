//! Lists the cells that the first screen of a report always shows: small random requests.

use halfpower_analyse::policy;
use halfpower_spec::{Direction, Pattern};

use crate::observed_path::ObservedPath;

/// The shown cells of a direct path of random requests: the smallest block size at the first and the last depth; for
/// reads also the size next to a database page at every depth, which the advice needs.
pub(crate) fn shown_cells(path: &ObservedPath) -> Vec<usize> {
    if path.pattern != Pattern::Random || !path.cache.direct() {
        return Vec::new();
    }
    let last = path.depths.len() - 1;
    let mut cells = vec![path.cell_at(0, 0), path.cell_at(last, 0)];
    if path.direction == Direction::Read {
        let database = policy::database_bs(path.sizes.iter().copied());
        if let Some(size) = path.sizes.iter().position(|size| Some(*size) == database) {
            cells.extend((0..=last).map(|depth| path.cell_at(depth, size)));
        }
    }
    cells.sort_unstable();
    cells.dedup();
    cells.retain(|cell| !path.closed(*cell));
    cells
}
