//! Reads the mount table under the given root.

use halfpower_os::mounts::{Mount, parse};

use crate::Root;

/// The mount table in mount order; unreadable lines are left out.
pub(crate) fn mounts(root: &Root) -> Vec<Mount> {
    parse(root.text("proc/self/mountinfo").unwrap_or_default().as_bytes())
}
