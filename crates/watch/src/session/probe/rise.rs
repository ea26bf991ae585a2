//! Decides whether the application's reads or syncs take longer in the seconds of a probe than in the others.
//!
//! The 99th percentile of the others is the measure: one operation in a hundred is longer by itself. Where both are alike, a
//! handful of operations beyond it are chance, and so is a percentile of few; so it must be clearly more.

use halfpower_record::{Latency, ProbeStop};

/// Operations on each side, from which they are compared.
const FEWEST: u64 = 30;
/// Operations that take longer than the 99th percentile of the others by this factor: at least so many, and this share.
const LONGER: f64 = 1.1;
const LEAST: u64 = 8;
const SHARE: f64 = 0.03;

/// Reads, and syncs.
pub(crate) type Seen = [Latency; 2];

/// What the application's operations took in seconds that are over.
#[derive(Debug, Default)]
pub(crate) struct Rise {
    during: Seen,
    without: Seen,
}

impl Rise {
    /// A second is over, in which the probe sent requests or not.
    pub(crate) fn add(&mut self, probed: bool, second: &Seen) {
        let side = if probed { &mut self.during } else { &mut self.without };
        side.iter_mut().zip(second).for_each(|(all, more)| all.merge(more));
    }

    /// Whether enough is known without the probe for a rise to be seen.
    pub(crate) fn is_known(&self) -> bool {
        self.without.iter().any(|latency| latency.count() >= FEWEST)
    }

    /// Why the probe must stop, with what a probed second that goes on has so far.
    pub(crate) fn stop(&self, so_far: &Seen) -> Option<ProbeStop> {
        let rose = |which: usize| {
            let mut during = self.during[which].clone();
            during.merge(&so_far[which]);
            has_risen(&during, &self.without[which])
        };
        match (rose(0), rose(1)) {
            (true, _) => Some(ProbeStop::ReadsSlower),
            (_, true) => Some(ProbeStop::SyncsSlower),
            _ => None,
        }
    }
}

fn has_risen(during: &Latency, without: &Latency) -> bool {
    if during.count() < FEWEST || without.count() < FEWEST {
        return false;
    }
    let bound_ns = (without.quantile_ns(0.99) as f64 * LONGER) as u64;
    let beyond: u64 =
        during.buckets().filter(|(lowest_ns, _, _)| *lowest_ns > bound_ns).map(|(_, _, count)| count).sum();
    beyond >= LEAST && beyond as f64 >= SHARE * during.count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many latencies of 100 µs, and so many of this length.
    fn of(count: u64, long: u64, long_ns: u64) -> Latency {
        let mut latency = Latency::default();
        (0..count).for_each(|_| latency.add(100_000));
        (0..long).for_each(|_| latency.add(long_ns));
        latency
    }

    fn judged(during: Seen, without: Seen) -> Option<ProbeStop> {
        let mut rise = Rise::default();
        rise.add(false, &without);
        rise.add(true, &during);
        rise.stop(&Seen::default())
    }

    #[test]
    fn longer_reads_or_syncs_stop_it() {
        let quiet = || [of(990, 10, 400_000), of(99, 1, 3_000_000)];
        assert_eq!(judged([of(900, 100, 900_000), Latency::default()], quiet()), Some(ProbeStop::ReadsSlower));
        assert_eq!(judged([of(990, 10, 400_000), of(80, 20, 9_000_000)], quiet()), Some(ProbeStop::SyncsSlower));
    }

    #[test]
    fn what_is_alike_or_too_few_stops_nothing() {
        let quiet = || [of(990, 10, 400_000), of(99, 1, 3_000_000)];
        assert_eq!(judged(quiet(), quiet()), None);
        assert_eq!(judged([of(988, 12, 420_000), of(98, 2, 9_000_000)], quiet()), None, "chance");
        assert_eq!(judged([of(20, 9, 900_000), Latency::default()], quiet()), None, "29 reads");
        assert_eq!(judged([of(900, 100, 900_000), Latency::default()], [of(20, 0, 0), Latency::default()]), None);
        assert!(judged([of(900, 100, 105_000), Latency::default()], [of(1000, 0, 0), Latency::default()]).is_none());
    }

    #[test]
    fn a_rise_is_seen_within_the_second() {
        let mut rise = Rise::default();
        assert!(!rise.is_known());
        rise.add(false, &[of(200, 0, 0), Latency::default()]);
        rise.add(true, &[of(50, 0, 0), Latency::default()]);
        assert!(rise.is_known());
        assert_eq!(rise.stop(&Seen::default()), None);
        assert_eq!(rise.stop(&[of(0, 10, 800_000), Latency::default()]), Some(ProbeStop::ReadsSlower));
    }
}
