//! Measures `price`: accesses and bytes for the money.
//!
//! The plan: random reads of kilobytes and of megabytes, at depth 1 and deeper.

mod analysis;
pub(crate) mod words;

use halfpower_spec::{Bytes, Direction, Pattern, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::PriceAnswer as Answer;
pub use analysis::*;

/// The accesses of the study of 2000, to kilobytes and to megabytes, each at depth 1 and deeper: a disk arm is busy
/// with few requests, a drive without one needs many.
const ACCESSES: [(Bytes, &[u32]); 2] = [(Bytes(8 << 10), &[1, 8, 32, 128]), (Bytes(1 << 20), &[1, 4, 8])];

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    if ask.question.price.is_none() {
        return Err("no price was given: add --price with what the target costs, such as --price 209".to_string());
    }
    if ask.capabilities().direct_unit.is_none() {
        return Err("accesses are counted past the page cache, and direct I/O is not to be had here".to_string());
    }
    // The price is that of a single member, and all members cost the same.
    let options = WorkloadOptions { members: u32::from(ask.capabilities().members > 1), ..WorkloadOptions::default() };
    let cell = |bs, iodepth| {
        let reading = ask.workload(Pattern::Random, Direction::Read, bs, iodepth);
        PlannedCell::plain(Workload { threads: 1, options, ..reading })
    };
    Ok(Plan::of(ACCESSES.iter().flat_map(|(bs, depths)| depths.iter().map(move |depth| cell(*bs, *depth)))))
}
