//! Keeps the ledgers of a target from run to run.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use halfpower_engine::Ledger;

use super::run_volume::RunVolume;

/// Ledgers of what a target's blocks hold, for one arrangement of its members; another arrangement needs new ledgers.
pub(super) struct Ledgers {
    pub volume: RunVolume,
    /// One for each lane that a thread has.
    pub each: Vec<Arc<Ledger>>,
}

impl Ledgers {
    /// Empty ledgers for `span_bytes` per lane.
    pub fn new(volume: RunVolume, span_bytes: u64) -> Self {
        let epoch = new_epoch();
        let each = volume.lanes().iter().map(|_| Arc::new(Ledger::new(span_bytes, epoch))).collect();
        Self { volume, each }
    }
}

/// A number unique to this layout, so that bytes of an earlier layout with the same seed are not taken for its own.
fn new_epoch() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
    // The standard library takes the keys of a `RandomState` from the system's random numbers.
    RandomState::new().hash_one(since_1970)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_layout_takes_what_an_earlier_one_left_for_its_own() {
        let epochs: std::collections::BTreeSet<u64> = (0..1000).map(|_| new_epoch()).collect();
        assert_eq!(epochs.len(), 1000);
    }
}
