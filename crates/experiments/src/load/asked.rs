//! Lists the kinds and sizes of requests of which a question asks the most load.

use halfpower_record::TargetKind;
use halfpower_spec::{Bytes, Direction, Pattern, Workload};

use crate::plan::{Plan, PlanRequest, PlannedCell};

/// Block size, if the question asks for the usual ones.
pub(super) const BLOCK: Bytes = Bytes(4 << 10);
/// Requests in flight at most: enough for any device, within this memory, and no fewer than this.
const DEPTH: u64 = 128;
const MEMORY: Bytes = Bytes(32 << 20);
const LEAST_DEPTH: u64 = 4;

/// For each kind and size, a run at full depth; or the reason why there is none.
pub(super) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    if ask.question.latency_bound.is_none() {
        return Err(
            "it looks for the most load under a latency: say which, as in --p99 1ms (or --p50, --p999)".to_string()
        );
    }
    match ask.capabilities().kind {
        TargetKind::Folder | TargetKind::File | TargetKind::Device | TargetKind::Share | TargetKind::Simulated => {}
        TargetKind::Nothing | TargetKind::Imported => {
            return Err("nothing there takes time: name a folder, a file or a device".to_string());
        }
    }
    if ask.environment.hosts.len() > 1 {
        return Err("each host would ask for the whole load: start it on one host".to_string());
    }
    let only_writes = !ask.question.directions.contains(&Direction::Read);
    let direction = if only_writes { Direction::Write } else { Direction::Read };
    let unit = ask.capabilities().direct_unit.unwrap_or(Bytes(1));
    let mut missing = Vec::new();
    let mut cells = Vec::new();
    for bs in sizes(ask) {
        if bs > ask.capabilities().span {
            missing.push(format!("the target holds {}, less than a block of {bs}", ask.capabilities().span));
        } else if !bs.0.is_multiple_of(unit.0.max(1)) {
            missing.push(format!(
                "blocks of {bs} are no multiple of {unit}, in which the target is read past the page cache"
            ));
        } else {
            let workload = ask.workload(Pattern::Random, direction, bs, depth(ask, bs));
            cells.push(PlannedCell::plain(Workload { threads: 1, ..workload }));
        }
    }
    if cells.is_empty() { Err(missing.join("; ")) } else { Ok(Plan { cells, missing }) }
}

/// The sizes that were asked for; 4 KiB if they are the usual ones.
fn sizes(ask: &PlanRequest) -> Vec<Bytes> {
    let asked = &ask.question.bs;
    let is_from = |least: u32| asked.iter().copied().eq((least..=20).map(|power| Bytes(1 << power)));
    if is_from(11) || is_from(12) { vec![BLOCK] } else { asked.clone() }
}

/// Most requests in flight: one with an engine that takes no more, or if no more was asked for.
fn depth(ask: &PlanRequest, bs: Bytes) -> u32 {
    let asked_most = ask.question.iodepth.last().copied().unwrap_or(1);
    if ask.question.engine.is_in_turn() || asked_most <= 1 {
        return 1;
    }
    (MEMORY.0 / bs.0.max(1)).clamp(LEAST_DEPTH, DEPTH) as u32
}
