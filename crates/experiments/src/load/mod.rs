//! Measures `load`: the highest rate of an open loop at which a percentile of latency stays below a bound.
//!
//! The plan: for each size, a run at full depth, which says what the target gives. What it shows decides the rates that
//! follow; [`Knee`] knows the next one.

mod analysis;
mod knee;
pub(crate) mod words;

use halfpower_record::TargetKind;
use halfpower_spec::{Bytes, Direction, Pattern, Rw, Workload};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::LoadAnswer as Answer;
pub use analysis::*;
pub use knee::{FoundKnee, Knee, LoadSeen, RateVerdict, SearchTerms};

/// Block size, if the question asks for the usual ones.
const BLOCK: Bytes = Bytes(4 << 10);
/// Requests in flight at most: enough for any device, within this memory, and no fewer than this.
const DEPTH: u64 = 128;
const MEMORY: Bytes = Bytes(32 << 20);
const LEAST_DEPTH: u64 = 4;
/// Shares of writes beside reads, in percent.
pub const WRITE_PERCENTS: [u8; 3] = [10, 30, 50];

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
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

/// The same reads with this share of writes beside them, in percent.
pub fn with_writes(reads: &Workload, write_percent: u8) -> Workload {
    Workload { rw: Rw::Randmixed, rwmixread: 100 - write_percent.min(100), ..*reads }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Capabilities, Environment};
    use halfpower_spec::{EngineName, Experiment, LatencyBound, Nanos, Percentile, Question};

    use super::*;
    use crate::built_study::folder_without;
    use crate::table::left_out;

    fn question() -> Question {
        let latency_bound = Some(LatencyBound { percentile: Percentile::P99, most: Nanos(1_000_000) });
        Question { experiments: vec![Experiment::Load], latency_bound, ..Question::about("d") }
    }

    fn cells(question: &Question, capabilities: Capabilities) -> Vec<(Rw, u64, u32)> {
        let environment = Environment { capabilities, ..Environment::default() };
        let cells = plan(&PlanRequest { question, environment: &environment }).unwrap().cells;
        cells.iter().map(|cell| (cell.workload.rw, cell.workload.bs.0, cell.workload.iodepth)).collect()
    }

    #[test]
    fn usual_sizes_are_one_and_others_are_what_was_asked_for() {
        let folder = || folder_without(Some(Bytes(512)), &[], "");
        assert_eq!(cells(&question(), folder()), [(Rw::Randread, 4096, 128)]);
        let bs = vec![Bytes(8 << 10), Bytes(1 << 20)];
        let writes = Question { bs, directions: vec![Direction::Write], ..question() };
        assert_eq!(cells(&writes, folder()), [(Rw::Randwrite, 8192, 128), (Rw::Randwrite, 1 << 20, 32)]);
        let in_turn = Question { engine: EngineName::Sync, ..question() };
        assert_eq!(cells(&in_turn, folder()), [(Rw::Randread, 4096, 1)]);
    }

    #[test]
    fn without_a_bound_and_on_nothing_it_is_left_out_with_the_reason() {
        let why = |question: &Question, kind: TargetKind| {
            let capabilities = Capabilities { kind, ..folder_without(Some(Bytes(512)), &[], "") };
            let environment = Environment { capabilities, ..Environment::default() };
            left_out(question, &environment).first().map(|left| left.why.clone()).unwrap_or_default()
        };
        let unbound = Question { latency_bound: None, ..question() };
        assert!(why(&unbound, TargetKind::Folder).contains("--p99 1ms"));
        assert!(why(&question(), TargetKind::Nothing).contains("name a folder"));
        assert_eq!(why(&question(), TargetKind::Folder), "");
        let odd = Question { bs: vec![Bytes(1000)], ..question() };
        assert!(why(&odd, TargetKind::Folder).contains("no multiple of 512"));
    }

    #[test]
    fn writes_beside_reads_change_nothing_else() {
        let reads = Workload { rw: Rw::Randread, bs: BLOCK, ..Workload::default() };
        let mixed = with_writes(&reads, 30);
        assert_eq!((mixed.rw, mixed.rwmixread, mixed.bs, mixed.iodepth), (Rw::Randmixed, 70, BLOCK, reads.iodepth));
    }
}
