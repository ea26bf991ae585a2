//! Describes a bound on latency, and the percentile of the requests that must stay below it.

use std::fmt;
use std::str::FromStr;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Nanos, ParseError};

words! {
    /// A percentile of latency.
    Percentile, "percentile":
    /// The median: half of the requests are as fast.
    P50 = "p50",
    /// 99 of 100 requests are as fast.
    P99 = "p99",
    /// 999 of 1,000 requests are as fast.
    P999 = "p999",
}

impl Percentile {
    /// The share of the requests that are as fast.
    pub fn share(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P99 => 0.99,
            Self::P999 => 0.999,
        }
    }

    /// Its name in sentences: `p99.9`.
    pub fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
        }
    }
}

/// A bound below which a percentile of latency must stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyBound {
    /// The percentile.
    pub percentile: Percentile,
    /// The latency that it must stay below.
    pub most: Nanos,
}

/// The bound as its flag: `--p99 1ms`.
impl fmt::Display for LatencyBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{} {}", self.percentile, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_written_as_its_flag() {
        let bound = LatencyBound { percentile: Percentile::P999, most: Nanos(1_000_000) };
        assert_eq!((bound.to_string().as_str(), bound.percentile.name()), ("--p999 1ms", "p99.9"));
        assert!(Percentile::ALL.iter().all(|one| one.share() > 0.0 && one.share() < 1.0));
    }
}
