//! Describes how much a thread moves before its run ends: bytes, or a share of the bytes in use.

use std::fmt;
use std::str::FromStr;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, ParseError};

/// Largest share in percent: a million passes.
const MOST_PERCENT: u32 = 100_000_000;

/// How much each thread moves before a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum IoSize {
    /// These bytes.
    Bytes(Bytes),
    /// This share of the bytes in use, in percent; 200 is two passes.
    Percent(u32),
}

impl IoSize {
    /// The bytes that this is if `used` bytes are in use, at least one.
    pub fn of(self, used: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.0,
            Self::Percent(percent) => {
                let bytes = u128::from(used) * u128::from(percent) / 100;
                u64::try_from(bytes).unwrap_or(u64::MAX).max(1)
            }
        }
    }
}

/// A size such as `1GiB`, or a share such as `100%`.
impl FromStr for IoSize {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let Some(share) = text.strip_suffix('%') else {
            return match text.parse()? {
                Bytes(0) => Err(ParseError::new(text, 0, "nothing would be moved: write a size such as 1GiB, or 100%")),
                bytes => Ok(Self::Bytes(bytes)),
            };
        };
        match share.parse() {
            Ok(percent) if (1..=MOST_PERCENT).contains(&percent) => Ok(Self::Percent(percent)),
            _ => Err(ParseError::new(text, 0, "write a whole share of the bytes in use, such as 100%")),
        }
    }
}

impl fmt::Display for IoSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl TryFrom<String> for IoSize {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<IoSize> for String {
    fn from(size: IoSize) -> Self {
        size.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shares_are_read_back() {
        for (text, used, bytes) in [("1GiB", 5, 1 << 30), ("100%", 4096, 4096), ("250%", 4096, 10240), ("1%", 5, 1)] {
            let size: IoSize = text.parse().unwrap();
            assert_eq!((size.to_string().as_str(), size.of(used)), (text, bytes));
        }
        assert_eq!(IoSize::Percent(200).of(u64::MAX), u64::MAX);
        for text in ["0", "0%", "-1%", "1.5%", "%", "", "many"] {
            assert!(text.parse::<IoSize>().is_err(), "{text}");
        }
    }
}
