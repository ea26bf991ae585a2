//! Describes a part of a target by its first byte and its length.

use std::fmt;
use std::str::FromStr;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, ParseError};

/// A part of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Region {
    /// Its first byte.
    pub from: Bytes,
    /// Its length.
    pub bytes: Bytes,
}

/// `FROM+LENGTH`, such as `1GiB+64MiB`.
impl FromStr for Region {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (from, bytes) = text.split_once('+').ok_or_else(|| {
            ParseError::new(text, 0, "write a region as its first byte and its length, such as 1GiB+64MiB")
        })?;
        let region = Self {
            from: from.parse()?,
            bytes: bytes.parse().map_err(|error: ParseError| error.within(text, from.len() + 1))?,
        };
        match region.bytes {
            Bytes(0) => Err(ParseError::new(text, from.len() + 1, "a region must hold at least one byte")),
            _ => Ok(region),
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.from, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_read_back_and_pointed_at() {
        let region: Region = "1GiB+64MiB".parse().unwrap();
        assert_eq!(region, Region { from: Bytes(1 << 30), bytes: Bytes(64 << 20) });
        assert_eq!(region.to_string().parse(), Ok(region));
        assert_eq!("1GiB+0".parse::<Region>().unwrap_err().at, 5);
        assert!("1GiB".parse::<Region>().is_err());
    }
}
