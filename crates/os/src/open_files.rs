//! Reads how many files this process may open.

use rustix::process::{Resource, getrlimit};

/// Most files and sockets that may be open at once (`ulimit -n`).
pub fn most() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
