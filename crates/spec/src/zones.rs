//! Describes zones of a target, one after the other, each with its share of the random requests.

use std::fmt;
use std::ops::Range;

use crate::{Bytes, ParseError};

/// Most zones; few, because workloads are copied often.
const MOST: usize = 16;
/// As the length of a last zone: all that is left.
const REST: u64 = u64::MAX;

/// Zones from the first byte in use on, and their shares of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Zones {
    /// How many there are.
    count: u8,
    /// Whether lengths are in bytes; else they are shares of the target in percent.
    in_bytes: bool,
    /// Shares of the requests in percent, which sum to 100; 0 leaves a zone out.
    shares: [u8; MOST],
    lengths: [u64; MOST],
}

impl Zones {
    /// Parses `share/length:...`, the part of `text` from byte `at` on. Lengths are percentages, or sizes if `in_bytes`;
    /// percentages that are left out divide the rest of the target, and a last size that is left out is all that is left.
    pub(crate) fn parse(text: &str, at: usize, in_bytes: bool) -> Result<Self, ParseError> {
        let mut zones = Self { count: 0, in_bytes, shares: [0; MOST], lengths: [0; MOST] };
        let mut from = at;
        let mut open = Vec::new();
        for entry in text[at..].split(':') {
            let place = usize::from(zones.count);
            if place == MOST {
                return Err(ParseError::new(text, from, format!("name at most {MOST} zones")));
            }
            let (share, length) = entry.split_once('/').unwrap_or((entry, ""));
            zones.shares[place] = share.parse().ok().filter(|share: &u8| *share <= 100).ok_or_else(|| {
                let example = if in_bytes { "zoned_abs:90/1GiB:10/9GiB" } else { "zoned:90/10:10/90" };
                let what = format!("a zone is its share of the requests in percent and its length, such as {example}");
                ParseError::new(text, from, what)
            })?;
            let at_length = from + share.len() + 1;
            match length {
                "" => open.push(place),
                length if in_bytes => {
                    let bytes: Bytes = length.parse().map_err(|error: ParseError| error.within(text, at_length))?;
                    if bytes.0 == 0 {
                        return Err(ParseError::new(text, at_length, "a zone has one byte at least"));
                    }
                    zones.lengths[place] = bytes.0;
                }
                length => {
                    let percent = length.parse().ok().filter(|percent: &u64| (1..=100).contains(percent));
                    let what = "the length of a zone is a share of the target in percent, from 1 to 100";
                    zones.lengths[place] = percent.ok_or_else(|| ParseError::new(text, at_length, what))?;
                }
            }
            zones.count += 1;
            from += entry.len() + 1;
        }
        zones.fill_in(&open).map_err(|what| ParseError::new(text, at, what))?;
        let all: u32 = zones.all().map(|(share, _)| u32::from(share)).sum();
        if all != 100 {
            return Err(ParseError::new(
                text,
                at,
                format!("the shares of the requests make {all}%: let them make 100%"),
            ));
        }
        Ok(zones)
    }

    /// Gives the zones at `open` their lengths.
    fn fill_in(&mut self, open: &[usize]) -> Result<(), String> {
        if self.in_bytes {
            return match open {
                [] => Ok(()),
                [last] if *last + 1 == usize::from(self.count) => {
                    self.lengths[*last] = REST;
                    Ok(())
                }
                _ => Err("only the last zone may go without a length: it is all that is left".to_string()),
            };
        }
        let all: u64 = self.lengths.iter().sum();
        let count = open.len() as u64;
        if all > 100 {
            return Err(format!("the zones make {all}% of the target: let them make 100% at most"));
        }
        if count > 100 - all {
            return Err(format!(
                "the zones make {all}% of the target, and those without a length have less than 1% each: leave more to them"
            ));
        }
        for (nth, place) in open.iter().enumerate() {
            let end = |nth: u64| (100 - all) * nth / count;
            self.lengths[*place] = end(nth as u64 + 1) - end(nth as u64);
        }
        Ok(())
    }

    /// Shares and lengths, in order.
    fn all(self) -> impl Iterator<Item = (u8, u64)> {
        self.shares.into_iter().zip(self.lengths).take(usize::from(self.count))
    }

    /// The zones within `blocks` blocks of `block_bytes` bytes that get requests: their blocks, and their shares in
    /// percent. What lies beyond is cut off: then the shares of the others sum to less than 100, and hold in proportion.
    pub fn in_blocks(self, blocks: u64, block_bytes: u64) -> Vec<(Range<u64>, u8)> {
        let mut length = 0_u64;
        let mut begin = 0;
        let mut zones = Vec::with_capacity(usize::from(self.count));
        for (share, of_zone) in self.all() {
            length = length.saturating_add(of_zone);
            let end = if self.in_bytes {
                (length / block_bytes.max(1)).min(blocks)
            } else {
                (u128::from(blocks) * u128::from(length) / 100) as u64
            };
            if share > 0 && end > begin {
                zones.push((begin..end, share));
            }
            begin = end;
        }
        zones
    }
}

/// fio's syntax, with the name before it: `zoned:60/10:40/90`, `zoned_abs:60/10GiB:40/`.
impl fmt::Display for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.in_bytes { "zoned_abs" } else { "zoned" })?;
        self.all().try_for_each(|(share, length)| match length {
            REST => write!(f, ":{share}/"),
            bytes if self.in_bytes => write!(f, ":{share}/{}", Bytes(bytes)),
            percent => write!(f, ":{share}/{percent}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zones(text: &str) -> Result<Zones, ParseError> {
        let in_bytes = text.starts_with("zoned_abs:");
        Zones::parse(text, if in_bytes { 10 } else { 6 }, in_bytes)
    }

    #[test]
    fn zones_are_read_back() {
        for (text, canonical) in [
            ("zoned:60/10:30/20:8/30:2/40", "zoned:60/10:30/20:8/30:2/40"),
            ("zoned:50/5:30/15:20/", "zoned:50/5:30/15:20/80"),
            ("zoned:50:50", "zoned:50/50:50/50"),
            ("zoned:90/10:0/10:10/20", "zoned:90/10:0/10:10/20"),
            ("zoned_abs:60/20g:30/100g:10/", "zoned_abs:60/20GiB:30/100GiB:10/"),
        ] {
            assert_eq!(zones(text).unwrap().to_string(), canonical, "{text}");
            assert_eq!(zones(canonical), zones(text));
        }
        for (text, at) in [
            ("zoned:60/10:30/20", 6),
            ("zoned:60/60:40/50", 6),
            ("zoned:60/10:x/20", 12),
            ("zoned:60/10:40/0", 15),
            ("zoned_abs:60/:40/1g", 10),
            ("zoned_abs:60/1g:40/x", 19),
            ("zoned_abs:60/0:40/1g", 13),
            ("zoned:60/100:40", 6),
            ("zoned:", 6),
        ] {
            assert_eq!(zones(text).unwrap_err().at, at, "{text}");
        }
        assert!(zones("zoned:60/100:40").unwrap_err().to_string().contains("less than 1% each"));
        let many = |count: usize| format!("zoned:100/1{}", ":0/1".repeat(count - 1));
        assert!(zones(&many(16)).is_ok() && zones(&many(17)).unwrap_err().to_string().contains("at most 16 zones"));
    }

    #[test]
    fn zones_lie_one_after_the_other_within_the_blocks() {
        let of_1000 = |text: &str| zones(text).unwrap().in_blocks(1000, 4096);
        assert_eq!(of_1000("zoned:90/10:0/10:10/20"), [(0..100, 90), (200..400, 10)]);
        assert_eq!(of_1000("zoned_abs:60/400k:40/"), [(0..100, 60), (100..1000, 40)]);
        assert_eq!(of_1000("zoned_abs:60/400k:20/1m:20/1g"), [(0..100, 60), (100..356, 20), (356..1000, 20)]);
        assert_eq!(of_1000("zoned_abs:60/1g:40/1g"), [(0..1000, 60)], "the second lies beyond the end");
        assert!(of_1000("zoned_abs:0/1g:100/1g").is_empty());
    }
}
