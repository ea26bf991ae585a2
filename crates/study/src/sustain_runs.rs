//! Plans the runs of `sustain`: one long run, and after it what its result calls for.
//!
//! The first run writes half of the bytes that the user allows, or ends with its time. Where the rate fell in it, writes
//! follow after rests, each four times as long as the one before, to show what comes back. Where it did not, a second run
//! goes on at once with the other half. All runs together write no more than was allowed. They come after all others,
//! which a drive that is full of writes would disturb.

use std::collections::BTreeSet;

use halfpower_experiments::{PlanRequest, plan, sustain};
use halfpower_record::{Environment, Record};
use halfpower_spec::{Bytes, Experiment, IoSize, Nanos, Pass, Question, Run, Workload, WorkloadOptions};

use crate::own_runs::OwnRuns;
use crate::planner::Step;
use crate::seeds::seeded;

/// Share of the budget where the study has other experiments.
const SHARE: f64 = 0.4;
/// Largest share of these runs' time for the first one, and for a rest before it.
const FIRST_SHARE: f64 = 0.5;
const REST_SHARE: f64 = 0.1;
/// The rests after it, as shares of these runs' time.
const RESTS: [f64; 3] = [0.01, 0.04, 0.16];
/// Bytes of a run after a rest, as a multiple of the fast part: enough to see its end.
const BEYOND: f64 = 1.5;
/// Unit of the bytes of a run.
const UNIT: u64 = 1 << 20;
/// Shortest window, and the unit of windows, in nanoseconds.
const LEAST_WINDOW_NS: u64 = 100_000_000;
const UNIT_NS: u64 = 1_000_000;

/// The runs of `sustain` in one study.
#[derive(Debug, Clone)]
pub(crate) struct SustainRuns {
    /// Settings of the first run; `None` if there is none.
    first: Option<Workload>,
    /// Bytes that all runs may write, and those that were written.
    allowed: u64,
    written: u64,
    seed: u64,
    /// Length of every window, if the question sets it.
    runtime: Option<Nanos>,
    budget: Nanos,
    spent_ns: u64,
    /// Runs so far.
    done: u32,
    /// Where the rate fell in the first run, in bytes at the latest; `None` if it did not, or before that run.
    cliff: Option<f64>,
    given_up: BTreeSet<Workload>,
}

impl SustainRuns {
    /// The runs of a study about `question`, with `whole` for all experiments but commits and the most load; none if it does
    /// not ask for them, or the target cannot have them.
    pub fn new(question: &Question, environment: &Environment, whole: Nanos) -> Self {
        let asked = question.experiments.contains(&Experiment::Sustain);
        let cells = if asked { plan(Experiment::Sustain, &PlanRequest { question, environment }).ok() } else { None };
        let first = cells.and_then(|cells| cells.first().map(|cell| cell.workload));
        let is_beside = |experiment: &Experiment| !experiment.has_own_runs();
        let share = if question.experiments.iter().any(is_beside) { SHARE } else { 1.0 };
        let budget = if first.is_some() { Nanos((whole.0 as f64 * share) as u64) } else { Nanos(0) };
        let rested = |workload: Workload| {
            let rest = workload.options.rest.min(part_of(budget, REST_SHARE));
            Workload { options: WorkloadOptions { rest, ..workload.options }, ..workload }
        };
        Self {
            first: first.map(rested),
            allowed: question.sustain_bytes.unwrap_or_default().0,
            written: 0,
            seed: question.seed,
            runtime: question.runtime,
            budget,
            spent_ns: 0,
            done: 0,
            cliff: None,
            given_up: BTreeSet::new(),
        }
    }

    /// The runs that are known before anything is measured.
    pub fn runs(&self) -> impl Iterator<Item = Run> {
        self.first.map(|first| self.run(0, first, self.window(FIRST_SHARE, first.options.rest))).into_iter()
    }

    /// Time spent once this run has its shortest window.
    fn takes_ns(&self, run: &Run) -> u64 {
        self.spent_ns + run.workload.options.rest.0 + LEAST_WINDOW_NS
    }

    /// The run that comes next, whether or not there is time for it.
    fn wanted(&self) -> Option<Run> {
        let first = self.first?;
        let left = self.allowed.saturating_sub(self.written);
        let (bytes, rest, share) = match (self.done, self.cliff) {
            (0, _) => return self.runs().next(),
            (1, None) => (left, Nanos(0), 1.0),
            (_, None) => return None,
            (done, Some(cliff)) => {
                let number = done as usize - 1;
                let rest = part_of(self.budget, *RESTS.get(number)?);
                let runs_left = (RESTS.len() - number) as u64;
                (((BEYOND * cliff) as u64).min(left / runs_left), rest, 1.0 / runs_left as f64)
            }
        };
        let bytes = Bytes(bytes / UNIT * UNIT);
        if bytes < sustain::LEAST {
            return None;
        }
        let options = WorkloadOptions { rest, io_size: Some(IoSize::Bytes(bytes)), ..first.options };
        Some(self.run(self.done, Workload { options, ..first }, self.window(share, rest)))
    }

    fn run(&self, repeat: u32, workload: Workload, runtime: Nanos) -> Run {
        let pass = Pass::Plain;
        let seed = seeded(self.seed, &workload, pass, repeat);
        Run { experiment: Some(Experiment::Sustain), workload, repeat, pass, runtime, seed }
    }

    /// The longest window of a run that may take this share of what is left, with its rest.
    fn window(&self, share: f64, rest: Nanos) -> Nanos {
        let left_ns = self.budget.0.saturating_sub(self.spent_ns) as f64 * share;
        let window_ns = (left_ns as u64).saturating_sub(rest.0).max(LEAST_WINDOW_NS);
        self.runtime.unwrap_or(Nanos(window_ns / UNIT_NS * UNIT_NS))
    }
}

impl OwnRuns for SustainRuns {
    fn experiment(&self) -> Experiment {
        Experiment::Sustain
    }

    fn budget(&self) -> Nanos {
        self.budget
    }

    fn known(&self) -> Vec<Run> {
        self.runs().collect()
    }

    fn observe(&mut self, record: &Record) {
        if self.done == 0 {
            self.cliff = sustain::cliff_bytes(record);
        }
        self.done += 1;
        // A window that was measured again has written as much.
        let windows = 1 + record.discarded.len() as u64;
        let of_window = asked_of(&record.run.workload).max(record.bytes);
        self.written = self.written.saturating_add(windows.saturating_mul(of_window));
        self.spent_ns += record.of_budget_ns();
    }

    fn give_up(&mut self, workload: &Workload) {
        self.given_up.insert(*workload);
    }

    fn next(&self) -> Step {
        match self.wanted() {
            Some(run) if self.given_up.contains(&run.workload) => Step::Answered,
            Some(run) if self.spent_ns > 0 && self.takes_ns(&run) > self.budget.0 => Step::BudgetSpent,
            Some(run) => Step::Run(run),
            None => Step::Answered,
        }
    }

    fn left(&self) -> Nanos {
        match self.next() {
            Step::Run(_) => Nanos(self.budget.0.saturating_sub(self.spent_ns)),
            Step::Answered | Step::BudgetSpent => Nanos(0),
        }
    }
}

/// A share of a time, in whole milliseconds, as people write it.
fn part_of(whole: Nanos, share: f64) -> Nanos {
    Nanos((whole.0 as f64 * share) as u64 / UNIT_NS * UNIT_NS)
}

/// Bytes that a run asks for, which it may have written even if it counted fewer.
fn asked_of(workload: &Workload) -> u64 {
    match workload.options.io_size {
        Some(IoSize::Bytes(bytes)) => bytes.0,
        Some(IoSize::Percent(_)) | None => 0,
    }
}

#[cfg(test)]
mod tests {
    use halfpower_experiments::sustain::{SustainAnswer, SustainVerdict};
    use halfpower_experiments::{ExperimentAnswer, analyse};
    use halfpower_measure::{SimulatedTarget, TargetBackend};
    use halfpower_record::{DiscardReason, DiscardedWindow};

    use super::*;
    use crate::built::disk;
    use crate::own_runs::tests::records;

    const GB: f64 = 1e9;

    fn question(experiments: &[Experiment], bound: u64) -> Question {
        Question {
            experiments: experiments.to_vec(),
            sustain_bytes: Some(Bytes(bound)),
            budget: Nanos(300_000_000_000),
            ..Question::about("sim:")
        }
    }

    fn found(constants: &str, bound: u64) -> (SustainAnswer, Vec<Record>) {
        let question = question(&[Experiment::Sustain], bound);
        let (environment, records) = records(constants, &question);
        let findings = analyse(&question, &environment, &records);
        println!("{constants}: {}", findings.experiments[0].answer);
        let Some(ExperimentAnswer::Sustain(found)) = &findings.experiments[0].found else { panic!("{constants}") };
        (found.clone(), records)
    }

    fn written(records: &[Record]) -> u64 {
        records.iter().map(|record| record.bytes).sum()
    }

    /// Twelve disks whose requests and runs vary: of the places and of what comes back at most one each may lie beside
    /// its interval.
    #[test]
    fn a_simulated_drives_fast_part_is_found_with_what_a_rest_brings_back() {
        let mut missed = [0; 2];
        for seed in 1..=12 {
            let fast = 1.0 + 0.15 * f64::from(seed);
            let drain = 100.0 + 10.0 * f64::from(seed);
            let constants = format!(
                "fixed=10us,rate=1500MB/s,fast_part={}MB,sustained=300MB/s,drain={drain}MB/s,jitter=0.1,correlation=0.3,\
                 noise=2%,seed={seed}",
                (fast * 1e3).round()
            );
            let (answer, records) = found(&constants, 12 << 30);
            assert_eq!((answer.verdict, records.len()), (SustainVerdict::Cliff, 4), "{constants}");
            assert!(written(&records) <= 12 << 30, "{constants}: {}", written(&records));
            let holds =
                |interval: halfpower_analyse::Interval, truth: f64| interval.low <= truth && truth <= interval.high;
            missed[0] += usize::from(!holds(answer.fast.unwrap().bytes, fast * GB));
            missed[1] += usize::from(!answer.comes_back_mbps.is_some_and(|mbps| holds(mbps, drain)));
            assert!((answer.mbps.value / 300.0 - 1.0).abs() < 0.1, "{constants}: {answer:?}");
        }
        assert!(missed.iter().all(|missed| *missed <= 1), "{missed:?}");
    }

    #[test]
    fn without_a_fast_part_all_bytes_go_to_the_question_how_far_the_pace_holds() {
        let (answer, records) = found("fixed=10us,rate=1GB/s,jitter=0.1", 4 << 30);
        assert_eq!((answer.verdict, records.len()), (SustainVerdict::NoCliff, 2));
        assert_eq!((answer.bytes, written(&records)), (4 << 30, 4 << 30));
        // One that is larger than half of the bytes shows in the second run.
        let (answer, records) = found("fixed=10us,rate=1GB/s,fast_part=3GB,sustained=200MB/s", 4 << 30);
        assert_eq!((answer.verdict, records.len()), (SustainVerdict::Cliff, 2));
        let bytes = answer.fast.unwrap().bytes;
        assert!(bytes.low <= 3.0 * GB && 3.0 * GB <= bytes.high, "{bytes:?}");
    }

    #[test]
    fn it_is_the_last_one_and_without_a_bound_it_is_none() {
        let walks = [Experiment::Sustain, Experiment::Zones];
        let (_, all) = records("fixed=10us,rate=1GB/s,fast_part=500MB,sustained=200MB/s", &question(&walks, 4 << 30));
        let first = all.iter().position(|record| record.run.experiment == Some(Experiment::Sustain)).unwrap();
        assert!(first > 0 && all[first..].iter().all(|record| record.run.experiment == Some(Experiment::Sustain)));
        let unbound = Question { sustain_bytes: None, ..question(&walks, 0) };
        let (_, all) = records("fixed=10us,rate=1GB/s", &unbound);
        assert!(all.iter().all(|record| record.run.experiment != Some(Experiment::Sustain)));
    }

    #[test]
    fn a_window_that_was_measured_again_counts_twice() {
        let (environment, records) = records("fixed=10us,rate=1GB/s", &question(&[Experiment::Sustain], 4 << 30));
        let question = question(&[Experiment::Sustain], 4 << 30);
        let next = |discarded: Vec<DiscardedWindow>| {
            let mut runs = SustainRuns::new(&question, &environment, question.budget);
            runs.observe(&Record { discarded, ..records[0].clone() });
            runs.next()
        };
        assert!(matches!(next(Vec::new()), Step::Run(_)), "half of the bytes are left");
        assert_eq!(next(vec![records[0].discarded_for(DiscardReason::GivenBack)]), Step::Answered);
    }

    #[test]
    fn what_cannot_be_measured_is_asked_for_no_more() {
        let backend = SimulatedTarget::new(disk("fixed=10us,rate=1GB/s"));
        let question = question(&[Experiment::Sustain], 4 << 30);
        let mut runs = SustainRuns::new(&question, backend.environment(), question.budget);
        let Step::Run(first) = runs.next() else { panic!("nothing to do") };
        assert_eq!(runs.runs().next(), Some(first));
        runs.give_up(&first.workload);
        assert_eq!((runs.next(), runs.left()), (Step::Answered, Nanos(0)));
    }
}
