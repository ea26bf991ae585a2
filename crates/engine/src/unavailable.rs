//! Says why an engine cannot be had.

use halfpower_os::OsError;
use halfpower_spec::EngineName;

use crate::EngineError;

/// An engine that cannot be had, and why.
pub(crate) fn refusal(name: EngineName, why: String) -> EngineError {
    EngineError::Unavailable { engine: name.word(), why }
}

/// How an engine says that the system refused what it needs.
pub(crate) fn unavailable(engine: &'static str) -> impl Fn(OsError) -> EngineError {
    move |error| EngineError::Unavailable { engine, why: reason(error) }
}

/// The reason alone, where a sentence around it already names the engine.
pub(crate) fn reason(error: OsError) -> String {
    match error {
        OsError::IoUring { why } | OsError::Aio { why } | OsError::Mapping { why } => why,
        other => other.to_string(),
    }
}
