//! Decides the next run of a study: first of the walks, then of commits and an application, then of the fixed plans, then of
//! the most load under a latency, and at last of sustained writes. From a study file alone it determines whether the study is finished.

use std::iter;

use halfpower_record::{Environment, LeftOut, Record, RecordError, StudyFile, TargetKind, total};
use halfpower_spec::{Decides, Experiment, InOrder, Nanos, Pass, Question, Run};

use crate::application_runs::ApplicationRuns;
use crate::commit_runs::CommitRuns;
use crate::durable_runs::DurableRuns;
use crate::fixed_plan::FixedRuns;
use crate::issuing_runs::IssuingRuns;
use crate::load_runs::LoadRuns;
use crate::observed_cell::Observation;
use crate::observed_path::ObservedPath;
use crate::own_runs::OwnRuns;
use crate::phase::Phase;
use crate::planner::{Planner, Step};
use crate::sessions::Session;
use crate::sustain_runs::SustainRuns;
use crate::thread_runs::ThreadRuns;

/// Share of the budget for the walks if the question includes other experiments.
const WALKS: f64 = 0.4;

/// All runs of a study.
pub(crate) struct StudyProgram {
    /// The walks and their phases; `None` if the question includes no walk.
    walks: Option<Walks>,
    /// Experiments that decide their runs themselves, and come after the walks, in the order of their turns.
    early: Vec<Box<dyn OwnRuns>>,
    fixed: FixedRuns,
    /// The same, which come last.
    late: Vec<Box<dyn OwnRuns>>,
}

/// The walks of block size and depth, and the runs that accompany them.
struct Walks {
    planner: Planner,
    /// The phases in the order of their turns.
    phases: [Box<dyn Phase>; 3],
}

impl StudyProgram {
    pub fn new(question: &Question, environment: &Environment) -> Self {
        let commits = CommitRuns::new(question, environment);
        let application = ApplicationRuns::new(question, environment);
        let whole = Nanos(question.budget.0.saturating_sub(commits.budget().0 + application.budget().0));
        let load = LoadRuns::new(question, environment, whole);
        let whole = Nanos(whole.0 - load.budget().0);
        let sustain = SustainRuns::new(question, environment, whole);
        let whole = Nanos(whole.0 - sustain.budget().0);
        let walking = question.patterns().next().is_some();
        let is_fixed = |experiment: &Experiment| experiment.pattern().is_none() && !experiment.has_own_runs();
        let beside = question.experiments.iter().any(is_fixed);
        let for_walks = match (walking, beside) {
            (true, true) => Nanos((whole.0 as f64 * WALKS) as u64),
            (true, false) => whole,
            (false, _) => Nanos(0),
        };
        let walks = walking.then(|| Walks::new(&Question { budget: for_walks, ..question.clone() }, environment));
        let fixed = FixedRuns::new(question, environment, Nanos(whole.0 - for_walks.0));
        let early: Vec<Box<dyn OwnRuns>> = vec![Box::new(commits), Box::new(application)];
        Self { walks, early, fixed, late: vec![Box::new(load), Box::new(sustain)] }
    }

    /// The experiments that decide their runs themselves.
    fn own(&self) -> impl Iterator<Item = &Box<dyn OwnRuns>> {
        self.early.iter().chain(&self.late)
    }

    /// That which `run` belongs to.
    fn owner(&mut self, run: &Run) -> Option<&mut Box<dyn OwnRuns>> {
        self.early.iter_mut().chain(&mut self.late).find(|own| own.owns(run))
    }

    /// Records a run.
    pub fn observe(&mut self, record: &Record) {
        if let Some(own) = self.owner(&record.run) {
            own.observe(record);
            return;
        }
        let between = Nanos(record.between_ns);
        match self.walks.as_mut().filter(|walks| walks.own(&record.run)) {
            Some(walks) => {
                walks.planner.charge(between);
                walks.observe(record);
                self.fixed.follow(&Observation::from(record));
            }
            None => {
                self.fixed.charge(between);
                self.fixed.observe(&Observation::from(record));
            }
        }
    }

    /// Skips runs that cannot be measured: a workload of a fixed plan, or runs of a phase. Returns whether the study
    /// can go on without them.
    pub fn give_up(&mut self, run: &Run) -> bool {
        if let Some(own) = self.owner(run) {
            own.give_up(&run.workload);
            return true;
        }
        match self.walks.as_mut().filter(|walks| walks.own(run)) {
            Some(walks) => walks.phase(run).map(|phase| phase.give_up(run)).is_some(),
            None => {
                self.fixed.give_up(&run.workload);
                true
            }
        }
    }

    /// The next step: the first run of those whose turn it is.
    pub fn next(&self) -> Step {
        let walks = || self.walks.as_ref().map_or(Step::Answered, Walks::next);
        let early = self.early.iter().map(|own| own.next());
        let late = self.late.iter().map(|own| own.next());
        let turns = iter::once_with(walks).chain(early).chain(iter::once_with(|| self.fixed.next())).chain(late);
        let mut end = Step::Answered;
        for step in turns {
            match step {
                Step::Run(_) => return step,
                Step::BudgetSpent => end = step,
                Step::Answered => {}
            }
        }
        end
    }

    /// What a run that [`Self::next`] gave decides.
    pub fn decides(&self, run: &Run) -> Decides {
        match self.walks.as_ref().filter(|walks| walks.own(run)) {
            Some(walks) => walks.decides(run),
            None => run.experiment.map_or(Decides::Leaders, Decides::Experiment),
        }
    }

    /// Most time that the study will still take.
    pub fn left(&self) -> Nanos {
        let walks = self.walks.as_ref().map_or(0, |walks| walks.left().0);
        Nanos(walks + self.own().map(|own| own.left().0).sum::<u64>() + self.fixed.left().0)
    }
}

impl Walks {
    /// The walks of `question` within its budget.
    fn new(question: &Question, environment: &Environment) -> Self {
        let threads = ThreadRuns::new(question, environment);
        let issuing = IssuingRuns::new(question, environment);
        let durable = DurableRuns::new(question, environment);
        let budget = Nanos(question.budget.0.saturating_sub(durable.reserved().0));
        let planner = Planner::new(&Question { budget, ..question.clone() }).within(environment);
        let mut walks = Self { planner, phases: [Box::new(threads), Box::new(issuing), Box::new(durable)] };
        walks.reserve();
        walks
    }

    /// Whether `run` belongs to the walks or to a phase.
    fn own(&self, run: &Run) -> bool {
        run.walks() || self.phases.iter().any(|phase| phase.owns(run))
    }

    /// The phase that `run` belongs to; `None` for a run of the walks themselves.
    fn phase(&mut self, run: &Run) -> Option<&mut Box<dyn Phase>> {
        self.phases.iter_mut().find(|phase| phase.owns(run))
    }

    fn observe(&mut self, record: &Record) {
        if let Some(spent) = self.phase(&record.run).map(|phase| phase.observe(record)) {
            self.planner.charge(spent);
            return;
        }
        self.planner.observe(&Observation::from(record));
        self.reserve();
        for phase in &mut self.phases {
            phase.follow(record, &self.planner);
        }
    }

    /// Takes what the phases reserve from the walks' budget.
    fn reserve(&mut self) {
        for phase in &mut self.phases {
            let more = phase.reserve(&self.planner);
            self.planner.charge(more);
        }
    }

    /// The next step. The durable runs wait for the end of the walks; the other phases have their turn at once.
    fn next(&self) -> Step {
        let of_phases = self.phases.iter().find_map(|phase| phase.next(&self.planner));
        of_phases.map_or_else(|| self.planner.next(), Step::Run)
    }

    fn decides(&self, run: &Run) -> Decides {
        let of_phase = self.phases.iter().find(|phase| phase.owns(run)).map(|phase| phase.decides());
        of_phase.unwrap_or_else(|| self.planner.decides(run))
    }

    fn left(&self) -> Nanos {
        let left = self.planner.left();
        Nanos(left.0 + self.phases.iter().map(|phase| phase.left(left).0).sum::<u64>())
    }
}

/// Every run of a question's fixed plans in this environment, in order; of the most load and of sustained writes the first,
/// which decide on the others.
pub fn fixed_runs(question: &Question, environment: &Environment) -> Vec<Run> {
    let StudyProgram { early, fixed, late, .. } = StudyProgram::new(question, environment);
    let known = |own: &[Box<dyn OwnRuns>]| own.iter().flat_map(|own| own.known()).collect::<Vec<Run>>();
    [known(&early), fixed.runs().to_vec(), known(&late)].concat()
}

/// Every cell that a question's walks may measure, with all its repeats, shuffled by the study's seed.
pub fn grid_runs(question: &Question) -> Vec<Run> {
    let mut runs = Vec::new();
    for path in ObservedPath::all(question) {
        for cell in 0..path.cells.len() {
            runs.extend((0..question.repeats).map(|later| path.run(question, cell, Pass::Plain, later)));
        }
    }
    runs.order_by_key(|run| (run.repeat, run.workload.rw.direction(), run.seed));
    runs
}

/// Start of the last run of a finished study, in milliseconds of Unix time (0 in virtual time); `None` if the study is
/// unfinished.
///
/// # Errors
/// If the file cannot be read.
pub fn finished(file: &StudyFile) -> Result<Option<u64>, RecordError> {
    let records = file.records()?;
    let is_finished = has_ended(file, &records) && due(file, &records).is_none();
    Ok(records.last().map(|last| last.started_unix_ms).filter(|_| is_finished))
}

/// Where a study of several sessions stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionsSoFar {
    /// Sessions that are complete.
    pub complete: u32,
    /// Start of the last complete session, in milliseconds of Unix time (0 in virtual time), if the next is not begun.
    pub waits_since_unix_ms: Option<u64>,
}

/// The sessions of a study so far, of which so many are asked for.
///
/// # Errors
/// If the file cannot be read.
pub fn sessions_so_far(file: &StudyFile, sessions: u32) -> Result<SessionsSoFar, RecordError> {
    let question = Question { sessions, ..file.question().clone() };
    let records = file.records()?;
    if !has_ended(file, &records) {
        return Ok(SessionsSoFar { complete: 0, waits_since_unix_ms: None });
    }
    let Some(session) = Session::due(&question, file.environment(), &records) else {
        return Ok(SessionsSoFar { complete: sessions, waits_since_unix_ms: None });
    };
    let start = |number: u32| {
        records.iter().filter(|record| record.session == number).map(|record| record.started_unix_ms).min()
    };
    let is_begun = start(session.number).is_some();
    let before = start(session.number.saturating_sub(1)).filter(|_| !is_begun);
    Ok(SessionsSoFar { complete: session.number, waits_since_unix_ms: before })
}

/// The further session that is due in a study whose first session has ended.
pub(crate) fn due(file: &StudyFile, records: &[Record]) -> Option<Session> {
    Session::due(file.question(), file.environment(), records)
}

/// Lets the program of a study observe the records of its first session.
pub(crate) fn observed(question: &Question, environment: &Environment, records: &[Record]) -> StudyProgram {
    let mut program = StudyProgram::new(question, environment);
    records.iter().filter(|record| record.session == 0).for_each(|record| program.observe(record));
    program
}

/// Whether the first session has made all its runs, but for those that could not be measured.
pub(crate) fn has_ended(file: &StudyFile, records: &[Record]) -> bool {
    let mut program = observed(file.question(), file.environment(), records);
    let left_out = file.left_out();
    let is_left_out = |run: &Run| {
        let same = |left: &LeftOut| left.workload == Some(run.workload) && run.experiment == Some(left.experiment);
        left_out.iter().any(same)
    };
    let mut given_up = None;
    loop {
        match program.next() {
            // Runs that could not be measured are not tried again.
            Step::Run(run) if is_left_out(&run) && given_up != Some(run) => {
                program.give_up(&run);
                given_up = Some(run);
            }
            Step::Run(_) => return false,
            Step::Answered | Step::BudgetSpent => return true,
        }
    }
}

/// The share of its time that the first session of a study has spent, 0 to 1; `None` if it has ended.
///
/// # Errors
/// If the file cannot be read.
pub fn unfinished_share(file: &StudyFile) -> Result<Option<f64>, RecordError> {
    // Imported results are always complete.
    if file.environment().capabilities.kind == TargetKind::Imported {
        return Ok(None);
    }
    let records = file.records()?;
    if !records.is_empty() && has_ended(file, &records) {
        return Ok(None);
    }
    let program = observed(file.question(), file.environment(), &records);
    let spent_ns = total(records.iter().filter(|record| record.session == 0).map(Record::of_budget_ns));
    let whole_ns = spent_ns.saturating_add(program.left().0);
    Ok(Some(spent_ns as f64 / whole_ns.max(1) as f64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicBool;

    use halfpower_experiments::scaling::ScalingRow;
    use halfpower_measure::{SimulatedTarget, TargetBackend, measure};
    use halfpower_record::{Capabilities, TargetKind};
    use halfpower_spec::{Bytes, Cache, Experiment, IoMem, Issuing, Pattern, SimulatedDisk};

    use super::*;
    use crate::built::{disk, record};

    /// Makes all runs of a study of a disk treated as hardware; each takes exactly its window. Calls `look` before each.
    fn each_run(question: &Question, mut look: impl FnMut(&StudyProgram, Run)) {
        let capabilities = Capabilities {
            kind: TargetKind::Folder,
            span: Bytes(1 << 30),
            direct_unit: Some(Bytes(512)),
            ..Capabilities::default()
        };
        let environment = Environment { capabilities, ..Environment::default() };
        let mut program = StudyProgram::new(question, &environment);
        let disk = disk("fixed=80us,rate=500MB/s,disks=4,noise=2%");
        let mut left = Nanos(u64::MAX);
        while let Step::Run(run) = program.next() {
            assert!(program.left() <= left, "what is left only falls");
            left = program.left();
            look(&program, run);
            let made = record(&disk, run.workload, run.repeat, run.pass, 1.0);
            program.observe(&Record { run, spent_ns: run.runtime.0, ..made });
        }
    }

    /// All of these runs.
    fn runs(question: &Question) -> Vec<Run> {
        let mut runs = Vec::new();
        each_run(question, |_, run| runs.push(run));
        runs
    }

    #[test]
    fn each_run_says_what_it_decides() {
        let question =
            Question { cache: vec![Cache::Device], issuing: Some(Issuing::default()), ..Question::about("d") };
        let mut decided = Vec::new();
        each_run(&question, |program, run| {
            let decides = program.decides(&run);
            match decides {
                Decides::Headline => assert!(matches!(run.pass, Pass::Confirm | Pass::Plain), "{run:?}"),
                Decides::Issuing => assert_eq!(run.experiment, Some(Experiment::Engines)),
                Decides::Slices => assert_eq!(run.repeat, 0),
                _ => {}
            }
            decided.push(decides);
        });
        let looks = decided.iter().position(|decides| *decides == Decides::Slices);
        assert_eq!((decided[0], looks), (Decides::Outline, Some(3)), "three rows, and then how long windows must be");
        for told in [Decides::Outline, Decides::Leaders, Decides::Headline, Decides::Cost, Decides::Issuing] {
            assert!(decided.contains(&told), "{told:?}");
        }
    }

    #[test]
    fn the_cells_that_decide_are_issued_in_other_ways_within_the_budget() {
        let question =
            Question { cache: vec![Cache::Device], issuing: Some(Issuing::default()), ..Question::about("d") };
        let runs = runs(&question);
        let (ways, walks): (Vec<&Run>, Vec<&Run>) =
            runs.iter().partition(|run| run.experiment == Some(Experiment::Engines));
        let spent = |runs: &[&Run]| runs.iter().map(|run| run.runtime.0).sum::<u64>();
        assert!(spent(&ways) <= question.budget.0 / 10 && spent(&ways) + spent(&walks) <= question.budget.0);
        let cell = |run: &Run| (run.workload.rw, run.workload.bs, run.workload.iodepth);
        let cells: BTreeSet<_> = ways.iter().map(|run| cell(run)).collect();
        assert!(cells.contains(&(halfpower_spec::Rw::Randread, Bytes(4096), 32)), "the deepest smallest: {cells:?}");
        assert!((3..=4).contains(&cells.len()) && cells.iter().any(|(rw, ..)| rw.writes()), "{cells:?}");
        let mut large = cells.iter().filter(|(_, bs, _)| bs.0 >= 64 << 10);
        assert!(large.all(|(rw, ..)| rw.pattern() == Pattern::Sequential), "copies send in order: {cells:?}");
        let walked: BTreeSet<_> = walks.iter().map(|run| cell(run)).collect();
        assert!(cells.is_subset(&walked), "the walks measured them before");
        for of in &cells {
            let of_cell = || ways.iter().filter(|run| cell(run) == *of);
            let huge = of_cell().filter(|run| run.workload.issuing.unwrap().iomem == IoMem::Huge).count();
            let beside_soaker = of_cell().filter(|run| run.pass == Pass::Soaker).count();
            assert!(huge == 4 && beside_soaker >= 3, "{of:?}: {huge}, {beside_soaker}");
        }
        let begun = runs.iter().position(|run| run.experiment == Some(Experiment::Engines)).unwrap();
        let together = runs[begun..begun + ways.len()].iter().all(|run| run.experiment == Some(Experiment::Engines));
        assert!(together, "no drift comes between them");
    }

    /// What `scaling` finds on a disk of these constants.
    fn scaling(disk: &SimulatedDisk) -> Vec<ScalingRow> {
        let question = Question {
            experiments: vec![Experiment::Scaling],
            budget: Nanos(60_000_000_000),
            repeats: 2,
            ..Question::about("sim:")
        };
        let mut backend = SimulatedTarget::new(disk.clone());
        let environment = backend.environment().clone();
        let mut program = StudyProgram::new(&question, &environment);
        let mut records = Vec::new();
        while let Step::Run(run) = program.next() {
            let record = measure(&mut backend, &run, &AtomicBool::new(false)).unwrap();
            program.observe(&record);
            records.push(record);
        }
        halfpower_experiments::analyse(&question, &environment, &records).rows.scaling.scaling
    }

    /// A queue that hardly exceeds the limit leaves no gaps between slices, so its waves do not show: behind the first
    /// limit that is so with three members, behind the second with two.
    #[test]
    fn members_behind_a_limit_in_slices_give_what_it_lets_through() {
        for limit in ["206MB/s", "138MB/s"] {
            let disk = disk(&format!("fixed=2us,rate=93MB/s,disks=4,shared={limit},slice=100ms"));
            let rows = scaling(&disk);
            assert_eq!(rows.len(), 28, "{limit}: each and stripe of one to four, two patterns and directions");
            for row in rows {
                let used = SimulatedDisk { disks: row.n, ..disk.clone() };
                let bs = if row.access.pattern == Pattern::Random { Bytes(8192) } else { Bytes(65_536) };
                let truth = halfpower_model::throughput(&used, bs, 8).mbps();
                let bound = if row.n < 4 { 0.015 } else { 0.02 };
                assert!((row.mbps / truth - 1.0).abs() < bound, "{limit}: {truth} MB/s, {row:?}");
            }
        }
    }

    #[test]
    fn nothing_is_handed_to_a_kernel_in_virtual_time() {
        let question = Question { cache: vec![Cache::Device], issuing: None, ..Question::about("d") };
        assert!(runs(&question).iter().all(|run| run.walks()));
    }
}
