//! Writes the state of a study: its word, and the sentence that explains it.

use halfpower_analyse::{NoisySign, StudyState};
use halfpower_spec::format::percent;

/// The word at the top, such as `QUIET` or `UNFINISHED 30%`.
pub(crate) fn word(state: &StudyState) -> String {
    match state {
        StudyState::Unfinished { share } => format!("UNFINISHED {:.0}%", 100.0 * share),
        StudyState::Failed => "FAILED".to_string(),
        StudyState::Imported => "IMPORTED".to_string(),
        StudyState::Simulated => "SIMULATED".to_string(),
        StudyState::Memory => "MEMORY".to_string(),
        StudyState::Cached => "CACHED".to_string(),
        StudyState::Noisy { .. } => "NOISY".to_string(),
        StudyState::Buffered => "BUFFERED".to_string(),
        StudyState::Quiet => "QUIET".to_string(),
    }
}

/// What the word means for a reader, as a sentence.
pub(crate) fn sentence(state: &StudyState) -> String {
    format!("{}.", meaning(state))
}

/// The same without a full stop.
pub(crate) fn meaning(state: &StudyState) -> String {
    match state {
        StudyState::Unfinished { share } if *share <= 0.0 => {
            "No run is finished yet; the same command goes on".to_string()
        }
        StudyState::Unfinished { share } => {
            format!("The study was cut short after {} of its time; the same command goes on", percent(*share))
        }
        StudyState::Failed => "No run moved bytes without errors, so nothing was measured".to_string(),
        StudyState::Imported => {
            "Another tool measured it: whether it was steady and who else used the disk is not known".to_string()
        }
        StudyState::Simulated => "Time was virtual: this tells of a model, not of a device".to_string(),
        StudyState::Memory => "The file system lies in main memory: this tells of memory, not of a device".to_string(),
        StudyState::Cached => "A cache answered: this tells of its memory, not of the medium".to_string(),
        StudyState::Noisy { by } => format!("{}: repeat when idle", noisy(*by)),
        StudyState::Buffered => "Every request went through the page cache".to_string(),
        StudyState::Quiet => "Nothing disturbed it: runs agree, and nobody else used the disk".to_string(),
    }
}

fn noisy(sign: NoisySign) -> &'static str {
    match sign {
        NoisySign::OthersUsedTheDisk => "Others used the disk while many cells were measured",
        NoisySign::HypervisorTookTime => "The hypervisor took much of the processors' time",
        NoisySign::NotSteady => "Many cells were not steady within their runs",
        NoisySign::RunsDiffer => "The runs that the answer rests on differ much",
    }
}
