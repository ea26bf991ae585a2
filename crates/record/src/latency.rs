//! How long did requests take? A mergeable log-linear (HDR) histogram with exact ends and an exact mean.

use histogram::{Config, Histogram, SparseHistogram};
use serde::{Deserialize, Serialize};

/// Sub-buckets of each power of two: 2^7, so a value is known to better than 1 part in 128.
const GROUPING_POWER: u8 = 7;
/// Largest value kept apart: 2^42 ns, 73 minutes; longer ones are counted there.
const MAX_POWER: u8 = 42;

/// Latencies in nanoseconds. Quantiles are exact to 1/128; minimum, maximum and mean are exact.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency {
    buckets: Histogram,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Latency {
    fn default() -> Self {
        let buckets = Histogram::new(GROUPING_POWER, MAX_POWER).expect("the powers are constants that fit");
        Self { buckets, count: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Latency {
    /// Adds one latency. No allocation, no division: this stands inside the measured window.
    #[inline]
    pub fn add(&mut self, latency_ns: u64) {
        let _ = self.buckets.increment(latency_ns.min((1 << MAX_POWER) - 1));
        self.count += 1;
        self.sum_ns += u128::from(latency_ns);
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// Adds everything that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        self.buckets = self.buckets.checked_add(&other.buckets).expect("both have the same powers");
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// How many latencies it holds.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum in nanoseconds; divided by the elapsed time it is the mean depth (Little's law).
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The shortest, 0 when there is none.
    pub fn min_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min_ns }
    }

    /// The longest, 0 when there is none.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The mean, 0 when there is none.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// The latency that a share `quantile` (0 to 1) of all stays at or below, 0 when there is none.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        let Ok(Some(found)) = self.buckets.quantiles(&[quantile]) else { return 0 };
        let bucket = found.entries().values().next().map_or(0, |bucket| bucket.end());
        bucket.clamp(self.min_ns(), self.max_ns)
    }

    /// The filled buckets, shortest first: lowest and highest latency in nanoseconds, and how many.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.buckets.iter().filter(|bucket| bucket.count() > 0).map(|b| (b.start(), b.end(), b.count()))
    }
}

/// The form it is stored in: filled buckets only.
#[derive(Serialize, Deserialize)]
struct Stored {
    index: Vec<u32>,
    count: Vec<u64>,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Serialize for Latency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sparse = SparseHistogram::from(&self.buckets);
        let stored = Stored {
            index: sparse.index().to_vec(),
            count: sparse.count().to_vec(),
            sum_ns: self.sum_ns,
            min_ns: self.min_ns(),
            max_ns: self.max_ns,
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let count = stored.count.iter().sum();
        let sparse = Config::new(GROUPING_POWER, MAX_POWER)
            .and_then(|config| SparseHistogram::from_parts(config, stored.index, stored.count))
            .map_err(|error| serde::de::Error::custom(format!("a latency histogram that is none: {error:?}")))?;
        let min_ns = if count == 0 { u64::MAX } else { stored.min_ns };
        Ok(Self { buckets: Histogram::from(&sparse), count, sum_ns: stored.sum_ns, min_ns, max_ns: stored.max_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Latency {
        let mut latency = Latency::default();
        values.into_iter().for_each(|value| latency.add(value));
        latency
    }

    #[test]
    fn quantiles_are_right_to_one_part_in_128() {
        let latency = of(1..=100_000);
        for quantile in [0.5, 0.9, 0.99, 0.999] {
            let exact = quantile * 100_000.0;
            let found = latency.quantile_ns(quantile) as f64;
            assert!((found / exact - 1.0).abs() < 1.0 / 128.0, "{quantile}: {found}");
        }
        assert_eq!((latency.min_ns(), latency.max_ns(), latency.mean_ns()), (1, 100_000, 50_000.5));
    }

    #[test]
    fn merging_is_adding_both() {
        let mut left = of([10, 20, 5_000_000]);
        left.merge(&of([7, 90_000]));
        assert_eq!(left, of([10, 20, 5_000_000, 7, 90_000]));
    }

    #[test]
    fn what_is_stored_comes_back() {
        for latency in [of([]), of([0, 3, 1 << 50]), of((0..1000).map(|i| i * i))] {
            let text = serde_json::to_string(&latency).unwrap();
            assert_eq!(serde_json::from_str::<Latency>(&text).unwrap(), latency);
        }
    }
}
