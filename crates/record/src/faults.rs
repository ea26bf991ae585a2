//! Sums up the faults of a run over all its windows.

use std::collections::BTreeMap;

use crate::{DiscardReason, DiscardedWindow, Record, total};

/// Names in a record of the errors that mean wrong data.
const WRONG_DATA: [&str; 4] = ["corrupt", "torn", "lost", "misdirected"];

/// Whether the error of this name means wrong data.
pub fn is_wrong_data(error: &str) -> bool {
    WRONG_DATA.contains(&error)
}

impl Record {
    /// What remains of this window if it is discarded and measured again.
    pub fn discarded_for(&self, reason: DiscardReason) -> DiscardedWindow {
        let Self { elapsed_ns, short_transfers, .. } = *self;
        DiscardedWindow { reason, elapsed_ns, errors: self.errors.clone(), short_transfers }
    }

    /// Requests that failed, by the name of the error, in all windows of the run.
    pub fn all_errors(&self) -> BTreeMap<&str, u64> {
        let mut all = BTreeMap::new();
        let discarded = self.discarded.iter().map(|window| &window.errors);
        for (name, count) in discarded.chain([&self.errors]).flatten() {
            let sum = all.entry(name.as_str()).or_default();
            *sum = total([*sum, *count]);
        }
        all
    }

    /// Short transfers in all windows of the run.
    pub fn all_short_transfers(&self) -> u64 {
        total(self.discarded.iter().map(|window| window.short_transfers).chain([self.short_transfers]))
    }

    /// Requests that found wrong data.
    pub fn wrong_data(&self) -> u64 {
        total(self.all_errors().into_iter().filter(|(name, _)| is_wrong_data(name)).map(|(_, count)| count))
    }

    /// Whether some requests failed and none succeeded.
    pub fn failed_whole(&self) -> bool {
        self.ios == 0 && !self.errors.is_empty()
    }
}
