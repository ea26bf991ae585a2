//! Carries out requests with pread and pwrite, one after the other.

use crate::config::EngineConfig;
use crate::synchronous::InTurn;
use crate::{Engine, EngineError};

/// Opens the engine: each request is one blocking call.
pub(crate) fn open(config: EngineConfig) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(InTurn::new("sync", config, Ok)?))
}
