//! Finds the other processes that a launcher started.

use std::rc::Rc;

use crate::launcher::Launched;
use crate::{HostsError, Ranks};

/// The processes that a launcher started with this one; `None` if it is alone.
///
/// # Errors
/// If there are others and this program cannot exchange messages with them.
pub fn join() -> Result<Option<Rc<dyn Ranks>>, HostsError> {
    match Launched::here() {
        None => Ok(None),
        Some(launched) => joined(launched),
    }
}

#[cfg(feature = "mpi")]
fn joined(launched: Launched) -> Result<Option<Rc<dyn Ranks>>, HostsError> {
    let ranks = crate::mpi_ranks::MpiRanks::start()?;
    match launched.size {
        Some(listed) if listed != ranks.size() => {
            Err(HostsError::OtherMpi { launcher: launched.by, listed, found: ranks.size() })
        }
        _ if ranks.size() == 1 => Ok(None),
        _ => Ok(Some(Rc::new(ranks))),
    }
}

#[cfg(not(feature = "mpi"))]
fn joined(launched: Launched) -> Result<Option<Rc<dyn Ranks>>, HostsError> {
    let how_often = launched.size.map_or("several times".to_string(), |size| format!("{size} times"));
    Err(HostsError::NoMpi { launcher: launched.by, how_often })
}
