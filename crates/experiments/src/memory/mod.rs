//! Measures `memory`: how fast the processors read, write and copy memory.
//!
//! The plan: every kernel, with one thread and with all.

mod analysis;
pub(crate) mod words;

use halfpower_record::TargetKind;
use halfpower_spec::{Bytes, Cache, EngineName, Kernel, Rw, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::MemoryAnswer as Answer;
pub use analysis::*;

/// Memory that a kernel processes per request: megabytes, so that the cost of the request itself is negligible.
const BLOCK: Bytes = Bytes(8 << 20);

/// Every kernel, including the empty loop, with one thread and with the question's threads, or else one per processor.
pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    if ask.capabilities().kind == TargetKind::Simulated {
        return Err("a simulated system has no memory that could be measured: name a folder, or null:".to_string());
    }
    let all = match ask.question.threads {
        0 | 1 => ask.environment.machine.cpus.max(1),
        asked => asked,
    };
    let counts = if all > 1 { vec![1, all] } else { vec![1] };
    let cell = |kernel, threads| {
        PlannedCell::plain(Workload {
            // The kernel decides what is read and written; the target is not accessed.
            rw: Rw::Read,
            bs: BLOCK,
            iodepth: 1,
            threads,
            cache: Cache::Both,
            engine: EngineName::Memory,
            options: WorkloadOptions { kernel: Some(kernel), ..WorkloadOptions::default() },
            ..Workload::default()
        })
    };
    Ok(Plan::of(Kernel::ALL.iter().flat_map(|kernel| counts.iter().map(|threads| cell(*kernel, *threads)))))
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Capabilities, Environment, Machine};
    use halfpower_spec::{Experiment, Question};

    use super::*;

    fn environment(cpus: u32, kind: TargetKind) -> Environment {
        let machine = Machine { cpus, ..Machine::default() };
        let capabilities = Capabilities { kind, ..Capabilities::default() };
        Environment { machine, capabilities, ..Environment::default() }
    }

    fn question(threads: u32) -> Question {
        Question { experiments: vec![Experiment::Memory], threads, ..Question::about("/data") }
    }

    fn threads_of(cells: &[PlannedCell]) -> Vec<u32> {
        let mut threads: Vec<u32> = cells.iter().map(|cell| cell.workload.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    #[test]
    fn every_kernel_runs_alone_and_on_all_processors() {
        for (asked, cpus, expected) in [(1, 6, vec![1, 6]), (4, 6, vec![1, 4]), (1, 1, vec![1]), (1, 0, vec![1])] {
            let question = question(asked);
            let environment = environment(cpus, TargetKind::Folder);
            let cells = plan(&PlanRequest { question: &question, environment: &environment }).unwrap().cells;
            assert_eq!(threads_of(&cells), expected);
            assert_eq!(cells.len(), Kernel::ALL.len() * expected.len());
        }
    }

    #[test]
    fn a_simulated_system_says_why_not() {
        let question = question(1);
        let environment = environment(2, TargetKind::Simulated);
        let why = plan(&PlanRequest { question: &question, environment: &environment }).unwrap_err();
        assert!(why.contains("no memory"), "{why}");
    }
}
