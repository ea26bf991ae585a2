//! Describes the options of a workload beside its pattern, block size, depth, threads, cache and engine.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Affinity, BlockSizes, Bytes, Fadvise, Hosts, Kernel, Layout, Nanos, PageCache, ParseError, RandomDistribution,
    Sealing, Switch, VolumeLayout, Way,
};

/// Everything about a workload that is usually left alone. Each part is a flag of `halfpower run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkloadOptions {
    /// How the file is there when the run begins.
    pub layout: Layout,
    /// Bytes by which every request begins later than a multiple of its size.
    #[serde(alias = "shift")]
    pub misalign: Bytes,
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
    #[serde(alias = "randoms")]
    pub random_readers: u32,
    /// What the page cache holds of the target when a buffered run begins.
    pub page_cache: PageCache,
    /// What the kernel is told of the order of reads.
    pub fadvise: Fadvise,
    /// The device's own write cache (WCE, write cache enable), switched for this run; `None` is as it is.
    #[serde(alias = "wce")]
    pub write_cache: Option<Switch>,
    /// Members of the target that take part, the first so many; 0 is all.
    pub members: u32,
    /// How they make one target; `None` is as the target's name says.
    #[serde(alias = "join")]
    pub volume_layout: Option<VolumeLayout>,
    /// The loop over memory, for the engine `memory`.
    pub kernel: Option<Kernel>,
    /// Whether each block carries its number, the seed and a checksum, which every read checks.
    pub verify: bool,
    /// How often random requests fall on which blocks.
    #[serde(skip_serializing_if = "is_even")]
    pub random_distribution: RandomDistribution,
    /// Time that requests go out before the window opens (fio's ramp_time, diskspd's warm up).
    #[serde(skip_serializing_if = "is_nothing")]
    pub ramp_time: Nanos,
    /// Sizes that are drawn for each request (fio's bssplit); the workload's `bs` is then the largest of them. `None`
    /// gives all requests that size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bssplit: Option<BlockSizes>,
    /// Connections to a file server that the requests of each thread are shared out to.
    #[serde(skip_serializing_if = "is_single")]
    pub connections: u32,
    /// Whether messages to a file server are signed or encrypted.
    #[serde(skip_serializing_if = "is_as_asked")]
    pub sealing: Sealing,
    /// Which way requests go: from here, or from the far end, where a witness measures there.
    #[serde(skip_serializing_if = "is_over_the_wire")]
    pub way: Way,
    /// Processes that take part, where a study is of many; `None` is all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
}

/// Whether it writes nothing, so that records of workloads without it are as they were.
fn is_even(distribution: &RandomDistribution) -> bool {
    *distribution == RandomDistribution::Even
}

fn is_single(count: &u32) -> bool {
    *count == 1
}

fn is_as_asked(sealing: &Sealing) -> bool {
    *sealing == Sealing::AsAsked
}

fn is_over_the_wire(way: &Way) -> bool {
    *way == Way::Wire
}

fn is_nothing(time: &Nanos) -> bool {
    *time == Nanos(0)
}

/// A part of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Region {
    /// Its first byte.
    pub from: Bytes,
    /// Its length.
    pub bytes: Bytes,
}

impl Default for WorkloadOptions {
    fn default() -> Self {
        Self {
            layout: Layout::Written,
            misalign: Bytes(0),
            region: None,
            fdatasync: 0,
            thinktime: Nanos(0),
            affinity: Affinity::All,
            streams: 1,
            random_readers: 0,
            page_cache: PageCache::Empty,
            fadvise: Fadvise::Normal,
            write_cache: None,
            members: 0,
            volume_layout: None,
            kernel: None,
            verify: false,
            random_distribution: RandomDistribution::Even,
            ramp_time: Nanos(0),
            bssplit: None,
            connections: 1,
            sealing: Sealing::AsAsked,
            way: Way::Wire,
            hosts: None,
        }
    }
}

impl WorkloadOptions {
    /// The bytes that are used of a target of `span` bytes: the region as far as it lies within.
    pub fn used(&self, span: u64) -> Range<u64> {
        let Some(Region { from, bytes }) = self.region else { return 0..span };
        from.0.min(span)..from.0.saturating_add(bytes.0).min(span)
    }

    /// The bytes that requests fall into: those that are used from the shift on, so that blocks are counted from there.
    pub fn reached(&self, span: u64) -> Range<u64> {
        let Range { start, end } = self.used(span);
        start.saturating_add(self.misalign.0).min(end)..end
    }

    /// Whether every option has its default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The flags of the options that differ from their defaults, each after a space.
impl fmt::Display for WorkloadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::default();
        let Self {
            layout, misalign, fdatasync, thinktime, affinity, streams, random_readers, fadvise, members, ..
        } = *self;
        let mut flag = |differs: bool, name: &str, value: &dyn fmt::Display| {
            if differs { write!(f, " --{name} {value}") } else { Ok(()) }
        };
        flag(layout != default.layout, "layout", &layout)?;
        flag(misalign != default.misalign, "misalign", &misalign)?;
        self.region.iter().try_for_each(|region| flag(true, "region", region))?;
        flag(fdatasync != default.fdatasync, "fdatasync", &fdatasync)?;
        flag(thinktime != default.thinktime, "thinktime", &thinktime)?;
        flag(affinity != default.affinity, "affinity", &affinity)?;
        flag(streams != default.streams, "streams", &streams)?;
        flag(random_readers != default.random_readers, "random-readers", &random_readers)?;
        flag(self.page_cache != default.page_cache, "page-cache", &self.page_cache)?;
        flag(fadvise != default.fadvise, "fadvise", &fadvise)?;
        self.write_cache.iter().try_for_each(|write_cache| flag(true, "write-cache", write_cache))?;
        flag(members != default.members, "members", &members)?;
        self.volume_layout.iter().try_for_each(|volume_layout| flag(true, "volume-layout", volume_layout))?;
        self.kernel.iter().try_for_each(|kernel| flag(true, "kernel", kernel))?;
        let Self { random_distribution, ramp_time, .. } = self;
        flag(*random_distribution != default.random_distribution, "random-distribution", random_distribution)?;
        flag(*ramp_time != default.ramp_time, "ramp-time", ramp_time)?;
        self.bssplit.iter().try_for_each(|sizes| flag(true, "bssplit", sizes))?;
        flag(self.connections != default.connections, "connections", &self.connections)?;
        flag(self.sealing != default.sealing, "sealing", &self.sealing)?;
        flag(self.way != default.way, "way", &self.way)?;
        self.hosts.iter().try_for_each(|hosts| flag(true, "hosts", hosts))?;
        if self.verify { f.write_str(" --verify") } else { Ok(()) }
    }
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
    fn default_options_print_no_flag() {
        assert_eq!(WorkloadOptions::default().to_string(), "");
        let options = WorkloadOptions {
            layout: Layout::Append,
            misalign: Bytes(512),
            members: 3,
            volume_layout: Some(VolumeLayout::Stripe),
            ..WorkloadOptions::default()
        };
        assert_eq!(options.to_string(), " --layout append --misalign 512 --members 3 --volume-layout stripe");
        assert!(!options.is_default());
    }

    #[test]
    fn a_shift_moves_the_first_block_and_not_the_end() {
        let region = Some(Region { from: Bytes(1000), bytes: Bytes(500) });
        let options = WorkloadOptions { region, misalign: Bytes(100), ..WorkloadOptions::default() };
        assert_eq!((options.used(1200), options.reached(1200)), (1000..1200, 1100..1200));
        assert_eq!(options.reached(1050), 1050..1050);
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
