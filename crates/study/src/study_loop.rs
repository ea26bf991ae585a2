//! Conducts a study: run after run, each kept before the next begins, until the planner or the user says enough.

use std::sync::atomic::AtomicBool;

use halfpower_analyse::judge;
use halfpower_measure::{MeasureError, TargetBackend};
use halfpower_record::{DiscardReason, LeftOut, Record, RecordError, StudyFile};
use halfpower_spec::{Experiment, Nanos, Question, Run};

use crate::planner::Step;
use crate::study_program::StudyProgram;

/// How many times as long a window is that is measured again because its run was not steady.
const EXTENDED: u64 = 2;

/// Whoever watches: told before and after each run.
pub trait Observer {
    /// A run begins; `so_far` is how the study stands before it.
    fn begins(&mut self, run: &Run, so_far: &SoFar);
    /// It ended with this record.
    fn ended(&mut self, record: &Record);
}

/// How far a study is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoFar {
    /// Runs made.
    pub runs: usize,
    /// Time of the budget that is gone.
    pub spent: Nanos,
    /// How long it will still take at most: it only falls, and falls at once where the answer comes before the budget is
    /// spent.
    pub left: Nanos,
}

/// Measures `run`; where its series is not steady, once more in a window twice as long, which then stands for the run.
/// What went wrong in the first window is kept. An experiment that looks for a change of rate wants the run as it is.
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

/// How a study came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every cell was measured as often as it is worth.
    Answered,
    /// The budget is spent.
    BudgetSpent,
    /// Somebody asked for an end; the same study can be taken up again.
    Interrupted,
}

/// Why a study cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The target or the engine.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The study file.
    #[error(transparent)]
    File(#[from] RecordError),
}

/// Takes the study in `file` from where it is to its end.
///
/// # Errors
/// What keeps runs from being measured or kept. All records made before are in the file.
pub fn conduct(
    question: &Question,
    backend: &mut dyn TargetBackend,
    file: &mut StudyFile,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Ending, StudyError> {
    let mut program = StudyProgram::new(question, file.environment());
    let (mut runs, mut spent_ns) = (0, 0);
    for record in file.records()? {
        program.observe(&record);
        (runs, spent_ns) = (runs + 1, spent_ns + record.spent_ns);
    }
    loop {
        let run = match program.next() {
            Step::Run(run) => run,
            Step::Answered => return Ok(Ending::Answered),
            Step::BudgetSpent => return Ok(Ending::BudgetSpent),
        };
        observer.begins(&run, &SoFar { runs, spent: Nanos(spent_ns), left: program.left() });
        let record = match measure_steadily(backend, &run, stop) {
            Ok(record) => record,
            Err(MeasureError::Interrupted) => return Ok(Ending::Interrupted),
            Err(error) => match run.experiment.filter(|_| program.can_spare(&run)) {
                // The rest of the study does not hang on this cell.
                Some(experiment) => {
                    let left_out = LeftOut { experiment, workload: Some(run.workload), why: error.to_string() };
                    backend.environment_mut().left_out.push(left_out);
                    file.go_on_in(backend.environment())?;
                    program.give_up(&run);
                    continue;
                }
                None => return Err(error.into()),
            },
        };
        // What was learnt while the run was made stands in the file too.
        file.go_on_in(backend.environment())?;
        file.append(&record)?;
        observer.ended(&record);
        program.observe(&record);
        (runs, spent_ns) = (runs + 1, spent_ns + record.spent_ns);
    }
}
