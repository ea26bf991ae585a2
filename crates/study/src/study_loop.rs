//! Conducts a study run by run, storing each record before the next run, until the planner or the user ends it.

use std::sync::atomic::AtomicBool;

use halfpower_analyse::judge;
use halfpower_measure::{MeasureError, TargetBackend};
use halfpower_record::{DiscardReason, LeftOut, Record, RecordError, StudyFile};
use halfpower_spec::{Decides, Experiment, Nanos, Question, Run};

use crate::planner::Step;
use crate::sessions::Session;
use crate::study_program::{StudyProgram, due, has_ended, observed};

/// Factor by which the window grows if a run was not steady and is measured again.
const EXTENDED: u64 = 2;

/// Observes a study; called before and after each run.
pub trait Observer {
    /// Called when a run begins; `so_far` is the progress before it.
    fn begins(&mut self, run: &Run, so_far: &SoFar);
    /// Called when a run has ended with this record.
    fn ended(&mut self, record: &Record);
}

/// Progress of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoFar {
    /// Number of runs made.
    pub runs: usize,
    /// Spent time of the budget.
    pub spent: Nanos,
    /// Most time that the study will still take. It only falls; it drops to 0 if the answer comes before the budget is
    /// spent.
    pub left: Nanos,
    /// What the run that begins decides.
    pub decides: Decides,
}

impl SoFar {
    /// The share of its time that the study has spent, 0 to 1. It only rises, because the time left only falls.
    pub fn share(&self) -> f64 {
        self.spent.0 as f64 / (self.spent.0 + self.left.0).max(1) as f64
    }
}

/// Measures `run`. If its series is not steady, measures once more in a window twice as long, which replaces the first;
/// the faults of the first window are kept. An experiment that looks for a change of rate keeps the first.
fn measure_steadily(backend: &mut dyn TargetBackend, run: &Run, stop: &AtomicBool) -> Result<Record, MeasureError> {
    let first = halfpower_measure::measure(backend, run, stop)?;
    let looks_for_change = run.experiment.is_some_and(Experiment::looks_for_change);
    if looks_for_change || judge(&first.series).steady {
        return Ok(first);
    }
    let longer = Run { runtime: Nanos(run.runtime.0 * EXTENDED), ..*run };
    let second = halfpower_measure::measure(backend, &longer, stop)?;
    let not_steady = first.discarded_for(DiscardReason::NotSteady);
    let discarded = first.discarded.into_iter().chain([not_steady]).chain(second.discarded).collect();
    let resubmitted_ios = first.resubmitted_ios + second.resubmitted_ios;
    Ok(Record { spent_ns: first.spent_ns + second.spent_ns, discarded, resubmitted_ios, ..second })
}

/// The reason why a study ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every cell has all the runs that it needs.
    Answered,
    /// The budget is spent.
    BudgetSpent,
    /// A session is complete, and another one is due: it needs a process and a layout of its own.
    SessionEnded,
    /// The user interrupted it; the study can be resumed.
    Interrupted,
}

/// Errors that end a study.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// Error of the target or the engine.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The study file.
    #[error(transparent)]
    File(#[from] RecordError),
}

/// The session that is measured now.
enum Turn {
    First(Box<StudyProgram>),
    Further(Session),
}

impl Turn {
    /// The session of the study in `file` whose turn it is after these records.
    fn of(question: &Question, file: &StudyFile, records: &[Record]) -> Self {
        let is_further = question.sessions > 1 && has_ended(file, records);
        let further = if is_further { due(file, records) } else { None };
        let first = || Self::First(Box::new(observed(question, file.environment(), records)));
        further.map_or_else(first, Self::Further)
    }

    fn number(&self) -> u32 {
        match self {
            Self::First(_) => 0,
            Self::Further(session) => session.number,
        }
    }

    fn next(&self) -> Step {
        match self {
            Self::First(program) => program.next(),
            Self::Further(session) => session.next(),
        }
    }

    fn left(&self) -> Nanos {
        match self {
            Self::First(program) => program.left(),
            Self::Further(session) => session.left(),
        }
    }

    fn decides(&self, run: &Run) -> Decides {
        match self {
            Self::First(program) => program.decides(run),
            Self::Further(_) => Decides::Headline,
        }
    }

    fn observe(&mut self, record: &Record) {
        match self {
            Self::First(program) => program.observe(record),
            Self::Further(session) => session.observe(record),
        }
    }

    /// Skips runs that cannot be measured. Returns whether the study can go on without them.
    fn give_up(&mut self, run: &Run) -> bool {
        match self {
            Self::First(program) => program.give_up(run),
            Self::Further(_) => false,
        }
    }
}

/// The ending of a session that makes no more runs, by whether another one is due.
fn ending(question: &Question, file: &StudyFile, own: Ending) -> Result<Ending, RecordError> {
    let is_due = question.sessions > 1 && due(file, &file.records()?).is_some();
    Ok(if is_due { Ending::SessionEnded } else { own })
}

/// Continues the study in `file` to the end of the session whose turn it is; an ordinary study is one session. `began_ns` is
/// when it began to take of its budget, on the target's clock.
///
/// # Errors
/// Errors of measuring or of the study file. All earlier records are in the file.
pub fn conduct(
    question: &Question,
    backend: &mut dyn TargetBackend,
    file: &mut StudyFile,
    observer: &mut dyn Observer,
    (began_ns, stop): (u64, &AtomicBool),
) -> Result<Ending, StudyError> {
    let records = file.records()?;
    let mut turn = Turn::of(question, file, &records);
    let session = turn.number();
    let mut runs = records.len();
    let mut spent_ns = records.iter().map(Record::of_budget_ns).sum::<u64>();
    drop(records);
    let mut ended_ns = began_ns;
    loop {
        let run = match turn.next() {
            Step::Run(run) => run,
            Step::Answered => return Ok(ending(question, file, Ending::Answered)?),
            Step::BudgetSpent => return Ok(ending(question, file, Ending::BudgetSpent)?),
        };
        let so_far = SoFar { runs, spent: Nanos(spent_ns), left: turn.left(), decides: turn.decides(&run) };
        observer.begins(&run, &so_far);
        let between_ns = backend.clock_ns().saturating_sub(ended_ns);
        let record = match measure_steadily(backend, &run, stop) {
            Ok(record) => Record { between_ns, session, ..record },
            Err(MeasureError::Interrupted) => return Ok(Ending::Interrupted),
            Err(error) => match run.experiment.filter(|_| turn.give_up(&run)) {
                // The rest of the study does not depend on this cell.
                Some(experiment) => {
                    let left_out = LeftOut { experiment, workload: Some(run.workload), why: error.to_string() };
                    backend.environment_mut().left_out.push(left_out);
                    file.go_on_in(backend.environment())?;
                    continue;
                }
                None => return Err(error.into()),
            },
        };
        ended_ns = backend.clock_ns();
        // The environment may have changed during the run; store it too.
        file.go_on_in(backend.environment())?;
        file.append(&record)?;
        observer.ended(&record);
        turn.observe(&record);
        (runs, spent_ns) = (runs + 1, spent_ns + record.of_budget_ns());
    }
}
