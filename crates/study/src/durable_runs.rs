//! Plans the durable runs of a study: the peak of direct writes again, each write on the medium before it completes.
//!
//! A write that a device has accepted may still lie in somebody's memory. So the cell that stands for writes is also
//! measured with `--cache none`, and the report says both rates.

use halfpower_record::Environment;
use halfpower_spec::{Cache, Direction, Experiment, Nanos, Pass, Question, Run, Workload};

use crate::seeds::seeded;

/// Durable runs of the cell.
const RUNS: u32 = 5;
/// Length of each: durable writes are slow, and a window wants many of them.
const RUNTIME: Nanos = Nanos(500_000_000);
/// The largest share of the budget that they may take.
const SHARE: f64 = 0.04;

/// The durable runs of one study.
#[derive(Debug, Clone)]
pub(crate) struct DurableRuns {
    seed: u64,
    runtime: Nanos,
    /// Runs that the study makes; 0 where the question or the target leaves no room for them.
    wanted: u32,
    done: u32,
}

impl DurableRuns {
    /// Those of a study about `question`: none where direct writes are not asked for, where durable ones are asked for
    /// anyway, and on targets that are no hardware.
    pub fn new(question: &Question, environment: &Environment) -> Self {
        let is_hardware = environment.capabilities.kind.is_hardware();
        let asks = question.patterns().next().is_some()
            && question.directions.contains(&Direction::Write)
            && question.cache.contains(&Cache::Device)
            && !question.cache.contains(&Cache::None);
        let runtime =
            question.runtime.unwrap_or(RUNTIME.min(Nanos((question.budget.0 as f64 * SHARE) as u64 / u64::from(RUNS))));
        Self { seed: question.seed, runtime, wanted: if is_hardware && asks { RUNS } else { 0 }, done: 0 }
    }

    /// What they take of the budget.
    pub fn reserved(&self) -> Nanos {
        Nanos(self.runtime.0 * u64::from(self.wanted))
    }

    /// What those take that are still to come.
    pub fn left(&self) -> Nanos {
        Nanos(self.runtime.0 * u64::from(self.wanted.saturating_sub(self.done)))
    }

    /// Whether `run` is one of them.
    pub fn owns(&self, run: &Run) -> bool {
        self.wanted > 0 && run.walks() && run.workload.cache == Cache::None
    }

    /// Takes note that one was made.
    pub fn observe(&mut self) {
        self.done += 1;
    }

    /// Makes no more of them.
    pub fn give_up(&mut self) {
        self.wanted = 0;
    }

    /// The next one, of the cell that stands for direct writes.
    pub fn next(&self, chosen: Option<(Experiment, Workload)>) -> Option<Run> {
        let (experiment, workload) = chosen.filter(|_| self.done < self.wanted)?;
        let workload = Workload { cache: Cache::None, ..workload };
        let (pass, repeat) = (Pass::Plain, self.done);
        let seed = seeded(self.seed, &workload, pass, repeat);
        Some(Run { experiment: Some(experiment), workload, repeat, pass, runtime: self.runtime, seed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_record::{Capabilities, TargetKind};

    fn on(kind: TargetKind) -> Environment {
        let capabilities = Capabilities { kind, ..Capabilities::default() };
        Environment { capabilities, ..Environment::default() }
    }

    #[test]
    fn the_chosen_writes_are_made_durable_a_few_times() {
        let mut durable = DurableRuns::new(&Question::about("/"), &on(TargetKind::Folder));
        let chosen = Some((Experiment::Sequential, Workload { rw: halfpower_spec::Rw::Write, ..Workload::default() }));
        let mut seeds = std::collections::BTreeSet::new();
        while let Some(run) = durable.next(chosen) {
            assert!(durable.owns(&run) && seeds.insert(run.seed));
            durable.observe();
        }
        assert_eq!(seeds.len(), RUNS as usize);
        assert_eq!(DurableRuns::new(&Question::about("/"), &on(TargetKind::Folder)).next(None), None);
    }

    #[test]
    fn a_simulated_target_and_a_question_about_durable_writes_have_none() {
        let about = |cache| Question { cache, ..Question::about("/") };
        let none = |question: &Question, kind| DurableRuns::new(question, &on(kind)).reserved() == Nanos(0);
        assert!(none(&Question::about("/"), TargetKind::Simulated));
        assert!(none(&about(vec![Cache::Device, Cache::None]), TargetKind::Folder));
        assert!(none(&about(vec![Cache::Both]), TargetKind::Folder));
    }
}
