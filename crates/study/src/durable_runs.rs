//! Plans the durable runs of a study: the peak of direct writes again, with each write on the medium before it
//! completes.
//!
//! A completed write may still be in a volatile cache. So the chosen direct write cell is also measured with
//! `--cache none`, and the report shows both rates.

use halfpower_record::{Environment, Record};
use halfpower_spec::{Cache, Decides, Direction, Experiment, Nanos, Pass, Question, Run, Workload};

use crate::phase::Phase;
use crate::planner::{Planner, Step};
use crate::seeds::seeded;
use crate::slices::Slices;

/// Number of durable runs.
const RUNS: u32 = 5;
/// Window of each run: durable writes are slow, and a window needs many of them.
const RUNTIME: Nanos = Nanos(500_000_000);
/// Largest share of the budget for these runs.
const SHARE: f64 = 0.04;
/// Largest share if windows must hold the slices of a limit, and the fewest runs made even beyond it.
const SLICES_SHARE: f64 = 0.15;
const FEWEST_RUNS: u32 = 2;

/// Multiple of the reserved time from which they end before all are made.
const MOST_OVER: f64 = 2.0;

/// The durable runs of one study.
#[derive(Debug, Clone)]
pub(crate) struct DurableRuns {
    seed: u64,
    /// Budget of the walks.
    budget: Nanos,
    runtime: Nanos,
    /// Whether the question sets the length of windows.
    fixed: bool,
    /// Number of durable runs to make; 0 if the question or the target excludes them.
    wanted: u32,
    done: u32,
    /// Time that they have taken.
    spent_ns: u64,
}

impl DurableRuns {
    /// The durable runs of a study about `question`: none if it lacks direct writes, includes durable writes anyway, or
    /// the target is not hardware.
    pub fn new(question: &Question, environment: &Environment) -> Self {
        let is_hardware = environment.capabilities.kind.is_hardware();
        let asks = question.patterns().next().is_some()
            && question.directions.contains(&Direction::Write)
            && question.cache.contains(&Cache::Device)
            && !question.cache.contains(&Cache::None);
        let runtime =
            question.runtime.unwrap_or(RUNTIME.min(Nanos((question.budget.0 as f64 * SHARE) as u64 / u64::from(RUNS))));
        let fixed = question.runtime.is_some();
        let wanted = if is_hardware && asks { RUNS } else { 0 };
        Self { seed: question.seed, budget: question.budget, runtime, fixed, wanted, done: 0, spent_ns: 0 }
    }

    /// Lengthens the windows to hold the slices of a limit on writes, with fewer runs if the budget requires it.
    /// Returns the time beyond what was reserved.
    fn limit_in_slices(&mut self, slices: Slices) -> Nanos {
        let before = self.time_left().0;
        let usual = self.runtime;
        let window = slices.window(usual, None, 0.0, self.budget);
        if self.fixed || window <= usual || self.done > 0 {
            return Nanos(0);
        }
        self.runtime = window;
        let affordable = (self.budget.0 as f64 * SLICES_SHARE / window.0 as f64) as u32;
        self.wanted = self.wanted.min(affordable.max(FEWEST_RUNS));
        Nanos(self.time_left().0.saturating_sub(before))
    }

    /// Time that these runs take of the budget.
    pub fn reserved(&self) -> Nanos {
        Nanos(self.runtime.0 * u64::from(self.wanted))
    }

    fn time_left(&self) -> Nanos {
        Nanos(self.runtime.0 * u64::from(self.wanted.saturating_sub(self.done)))
    }

    /// The next run, derived from the chosen direct write cell.
    fn run(&self, chosen: Option<(Experiment, Workload)>) -> Option<Run> {
        let (experiment, workload) = chosen.filter(|_| self.done < self.wanted)?;
        let workload = Workload { cache: Cache::None, ..workload };
        let pass = Pass::Plain;
        let repeat = self.done;
        let seed = seeded(self.seed, &workload, pass, repeat);
        Some(Run { experiment: Some(experiment), workload, repeat, pass, runtime: self.runtime, seed })
    }
}

impl Phase for DurableRuns {
    fn owns(&self, run: &Run) -> bool {
        self.wanted > 0 && run.walks() && run.workload.cache == Cache::None
    }

    fn decides(&self) -> Decides {
        Decides::Durable
    }

    /// Ends them where requests are so slow that runs take far longer than their windows.
    fn observe(&mut self, record: &Record) -> Nanos {
        let most_ns = MOST_OVER * self.runtime.0 as f64 * f64::from(self.wanted);
        self.done += 1;
        self.spent_ns += record.of_budget_ns();
        if self.done >= FEWEST_RUNS && self.spent_ns as f64 > most_ns {
            self.wanted = self.done;
        }
        Nanos(0)
    }

    fn reserve(&mut self, walks: &Planner) -> Nanos {
        walks.slices(Direction::Write).map_or(Nanos(0), |slices| self.limit_in_slices(slices))
    }

    /// The next run, once the walks have ended.
    fn next(&self, walks: &Planner) -> Option<Run> {
        if self.done >= self.wanted || matches!(walks.next(), Step::Run(_)) {
            return None;
        }
        self.run(walks.chosen_direct_write())
    }

    fn give_up(&mut self, _run: &Run) {
        self.wanted = 0;
    }

    fn left(&self, _walks: Nanos) -> Nanos {
        self.time_left()
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
        while let Some(run) = durable.run(chosen) {
            assert!(durable.owns(&run) && seeds.insert(run.seed));
            durable.done += 1;
        }
        assert_eq!(seeds.len(), RUNS as usize);
        assert_eq!(DurableRuns::new(&Question::about("/"), &on(TargetKind::Folder)).run(None), None);
    }

    #[test]
    fn windows_hold_the_slices_of_a_limit_in_fewer_runs() {
        let question = Question { budget: Nanos(20_000_000_000), ..Question::about("/") };
        let mut durable = DurableRuns::new(&question, &on(TargetKind::Folder));
        let limit = halfpower_record::Level {
            name: "cgroup limit".to_string(),
            pap: Some(halfpower_spec::Rate(20e6)),
            ..halfpower_record::Level::default()
        };
        let environment = Environment { levels: vec![limit], ..on(TargetKind::Folder) };
        let slices = Slices::advertised(&environment, Direction::Write, halfpower_spec::Bytes(4096)).unwrap();
        let before = durable.reserved();
        let more = durable.limit_in_slices(slices);
        let chosen = Some((Experiment::Sequential, Workload { rw: halfpower_spec::Rw::Write, ..Workload::default() }));
        assert!(durable.run(chosen).unwrap().runtime >= Nanos(650_000_000), "six slices and a half at least");
        assert!(durable.wanted < RUNS && durable.wanted >= FEWEST_RUNS, "{}", durable.wanted);
        assert_eq!(durable.reserved().0, before.0 + more.0);
        assert_eq!(durable.limit_in_slices(slices), Nanos(0), "it is known by now");
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
