//! Carries out requests as copies between a slot and a mapping of the whole file.
//!
//! The page faults are the requests to the device, with the kernel's own read-ahead around them, and one at a time:
//! a processor that waits for a page does nothing else. A flush is `fdatasync`.

use halfpower_os::Mapping;

use crate::config::EngineConfig;
use crate::synchronous::InTurn;
use crate::{Engine, EngineError};

/// Each request is a copy, which returns when its pages are there.
pub(crate) fn open(config: EngineConfig) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(InTurn::new("mmap", config, Mapping::new)?))
}
