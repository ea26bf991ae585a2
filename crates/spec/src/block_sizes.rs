//! Describes requests of several sizes: the sizes, and how often each is drawn.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Direction, ParseError, Rw};

/// Most different sizes of a workload; few, because workloads are copied often.
const MOST: usize = 16;
/// Largest size: the kernel limits the length of a request.
const MOST_BYTES: u64 = 1 << 30;

/// Sizes of reads and of writes, each with its share of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct BlockSizes {
    /// Sizes in bytes, ascending; unused entries have no share in either direction.
    bytes: [u32; MOST],
    /// Shares of reads in percent, in the order of `bytes`.
    reads: [u8; MOST],
    writes: [u8; MOST],
}

impl BlockSizes {
    /// The sizes of one direction, ascending, with their shares in percent; the shares sum to 100.
    pub fn of(self, rw: Direction) -> impl Iterator<Item = (Bytes, u8)> {
        let shares = if rw == Direction::Read { self.reads } else { self.writes };
        let sizes = self.bytes.into_iter().map(|bytes| Bytes(bytes.into()));
        sizes.zip(shares).filter(|(_, percent)| *percent > 0)
    }

    /// All sizes of both directions.
    pub fn sizes(self) -> impl Iterator<Item = Bytes> {
        self.of(Direction::Read).chain(self.of(Direction::Write)).map(|(size, _)| size)
    }

    /// The largest size, which is also the size of buffers and the workload's `bs`.
    pub fn largest(self) -> Bytes {
        self.sizes().max().unwrap_or_default()
    }

    /// The smallest size of both directions.
    pub fn smallest(self) -> Bytes {
        self.sizes().min().unwrap_or_default()
    }

    /// The smallest size of one direction; its random requests begin at multiples of it, as in fio.
    pub fn smallest_of(self, rw: Direction) -> Bytes {
        self.of(rw).map(|(size, _)| size).next().unwrap_or_default()
    }

    /// The sizes that requests of `rw` have: if it has one direction, those of that one alone.
    #[must_use]
    pub fn in_use(self, rw: Rw) -> Self {
        let Some(one) = rw.direction() else { return self };
        let mut sizes = Self::default();
        for (place, (bytes, percent)) in self.of(one).enumerate() {
            (sizes.bytes[place], sizes.reads[place], sizes.writes[place]) = (bytes.0 as u32, percent, percent);
        }
        sizes
    }

    /// Whether all sizes are multiples of the smallest, so that a range can be covered by them without gaps.
    pub fn are_multiples(self) -> bool {
        let Bytes(smallest) = self.smallest();
        smallest > 0 && self.sizes().all(|size| size.0.is_multiple_of(smallest))
    }

    /// Mean bytes of a request if `read_share` (0 to 1) of the requests are reads.
    pub fn mean_bytes(self, read_share: f64) -> f64 {
        let mean = |rw| self.of(rw).map(|(size, percent)| size.0 as f64 * f64::from(percent) / 100.0).sum::<f64>();
        read_share * mean(Direction::Read) + (1.0 - read_share) * mean(Direction::Write)
    }
}

/// fio's syntax: `4k/60:64k/40`, or `4k/60:64k/40,8k` with other sizes for writes. Sizes without a share divide the
/// rest equally.
impl FromStr for BlockSizes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (reads, writes) = text.split_once(',').unwrap_or((text, ""));
        if let Some(trims) = writes.find(',') {
            let what = "halfpower discards no blocks: write sizes of reads and of writes, and no third";
            return Err(ParseError::new(text, reads.len() + 1 + trims, what));
        }
        let of_reads = shares(text, 0, reads)?;
        let same = reads.len() == text.len();
        let of_writes = if same { of_reads.clone() } else { shares(text, reads.len() + 1, writes)? };
        let bytes: BTreeSet<u32> = of_reads.keys().chain(of_writes.keys()).copied().collect();
        if bytes.len() > MOST {
            return Err(ParseError::new(text, 0, format!("name at most {MOST} sizes")));
        }
        let mut sizes = Self::default();
        for (place, bytes) in bytes.into_iter().enumerate() {
            let share = |of: &BTreeMap<u32, u8>| of.get(&bytes).copied().unwrap_or(0);
            (sizes.bytes[place], sizes.reads[place], sizes.writes[place]) =
                (bytes, share(&of_reads), share(&of_writes));
        }
        Ok(sizes)
    }
}

/// The share of each size in `part`, which begins at byte `at` of `text`.
fn shares(text: &str, at: usize, part: &str) -> Result<BTreeMap<u32, u8>, ParseError> {
    let mut entries: Vec<(u32, Option<u8>)> = Vec::new();
    let mut from = at;
    for entry in part.split(':') {
        let (size, percent) = entry.split_once('/').unwrap_or((entry, ""));
        let bytes: Bytes = size.parse().map_err(|error: ParseError| error.within(text, from))?;
        if bytes.0 == 0 || bytes.0 > MOST_BYTES {
            return Err(ParseError::new(text, from, format!("a size is from 1 byte to {}", Bytes(MOST_BYTES))));
        }
        let share = match percent {
            "" => None,
            percent => Some(percent.parse().ok().filter(|percent| *percent <= 100).ok_or_else(|| {
                ParseError::new(text, from + size.len() + 1, "a share is a whole percentage, such as 4k/60:64k/40")
            })?),
        };
        entries.push((bytes.0 as u32, share));
        from += entry.len() + 1;
    }
    let all: u32 = entries.iter().filter_map(|(_, share)| *share).map(u32::from).sum();
    let open = entries.iter().filter(|(_, share)| share.is_none()).count() as u32;
    if all > 100 || (open == 0 && all < 100) || open > 100 - all.min(100) {
        return Err(ParseError::new(text, at, format!("the shares make {all}%: let them make 100%")));
    }
    let mut rest = (0..open).map(|nth| ((100 - all) * (nth + 1) / open - (100 - all) * nth / open) as u8);
    let mut shares = BTreeMap::new();
    for (bytes, share) in entries {
        *shares.entry(bytes).or_default() += share.unwrap_or_else(|| rest.next().unwrap_or(0));
    }
    shares.retain(|_, share| *share > 0);
    Ok(shares)
}

impl fmt::Display for BlockSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |rw| self.of(rw).map(|(size, percent)| format!("{size}/{percent}")).collect::<Vec<_>>().join(":");
        f.write_str(&list(Direction::Read))?;
        if self.writes == self.reads { Ok(()) } else { write!(f, ",{}", list(Direction::Write)) }
    }
}

impl TryFrom<String> for BlockSizes {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<BlockSizes> for String {
    fn from(sizes: BlockSizes) -> Self {
        sizes.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_back() {
        for (text, canonical) in [
            ("4k/60:64k/40", "4KiB/60:64KiB/40"),
            ("4k/10:64k/50:32k", "4KiB/10:32KiB/40:64KiB/50"),
            ("4k:8k:16k", "4KiB/33:8KiB/33:16KiB/34"),
            ("4k/100:8k/0", "4KiB/100"),
            ("4k/50:8k/50,64k", "4KiB/50:8KiB/50,64KiB/100"),
            ("8k,8k", "8KiB/100"),
            ("64k/20:4k/60:64k/20", "4KiB/60:64KiB/40"),
        ] {
            let sizes: BlockSizes = text.parse().unwrap();
            assert_eq!(sizes.to_string(), canonical, "{text}");
            assert_eq!(canonical.parse(), Ok(sizes), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sizes_is_pointed_at() {
        for (text, at) in [("4k/60:64k/30", 0), ("4k/60:64x/40", 8), ("4k/50:8k/5x", 9), ("0/100", 0), ("", 0)] {
            assert_eq!(text.parse::<BlockSizes>().unwrap_err().at, at, "{text}");
        }
        for (text, at) in [("4k,8k/70", 3), ("4k,", 3), ("4k,8k,16k", 5), ("4k/101", 3), ("4k/100:8k", 0)] {
            assert_eq!(text.parse::<BlockSizes>().unwrap_err().at, at, "{text}");
        }
        let many = |count: u32| (1..=count).map(|size| format!("{size}k")).collect::<Vec<_>>().join(":");
        assert!(many(16).parse::<BlockSizes>().is_ok());
        assert!(many(17).parse::<BlockSizes>().unwrap_err().to_string().contains("at most 16 sizes"));
    }

    #[test]
    fn one_direction_has_its_own_sizes_alone() {
        let sizes: BlockSizes = "4k/50:8k/50,64k/20:1m/80".parse().unwrap();
        assert_eq!(sizes.in_use(Rw::Randread), "4k/50:8k/50".parse().unwrap());
        assert_eq!(sizes.in_use(Rw::Randread).largest(), Bytes(8192));
        assert_eq!(sizes.in_use(Rw::Write).to_string(), "64KiB/20:1MiB/80");
        assert_eq!(sizes.in_use(Rw::Randtrim).to_string(), "64KiB/20:1MiB/80", "trims have the sizes of writes");
        assert_eq!(sizes.in_use(Rw::Randmixed), sizes);
        assert_eq!([Direction::Read, Direction::Write].map(|rw| sizes.smallest_of(rw).0), [4096, 65536]);
    }

    #[test]
    fn the_mean_weighs_sizes_and_directions() {
        let sizes: BlockSizes = "4k/50:8k/50,64k".parse().unwrap();
        assert_eq!((sizes.smallest(), sizes.largest()), (Bytes(4096), Bytes(65536)));
        assert_eq!(sizes.mean_bytes(1.0), 6144.0);
        assert_eq!(sizes.mean_bytes(0.5), 6144.0 / 2.0 + 65536.0 / 2.0);
    }
}
