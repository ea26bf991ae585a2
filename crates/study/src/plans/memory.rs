//! `memory`: how fast is memory itself, kernel by kernel, by one thread and by all?

use record::TargetKind;
use spec::{Bytes, Cache, EngineName, Kernel, Rw, Twist, Workload};

use super::{Ask, Cell};

/// What a kernel runs over at a time: megabytes, so that a request's own cost does not show.
const BLOCK: Bytes = Bytes(8 << 20);

/// Every kernel, the loop alone among them, by one thread and by as many as the question names or the machine has
/// processors.
pub(super) fn plan(ask: &Ask) -> Result<Vec<Cell>, String> {
    if ask.surroundings().kind == TargetKind::Simulated {
        return Err("a simulated system has no memory that could be measured: name a folder, or null:".to_string());
    }
    let all = match ask.question.threads {
        0 | 1 => ask.environment.machine.cpus.max(1),
        asked => asked,
    };
    let counts = if all > 1 { vec![1, all] } else { vec![1] };
    let cell = |kernel, threads| {
        Cell::plain(Workload {
            // The kernel says what is read and written; of the target it is neither.
            rw: Rw::Read,
            bs: BLOCK,
            iodepth: 1,
            threads,
            cache: Cache::Both,
            engine: EngineName::Memory,
            twist: Twist { kernel: Some(kernel), ..Twist::default() },
            ..Workload::default()
        })
    };
    Ok(Kernel::ALL.iter().flat_map(|kernel| counts.iter().map(|threads| cell(*kernel, *threads))).collect())
}

#[cfg(test)]
mod tests {
    use record::{Environment, Machine, Surroundings};
    use spec::{Experiment, Nanos, Question};

    use super::*;
    use crate::fixed_runs;

    fn environment(cpus: u32, kind: TargetKind) -> Environment {
        let machine = Machine { cpus, ..Machine::default() };
        let surroundings = Surroundings { kind, ..Surroundings::default() };
        Environment { machine, surroundings, ..Environment::default() }
    }

    fn question(threads: u32) -> Question {
        Question { experiments: vec![Experiment::Memory], threads, ..Question::about("/data") }
    }

    fn threads_of(cells: &[Cell]) -> Vec<u32> {
        let mut threads: Vec<u32> = cells.iter().map(|cell| cell.workload.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    #[test]
    fn every_kernel_runs_alone_and_on_all_processors() {
        for (asked, cpus, expected) in [(1, 6, vec![1, 6]), (4, 6, vec![1, 4]), (1, 1, vec![1]), (1, 0, vec![1])] {
            let (question, environment) = (question(asked), environment(cpus, TargetKind::Folder));
            let cells = plan(&Ask { question: &question, environment: &environment }).unwrap();
            assert_eq!(threads_of(&cells), expected);
            assert_eq!(cells.len(), Kernel::ALL.len() * expected.len());
        }
    }

    #[test]
    fn each_round_has_every_kernel_in_an_order_of_its_own() {
        let question = Question { repeats: 3, budget: Nanos(600_000_000_000), ..question(1) };
        let runs = fixed_runs(&question, &environment(2, TargetKind::Nothing));
        let rounds: Vec<Vec<Workload>> =
            runs.chunks(2 * Kernel::ALL.len()).map(|round| round.iter().map(|run| run.workload).collect()).collect();
        assert_eq!(rounds.len(), 3);
        let sorted = |round: &Vec<Workload>| {
            let mut round = round.clone();
            round.sort_unstable();
            round
        };
        assert!(rounds.windows(2).all(|pair| pair[0] != pair[1] && sorted(&pair[0]) == sorted(&pair[1])));
    }

    #[test]
    fn a_simulated_system_says_why_not() {
        let (question, environment) = (question(1), environment(2, TargetKind::Simulated));
        let why = plan(&Ask { question: &question, environment: &environment }).unwrap_err();
        assert!(why.contains("no memory"), "{why}");
    }
}
