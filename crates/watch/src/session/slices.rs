//! Decides when to trace, so that tracing costs no more than it may.
//!
//! What is seen is counted per traced time, so busy and quiet times must be traced alike: an application that pauses, or is
//! only starting, would otherwise seem to ask for less than it does. The part that is traced therefore follows the dearest
//! time of late, falls at once, and grows slowly.

/// Length of a slice, in nanoseconds: as the part of the time that is traced, between these.
const LENGTH_OF_ALL_NS: f64 = 500e6;
const SHORTEST_NS: u64 = 20_000_000;
const LONGEST_NS: u64 = 100_000_000;
/// What takes longer than a slice is never seen from its beginning to its end. So a slice has this many times the length of
/// what its end cut, up to a length whose pause is not too long, and at most this.
const OF_WHAT_WAS_CUT: u64 = 8;
const LONGEST_CUT_NS: u64 = 500_000_000;
const LONGEST_PAUSE_NS: f64 = 10e9;
/// So many slices follow each other soon, whatever they cost: a short watch has something to judge by.
const FIRST_SLICES: u32 = 4;
const FIRST_PAUSES_NS: u64 = 500_000_000;
/// At least this part of the time is traced.
const LEAST: f64 = 0.004;
/// The part of the time that is traced before the cost is known.
const FIRST: f64 = 0.25;
/// What is left, after a slice, of an earlier and higher cost, and of a longer operation that was cut.
const REMEMBERED: f64 = 0.93;
/// A cost that was measured over a shorter time says nothing.
const LEAST_MEASURED_NS: u64 = 15_000_000;

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
    /// Slices that began.
    begun: u32,
    /// What ends of slices cut, in nanoseconds: the longest of late.
    cut_ns: u64,
}

impl Slices {
    pub(crate) fn new(most_cost: f64, now_ns: u64) -> Self {
        Self { most_cost, cost: most_cost / FIRST, traced_ns: 0, spent_ns: 0, since_ns: now_ns, begun: 0, cut_ns: 0 }
    }

    /// A slice begins.
    pub(crate) fn begins(&mut self, now_ns: u64) {
        self.since_ns = now_ns;
        self.begun += 1;
    }

    /// A pause begins. The slice's end cut an operation that had been in progress for so long.
    pub(crate) fn pauses(&mut self, now_ns: u64, cut_ns: u64) {
        self.since_ns = now_ns;
        self.cut_ns = cut_ns.max((self.cut_ns as f64 * REMEMBERED) as u64);
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

    /// The part of the time that is traced, from 0.004 to 1.
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
        let pause_ns = (length_ns / self.part() - length_ns) as u64;
        if self.begun < FIRST_SLICES { pause_ns.min(FIRST_PAUSES_NS) } else { pause_ns }
    }

    fn length_ns(&self) -> u64 {
        // The first tells what the others cost.
        if self.begun <= 1 {
            return SHORTEST_NS;
        }
        let part = self.part();
        let usual_ns = ((part * LENGTH_OF_ALL_NS) as u64).clamp(SHORTEST_NS, LONGEST_NS);
        let most_ns = ((part * LONGEST_PAUSE_NS) as u64).min(LONGEST_CUT_NS);
        usual_ns.max(self.cut_ns.saturating_mul(OF_WHAT_WAS_CUT).min(most_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Slices of which this many began.
    fn after(begun: u32) -> Slices {
        let mut slices = Slices::new(0.01, 0);
        (0..begun).for_each(|_| slices.begins(0));
        slices
    }

    /// Length of the slice that begins now.
    fn length_ns(slices: &mut Slices) -> u64 {
        slices.begins(MS);
        slices.ends_ns().unwrap() - MS
    }

    #[test]
    fn what_costs_little_is_traced_throughout_after_a_while() {
        let mut slices = Slices::new(0.01, 0);
        assert_eq!(slices.part(), FIRST, "nothing is known of the cost");
        for _ in 0..20 {
            slices.spent(100 * MS, MS / 2);
        }
        assert_eq!((slices.ends_ns(), slices.part()), (None, 1.0));
    }

    #[test]
    fn what_costs_much_is_traced_for_a_part_that_costs_what_it_may() {
        let mut slices = after(FIRST_SLICES);
        slices.spent(10 * MS, 10 * MS);
        assert_eq!(slices.part(), FIRST, "too short to say anything");
        slices.spent(90 * MS, MS);
        assert!((slices.part() - 0.09).abs() < 0.01, "{}", slices.part());
        let length_ns = length_ns(&mut slices);
        assert!((length_ns as f64 / MS as f64 - 500.0 * slices.part()).abs() < 1.0, "{length_ns}");
        let pause_ns = slices.begins_ns() - MS;
        assert_eq!(pause_ns, slices.pause_ns());
        assert!((pause_ns as f64 / length_ns as f64 - 10.1).abs() < 0.5, "{pause_ns}");
        slices.spent(100 * MS, 90_000 * MS);
        assert_eq!(slices.part(), LEAST);
        assert_eq!(slices.pause_ns(), 4980 * MS);
        (0..200).for_each(|_| slices.spent(100 * MS, 0));
        assert_eq!(slices.part(), 1.0);
    }

    #[test]
    fn the_first_slices_follow_each_other_soon_whatever_they_cost() {
        let mut slices = after(0);
        assert_eq!(length_ns(&mut slices), SHORTEST_NS, "the first tells the cost");
        slices.spent(20 * MS, 20 * MS);
        let pauses = [1, 2, 3, 4].map(|_| {
            let pause_ns = slices.pause_ns();
            slices.begins(0);
            pause_ns
        });
        assert_eq!(pauses, [500 * MS, 500 * MS, 500 * MS, 1980 * MS]);
    }

    #[test]
    fn slices_are_longer_than_what_their_ends_cut() {
        let mut slices = after(FIRST_SLICES);
        slices.spent(50 * MS, 25 * MS);
        assert_eq!(length_ns(&mut slices), SHORTEST_NS);
        slices.pauses(0, 15 * MS);
        assert_eq!(length_ns(&mut slices), 120 * MS);
        let pause_ns = slices.pause_ns();
        assert!((pause_ns as f64 / MS as f64 - 5880.0).abs() < 1.0, "the same part of the time: {pause_ns}");
        slices.pauses(0, 5000 * MS);
        assert_eq!(length_ns(&mut slices), 200 * MS, "a longer one would have a pause of more than 10 s");
        (0..200).for_each(|_| slices.pauses(0, 0));
        assert_eq!(length_ns(&mut slices), SHORTEST_NS);
    }

    #[test]
    fn busy_and_quiet_times_are_traced_alike() {
        let mut slices = Slices::new(0.01, 0);
        let mut parts = [Vec::new(), Vec::new()];
        for round in 0..20 {
            for (busy, spent_ns) in [(1, 8 * MS), (0, 10_000)] {
                for _ in 0..4 {
                    if round > 0 {
                        parts[busy].push(slices.part());
                    }
                    slices.spent(50 * MS, spent_ns);
                }
            }
        }
        let [quiet, busy] = parts.map(|parts| parts.iter().sum::<f64>() / parts.len() as f64);
        assert!((quiet / busy - 1.0).abs() < 0.2, "{quiet} of quiet times, {busy} of busy ones");
    }
}
