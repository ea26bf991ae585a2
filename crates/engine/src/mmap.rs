//! Carries out requests as copies between a slot and a mapping of the whole file.
//!
//! Page faults become the requests to the device, with the kernel's read-ahead, one at a time: a thread that waits for
//! a page does nothing else. A flush is `fdatasync`.

use halfpower_os::Mapping;

use crate::config::EngineConfig;
use crate::synchronous::InTurn;
use crate::{Engine, EngineError};

/// Opens the engine: each request is a copy that returns when its pages are present.
pub(crate) fn open(config: EngineConfig) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(InTurn::new("mmap", config, Mapping::new)?))
}
