//! Names the processes of a study on many hosts that take part in a run.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Bytes, ParseError};

/// Processes of a study on many hosts, by their ranks: `0-3`, or `5` alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Hosts {
    /// The first rank.
    pub from: u32,
    /// Number of consecutive ranks; at least 1.
    pub count: u32,
}

impl Hosts {
    /// The first `count` processes.
    pub fn first(count: u32) -> Self {
        Self { from: 0, count }
    }

    /// One process.
    pub fn only(rank: u32) -> Self {
        Self { from: rank, count: 1 }
    }

    /// The ranks.
    pub fn ranks(self) -> Range<u32> {
        self.from..self.from.saturating_add(self.count)
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            0 | 1 => write!(f, "{}", self.from),
            count => write!(f, "{}-{}", self.from, self.from.saturating_add(count - 1)),
        }
    }
}

impl FromStr for Hosts {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let expected = || ParseError::new(text, 0, "ranks such as 0-3, or 5");
        let rank = |digits: &str| digits.parse::<u32>().map_err(|_| expected());
        let (from, last) = match text.split_once('-') {
            Some((from, last)) => (rank(from)?, rank(last)?),
            None => (rank(text)?, rank(text)?),
        };
        let count = last.checked_sub(from).and_then(|beyond| beyond.checked_add(1)).ok_or_else(expected)?;
        Ok(Self { from, count })
    }
}

/// How the processes of a study on many hosts divide its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostFiles {
    /// Whether each process has its own file.
    pub layout: HostLayout,
    /// Chunk size in which a shared file is striped across the processes; `None` gives each process one part.
    pub interleave: Option<Bytes>,
    /// Whether each process reads what the next one wrote.
    pub reorder: bool,
}

impl Default for HostFiles {
    fn default() -> Self {
        Self { layout: HostLayout::FilePerProcess, interleave: None, reorder: false }
    }
}

impl HostFiles {
    /// Whether each process has its own file and reads it.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// As flags: `--host-layout shared --interleave 1MiB --reorder`.
impl fmt::Display for HostFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--host-layout {}", self.layout)?;
        self.interleave.iter().try_for_each(|turn| write!(f, " --interleave {turn}"))?;
        if self.reorder { f.write_str(" --reorder") } else { Ok(()) }
    }
}

words! {
    /// How the data of many hosts are laid out on their target.
    HostLayout, "host layout":
    /// Each process has its own file or target.
    FilePerProcess = "file-per-process",
    /// All processes have one file or target, each its own part of it.
    Shared = "shared",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_hosts_share_a_target_out_is_written_as_flags() {
        assert_eq!(HostFiles::default().to_string(), "--host-layout file-per-process");
        let files = HostFiles { layout: HostLayout::Shared, interleave: Some(Bytes(1 << 20)), reorder: true };
        assert_eq!(files.to_string(), "--host-layout shared --interleave 1MiB --reorder");
    }

    #[test]
    fn ranks_are_read_as_they_are_written() {
        for (text, hosts) in [("0-3", Hosts::first(4)), ("5", Hosts::only(5))] {
            assert_eq!(text.parse(), Ok(hosts));
            assert_eq!(hosts.to_string(), text);
        }
        for wrong in ["", "3-0", "-1", "a", "0-4294967295"] {
            assert!(wrong.parse::<Hosts>().is_err(), "{wrong}");
        }
    }
}
