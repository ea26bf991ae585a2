//! Measures `zones`: the speed of each part of the target.
//!
//! The plan: sequential reads of each part of the target, from its first byte to its last.

mod analysis;
pub(crate) mod bands;
pub(crate) mod words;

use halfpower_record::{Ability, TargetKind};
use halfpower_spec::{Bytes, Direction, Pattern, Region, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::ZonesAnswer as Answer;
pub use analysis::*;

/// Number of places to read.
const PLACES: u64 = 32;
/// Large enough to measure the medium rather than the cost per request.
const BLOCK: Bytes = Bytes(1 << 20);

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    ask.capabilities().can(&Ability::Places)?;
    if ask.capabilities().kind == TargetKind::Nothing {
        return Err("there is no storage here whose parts could differ".to_string());
    }
    let span = ask.capabilities().span.0;
    let part = span / PLACES / BLOCK.0 * BLOCK.0;
    if part == 0 {
        return Err(format!("the target holds {} and {PLACES} places of {BLOCK} are wanted", Bytes(span)));
    }
    // A run must not return to its beginning, where a cache may hold what it read.
    let at = |backend: u64| Region { from: Bytes(backend * part), bytes: Bytes(part) };
    let reading = ask.workload(Pattern::Sequential, Direction::Read, BLOCK, 4);
    let cell = |backend| {
        PlannedCell::plain(Workload {
            options: WorkloadOptions { region: Some(at(backend)), ..WorkloadOptions::default() },
            ..reading
        })
    };
    Ok(Plan::of((0..PLACES).map(cell)))
}
