//! Reads fio's request sizes: one for each direction, lists with shares, and ranges.

use halfpower_spec::{BlockSizes, Bytes, ParseError};

use super::take::{KbBase, size_by};

/// fio's default request size.
pub(super) const USUAL: Bytes = Bytes(4096);
/// Most sizes that a range is drawn from.
const MOST: u64 = 16;

/// The request sizes of reads, writes and trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByDirection {
    pub read: Bytes,
    pub write: Bytes,
    pub trim: Bytes,
}

impl ByDirection {
    /// Parses a list such as `4k,8k`: an empty item is fio's default, and a missing one is as the item before.
    pub(super) fn parse(value: &str) -> Result<Self, String> {
        let positive = |item: &str| positive(item, KbBase::default());
        let items: Vec<&str> = value.split(',').map(str::trim).collect();
        let of = |at: usize| match items.get(at) {
            Some(&"") => Ok(USUAL),
            Some(item) => positive(item),
            None => positive(items[items.len() - 1]),
        };
        match items[..] {
            [""] => Err("it names no size".to_string()),
            // `8k,` leaves the others at the default.
            [_, ""] => Ok(Self { read: of(0)?, write: USUAL, trim: USUAL }),
            [_] | [_, _] | [_, _, _] => Ok(Self { read: of(0)?, write: of(1)?, trim: of(2)? }),
            _ => Err(format!("`{value}` has more than sizes of reads, writes and trims")),
        }
    }
}

fn positive(item: &str, base: KbBase) -> Result<Bytes, String> {
    size_by(item, base).and_then(|bytes| if bytes.0 > 0 { Ok(bytes) } else { Err(format!("`{item}` moves nothing")) })
}

/// Parses a `bssplit`, such as `4k/60:64k/40,8k`; a third list, of trims, is left out.
pub(super) fn split(value: &str, base: KbBase) -> Result<BlockSizes, String> {
    let entry = |entry: &str| {
        let (bytes, share) = entry.split_once('/').map_or((entry, None), |(bytes, share)| (bytes, Some(share)));
        let bytes = positive(bytes.trim(), base)?;
        Ok(share.map_or_else(|| bytes.to_string(), |share| format!("{bytes}/{}", share.trim())))
    };
    let list = |list: &str| list.split(':').map(entry).collect::<Result<Vec<_>, String>>().map(|list| list.join(":"));
    let lists = value.split(',').take(2).map(list).collect::<Result<Vec<_>, _>>()?;
    parsed(&lists.join(","))
}

/// Parses a `bsrange`, such as `4k-16k` or `4k-16k,64k-128k`: the sizes from which requests are drawn evenly, and how
/// many they are in fio, if some are left out here.
pub(super) fn range(value: &str) -> Result<(BlockSizes, Option<u64>), String> {
    let mut left_out = None;
    let most = if value.contains(',') { MOST / 2 } else { MOST };
    let positive = |item: &str| positive(item.trim(), KbBase::default());
    let mut list = |range: &str| {
        let (least, largest) =
            range.split_once(['-', ':']).ok_or_else(|| format!("`{range}` is no range; write one like 4k-64k"))?;
        let (Bytes(least), Bytes(largest)) = (positive(least)?, positive(largest)?);
        if largest < least {
            return Err(format!("`{range}`: write the smaller size first"));
        }
        let steps = (largest - least) / least;
        let count = (steps + 1).min(most);
        if steps >= most {
            left_out = Some(steps + 1);
        }
        let nth = |nth: u64| Bytes(least * (1 + steps * nth / (count - 1).max(1))).to_string();
        Ok((0..count).map(nth).collect::<Vec<_>>().join(":"))
    };
    let lists = value.split(',').take(2).map(&mut list).collect::<Result<Vec<_>, String>>()?;
    Ok((parsed(&lists.join(","))?, left_out))
}

fn parsed(text: &str) -> Result<BlockSizes, String> {
    text.parse().map_err(|error: ParseError| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_for_those_that_follow_it() {
        let of = |value: &str| ByDirection::parse(value).map(|sizes| [sizes.read.0, sizes.write.0, sizes.trim.0]);
        assert_eq!(of("8k"), Ok([8192; 3]));
        assert_eq!(of("8k,32k"), Ok([8192, 32768, 32768]));
        assert_eq!(of("8k,32k,"), Ok([8192, 32768, 4096]));
        assert_eq!(of(",8k"), Ok([4096, 8192, 8192]));
        assert_eq!(of("8k,"), Ok([8192, 4096, 4096]));
        assert!(of("").is_err() && of("1k,2k,3k,4k").is_err() && of("0").is_err());
    }

    #[test]
    fn splits_have_fio_s_units_and_ranges_step_by_their_least() {
        let split = |value| split(value, KbBase::Of1024);
        assert_eq!(split("4kB/60:64k/40").unwrap().to_string(), "4KiB/60:64KiB/40");
        assert_eq!(split("512/50:4k,8k,16k").unwrap().to_string(), "512/50:4KiB/50,8KiB/100");
        assert!(split("4k/50:8k/40").unwrap_err().contains("90%"));
        let sizes = |value: &str| range(value).map(|(sizes, left_out)| (sizes.to_string(), left_out));
        assert_eq!(sizes("1k-4k"), Ok(("1KiB/25:2KiB/25:3KiB/25:4KiB/25".to_string(), None)));
        let (many, left_out) = range("4k-1m").unwrap();
        assert_eq!((many.smallest(), many.largest(), left_out), (Bytes(4096), Bytes(1 << 20), Some(256)));
        assert_eq!(sizes("4k-8k,64k-64k"), Ok(("4KiB/50:8KiB/50,64KiB/100".to_string(), None)));
        assert!(sizes("8k-4k").is_err() && sizes("8k").is_err());
    }
}
