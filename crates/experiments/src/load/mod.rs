//! Measures `load`: the highest rate of an open loop at which a percentile of latency stays below a bound.
//!
//! The plan: for each size, a run at full depth, which says what the target gives. What it shows decides the rates that
//! follow; [`Knee`] knows the next one.

mod analysis;
mod asked;
mod knee;
pub(crate) mod words;

use halfpower_spec::{Rw, Workload};

use crate::plan::{Plan, PlanRequest};

pub use analysis::LoadAnswer as Answer;
pub use analysis::*;
pub use knee::{FoundKnee, Knee, LoadRate, LoadSeen, RateVerdict, SearchTerms};
pub use words::reason;

/// Shares of writes beside reads, in percent.
pub const WRITE_PERCENTS: [u8; 3] = [10, 30, 50];

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    asked::plan(ask)
}

/// The same reads with this share of writes beside them, in percent.
pub fn with_writes(reads: &Workload, write_percent: u8) -> Workload {
    Workload { rw: Rw::Randmixed, rwmixread: 100 - write_percent.min(100), ..*reads }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Capabilities, Environment, TargetKind};
    use halfpower_spec::{Bytes, Direction, EngineName, Experiment, LatencyBound, Nanos, Percentile, Question};

    use super::asked::BLOCK;
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
