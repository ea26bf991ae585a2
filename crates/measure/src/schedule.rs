//! Computes the times at which the requests of an open loop arrive.

use halfpower_spec::{Arrival, Arrivals, Nanos};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// The stream of arrivals of one lane, from its first submission on.
#[derive(Clone)]
pub(crate) struct Schedule {
    /// The next arrival, in nanoseconds from the start; a fraction, so that rounding does not add up.
    next_ns: f64,
    mean_gap_ns: f64,
    arrivals: Arrivals,
    /// Requests that arrive at each instant, and those of the next one that are still to come.
    together: u32,
    left: u32,
    random: Xoshiro256PlusPlus,
    start: Nanos,
    /// Number of arrivals taken so far.
    pub taken: u64,
}

/// Overdue arrivals that are counted one by one; those beyond are as many as their mean distance says.
const MOST_COUNTED: u64 = 1 << 20;

impl Schedule {
    pub(crate) fn new(arrival: Arrival, seed: u64) -> Self {
        let mean_gap_ns = 1e9 / arrival.iops as f64;
        // Offsets use the seed itself, so arrivals need another one.
        let random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x6172_7269_7661_6c73);
        let arrivals = arrival.arrivals;
        Self { next_ns: 0.0, mean_gap_ns, arrivals, together: 1, left: 1, random, start: Nanos(0), taken: 0 }
    }

    /// The arrivals of so many threads, each at this rate: at equal distances all come together, and arrivals by chance add up
    /// to such arrivals.
    pub(crate) fn of_threads(self, threads: u32) -> Self {
        match self.arrivals {
            Arrivals::Fixed => Self { together: threads, left: threads, ..self },
            Arrivals::Poisson => Self { mean_gap_ns: self.mean_gap_ns / f64::from(threads), ..self },
        }
    }

    /// Starts the schedule at `start`.
    pub(crate) fn begin(&mut self, start: Nanos) {
        self.start = start;
    }

    /// When the next request should be submitted.
    pub(crate) fn next(&self) -> Nanos {
        Nanos(self.start.0 + self.next_ns as u64)
    }

    /// Replaces `intended` with the arrivals due up to `now`, at most `most`.
    pub(crate) fn take_due(&mut self, now: Nanos, most: usize, intended: &mut Vec<Nanos>) {
        intended.clear();
        while intended.len() < most && self.next() <= now {
            intended.push(self.next());
            self.advance();
        }
        self.taken += intended.len() as u64;
    }

    /// Removes the arrivals due up to `now` that were not taken; returns their number, and the time that they have waited
    /// since, all together.
    pub(crate) fn overdue(&mut self, now: Nanos) -> (u64, i128) {
        let mut count = 0;
        let mut waited_ns = 0;
        while self.next() <= now && count < MOST_COUNTED {
            waited_ns += i128::from(now.0 - self.next().0);
            self.advance();
            count += 1;
        }
        if self.next() > now {
            return (count, waited_ns);
        }
        // Billions may be due, as many as were asked for, and they came evenly until now.
        let behind_ns = now.0 - self.next().0;
        let instants = (behind_ns as f64 / self.mean_gap_ns) as u64;
        let more = u64::from(self.left).saturating_add(instants.saturating_mul(u64::from(self.together)));
        (count + more, waited_ns + i128::from(more) * i128::from(behind_ns) / 2)
    }

    fn advance(&mut self) {
        if self.left > 1 {
            self.left -= 1;
            return;
        }
        self.left = self.together;
        self.next_ns += match self.arrivals {
            Arrivals::Fixed => self.mean_gap_ns,
            // The inverse of the exponential distribution function at a uniform number above 0.
            Arrivals::Poisson => {
                let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                -uniform.ln() * self.mean_gap_ns
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(arrivals: Arrivals, iops: u64, until: u64) -> Vec<u64> {
        let mut schedule = Schedule::new(Arrival { iops, arrivals }, 7);
        schedule.begin(Nanos(1_000));
        let mut intended = Vec::new();
        schedule.take_due(Nanos(1_000 + until), usize::MAX, &mut intended);
        intended.iter().map(|at| at.0 - 1_000).collect()
    }

    #[test]
    fn fixed_arrivals_keep_their_distance_and_do_not_drift() {
        let at = arrivals(Arrivals::Fixed, 3, 1_000_000_000_000);
        assert_eq!(at[..4], [0, 333_333_333, 666_666_666, 1_000_000_000]);
        assert_eq!(at.len(), 3_001);
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_its_spread() {
        let at = arrivals(Arrivals::Poisson, 1_000, 100_000_000_000);
        assert!((at.len() as f64 / 100_000.0 - 1.0).abs() < 0.02, "{}", at.len());
        let gaps: Vec<f64> = at.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "an exponential deviates by its mean");
    }

    #[test]
    fn what_was_not_taken_is_overdue() {
        let mut schedule = Schedule::new(Arrival { iops: 1_000, arrivals: Arrivals::Fixed }, 1);
        let mut intended = Vec::new();
        schedule.take_due(Nanos(10_000_000), 4, &mut intended);
        assert_eq!((intended.len(), schedule.overdue(Nanos(10_000_000))), (4, (7, 21_000_000)));
    }

    #[test]
    fn threads_together_have_as_many_arrivals_as_each_of_them() {
        let until = Nanos(999_500_000);
        for (arrivals, most_off) in [(Arrivals::Fixed, 0), (Arrivals::Poisson, 300)] {
            let mut schedule = Schedule::new(Arrival { iops: 999, arrivals }, 7).of_threads(4);
            let mut intended = Vec::new();
            schedule.take_due(until, usize::MAX, &mut intended);
            assert!(intended.len().abs_diff(4 * 999) <= most_off, "{arrivals}: {}", intended.len());
        }
        let mut schedule = Schedule::new(Arrival { iops: 1_000, arrivals: Arrivals::Fixed }, 1).of_threads(3);
        let mut intended = Vec::new();
        schedule.take_due(Nanos(1_000_000), 5, &mut intended);
        assert_eq!(intended, [0, 0, 0, 1_000_000, 1_000_000].map(Nanos));
        assert_eq!(schedule.overdue(Nanos(2_000_000)), (1 + 3, 1_000_000));
    }

    #[test]
    fn billions_of_overdue_requests_are_told_at_once() {
        let day = Nanos(86_400_000_000_000);
        for arrivals in [Arrivals::Fixed, Arrivals::Poisson] {
            let mut schedule = Schedule::new(Arrival { iops: 1_000_000_000, arrivals }, 1);
            let (overdue, waited_ns) = schedule.overdue(day);
            assert!((overdue as f64 / day.0 as f64 - 1.0).abs() < 1e-6, "{arrivals}: {overdue}");
            let half_a_day = waited_ns as f64 / overdue as f64 / day.0 as f64;
            assert!((half_a_day - 0.5).abs() < 1e-6, "{arrivals}: {half_a_day}");
        }
        let mut threads = Schedule::new(Arrival { iops: 1_000_000, arrivals: Arrivals::Fixed }, 1).of_threads(3);
        assert_eq!(threads.overdue(Nanos(1_000_000_000)).0, 3 * 1_000_001);
    }
}
