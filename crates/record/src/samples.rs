//! Records requests, bytes and latencies over the time of a run.

use serde::{Deserialize, Serialize};

use crate::Join;

/// What a run of one process did in each stretch of its window, reads and writes apart.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Samples {
    /// Length of a stretch: 100 ms, or 1/4,000 of a longer window.
    pub step_ns: u64,
    /// Reads completed in each stretch; of a run that trims and writes, its trims. An incomplete last stretch is left out.
    pub reads: Vec<Sample>,
    /// All others, as many stretches.
    pub writes: Vec<Sample>,
}

/// One direction in one stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "[u64; 3]", into = "[u64; 3]")]
pub struct Sample {
    /// Requests that succeeded.
    pub ios: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// The sum of their latencies.
    pub latency_ns: u64,
}

impl From<[u64; 3]> for Sample {
    fn from([ios, bytes, latency_ns]: [u64; 3]) -> Self {
        Self { ios, bytes, latency_ns }
    }
}

impl From<Sample> for [u64; 3] {
    fn from(sample: Sample) -> Self {
        [sample.ios, sample.bytes, sample.latency_ns]
    }
}

impl Sample {
    /// Both together.
    pub fn with(self, other: Self) -> Self {
        Self {
            ios: self.ios.saturating_add(other.ios),
            bytes: self.bytes.saturating_add(other.bytes),
            latency_ns: self.latency_ns.saturating_add(other.latency_ns),
        }
    }

    /// What this has more than an earlier count.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            ios: self.ios.saturating_sub(earlier.ios),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            latency_ns: self.latency_ns.saturating_sub(earlier.latency_ns),
        }
    }
}

impl Samples {
    /// Whether nothing was sampled.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }
}

impl Join for Samples {
    /// Adds stretch by stretch; the samples end with the shorter of the two. Nothing is left of stretches of different
    /// lengths.
    fn joined(self, other: Self) -> Self {
        if self.step_ns != other.step_ns {
            return Self::default();
        }
        let both = |own: Vec<Sample>, other: Vec<Sample>| own.into_iter().zip(other).map(|(a, b)| a.with(b)).collect();
        Self { step_ns: self.step_ns, reads: both(self.reads, other.reads), writes: both(self.writes, other.writes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_add_up_and_come_back_as_they_were_kept() {
        let sample = |ios| Sample { ios, bytes: 4096 * ios, latency_ns: 1000 * ios };
        let samples = |count: u64| Samples {
            step_ns: 100,
            reads: (0..count).map(sample).collect(),
            writes: vec![Sample::default(); count as usize],
        };
        let both = samples(3).joined(samples(2));
        assert_eq!((both.reads.len(), both.reads[1]), (2, sample(2)));
        let text = serde_json::to_string(&both).unwrap();
        assert!(text.contains("[2,8192,2000]"), "{text}");
        assert_eq!(serde_json::from_str::<Samples>(&text).unwrap(), both);
        assert!(samples(1).joined(Samples { step_ns: 7, ..samples(1) }).is_empty());
    }
}
