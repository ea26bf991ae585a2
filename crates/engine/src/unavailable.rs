//! Builds the errors of engines that cannot be used.

use halfpower_os::OsError;
use halfpower_spec::EngineName;

use crate::EngineError;

/// The error of an engine that cannot be used, with the reason.
pub(crate) fn refusal(name: EngineName, why: String) -> EngineError {
    EngineError::Unavailable { engine: name.word(), why }
}

/// Converts a refusal of the system to the error of an engine.
pub(crate) fn unavailable(engine: &'static str) -> impl Fn(OsError) -> EngineError {
    move |error| EngineError::Unavailable { engine, why: reason(error) }
}

/// The reason alone, for sentences that already name the engine.
pub(crate) fn reason(error: OsError) -> String {
    match error {
        OsError::IoUring { why } | OsError::Aio { why } | OsError::Mapping { why } => why,
        other => other.to_string(),
    }
}
