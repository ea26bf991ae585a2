//! Finds requests that waited for a delayed acknowledgement: a separate mode near 40 ms.
//!
//! Linux and others delay an acknowledgement by 40 ms (RFC 1122 section 4.2.3.2 allows 500 ms). A sender that holds
//! back a short segment until then (RFC 896) makes requests take that long.

use halfpower_record::{Latency, Record};

/// Range of the mode in nanoseconds: the delay plus some milliseconds for the request.
const MODE_NS: (u64, u64) = (38_000_000, 48_000_000);
/// Ranges beside the mode, which are nearly empty if the mode is separate.
const BESIDE_NS: [(u64, u64); 2] = [(20_000_000, 38_000_000), (48_000_000, 80_000_000)];
/// Minimum ratio of latencies in the mode to those in each range beside it.
const TIMES: u64 = 4;
/// Minimum number of latencies in the mode, and their minimum share of all.
const LEAST: u64 = 5;
const LEAST_SHARE: f64 = 0.005;

/// Share of the requests of these runs in such a mode, 0 to 1; `None` if there is no such mode.
pub(crate) fn delayed_share(records: &[&Record]) -> Option<f64> {
    let mut all = Latency::default();
    records.iter().filter(|record| record.engine.is_of_a_share()).for_each(|record| all.merge(&record.latency));
    let between = |(low, high): (u64, u64)| -> u64 {
        all.buckets().filter(|(lowest, _, _)| (low..high).contains(lowest)).map(|(_, _, count)| count).sum()
    };
    let mode = between(MODE_NS);
    let share = mode as f64 / all.count().max(1) as f64;
    let stands_out = BESIDE_NS.iter().all(|beside| between(*beside) * TIMES <= mode);
    (mode >= LEAST && share >= LEAST_SHARE && stands_out).then_some(share)
}
