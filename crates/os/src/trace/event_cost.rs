//! Measures what an event of the kernel's trace costs the thread that it is of: it differs tenfold between processors.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::processor::charged_to_this_thread_ns;

/// Calls of which one time is taken, and how often: the least of the times counts, since an interrupt only adds.
const CALLS: u64 = 200;
const TIMES: u32 = 5;
/// A call has two events: its beginning and its end.
const EVENTS: u64 = 2;

/// Processor time that an event costs the thread that it is of, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventCost {
    /// While it is recorded, its probe included.
    pub recorded_ns: u64,
    /// While tracing is off and its probe is in its place.
    pub probed_ns: u64,
}

impl EventCost {
    /// On a processor of today; for where it cannot be measured. System calls took some 430 ns alone, 720 with both probes
    /// in place, 1,230 recorded.
    pub const USUAL: Self = Self { recorded_ns: 400, probed_ns: 150 };

    /// From the time of a call without probes, with them, and recorded; `None` if recording seems to cost nothing.
    pub(super) fn between(bare_ns: u64, probed_ns: u64, recorded_ns: u64) -> Option<Self> {
        let of_each = |with_ns: u64| with_ns.saturating_sub(bare_ns) / EVENTS;
        let cost = Self { recorded_ns: of_each(recorded_ns), probed_ns: of_each(probed_ns) };
        (cost.recorded_ns > cost.probed_ns).then_some(cost)
    }
}

/// Processor time in nanoseconds of a `pread` that moves nothing; `None` if there is no `/dev/null`.
pub(super) fn call_ns() -> Option<u64> {
    let nothing = File::open("/dev/null").ok()?;
    let mut byte = [0];
    let mut one_time = || {
        let before_ns = charged_to_this_thread_ns();
        for _ in 0..CALLS {
            nothing.read_at(&mut byte, 0).ok()?;
        }
        Some(charged_to_this_thread_ns().saturating_sub(before_ns) / CALLS)
    };
    (0..TIMES).map_while(|_| one_time()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_call_takes_longer_is_shared_by_its_two_events() {
        assert_eq!(EventCost::between(430, 730, 1230), Some(EventCost { recorded_ns: 400, probed_ns: 150 }));
        assert_eq!(EventCost::between(430, 400, 1230), Some(EventCost { recorded_ns: 400, probed_ns: 0 }));
        assert_eq!(EventCost::between(430, 420, 410), None, "a disturbed measurement");
        assert!(call_ns().is_some_and(|call_ns| call_ns > 0));
    }
}
