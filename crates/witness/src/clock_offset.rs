//! Estimates the offset of the far end's clock from round trips of messages.

use std::time::Duration;

/// The offset of another clock from ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    /// Far clock minus our clock, in nanoseconds.
    pub offset_ns: i64,
    /// Uncertainty, plus or minus: half of the round trip.
    pub reach_ns: u64,
}

impl ClockOffset {
    /// The offset of a clock that read `theirs_unix_ns` at some moment of a round trip that began at `ours_unix_ns`.
    ///
    /// The far end read its clock between sending and arrival, so the middle of the round trip is off by at most half
    /// of it.
    pub fn of_round_trip(ours_unix_ns: u64, theirs_unix_ns: u64, round_trip: Duration) -> Self {
        let half_ns = round_trip.as_nanos() / 2;
        let offset_ns = i128::from(theirs_unix_ns) - i128::from(ours_unix_ns) - half_ns as i128;
        Self {
            offset_ns: i64::try_from(offset_ns).unwrap_or(if offset_ns < 0 { i64::MIN } else { i64::MAX }),
            reach_ns: u64::try_from(half_ns.max(1)).unwrap_or(u64::MAX),
        }
    }

    /// The estimate with the smaller uncertainty.
    pub fn better(self, other: Self) -> Self {
        if other.reach_ns < self.reach_ns { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_lies_within_the_reach_wherever_the_clock_was_read() {
        let ahead_ns = -5_000_000_000_i64;
        let began_ns = 10_000_000_000_u64;
        let round_trip_ns = 900_000;
        for read_after_ns in [0, 300_000, 900_000] {
            let theirs = (began_ns + read_after_ns).checked_add_signed(ahead_ns).unwrap();
            let offset = ClockOffset::of_round_trip(began_ns, theirs, Duration::from_nanos(round_trip_ns));
            assert!(offset.offset_ns.abs_diff(ahead_ns) <= offset.reach_ns, "{offset:?}");
        }
        let wide = ClockOffset { offset_ns: 1, reach_ns: 9 };
        let narrow = ClockOffset { offset_ns: 2, reach_ns: 3 };
        assert_eq!((wide.better(narrow), narrow.better(wide)), (narrow, narrow));
    }
}
