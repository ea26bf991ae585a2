//! What an experiment turns beside the usual axes: how the file lies, where requests fall, what stands between them.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Affinity, Bytes, Fadvise, Join, Kernel, Layout, Nanos, PageCache, ParseError, Switch};

/// Everything about a workload that is usually left alone. Each part is a flag of `halfpower run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Twist {
    /// How the file is there when the run begins.
    pub layout: Layout,
    /// Bytes by which every request begins later than a multiple of its size.
    pub shift: Bytes,
    /// The part of the target that is used; `None` is all of it.
    pub region: Option<Region>,
    /// Writes of a thread after which it makes everything durable, and waits for that; 0 is never.
    pub fdatasync: u32,
    /// Time that a thread lets pass after completions before it submits again.
    pub thinktime: Nanos,
    /// Which processors the submitting threads may use.
    pub affinity: Affinity,
    /// Sequential streams that each thread takes in turn, each in a part of its own; 1 is a single one.
    pub streams: u32,
    /// Threads that read 8 KiB at a time at random anywhere, one request each, beside those of the workload and
    /// counted apart from them.
    pub randoms: u32,
    /// What the page cache holds of the target when a buffered run begins.
    pub page_cache: PageCache,
    /// What the kernel is told of the order of reads.
    pub fadvise: Fadvise,
    /// The device's own write cache (WCE, write cache enable), switched for this run; `None` is as it is.
    pub wce: Option<Switch>,
    /// Members of the target that take part, the first so many; 0 is all.
    pub members: u32,
    /// How they make one target; `None` is as the target's name says.
    pub join: Option<Join>,
    /// The loop over memory, for the engine `memory`.
    pub kernel: Option<Kernel>,
    /// Whether each block carries its number, the seed and a checksum, which every read checks.
    pub verify: bool,
}

/// A part of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Region {
    /// Its first byte.
    pub from: Bytes,
    /// Its length.
    pub bytes: Bytes,
}

impl Default for Twist {
    fn default() -> Self {
        Self {
            layout: Layout::Written,
            shift: Bytes(0),
            region: None,
            fdatasync: 0,
            thinktime: Nanos(0),
            affinity: Affinity::All,
            streams: 1,
            randoms: 0,
            page_cache: PageCache::Empty,
            fadvise: Fadvise::Normal,
            wce: None,
            members: 0,
            join: None,
            kernel: None,
            verify: false,
        }
    }
}

impl Twist {
    /// The bytes that are used of a target of `span` bytes: the region as far as it lies within.
    pub fn used(&self, span: u64) -> Range<u64> {
        let Some(Region { from, bytes }) = self.region else { return 0..span };
        from.0.min(span)..from.0.saturating_add(bytes.0).min(span)
    }

    /// The bytes that requests fall into: those that are used from the shift on, so that blocks are counted from there.
    pub fn reached(&self, span: u64) -> Range<u64> {
        let Range { start, end } = self.used(span);
        start.saturating_add(self.shift.0).min(end)..end
    }

    /// Whether nothing is turned.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// The flags of what is turned, each after a space.
impl fmt::Display for Twist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        let Self { layout, shift, fdatasync, thinktime, affinity, streams, randoms, fadvise, members, .. } = *self;
        let mut flag = |differs: bool, name: &str, value: &dyn fmt::Display| {
            if differs { write!(f, " --{name} {value}") } else { Ok(()) }
        };
        flag(layout != usual.layout, "layout", &layout)?;
        flag(shift != usual.shift, "shift", &shift)?;
        self.region.iter().try_for_each(|region| flag(true, "region", region))?;
        flag(fdatasync != usual.fdatasync, "fdatasync", &fdatasync)?;
        flag(thinktime != usual.thinktime, "thinktime", &thinktime)?;
        flag(affinity != usual.affinity, "affinity", &affinity)?;
        flag(streams != usual.streams, "streams", &streams)?;
        flag(randoms != usual.randoms, "randoms", &randoms)?;
        flag(self.page_cache != usual.page_cache, "page-cache", &self.page_cache)?;
        flag(fadvise != usual.fadvise, "fadvise", &fadvise)?;
        self.wce.iter().try_for_each(|wce| flag(true, "wce", wce))?;
        flag(members != usual.members, "members", &members)?;
        self.join.iter().try_for_each(|join| flag(true, "join", join))?;
        self.kernel.iter().try_for_each(|kernel| flag(true, "kernel", kernel))?;
        if self.verify { f.write_str(" --verify") } else { Ok(()) }
    }
}

/// `FROM+LENGTH`, such as `1GiB+64MiB`.
impl FromStr for Region {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (from, bytes) = text
            .split_once('+')
            .ok_or_else(|| ParseError::new(text, 0, "a region is its first byte and its length, such as 1GiB+64MiB"))?;
        let region = Self {
            from: from.parse()?,
            bytes: bytes.parse().map_err(|error: ParseError| error.within(text, from.len() + 1))?,
        };
        match region.bytes {
            Bytes(0) => Err(ParseError::new(text, from.len() + 1, "a region holds at least one byte")),
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
    fn nothing_turned_is_no_flag() {
        assert_eq!(Twist::default().to_string(), "");
        let twist = Twist {
            layout: Layout::Append,
            shift: Bytes(512),
            members: 3,
            join: Some(Join::Stripe),
            ..Twist::default()
        };
        assert_eq!(twist.to_string(), " --layout append --shift 512 --members 3 --join stripe");
        assert!(!twist.is_usual());
    }

    #[test]
    fn a_shift_moves_the_first_block_and_not_the_end() {
        let region = Some(Region { from: Bytes(1000), bytes: Bytes(500) });
        let twist = Twist { region, shift: Bytes(100), ..Twist::default() };
        assert_eq!((twist.used(1200), twist.reached(1200)), (1000..1200, 1100..1200));
        assert_eq!(twist.reached(1050), 1050..1050);
    }

    #[test]
    fn a_region_is_read_back_and_pointed_at() {
        let region: Region = "1GiB+64MiB".parse().unwrap();
        assert_eq!(region, Region { from: Bytes(1 << 30), bytes: Bytes(64 << 20) });
        assert_eq!(region.to_string().parse(), Ok(region));
        assert_eq!("1GiB+0".parse::<Region>().unwrap_err().at, 5);
        assert!("1GiB".parse::<Region>().is_err());
    }
}
