//! Counts the requests of a probe, chooses each, and ends it within its bounds or by what its own requests take.

use halfpower_record::{Latency, ProbeStop};

/// Requests in all.
pub(crate) const MOST_REQUESTS: u64 = 200;
/// Looks for a moment in which the disk has nothing to do.
const MOST_LOOKS: u64 = 10_000;
/// A request that takes so many times as long as their median ends the probe, from so many of its size on.
const MUCH_LONGER: u64 = 10;
const FEWEST: u64 = 10;
/// Steps of a sequence whose fractions are spread evenly: 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// Index of its size.
    which: usize,
    pub(crate) bytes: u64,
    pub(crate) offset: u64,
}

/// The requests of a probe.
#[derive(Debug)]
pub(crate) struct Requests {
    /// Bytes of the place that is read.
    of_bytes: u64,
    /// Where the offsets begin.
    seed: u64,
    sent: u64,
    looks: u64,
    latency: Vec<(u64, Latency)>,
    stopped: Option<ProbeStop>,
}

impl Requests {
    /// Requests of these sizes in turn, at offsets below `of_bytes`.
    pub(crate) fn new(sizes: &[u64], of_bytes: u64, seed: u64) -> Self {
        let latency = sizes.iter().map(|size| (*size, Latency::default())).collect();
        Self { of_bytes, seed, sent: 0, looks: 0, latency, stopped: None }
    }

    /// Whether no more are sent.
    pub(crate) fn are_over(&self) -> bool {
        self.stopped.is_some() || self.sent >= MOST_REQUESTS
    }

    /// The disk was looked at, and had something to do.
    pub(crate) fn was_busy(&mut self) {
        self.looks += 1;
        if self.looks >= MOST_LOOKS {
            self.stop(ProbeStop::NeverIdle);
        }
    }

    /// The next one, which counts as sent; `None` if none is sent any more.
    pub(crate) fn choose(&mut self) -> Option<Request> {
        if self.are_over() {
            return None;
        }
        let which = self.sent as usize % self.latency.len();
        let (bytes, _) = self.latency[which];
        let place = self.seed.wrapping_add(self.sent.wrapping_mul(STEP));
        let blocks = u128::from(self.of_bytes / bytes);
        let block = (u128::from(place) * blocks) >> 64;
        self.sent += 1;
        Some(Request { which, bytes, offset: block as u64 * bytes })
    }

    /// A request is done: what it took in nanoseconds, or `None` if no disk was asked.
    pub(crate) fn took(&mut self, request: Request, took_ns: Option<u64>) {
        let Some(took_ns) = took_ns else { return };
        let (_, latency) = &mut self.latency[request.which];
        let is_much = latency.count() >= FEWEST && took_ns > latency.quantile_ns(0.5).saturating_mul(MUCH_LONGER);
        latency.add(took_ns);
        if is_much {
            self.stop(ProbeStop::OwnSlower);
        }
    }

    /// Sends no more, for this reason; the first one is kept.
    pub(crate) fn stop(&mut self, why: ProbeStop) {
        if !self.are_over() {
            self.stopped = Some(why);
        }
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    pub(crate) fn latency(&self) -> &[(u64, Latency)] {
        &self.latency
    }

    pub(crate) fn stopped(&self) -> Option<ProbeStop> {
        self.stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sizes: &[u64], bytes: u64) -> Requests {
        Requests::new(sizes, bytes, 7)
    }

    #[test]
    fn there_is_an_end_to_them_and_each_lies_within_the_file() {
        let mut requests = of(&[4096, 8192], (1 << 20) + 100);
        let mut offsets = Vec::new();
        while let Some(request) = requests.choose() {
            assert!(
                request.offset.is_multiple_of(request.bytes) && request.offset + request.bytes <= 1 << 20,
                "{request:?}"
            );
            offsets.push((request.bytes, request.offset));
            requests.took(request, Some(100_000));
        }
        assert_eq!((offsets.len() as u64, requests.sent(), requests.stopped()), (MOST_REQUESTS, MOST_REQUESTS, None));
        assert!(requests.latency().iter().all(|(_, latency)| latency.count() == MOST_REQUESTS / 2));
        offsets.sort_unstable();
        offsets.dedup();
        assert!(offsets.len() > 100, "they are spread: {}", offsets.len());
        requests.stop(ProbeStop::ReadsSlower);
        assert_eq!(requests.stopped(), None, "it was over before");
    }

    #[test]
    fn one_that_takes_ten_times_as_long_as_the_others_is_the_last() {
        let mut requests = of(&[4096], 1 << 30);
        for _ in 0..FEWEST {
            let request = requests.choose().unwrap();
            requests.took(request, Some(100_000));
        }
        let request = requests.choose().unwrap();
        requests.took(request, Some(900_000));
        assert_eq!(requests.stopped(), None, "nine times as long is not enough");
        let request = requests.choose().unwrap();
        requests.took(request, Some(1_100_000));
        assert_eq!((requests.stopped(), requests.choose()), (Some(ProbeStop::OwnSlower), None));
        assert_eq!(requests.latency()[0].1.count(), FEWEST + 2, "it counts");
        // The first ones tell no median.
        let mut few = of(&[4096], 1 << 30);
        for took_ns in [100_000, 5_000_000] {
            let request = few.choose().unwrap();
            few.took(request, Some(took_ns));
        }
        assert_eq!(few.stopped(), None);
    }

    #[test]
    fn a_disk_that_is_never_idle_ends_it() {
        let mut requests = of(&[4096], 1 << 30);
        (0..MOST_LOOKS).for_each(|_| requests.was_busy());
        assert_eq!((requests.stopped(), requests.choose(), requests.sent()), (Some(ProbeStop::NeverIdle), None, 0));
    }

    #[test]
    fn one_that_no_disk_answered_has_no_latency_and_still_counts() {
        let mut requests = of(&[4096], 1 << 30);
        while let Some(request) = requests.choose() {
            requests.took(request, None);
        }
        assert_eq!(requests.sent(), MOST_REQUESTS);
        assert!(requests.latency()[0].1.is_empty());
    }
}
