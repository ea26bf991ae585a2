//! Decides when to trace, so that tracing costs no more than it may.
//!
//! What is seen is counted per traced time, so busy and quiet times must be traced alike: an application that pauses, or is
//! only starting, would otherwise seem to ask for less than it does. The part that is traced therefore follows the dearest
//! time of late, falls at once, and grows slowly.

/// Estimated processor time that the kernel takes to record an event, from those who are watched.
pub(crate) const RECORDING_NS: u64 = 400;
/// The same while tracing is off and the event's probe is in its place. Measured on system calls: some 430 ns alone, 720
/// with both probes in place, 1,230 recorded.
pub(crate) const PROBED_NS: u64 = 150;
/// Length of a slice, in nanoseconds: longer where more of the time is traced.
const SHORT_NS: u64 = 50_000_000;
const LONG_NS: u64 = 100_000_000;
/// From this part of the time on, slices are long.
const LONG_FROM: f64 = 0.2;
/// At least this part of the time is traced.
const LEAST: f64 = 0.02;
/// The part of the time that is traced before the cost is known.
const FIRST: f64 = 0.25;
/// What is left, after a slice, of an earlier and higher cost.
const REMEMBERED: f64 = 0.93;
/// A cost that was measured over a shorter time says nothing.
const LEAST_MEASURED_NS: u64 = 40_000_000;

/// The slices of time in which events are traced.
#[derive(Debug)]
pub(crate) struct Slices {
    /// What all may cost, as a share of one processor.
    most_cost: f64,
    /// What tracing costs while it is on, as a share of one processor, in the dearest time of late.
    cost: f64,
    /// What was measured and not yet taken into account.
    traced_ns: u64,
    spent_ns: u64,
    /// When the present slice, or the pause, began.
    since_ns: u64,
}

impl Slices {
    pub(crate) fn new(most_cost: f64, now_ns: u64) -> Self {
        Self { most_cost, cost: most_cost / FIRST, traced_ns: 0, spent_ns: 0, since_ns: now_ns }
    }

    /// A slice, or a pause, begins.
    pub(crate) fn turn(&mut self, now_ns: u64) {
        self.since_ns = now_ns;
    }

    /// Tracing for this long cost this much processor time, here and of those who are watched.
    pub(crate) fn spent(&mut self, traced_ns: u64, spent_ns: u64) {
        self.traced_ns += traced_ns;
        self.spent_ns += spent_ns;
        if self.traced_ns < LEAST_MEASURED_NS {
            return;
        }
        let cost = self.spent_ns as f64 / self.traced_ns as f64;
        self.cost = cost.max(self.cost * REMEMBERED);
        self.traced_ns = 0;
        self.spent_ns = 0;
    }

    /// The part of the time that is traced, from 0.02 to 1.
    pub(crate) fn part(&self) -> f64 {
        let part = if self.cost > 0.0 { self.most_cost / self.cost } else { 1.0 };
        part.clamp(LEAST, 1.0)
    }

    /// When the present slice ends; `None` if tracing goes on.
    pub(crate) fn ends_ns(&self) -> Option<u64> {
        (self.part() < 1.0).then_some(self.since_ns + self.length_ns())
    }

    /// When the present pause ends.
    pub(crate) fn begins_ns(&self) -> u64 {
        self.since_ns + self.pause_ns()
    }

    /// Length of a pause.
    pub(crate) fn pause_ns(&self) -> u64 {
        let length_ns = self.length_ns() as f64;
        (length_ns / self.part() - length_ns) as u64
    }

    fn length_ns(&self) -> u64 {
        if self.part() < LONG_FROM { SHORT_NS } else { LONG_NS }
    }
}

/// What the probes cost others in a pause, when a slice had so many events.
pub(crate) fn probed_ns(events: u64, slice_ns: u64, pause_ns: u64) -> u64 {
    (events as f64 * PROBED_NS as f64 * pause_ns as f64 / slice_ns.max(1) as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_costs_little_is_traced_throughout_after_a_while() {
        let mut slices = Slices::new(0.01, 0);
        assert_eq!(slices.part(), FIRST, "nothing is known of the cost");
        for _ in 0..20 {
            slices.spent(100_000_000, 500_000);
        }
        assert_eq!((slices.ends_ns(), slices.part()), (None, 1.0));
    }

    #[test]
    fn what_costs_much_is_traced_for_a_part_that_costs_what_it_may() {
        let mut slices = Slices::new(0.01, 0);
        slices.spent(10_000_000, 10_000_000);
        assert_eq!(slices.part(), FIRST, "too short to say anything");
        slices.spent(100_000_000, 1_000_000);
        assert!((slices.part() - 0.1).abs() < 0.01, "{}", slices.part());
        slices.turn(1_000_000_000);
        assert_eq!(slices.ends_ns(), Some(1_000_000_000 + SHORT_NS));
        let pause_ns = slices.begins_ns() - 1_000_000_000;
        assert_eq!(pause_ns, slices.pause_ns());
        assert!((pause_ns as f64 / SHORT_NS as f64 - 9.0).abs() < 1.0, "{pause_ns}");
        slices.spent(100_000_000, 90_000_000_000);
        assert_eq!(slices.part(), LEAST);
        (0..200).for_each(|_| slices.spent(100_000_000, 0));
        assert_eq!(slices.part(), 1.0);
    }

    #[test]
    fn busy_and_quiet_times_are_traced_alike() {
        let mut slices = Slices::new(0.01, 0);
        let mut parts = [Vec::new(), Vec::new()];
        for round in 0..20 {
            for (busy, spent_ns) in [(1, 8_000_000), (0, 10_000)] {
                for _ in 0..4 {
                    if round > 0 {
                        parts[busy].push(slices.part());
                    }
                    slices.spent(50_000_000, spent_ns);
                }
            }
        }
        let [quiet, busy] = parts.map(|parts| parts.iter().sum::<f64>() / parts.len() as f64);
        assert!((quiet / busy - 1.0).abs() < 0.2, "{quiet} of quiet times, {busy} of busy ones");
    }

    #[test]
    fn probes_cost_as_the_pause_is_longer_than_the_slice() {
        // 200,000 events a second for a second, at 150 ns each.
        assert_eq!(probed_ns(10_000, 50_000_000, 1_000_000_000), 30_000_000);
        assert_eq!(probed_ns(0, 50_000_000, 1_000_000_000), 0);
        assert_eq!(probed_ns(10, 0, 0), 0, "a slice without length");
    }
}
