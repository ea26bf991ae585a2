//! Determines from a study file alone whether the study is finished.

use halfpower_record::{LeftOut, RecordError, StudyFile, TargetKind, total};
use halfpower_spec::Run;

use crate::planner::Step;
use crate::study_program::StudyProgram;

/// Start of the last run of a finished study, in milliseconds of Unix time (0 in virtual time); `None` if the study is
/// unfinished.
///
/// # Errors
/// If the file cannot be read.
pub fn finished(file: &StudyFile) -> Result<Option<u64>, RecordError> {
    let mut program = StudyProgram::new(file.question(), file.environment());
    let records = file.records()?;
    records.iter().for_each(|record| program.observe(record));
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
            Step::Run(_) => return Ok(None),
            Step::Answered | Step::BudgetSpent => return Ok(records.last().map(|last| last.started_unix_ms)),
        }
    }
}

/// The share of its time that a study has spent, 0 to 1; `None` if it is finished.
///
/// # Errors
/// If the file cannot be read.
pub fn unfinished_share(file: &StudyFile) -> Result<Option<f64>, RecordError> {
    // Imported results are always complete.
    if file.environment().capabilities.kind == TargetKind::Imported || finished(file)?.is_some() {
        return Ok(None);
    }
    let mut program = StudyProgram::new(file.question(), file.environment());
    let records = file.records()?;
    records.iter().for_each(|record| program.observe(record));
    let spent_ns = total(records.iter().map(|record| record.spent_ns));
    let whole_ns = spent_ns.saturating_add(program.left().0);
    Ok(Some(spent_ns as f64 / whole_ns.max(1) as f64))
}
