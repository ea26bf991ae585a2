//! Plans `price`: random reads of kilobytes and of megabytes, one at a time and many at once.

use halfpower_spec::{Bytes, Direction, Pattern, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

/// An access to kilobytes and one to megabytes, as the study of 2000 counted them, each one at a time and deeper: an
/// arm needs few requests to be busy, a drive without one many.
const ACCESSES: [(Bytes, &[u32]); 2] = [(Bytes(8 << 10), &[1, 8, 32, 128]), (Bytes(1 << 20), &[1, 4, 8])];

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    if ask.question.price.is_none() {
        return Err("no price was given: add --price with what the target costs, such as --price 209".to_string());
    }
    if ask.capabilities().direct_unit.is_none() {
        return Err("accesses are counted past the page cache, and direct I/O is not to be had here".to_string());
    }
    // The price is that of one target, and of several every one costs as much.
    let options = WorkloadOptions { members: u32::from(ask.capabilities().members > 1), ..WorkloadOptions::default() };
    let cell = |bs, iodepth| {
        let reading = ask.workload(Pattern::Random, Direction::Read, bs, iodepth);
        PlannedCell::plain(Workload { threads: 1, options, ..reading })
    };
    Ok(Plan::of(ACCESSES.iter().flat_map(|(bs, depths)| depths.iter().map(move |depth| cell(*bs, *depth)))))
}
