//! Tells what happened second by second.

use halfpower_record::{Latency, LatencyCounter, OperationKind, WatchedSecond};

/// A second, in nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;
/// Seconds that are told of: a day.
const MOST: u64 = 86_400;

/// What adds up over one second, also after it.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    traced_ns: u64,
    in_progress_ns: u64,
    own_bytes: u64,
    other_bytes: u64,
}

/// The seconds of a watch.
#[derive(Debug)]
pub(crate) struct Seconds {
    began_ns: u64,
    sums: Vec<Sums>,
    /// Reads, writes and syncs of the seconds that are over.
    past: Vec<[Latency; 3]>,
    /// Those of the second after them.
    now: [LatencyCounter; 3],
}

impl Seconds {
    pub(crate) fn new(began_ns: u64) -> Self {
        Self { began_ns, sums: Vec::new(), past: Vec::new(), now: Default::default() }
    }

    fn of(&self, at_ns: u64) -> u64 {
        (at_ns.saturating_sub(self.began_ns) / SECOND_NS).min(MOST - 1)
    }

    fn sums(&mut self, second: u64) -> &mut Sums {
        let at = second as usize;
        if self.sums.len() <= at {
            self.sums.resize(at + 1, Sums::default());
        }
        &mut self.sums[at]
    }

    /// Shares a time out to the seconds that it lies in.
    fn spread(&mut self, from_ns: u64, to_ns: u64, add: impl Fn(&mut Sums, u64)) {
        let mut from_ns = from_ns.max(self.began_ns);
        while from_ns < to_ns {
            let second = self.of(from_ns);
            let is_last = second == MOST - 1;
            let ends_ns = if is_last { to_ns } else { (self.began_ns + (second + 1) * SECOND_NS).min(to_ns) };
            add(self.sums(second), ends_ns - from_ns);
            from_ns = ends_ns;
        }
    }

    /// A time was traced.
    pub(crate) fn traced(&mut self, from_ns: u64, to_ns: u64) {
        self.spread(from_ns, to_ns, |sums, ns| sums.traced_ns += ns);
    }

    /// An operation was in progress.
    pub(crate) fn in_progress(&mut self, from_ns: u64, to_ns: u64) {
        self.spread(from_ns, to_ns, |sums, ns| sums.in_progress_ns += ns);
    }

    /// An operation ended.
    pub(crate) fn ended(&mut self, kind: OperationKind, at_ns: u64, latency_ns: u64) {
        let second = self.of(at_ns);
        while (self.past.len() as u64) < second {
            let now = std::mem::take(&mut self.now);
            self.past.push(now.map(|counter| counter.latency()));
        }
        let which = match kind {
            OperationKind::Read | OperationKind::FaultRead => 0,
            OperationKind::Write => 1,
            _ => 2,
        };
        self.now[which].add(latency_ns, 1);
    }

    /// A request moved bytes.
    pub(crate) fn moved(&mut self, at_ns: u64, own: bool, bytes: u64) {
        let second = self.of(at_ns);
        let sums = self.sums(second);
        match own {
            true => sums.own_bytes += bytes,
            false => sums.other_bytes += bytes,
        }
    }

    /// Latencies of the reads, the writes and the syncs that ended in a second.
    pub(crate) fn latencies(&self, second: usize) -> [Latency; 3] {
        match self.past.get(second) {
            Some(past) => past.clone(),
            None if second == self.past.len() => [0, 1, 2].map(|which: usize| self.now[which].latency()),
            None => Default::default(),
        }
    }

    /// All seconds up to a time.
    pub(crate) fn listed(&self, until_ns: u64) -> Vec<WatchedSecond> {
        let begun = |second: u64| self.began_ns + second * SECOND_NS < until_ns;
        let told = (0..MOST).take_while(|second| begun(*second)).count();
        let count = told.max(self.sums.len()).max(self.past.len());
        let one = |second: usize| {
            let sums = self.sums.get(second).copied().unwrap_or_default();
            let [reads, writes, syncs] = self.latencies(second);
            WatchedSecond {
                traced_ns: sums.traced_ns,
                reads,
                writes,
                syncs,
                depth: sums.in_progress_ns as f64 / sums.traced_ns.max(1) as f64,
                own_bytes: sums.own_bytes,
                other_bytes: sums.other_bytes,
            }
        };
        (0..count).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_has_its_share() {
        let mut seconds = Seconds::new(5 * SECOND_NS);
        seconds.traced(5 * SECOND_NS, 7 * SECOND_NS + SECOND_NS / 2);
        seconds.in_progress(5 * SECOND_NS + SECOND_NS / 2, 7 * SECOND_NS);
        seconds.ended(OperationKind::Read, 5 * SECOND_NS + 10, 10);
        seconds.ended(OperationKind::Fdatasync, 7 * SECOND_NS, 3 * SECOND_NS / 2);
        seconds.moved(6 * SECOND_NS, true, 4096);
        seconds.moved(6 * SECOND_NS, false, 512);
        let told = seconds.listed(7 * SECOND_NS + SECOND_NS / 2);
        assert_eq!(told.len(), 3);
        assert_eq!([0, 1, 2].map(|at: usize| told[at].traced_ns), [SECOND_NS, SECOND_NS, SECOND_NS / 2]);
        assert_eq!([0, 1, 2].map(|at: usize| told[at].reads.count()), [1, 0, 0]);
        assert_eq!([0, 1, 2].map(|at: usize| told[at].syncs.count()), [0, 0, 1]);
        assert!((told[0].depth - 0.5).abs() < 1e-9 && (told[1].depth - 1.0).abs() < 1e-9 && told[2].depth < 1e-9);
        assert_eq!((told[1].own_bytes, told[1].other_bytes), (4096, 512));
        for (second, told) in told.iter().enumerate() {
            assert_eq!(seconds.latencies(second), [told.reads.clone(), told.writes.clone(), told.syncs.clone()]);
        }
        assert!(seconds.latencies(9).iter().all(Latency::is_empty), "it has not come yet");
    }

    #[test]
    fn times_before_the_beginning_and_after_a_day_do_no_harm() {
        let mut seconds = Seconds::new(SECOND_NS);
        seconds.in_progress(0, SECOND_NS + 5);
        seconds.moved(0, true, 1);
        seconds.moved(u64::MAX, true, 1);
        assert_eq!(seconds.listed(2 * SECOND_NS).len() as u64, MOST);
    }
}
