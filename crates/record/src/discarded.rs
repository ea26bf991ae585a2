//! Records the faults of windows that were discarded and measured again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Why a window was discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscardReason {
    /// Its rate was not steady; the run was measured again in a longer window.
    NotSteady,
    /// The processes did not measure at the same time for long enough.
    NotTogether,
    /// The kernel returned requests (EAGAIN); the run was measured again with workers that may wait.
    GivenBack,
}

/// A window that was measured again: its rates are dropped, its faults are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardedWindow {
    /// Why it was discarded.
    pub reason: DiscardReason,
    /// Its length.
    pub elapsed_ns: u64,
    /// Requests that failed in it, by the name of the error.
    pub errors: BTreeMap<String, u64>,
    /// Requests that moved fewer bytes than asked.
    pub short_transfers: u64,
}
