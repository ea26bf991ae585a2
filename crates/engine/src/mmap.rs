//! What do loads and stores give? Each request is a copy between its slot and a mapping of the whole file.
//!
//! The page faults are the requests to the device, with the kernel's own read-ahead around them, and one at a time:
//! a processor that waits for a page does nothing else. A flush is `fdatasync`.

use os::Mapping;

use crate::carry::InTurn;
use crate::outfit::Outfit;
use crate::{Engine, EngineError};

/// Each request is a copy, which returns when its pages are there.
pub(crate) fn open(outfit: Outfit) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(InTurn::new("mmap", outfit, Mapping::new)?))
}
