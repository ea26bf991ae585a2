//! Counts latencies in a mergeable log-linear (HDR) histogram with exact minimum, maximum and mean.
//!
//! A [`LatencyCounter`] has a slot for every bucket, so adding is a shift and an increment. A [`Latency`] keeps only
//! the filled buckets; records use this form.

use serde::{Deserialize, Serialize};

use crate::{Join, total};

/// Each power of two has 2^7 buckets, so a value is known to better than 1/128.
const GROUPING_POWER: u32 = 7;
/// Largest distinguished value: 2^42 ns, 73 minutes; longer ones count as this.
const MAX_POWER: u32 = 42;
/// Below this, every value has its own bucket.
const LINEAR: u64 = 1 << (GROUPING_POWER + 1);
/// Total number of buckets.
const BUCKETS: usize = ((MAX_POWER - GROUPING_POWER + 1) << GROUPING_POWER) as usize;

/// Latencies in nanoseconds, as stored in records. Quantiles are exact to 1/128; minimum, maximum and mean are exact.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Latency {
    /// The filled buckets, shortest first.
    index: Vec<u32>,
    /// Number of latencies in each of these buckets.
    count: Vec<u64>,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

/// Latencies in nanoseconds while they are being counted: the form for use inside the measured window.
#[derive(Debug, Clone)]
pub struct LatencyCounter {
    buckets: Box<[u64; BUCKETS]>,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Default for LatencyCounter {
    fn default() -> Self {
        let buckets = vec![0; BUCKETS].try_into().expect("the vector has this length");
        Self { buckets, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl LatencyCounter {
    /// Adds `count` requests with the same latency, without allocation or division. The sum of all latencies must stay
    /// below 2^64 ns, which a thousand requests in flight reach after half a year.
    #[inline]
    pub fn add(&mut self, latency_ns: u64, count: u64) {
        self.buckets[index_of(latency_ns)] += count;
        self.sum_ns += latency_ns * count;
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// The sum of the latencies counted so far.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The latencies counted so far, in the form of records.
    pub fn latency(&self) -> Latency {
        // Only buckets from minimum to maximum can be filled. If nothing was counted, the minimum exceeds the maximum.
        let range = if self.min_ns > self.max_ns { 0..0 } else { index_of(self.min_ns)..index_of(self.max_ns) + 1 };
        let filled = (range.start as u32..).zip(&self.buckets[range]).filter(|(_, count)| **count > 0);
        let (index, count): (Vec<u32>, Vec<u64>) = filled.unzip();
        Latency {
            min_ns: if index.is_empty() { 0 } else { self.min_ns },
            index,
            count,
            sum_ns: self.sum_ns.into(),
            max_ns: self.max_ns,
        }
    }
}

/// The bucket of a latency. Its width is the power of two that divides the value into 2^7 to 2^8 steps.
#[inline]
fn index_of(latency_ns: u64) -> usize {
    let power = (latency_ns | (LINEAR - 1)).ilog2() - GROUPING_POWER;
    let index = (u64::from(power) << GROUPING_POWER) + (latency_ns >> power);
    (index as usize).min(BUCKETS - 1)
}

/// Lowest and highest latency of a bucket.
fn range_ns(index: u32) -> (u64, u64) {
    let power = (index >> GROUPING_POWER).saturating_sub(1);
    let steps = u64::from(index - (power << GROUPING_POWER));
    (steps << power, ((steps + 1) << power) - 1)
}

impl Join for Latency {
    fn joined(mut self, other: Self) -> Self {
        self.merge(&other);
        self
    }
}

impl Latency {
    /// Adds one latency; for more than a few, count with a [`LatencyCounter`].
    pub fn add(&mut self, latency_ns: u64) {
        let bucket = index_of(latency_ns) as u32;
        self.merge(&Self {
            index: vec![bucket],
            count: vec![1],
            sum_ns: latency_ns.into(),
            min_ns: latency_ns,
            max_ns: latency_ns,
        });
    }

    /// Latencies known only by these percentiles (in percent, with their latencies), both ends and the mean. All
    /// latencies between two percentiles get the value of the upper one. If the figures contradict each other, later
    /// ones are adjusted.
    pub fn of_percentiles(count: u64, ends_ns: [u64; 2], mean_ns: f64, percentiles: &[(f64, u64)]) -> Self {
        let rank = |percent: f64| ((percent / 100.0 * count as f64).ceil() as u64).min(count);
        let steps = percentiles.iter().map(|(percent, value_ns)| (rank(*percent), *value_ns));
        Self::of_steps(count, ends_ns, mean_ns, steps)
    }

    /// Latencies that another tool counted: bins (latency, count), both ends and the mean.
    pub fn of_bins(bins: &[(u64, u64)], ends_ns: [u64; 2], mean_ns: f64) -> Self {
        let mut rising: Vec<(u64, u64)> = bins.to_vec();
        rising.sort_unstable();
        let total = rising.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        let steps = rising.iter().scan(0_u64, |below, (value_ns, count)| {
            *below = below.saturating_add(*count);
            Some((*below, *value_ns))
        });
        Self::of_steps(total, ends_ns, mean_ns, steps)
    }

    /// Latencies from steps (rank, latency): up to each rank all have that latency; the ends are exact.
    fn of_steps(count: u64, ends_ns: [u64; 2], mean_ns: f64, steps: impl Iterator<Item = (u64, u64)>) -> Self {
        if count == 0 {
            return Self::default();
        }
        let [min_ns, max_ns] = [ends_ns[0], ends_ns[1].max(ends_ns[0])];
        let mut counter = LatencyCounter { min_ns, max_ns, ..LatencyCounter::default() };
        let mut below = 0;
        let between = steps.map(|(rank, value_ns)| (rank.min(count - 1), value_ns.clamp(min_ns, max_ns)));
        for (rank, value_ns) in std::iter::once((1, min_ns)).chain(between).chain([(count, max_ns)]) {
            let more = rank.saturating_sub(below);
            counter.buckets[index_of(value_ns)] += more;
            below += more;
        }
        let whole = |ns: u64| u128::from(ns) * u128::from(count);
        let sum_ns = ((mean_ns * count as f64).round() as u128).clamp(whole(min_ns), whole(max_ns));
        Self { sum_ns, min_ns, max_ns, ..counter.latency() }
    }

    /// Adds everything that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        if other.index.is_empty() {
            return;
        }
        self.min_ns = if self.index.is_empty() { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
        for (bucket, count) in other.index.iter().zip(&other.count) {
            match self.index.binary_search(bucket) {
                Ok(at) => self.count[at] += count,
                Err(at) => {
                    self.index.insert(at, *bucket);
                    self.count.insert(at, *count);
                }
            }
        }
    }

    /// The same with each latency counted as often as its weight says, which is at least 1; `sum_ns` is the sum of all then.
    /// The number of all is rounded, and not that of each bucket.
    pub fn weighted(&self, sum_ns: u128, weight: impl Fn(u64) -> f64) -> Self {
        let mut exact = 0.0;
        let mut rounded = 0;
        let count = self.buckets().map(|(lowest_ns, _, count)| {
            exact += count as f64 * weight(lowest_ns);
            let count = exact.round() as u64 - rounded;
            rounded += count;
            count
        });
        let count: Vec<u64> = count.collect();
        let all = u128::from(rounded);
        let sum_ns = sum_ns.clamp(u128::from(self.min_ns) * all, u128::from(self.max_ns) * all);
        Self { count, sum_ns, ..self.clone() }
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Number of latencies.
    pub fn count(&self) -> u64 {
        total(self.count.iter().copied())
    }

    /// Their sum in nanoseconds; divided by the elapsed time it is the mean depth (Little's law).
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The shortest latency; 0 if there is none.
    pub fn min_ns(&self) -> u64 {
        self.min_ns
    }

    /// The longest latency; 0 if there is none.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The mean; 0 if there is none.
    pub fn mean_ns(&self) -> f64 {
        let count = self.count();
        if count == 0 { 0.0 } else { self.sum_ns as f64 / count as f64 }
    }

    /// The standard deviation, computed from the middle of each bucket; 0 if there is none.
    pub fn deviation_ns(&self) -> f64 {
        let mean = self.mean_ns();
        let squares: f64 = self
            .buckets()
            .map(|(low, high, count)| count as f64 * ((low as f64 + high as f64) / 2.0 - mean).powi(2))
            .sum();
        (squares / self.count().max(1) as f64).sqrt()
    }

    /// The latency that a share `quantile` (0 to 1) of all does not exceed: the end of the bucket that holds the
    /// nearest rank; 0 if there is none.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        let rank = ((quantile * self.count() as f64).ceil() as u64).max(1);
        let mut below = 0;
        let found = self.buckets().find(|(_, _, count)| {
            below += count;
            below >= rank
        });
        found.map_or(self.max_ns, |(_, end, _)| end.clamp(self.min_ns, self.max_ns))
    }

    /// The filled buckets, shortest first: lowest and highest latency in nanoseconds, and how many.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.index.iter().zip(&self.count).map(|(index, count)| {
            let (lowest_ns, highest_ns) = range_ns(*index);
            (lowest_ns, highest_ns, *count)
        })
    }
}

/// The stored form, not yet checked.
#[derive(Deserialize)]
struct Stored {
    index: Vec<u32>,
    count: Vec<u64>,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl TryFrom<Stored> for Latency {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let Stored { index, count, sum_ns, min_ns, max_ns } = stored;
        let rises = index.windows(2).all(|pair| pair[0] < pair[1]);
        if index.len() != count.len() || !rises || count.contains(&0) {
            return Err("the buckets of a latency histogram do not rise one by one");
        }
        let total = count.iter().try_fold(0_u64, |total, count| total.checked_add(*count));
        let total = u128::from(total.ok_or("a latency histogram counts more than 2^64 requests")?);
        let first = index.first().copied();
        let last = index.last().copied();
        let of = |latency_ns: u64| Some(index_of(latency_ns) as u32);
        let ends = if first.is_none() { (min_ns, max_ns) == (0, 0) } else { of(min_ns) == first && of(max_ns) == last };
        if min_ns > max_ns || !ends {
            return Err("the shortest or the longest latency lies outside the histogram's buckets");
        }
        if !(u128::from(min_ns) * total..=u128::from(max_ns) * total).contains(&sum_ns) {
            return Err("the mean latency lies outside the shortest and the longest");
        }
        Ok(Self { index, count, sum_ns, min_ns, max_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Latency {
        let mut counter = LatencyCounter::default();
        values.into_iter().for_each(|value| counter.add(value, 1));
        counter.latency()
    }

    #[test]
    fn every_latency_lies_in_its_bucket_and_buckets_leave_no_gap() {
        let mut next_ns = 0;
        for index in 0..BUCKETS as u32 {
            let (lowest_ns, highest_ns) = range_ns(index);
            assert_eq!(lowest_ns, next_ns, "bucket {index}");
            assert_eq!((index_of(lowest_ns), index_of(highest_ns)), (index as usize, index as usize));
            assert!((highest_ns - lowest_ns) as f64 <= lowest_ns as f64 / 128.0, "bucket {index} is too wide");
            next_ns = highest_ns + 1;
        }
        assert_eq!(next_ns, 1 << MAX_POWER);
        assert_eq!(index_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_right_to_one_part_in_128() {
        let latency = of(1..=100_000);
        for quantile in [0.5, 0.9, 0.99, 0.999] {
            let exact = quantile * 100_000.0;
            let found = latency.quantile_ns(quantile) as f64;
            assert!((found / exact - 1.0).abs() < 1.0 / 128.0, "{quantile}: {found}");
        }
        assert_eq!((latency.quantile_ns(0.0), latency.quantile_ns(1.0)), (1, 100_000));
        assert_eq!((latency.min_ns(), latency.max_ns(), latency.mean_ns()), (1, 100_000, 50_000.5));
        assert_eq!((latency.count(), of([]).quantile_ns(0.5)), (100_000, 0));
    }

    #[test]
    fn adding_many_at_once_is_adding_each() {
        let mut counter = LatencyCounter::default();
        counter.add(300, 3);
        counter.add(7, 1);
        assert_eq!(counter.latency(), of([300, 300, 7, 300]));
    }

    #[test]
    fn weights_count_a_latency_several_times() {
        let seen = of([100, 100, 100, 5000, 5000, 90_000]);
        let weighted = seen.weighted(200_000, |ns| if ns < 1000 { 1.0 } else { 1.4 });
        let counts: Vec<u64> = weighted.buckets().map(|(_, _, count)| count).collect();
        assert_eq!((counts, weighted.count(), weighted.sum_ns()), (vec![3, 3, 1], 7, 200_000));
        assert_eq!(seen.weighted(seen.sum_ns(), |_| 1.0), seen);
        assert_eq!(seen.weighted(u128::MAX, |_| 1.0).sum_ns(), 540_000, "no more than all could have taken");
        assert_eq!(Latency::default().weighted(5, |_| 2.0), Latency::default());
    }

    #[test]
    fn what_another_tool_listed_comes_back_at_what_it_listed() {
        let listed = [(50.0, 70_144), (99.0, 929_792), (99.9, 4_554_752)];
        let latency = Latency::of_percentiles(15_225, [33_933, 8_492_598], 124_873.7, &listed);
        for (percent, ns) in listed {
            let found = latency.quantile_ns(percent / 100.0) as f64;
            assert!((found / ns as f64 - 1.0).abs() < 1.0 / 128.0, "p{percent}: {found}");
        }
        assert_eq!((latency.count(), latency.min_ns(), latency.max_ns()), (15_225, 33_933, 8_492_598));
        assert!((latency.mean_ns() - 124_873.7).abs() < 0.1);
        let bins = Latency::of_bins(&[(900, 2), (100, 7), (500, 1)], [100, 900], 280.0);
        assert_eq!((bins.count(), bins.quantile_ns(0.7), bins.quantile_ns(0.71)), (10, 100, 501));
        // Contradicting figures still give a histogram that a study file accepts.
        let bent = [
            Latency::of_percentiles(3, [50, 10], 1e300, &[(99.0, 5), (50.0, 90), (10.0, 7)]),
            Latency::of_percentiles(1, [9, 9], f64::NAN, &[]),
            Latency::of_percentiles(0, [1, 2], 1.0, &[(50.0, 1)]),
        ];
        for latency in bent {
            let text = serde_json::to_string(&latency).unwrap();
            assert_eq!(serde_json::from_str::<Latency>(&text).unwrap(), latency);
        }
    }

    #[test]
    fn merging_is_adding_both() {
        let mut left = of([10, 20, 5_000_000]);
        left.merge(&of([7, 90_000, 20]));
        left.merge(&of([]));
        assert_eq!(left, of([10, 20, 5_000_000, 7, 90_000, 20]));
        let mut one_by_one = Latency::default();
        [90_000, 20, 7, 5_000_000, 20, 10].into_iter().for_each(|value| one_by_one.add(value));
        assert_eq!(left, one_by_one);
    }

    #[test]
    fn what_is_stored_comes_back() {
        for latency in [of([]), of([0, 3, 1 << 50]), of((0..1000).map(|i| i * i))] {
            let text = serde_json::to_string(&latency).unwrap();
            assert_eq!(serde_json::from_str::<Latency>(&text).unwrap(), latency);
        }
    }

    #[test]
    fn a_histogram_that_contradicts_itself_is_refused() {
        let stored = |min_ns: u64, max_ns: u64, sum_ns: u64, count: u64| {
            let text = format!(
                r#"{{"index":[255,512],"count":[1,{count}],"sum_ns":{sum_ns},"min_ns":{min_ns},"max_ns":{max_ns}}}"#
            );
            serde_json::from_str::<Latency>(&text)
        };
        assert!(stored(255, 1027, 1280, 1).is_ok());
        assert!(stored(1027, 255, 1280, 1).is_err());
        assert!(stored(254, 1027, 1280, 1).is_err());
        assert!(stored(255, 2000, 1280, 1).is_err());
        assert!(stored(255, 1027, 400, 1).is_err());
        assert!(stored(255, 1027, 1280, 0).is_err());
        assert!(stored(255, 1027, 1280, u64::MAX).is_err());
        assert!(
            serde_json::from_str::<Latency>(r#"{"index":[],"count":[],"sum_ns":0,"min_ns":9,"max_ns":1}"#).is_err()
        );
    }

    #[test]
    fn what_no_histogram_stores_is_refused() {
        for (index, count) in [("[1, 2]", "[1]"), ("[2, 1]", "[1, 1]"), ("[1, 1]", "[1, 1]"), ("[4608]", "[1]")] {
            let text = format!(r#"{{"index":{index},"count":{count},"sum_ns":3,"min_ns":1,"max_ns":2}}"#);
            assert!(serde_json::from_str::<Latency>(&text).is_err(), "{text}");
        }
    }

    /// Bucket numbers in files of older versions keep their meaning: bucket 383 is 510 to 511 ns.
    #[test]
    fn the_stored_numbers_of_buckets_stay_what_they_are() {
        let text = r#"{"index":[255,256,383,384],"count":[1,1,1,1],"sum_ns":1535,"min_ns":255,"max_ns":513}"#;
        let latency: Latency = serde_json::from_str(text).unwrap();
        let buckets: Vec<_> = latency.buckets().map(|(lowest, highest, _)| (lowest, highest)).collect();
        assert_eq!(buckets, [(255, 255), (256, 257), (510, 511), (512, 515)]);
        assert_eq!(of([255, 256, 511, 513]), latency);
    }
}
