//! Describes the distribution of random requests over blocks: even, skewed to some blocks, or with shares for zones.

use std::fmt;
use std::str::FromStr;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ParseError, Zones};

/// Parameters are kept in thousandths.
const PARTS: f64 = 1000.0;
/// Largest parameter of a Zipf distribution; even far below it, nearly all requests go to one block.
const MOST_ZIPF: f64 = 10.0;
/// What may be written.
const KINDS: &str = "write random, shuffled, zipf:1.2, pareto:0.2, zoned:90/10:10/90 or zoned_abs:90/1GiB:10/9GiB";

/// How random requests are distributed over blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum RandomDistribution {
    /// All blocks equally often.
    #[default]
    Even,
    /// Every block once, in no order, before one comes again.
    Shuffled,
    /// The frequency of the k-th block is proportional to 1 / k^s (Zipf); s in thousandths.
    Zipf(u32),
    /// A share h of the blocks gets the share 1 - h of the requests, and so on within that share (Pareto); h in
    /// thousandths.
    Pareto(u32),
    /// Zones one after the other, each with its share of the requests; within a zone, all blocks equally often.
    Zoned(Zones),
}

impl RandomDistribution {
    /// Whether some blocks come more often than others.
    pub fn is_skewed(self) -> bool {
        matches!(self, Self::Zipf(_) | Self::Pareto(_) | Self::Zoned(_))
    }

    /// The parameter s or h; 0 for the others, which have none.
    pub fn parameter(self) -> f64 {
        match self {
            Self::Even | Self::Shuffled | Self::Zoned(_) => 0.0,
            Self::Zipf(parts) | Self::Pareto(parts) => f64::from(parts) / PARTS,
        }
    }
}

/// fio's syntax: `random`, `zipf:1.2`, `pareto:0.2`, `zoned:90/10:10/90` or `zoned_abs:90/1GiB:10/9GiB`; and `shuffled`, which is fio's random map.
impl FromStr for RandomDistribution {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text == "random" {
            return Ok(Self::Even);
        }
        if text == "shuffled" {
            return Ok(Self::Shuffled);
        }
        let (kind, parameter) = text.split_once(':').unwrap_or((text, ""));
        let at = kind.len() + 1;
        if let ("zoned" | "zoned_abs", false) = (kind, parameter.is_empty()) {
            return Zones::parse(text, at, kind == "zoned_abs").map(Self::Zoned);
        }
        let number: f64 = match (parameter, kind) {
            ("", "zipf") => 1.1,
            ("", "pareto") => 0.2,
            (number, _) => number.parse().unwrap_or(f64::NAN),
        };
        let parts = (number * PARTS).round() as u32;
        match kind {
            "zipf" if number > 0.0 && number <= MOST_ZIPF && parts > 0 => Ok(Self::Zipf(parts)),
            "zipf" => {
                Err(ParseError::new(text, at, format!("write zipf with a number up to {MOST_ZIPF}, such as zipf:1.2")))
            }
            "pareto" if number > 0.0 && number < 1.0 && (1..1000).contains(&parts) => Ok(Self::Pareto(parts)),
            "pareto" => Err(ParseError::new(text, at, "write pareto with a share between 0 and 1, such as pareto:0.2")),
            "normal" => {
                let what = format!("{kind} is not built; {KINDS}");
                Err(ParseError::new(text, 0, what))
            }
            _ => Err(ParseError::new(text, 0, KINDS)),
        }
    }
}

impl fmt::Display for RandomDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Even => f.write_str("random"),
            Self::Shuffled => f.write_str("shuffled"),
            Self::Zipf(_) => write!(f, "zipf:{}", self.parameter()),
            Self::Pareto(_) => write!(f, "pareto:{}", self.parameter()),
            Self::Zoned(zones) => zones.fmt(f),
        }
    }
}

impl TryFrom<String> for RandomDistribution {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<RandomDistribution> for String {
    fn from(distribution: RandomDistribution) -> Self {
        distribution.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_read_back() {
        for text in [
            "random",
            "shuffled",
            "zipf:1.2",
            "zipf:0.001",
            "pareto:0.2",
            "pareto:0.999",
            "zoned:60/10:40/90",
            "zoned_abs:60/1GiB:40/",
        ] {
            assert_eq!(text.parse::<RandomDistribution>().unwrap().to_string(), text);
        }
        assert_eq!("zipf".parse(), Ok(RandomDistribution::Zipf(1100)));
        for text in ["zipf:0", "zipf:x", "zipf:11", "pareto:1", "pareto:0", "normal:5", "", "zoned:1"] {
            assert!(text.parse::<RandomDistribution>().is_err(), "{text}");
        }
    }
}
