//! Describes a list of processors, on which threads run in turn.

use std::fmt;
use std::str::FromStr;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ParseError;

/// Processors that can be named, from 0; few, because workloads are copied often.
const MOST: usize = 256;
const WORDS: usize = MOST / 64;

/// Some of the machine's processors, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Processors {
    /// A bit for each processor.
    bits: [u64; WORDS],
}

impl Processors {
    /// These processors; `None` if there is none, or one beyond those that can be named.
    pub fn of(numbers: impl IntoIterator<Item = usize>) -> Option<Self> {
        let mut bits = [0; WORDS];
        for number in numbers {
            *bits.get_mut(number / 64)? |= 1 << (number % 64);
        }
        (bits != [0; WORDS]).then_some(Self { bits })
    }

    /// Their numbers, ascending.
    pub fn numbers(self) -> impl Iterator<Item = usize> {
        (0..MOST).filter(move |number| self.bits[number / 64] >> (number % 64) & 1 == 1)
    }

    /// The processor of the `thread`-th thread: each in turn.
    pub fn of_thread(self, thread: usize) -> usize {
        let count = self.numbers().count();
        self.numbers().nth(thread % count).unwrap_or(0)
    }
}

/// Numbers and ranges, such as `0-3,8`.
impl FromStr for Processors {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || {
            let what = format!("write numbers of processors up to {}, such as 0-3,8", MOST - 1);
            ParseError::new(text, 0, what)
        };
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: usize = first.parse().map_err(|_| wrong())?;
            let last: usize = last.parse().map_err(|_| wrong())?;
            if first > last || last >= MOST {
                return Err(wrong());
            }
            numbers.extend(first..=last);
        }
        Self::of(numbers).ok_or_else(wrong)
    }
}

impl fmt::Display for Processors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = |number: usize| number < MOST && self.bits[number / 64] >> (number % 64) & 1 == 1;
        let mut at = 0;
        let mut before = "";
        while at < MOST {
            if !has(at) {
                at += 1;
                continue;
            }
            let first = at;
            while has(at + 1) {
                at += 1;
            }
            let last = at;
            match last - first {
                0 => write!(f, "{before}{first}")?,
                _ => write!(f, "{before}{first}-{last}")?,
            }
            before = ",";
            at += 1;
        }
        Ok(())
    }
}

impl TryFrom<String> for Processors {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<Processors> for String {
    fn from(processors: Processors) -> Self {
        processors.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_back_and_threads_take_turns() {
        for (text, canonical) in [("0", "0"), ("3,1,2", "1-3"), ("0-1,255", "0-1,255"), ("62-65", "62-65")] {
            let processors: Processors = text.parse().unwrap();
            assert_eq!(processors.to_string(), canonical, "{text}");
            assert_eq!(canonical.parse(), Ok(processors));
        }
        let processors: Processors = "2,5-6".parse().unwrap();
        assert_eq!([0, 1, 2, 3].map(|thread| processors.of_thread(thread)), [2, 5, 6, 2]);
        for text in ["", "x", "3-1", "256", "0,", "-1"] {
            assert!(text.parse::<Processors>().is_err(), "{text}");
        }
    }
}
