//! Describes when a random workload jumps to another place, and goes on sequentially in between.

use std::fmt;
use std::str::FromStr;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ParseError;

/// When random requests jump; the others follow the request before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum Jump {
    /// Each time that this many requests have gone out, at least 1; 1 is every request.
    Every(u32),
    /// With this chance for each request, in percent: below 100.
    Share(u32),
}

impl Default for Jump {
    fn default() -> Self {
        Self::Every(1)
    }
}

/// A number of requests, such as `8`, or a share of them, such as `30%`.
impl FromStr for Jump {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new(text, 0, "write a number of requests such as 8, or a share of them such as 30%");
        match text.strip_suffix('%') {
            Some(share) => match share.parse().map_err(|_| wrong())? {
                100 => Ok(Self::default()),
                share @ 0..100 => Ok(Self::Share(share)),
                _ => Err(wrong()),
            },
            None => text.parse().ok().filter(|every| *every > 0).map(Self::Every).ok_or_else(wrong),
        }
    }
}

impl fmt::Display for Jump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(requests) => requests.fmt(f),
            Self::Share(percent) => write!(f, "{percent}%"),
        }
    }
}

impl TryFrom<String> for Jump {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<Jump> for String {
    fn from(jump: Jump) -> Self {
        jump.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_are_read_back() {
        for text in ["1", "8", "0%", "30%", "99%"] {
            assert_eq!(text.parse::<Jump>().unwrap().to_string(), text);
        }
        assert_eq!("100%".parse(), Ok(Jump::default()));
        for text in ["0", "101%", "-1", "", "%", "1.5"] {
            assert!(text.parse::<Jump>().is_err(), "{text}");
        }
    }
}
