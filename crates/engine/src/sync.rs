//! Carries out requests with pread and pwrite, one after the other.

use crate::config::EngineConfig;
use crate::synchronous::InTurn;
use crate::{Engine, EngineError};

/// Each request is one call, which returns when it is done.
pub(crate) fn open(config: EngineConfig) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(InTurn::new("sync", config, Ok)?))
}
