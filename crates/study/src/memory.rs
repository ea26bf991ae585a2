//! Which runs measure memory? Every kernel, by one thread and by all, several times, in an order that no slow change of
//! the machine can favour.

use spec::{Bytes, Cache, EngineName, Experiment, Kernel, Nanos, Pass, Run, Rw, Twist, Workload};

use crate::order::{mixed, seeded};

/// What a kernel runs over at a time: megabytes, so that a request's own cost does not show.
const BLOCK: Bytes = Bytes(8 << 20);

/// The workloads of the experiment `memory`: every kernel by one thread, and by `threads` where that is more.
pub fn memory_workloads(threads: u32) -> Vec<Workload> {
    let counts = if threads > 1 { vec![1, threads] } else { vec![1] };
    let workload = |kernel, threads| Workload {
        // The kernel says what is read and written; the target is neither.
        rw: Rw::Read,
        bs: BLOCK,
        iodepth: 1,
        threads,
        cache: Cache::Both,
        engine: EngineName::Memory,
        twist: Twist { kernel: Some(kernel), ..Twist::default() },
        ..Workload::default()
    };
    Kernel::ALL.iter().flat_map(|kernel| counts.iter().map(|threads| workload(*kernel, *threads))).collect()
}

/// `repeats` rounds over `workloads`, each in an order of its own that follows from `seed`.
pub fn memory_runs(workloads: &[Workload], repeats: u32, runtime: Nanos, seed: u64) -> Vec<Run> {
    let rounds = (0..repeats).flat_map(|repeat| {
        let mut round: Vec<Run> = workloads
            .iter()
            .map(|workload| Run {
                experiment: Some(Experiment::Memory),
                workload: *workload,
                repeat,
                pass: Pass::Plain,
                runtime,
                seed: seeded(seed, workload, Pass::Plain, repeat),
            })
            .collect();
        round.sort_by_key(|run| mixed(run.seed));
        round
    });
    rounds.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_comes_once_a_round_alone_and_with_all() {
        let workloads = memory_workloads(6);
        assert_eq!(workloads.len(), 2 * Kernel::ALL.len());
        assert_eq!(memory_workloads(1).len(), Kernel::ALL.len());
        let runs = memory_runs(&workloads, 3, Nanos(1), 7);
        for (repeat, round) in (0..).zip(runs.chunks(workloads.len())) {
            assert!(round.iter().all(|run| run.repeat == repeat));
            assert!(workloads.iter().all(|workload| round.iter().any(|run| run.workload == *workload)));
        }
    }

    #[test]
    fn the_order_follows_from_the_seed_and_changes_from_round_to_round() {
        let workloads = memory_workloads(2);
        let order = |seed, round: usize| -> Vec<Workload> {
            let runs = memory_runs(&workloads, 2, Nanos(1), seed);
            runs[round * workloads.len()..][..workloads.len()].iter().map(|run| run.workload).collect()
        };
        assert_eq!(order(7, 0), order(7, 0));
        assert_ne!(order(7, 0), order(8, 0));
        assert_ne!(order(7, 0), order(7, 1));
    }
}
