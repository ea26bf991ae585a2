//! Plans runs that compare ways of issuing: the deciding cells again with other memory, other batches and without
//! registration.
//!
//! Each way is measured in the same rounds as the usual one, so that drift does not look like an effect. The runs
//! belong to the experiment `engines`, which compares the same at fixed settings; if the question includes it, these
//! runs are left out.

use std::collections::BTreeSet;

use halfpower_record::{Ability, Capabilities, Environment, Record};
use halfpower_spec::{
    Bytes, Decides, Direction, EngineName, Experiment, InOrder, IoMem, Issuing, Nanos, Pass, Question, Run, Workload,
};

use crate::phase::Phase;
use crate::planner::Planner;
use crate::seeds::{mixed, seeded};
use crate::slices::Slices;

/// Largest share of the budget for these runs.
const SHARE: f64 = 0.1;
/// Shortest and longest window, in nanoseconds.
const WINDOW_NS: (f64, f64) = (60e6, 500e6);
/// Assumed time of a run as a multiple of its window.
const LENGTH: f64 = 1.5;
/// Most plain runs of each way; each also gets one run with the soaker.
const MOST_ROUNDS: u32 = 3;
/// Most cells, and most ways of each.
const CELLS: usize = 4;
const WAYS: usize = 5;
/// Batch size to compare with one request per call and with no limit.
const SOME: u32 = 8;

/// The runs of one study that compare ways of issuing.
#[derive(Debug, Clone)]
pub(crate) struct IssuingRuns {
    seed: u64,
    /// The usual way; `None` if nothing is compared.
    usual: Option<Usual>,
    /// Plain runs of each way.
    rounds: u32,
    runtime: Nanos,
    budget_ns: u64,
    spent_ns: u64,
    /// Remaining runs in order; `None` until the cells are known.
    to_do: Option<Vec<Run>>,
}

/// How the walks issue requests, and which alternatives exist.
#[derive(Debug, Clone, Copy)]
struct Usual {
    engine: EngineName,
    issuing: Issuing,
    /// Whether the same engine is available without registration.
    has_plain: bool,
}

impl IssuingRuns {
    /// The comparing runs of a study about `question`: none in virtual time, if the question includes `engines`, if the
    /// budget cannot hold a round, or behind the limit of a control group, whose slices would hide the differences.
    pub fn new(question: &Question, environment: &Environment) -> Self {
        let budget_ns = question.budget.0 as f64 * SHARE;
        let least_ns = question.runtime.map_or(WINDOW_NS.0, |runtime| runtime.0 as f64);
        let runs = |rounds: u32| (CELLS * WAYS) as f64 * f64::from(rounds + 1);
        let fits = |rounds: &u32| runs(*rounds) * least_ns * LENGTH <= budget_ns;
        let rounds = (1..=MOST_ROUNDS).rev().find(fits).unwrap_or(0);
        let is_limited = |way: &Direction| Slices::advertised(environment, *way, Bytes(0)).is_some();
        let is_open =
            !question.directions.iter().any(is_limited) && !question.experiments.contains(&Experiment::Engines);
        let asked = question.issuing.filter(|_| rounds > 0 && is_open);
        let usual = asked.and_then(|issuing| Usual::of(question, issuing, &environment.capabilities));
        let window_ns = (budget_ns / LENGTH / runs(rounds)).clamp(WINDOW_NS.0, WINDOW_NS.1);
        Self {
            seed: question.seed,
            usual,
            rounds,
            runtime: question.runtime.unwrap_or(Nanos((window_ns / 1e6) as u64 * 1_000_000)),
            budget_ns: budget_ns as u64,
            spent_ns: 0,
            to_do: None,
        }
    }

    /// Whether the cells are still unknown.
    fn waits(&self) -> bool {
        self.usual.is_some() && self.to_do.is_none()
    }

    /// Sets the cells to compare: one plain run of each way, then one with the soaker, then further rounds.
    fn begin(&mut self, cells: &[Workload]) {
        let Some(usual) = self.usual.filter(|_| self.to_do.is_none()) else { return };
        let ways: BTreeSet<Workload> = cells.iter().take(CELLS).flat_map(|cell| usual.ways(cell)).collect();
        let rounds = (1..self.rounds).map(|repeat| (Pass::Plain, repeat));
        let mut to_do = Vec::new();
        for (pass, repeat) in [(Pass::Plain, 0), (Pass::Soaker, 0)].into_iter().chain(rounds) {
            let run = |workload: &Workload| {
                let (workload, seed) = (*workload, seeded(self.seed, workload, pass, repeat));
                Run { experiment: Some(Experiment::Engines), workload, repeat, pass, runtime: self.runtime, seed }
            };
            let mut round: Vec<Run> = ways.iter().map(run).collect();
            round.order_by_key(|run| (run.workload.rw.writes(), mixed(run.seed)));
            to_do.extend(round);
        }
        self.to_do = Some(to_do);
    }

    /// The next run; `None` if none is left or their share of the budget is spent.
    fn run(&self) -> Option<Run> {
        let run = *self.to_do.as_ref()?.first()?;
        (self.spent_ns + run.runtime.0 <= self.budget_ns).then_some(run)
    }
}

impl Phase for IssuingRuns {
    fn owns(&self, run: &Run) -> bool {
        self.usual.is_some() && run.experiment == Some(Experiment::Engines)
    }

    fn decides(&self) -> Decides {
        Decides::Issuing
    }

    fn observe(&mut self, record: &Record) -> Nanos {
        let Run { workload, pass, repeat, .. } = record.run;
        let is_done = |run: &Run| (run.workload, run.pass, run.repeat) == (workload, pass, repeat);
        self.to_do.iter_mut().for_each(|to_do| to_do.retain(|run| !is_done(run)));
        self.spent_ns += record.spent_ns;
        Nanos(record.spent_ns)
    }

    fn follow(&mut self, _record: &Record, walks: &Planner) {
        let cells = if self.waits() { walks.issuing_cells() } else { Vec::new() };
        if !cells.is_empty() {
            self.begin(&cells);
        }
    }

    fn next(&self, _walks: &Planner) -> Option<Run> {
        self.run()
    }

    /// Cancels the remaining runs of this way.
    fn give_up(&mut self, run: &Run) {
        self.to_do.iter_mut().for_each(|to_do| to_do.retain(|other| other.workload != run.workload));
    }

    /// These runs use the walks' time, unless the walks have already ended.
    fn left(&self, walks: Nanos) -> Nanos {
        let runs = self.to_do.as_ref().map_or(0, Vec::len) as f64;
        let expected_ns = (runs * self.runtime.0 as f64 * LENGTH) as u64;
        let most = Nanos(expected_ns.min(self.budget_ns.saturating_sub(self.spent_ns)));
        if walks.0 > 0 { Nanos(0) } else { most }
    }
}

impl Usual {
    /// `None` without direct requests, or if the engine has no alternative way.
    fn of(question: &Question, issuing: Issuing, capabilities: &Capabilities) -> Option<Self> {
        let can = |name: EngineName| capabilities.can(&Ability::Engine(name)).is_ok();
        let engine = match question.engine {
            EngineName::Auto if can(EngineName::IoUring) => EngineName::IoUring,
            named => named,
        };
        let is_direct = capabilities.direct_unit.is_some() && question.cache.iter().any(|cache| cache.direct());
        let has_plain = engine == EngineName::IoUring && can(EngineName::Plain);
        let asks = capabilities.kind.is_hardware() && is_direct && question.patterns().next().is_some();
        (asks && engine.shares_calls() && engine != EngineName::Auto).then_some(Self { engine, issuing, has_plain })
    }

    /// The cell as usually issued, followed by variants that each change one part.
    fn ways(&self, cell: &Workload) -> Vec<Workload> {
        let usual = Workload { engine: self.engine, issuing: Some(self.issuing), ..*cell };
        let other = match self.issuing.iomem {
            IoMem::Pages => IoMem::Huge,
            IoMem::Huge => IoMem::Pages,
        };
        let turned = |issuing| Workload { issuing: Some(issuing), ..usual };
        let mut ways = vec![usual, turned(Issuing { iomem: other, ..self.issuing })];
        // A single request shares no call; for few requests, `SOME` equals no limit.
        let batches = [1, SOME, 0].into_iter().filter(|batch| match batch {
            0 => cell.iodepth > 1,
            1 => cell.iodepth > 1 && self.issuing.iodepth_batch != 1,
            _ => cell.iodepth > SOME,
        });
        ways.extend(batches.map(|iodepth_batch| turned(Issuing { iodepth_batch, ..self.issuing })));
        if self.has_plain {
            ways.push(Workload { engine: EngineName::Plain, ..usual });
        }
        ways.dedup();
        ways.truncate(WAYS);
        ways
    }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Level, TargetKind};
    use halfpower_spec::{Rate, Rw};

    use super::*;

    fn on(kind: TargetKind) -> Environment {
        let capabilities = Capabilities { kind, direct_unit: Some(Bytes(512)), ..Capabilities::default() };
        Environment { capabilities, ..Environment::default() }
    }

    fn asked(budget_s: u64) -> Question {
        let issuing = Some(Issuing::default());
        let budget = Nanos(budget_s * 1_000_000_000);
        Question { issuing, budget, ..Question::about("d") }
    }

    fn small() -> Workload {
        Workload { rw: Rw::Randread, bs: Bytes(4096), iodepth: 32, ..Workload::default() }
    }

    fn all(issuing: &IssuingRuns) -> Vec<Run> {
        issuing.to_do.clone().unwrap_or_default()
    }

    #[test]
    fn each_part_is_turned_alone_beside_the_usual_way_in_the_same_rounds() {
        let mut issuing = IssuingRuns::new(&asked(120), &on(TargetKind::Folder));
        assert!(issuing.waits() && issuing.run().is_none());
        issuing.begin(&[small()]);
        let ways: BTreeSet<String> = all(&issuing).iter().map(|run| run.workload.to_string()).collect();
        let reported = |engine: &str, issued: &str| {
            format!("--rw randread --bs 4KiB --iodepth 32 --threads 1 --cache device --engine {engine} {issued}")
        };
        let expected = [
            reported("io_uring", "--iomem pages --iodepth-batch 1"),
            reported("io_uring", "--iomem huge --iodepth-batch 1"),
            reported("io_uring", "--iomem pages --iodepth-batch 8"),
            reported("io_uring", "--iomem pages --iodepth-batch 0"),
            reported("io_uring_plain", "--iomem pages --iodepth-batch 1"),
        ];
        assert_eq!(ways, BTreeSet::from(expected));
        let rounds: Vec<(Pass, u32)> = all(&issuing).iter().map(|run| (run.pass, run.repeat)).step_by(5).collect();
        assert_eq!(rounds, [(Pass::Plain, 0), (Pass::Soaker, 0), (Pass::Plain, 1), (Pass::Plain, 2)]);
        let whole_ns: u64 = all(&issuing).iter().map(|run| run.runtime.0).sum();
        assert!(whole_ns * CELLS as u64 <= 12_000_000_000, "a tenth of the budget: {whole_ns}");
    }

    #[test]
    fn one_request_at_a_time_has_no_batches_and_other_engines_no_registration() {
        let mut one = IssuingRuns::new(&asked(120), &on(TargetKind::Folder));
        one.begin(&[Workload { iodepth: 1, ..small() }]);
        assert_eq!(all(&one).len(), 4 * 3, "usual, huge pages and nothing registered");
        let question = Question { engine: EngineName::Libaio, ..asked(120) };
        let mut libaio = IssuingRuns::new(&question, &on(TargetKind::Folder));
        libaio.begin(&[small()]);
        assert!(all(&libaio).iter().all(|run| run.workload.engine == EngineName::Libaio));
        assert_eq!(all(&libaio).len(), 4 * 4);
    }

    #[test]
    fn studies_that_cannot_tell_or_ask_for_engines_have_none() {
        let none = |question: &Question, kind| !IssuingRuns::new(question, &on(kind)).waits();
        assert!(none(&asked(120), TargetKind::Simulated));
        assert!(none(&asked(2), TargetKind::Folder), "the budget does not hold a round");
        assert!(none(&Question { issuing: None, ..asked(120) }, TargetKind::Folder));
        let engines = vec![Experiment::Random, Experiment::Engines];
        assert!(none(&Question { experiments: engines, ..asked(120) }, TargetKind::Folder));
        let limit = Level { name: "cgroup limit".to_string(), pap: Some(Rate(20e6)), ..Level::default() };
        let limited = Environment { levels: vec![limit], ..on(TargetKind::Folder) };
        assert!(!IssuingRuns::new(&asked(120), &limited).waits());
        assert!(none(&Question { engine: EngineName::Sync, ..asked(120) }, TargetKind::Folder));
    }

    #[test]
    fn a_way_that_cannot_be_measured_is_left_out_and_the_cells_stay() {
        let mut issuing = IssuingRuns::new(&asked(120), &on(TargetKind::Folder));
        issuing.begin(&[small()]);
        let first = issuing.run().unwrap();
        issuing.give_up(&first);
        issuing.begin(&[Workload { bs: Bytes(1 << 20), ..small() }]);
        assert!(all(&issuing).iter().all(|run| run.workload != first.workload && run.workload.bs.0 == 4096));
        assert_eq!(all(&issuing).len(), 4 * 4);
    }
}
