//! Plans `credit`: small and large requests for as long as the budget lets them go on.

use halfpower_spec::{Bytes, Direction, Pattern};

use crate::plan::{Plan, PlanRequest, PlannedCell};

/// Requests that a limit on their number stops, and requests that a limit on bytes does.
const SMALL: Bytes = Bytes(4 << 10);
const LARGE: Bytes = Bytes(256 << 10);
/// Deep enough for a limit, and not the depth, to stop them.
const DEPTH: u32 = 32;
/// Usual windows that each lasts: a credit is seen to end in long ones alone.
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
