//! Keeps what is left of a window that was measured again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Why a window does not stand for its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscardReason {
    /// Its rate was not steady, and the run was measured again in a longer one.
    NotSteady,
    /// The processes that made it did not measure at the same time for long enough.
    NotTogether,
    /// The kernel gave requests back in it (EAGAIN), and the run was measured again with workers that may wait.
    GivenBack,
}

/// A window that was measured again: its rates are gone, its faults are not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardedWindow {
    /// Why it was.
    pub reason: DiscardReason,
    /// Its length.
    pub elapsed_ns: u64,
    /// Requests that failed in it, by the name of the error.
    pub errors: BTreeMap<String, u64>,
    /// Requests that moved fewer bytes than asked.
    pub short_transfers: u64,
}
