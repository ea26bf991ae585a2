//! Measures `credit`: the burst that a limit allows after a rest, and the rate that it sustains.
//!
//! The plan: small and large requests for as long as the budget allows.

mod analysis;
pub(crate) mod words;

use halfpower_spec::{Bytes, Direction, Pattern};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::CreditAnswer as Answer;
pub use analysis::*;

/// Small requests meet a limit on their number, large ones a limit on bytes.
const SMALL: Bytes = Bytes(4 << 10);
const LARGE: Bytes = Bytes(256 << 10);
/// Deep enough that a limit stops the requests, not the depth.
const DEPTH: u32 = 32;
/// Length of a run in usual windows: only a long run shows the end of a credit.
const WINDOWS: u32 = 30;

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    let mut cells = Vec::new();
    for direction in Direction::ALL {
        for bs in [SMALL, LARGE] {
            let workload = ask.workload(Pattern::Random, *direction, bs, DEPTH);
            cells.push(PlannedCell { windows: WINDOWS, ..PlannedCell::plain(workload) });
        }
    }
    Ok(Plan::of(cells))
}
