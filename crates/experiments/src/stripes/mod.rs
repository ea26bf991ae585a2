//! Measures `stripes`: writes of a part of a chunk, a chunk and a full stripe of an array with parity.
//!
//! The plan: random direct writes of these sizes where full stripes lie, and full stripes that begin a block later. Only a
//! full stripe, aligned, tells its parity by itself: for any other write the array first reads what it lacks.

mod analysis;
pub(crate) mod words;

use halfpower_record::{StripePlace, TargetKind};
use halfpower_spec::{Bytes, Direction, Pattern, Region, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::StripesAnswer as Answer;
pub use analysis::*;

/// A part of a chunk, and how much later a shifted stripe begins; also the unit in which md computes parity.
const BLOCK: Bytes = Bytes(4 << 10);
const DEPTHS: [u32; 2] = [1, 8];
/// Largest write.
const MOST: Bytes = Bytes(16 << 20);

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    let capabilities = ask.capabilities();
    if capabilities.kind == TargetKind::Nothing {
        return Err("there is no storage here that could have parity".to_string());
    }
    let Some(StripePlace { chunk, full, part, .. }) = capabilities.stripe.as_ref() else {
        return Err("the target lies on no array with parity that the kernel tells of".to_string());
    };
    let (chunk, full) = (*chunk, *full);
    let Some(region) = *part else {
        return Err(
            "where full stripes begin in the target is not known: the file is not laid out yet, or lies in small \
                    pieces; name the array's device, or a large file on it"
                .to_string(),
        );
    };
    let Some(unit) = capabilities.direct_unit else {
        return Err("direct I/O is not to be had here, and the page cache writes in sizes of its own".to_string());
    };
    if full > MOST {
        return Err(format!("a full stripe holds {full}, and no write here is larger than {MOST}"));
    }
    let block = Bytes(BLOCK.0.max(unit.0));
    // A chunk of one block has no part.
    let part = (block < chunk).then_some((block, Bytes(0)));
    let sizes: Vec<(Bytes, Bytes)> =
        part.into_iter().chain([(chunk, Bytes(0)), (full, Bytes(0)), (full, block)]).collect();
    let write = |depth: u32, (bs, misalign): (Bytes, Bytes)| {
        let writes = ask.workload(Pattern::Random, Direction::Write, bs, depth);
        let region = (region != Region { from: Bytes(0), bytes: capabilities.span }).then_some(region);
        let options = WorkloadOptions { region, misalign, ..writes.options };
        PlannedCell::plain(Workload { threads: 1, options, ..writes })
    };
    let cells: Vec<PlannedCell> =
        DEPTHS.into_iter().flat_map(|depth| sizes.iter().map(move |size| write(depth, *size))).collect();
    Ok(Plan::of(cells))
}

#[cfg(test)]
mod tests {
    use halfpower_record::Environment;
    use halfpower_spec::{Experiment, Question};

    use super::*;
    use crate::built_study::folder_without;

    const CHUNK: Bytes = Bytes(64 << 10);
    const FULL: Bytes = Bytes(192 << 10);

    fn planned(stripe: Option<StripePlace>) -> Result<Vec<Workload>, String> {
        let question = Question { experiments: vec![Experiment::Stripes], ..Question::about("d") };
        let mut capabilities = folder_without(Some(Bytes(512)), &[], "it cannot");
        capabilities.stripe = stripe;
        let environment = Environment { capabilities, ..Environment::default() };
        let cells = plan(&PlanRequest { question: &question, environment: &environment })?.cells;
        Ok(cells.iter().map(|cell| cell.workload).collect())
    }

    fn stripe(chunk: Bytes, part: Option<Region>) -> StripePlace {
        StripePlace { what: "md raid5".to_string(), chunk, full: Bytes(chunk.0 * 3), part }
    }

    #[test]
    fn full_stripes_begin_where_the_array_has_them() {
        let from = Bytes(100 << 10);
        let region = Region { from, bytes: Bytes(FULL.0 * 1000) };
        let cells = planned(Some(stripe(CHUNK, Some(region)))).unwrap();
        assert_eq!(cells.len(), 8);
        for cell in &cells {
            assert!(cell.rw.writes() && cell.cache.direct(), "{cell}");
            assert_eq!(cell.options.reached(1 << 30).start, from.0 + cell.options.misalign.0, "{cell}");
        }
        let full = |cell: &&Workload| cell.bs == FULL;
        let shifts: Vec<u64> = cells.iter().filter(full).map(|cell| cell.options.misalign.0).collect();
        assert_eq!(shifts, [0, 4096, 0, 4096]);
        assert!(cells.iter().any(|cell| cell.bs == CHUNK) && cells.iter().any(|cell| cell.bs == BLOCK));
    }

    #[test]
    fn nothing_is_planned_without_parity_or_a_known_beginning() {
        assert!(planned(None).unwrap_err().contains("no array with parity"));
        assert!(planned(Some(stripe(CHUNK, None))).unwrap_err().contains("not known"));
        let region = Some(Region { from: Bytes(0), bytes: Bytes(1 << 30) });
        assert!(planned(Some(stripe(Bytes(8 << 20), region))).is_err(), "too large");
        let small = planned(Some(stripe(BLOCK, region))).unwrap();
        assert_eq!(small.len(), 6, "a chunk of a block has no part");
        assert!(small.iter().all(|cell| cell.options.region.is_none()), "all of the target needs no region");
    }
}
