//! Parses and prints sizes, times and rates with their units, and parses lists and ranges of values.
//!
//! Sizes are printed in binary units (KiB, MiB). `k`, `m`, `g` and `kb`, `mb`, `gb` are binary, as in fio; `kB`, `KB`,
//! `MB` and `GB` are decimal. Rates are decimal unless they say `KiB/s`, `MiB/s` or `GiB/s`; `Gb/s`, which is bits wherever links
//! are spoken of, is refused.
//!
//! A list is `4KiB..1MiB` or `4k-1m` (powers of two), `1,4,16`, or both mixed.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ParseError;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A span or an instant of an engine's clock, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// Bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Rate(pub f64);

/// Units in lower case (binary, as in fio), and `kB`, `KB`, `MB`, `GB`, `TB` exactly so (decimal).
const SIZE_UNITS: [(&str, f64); 24] = [
    ("", 1.0),
    ("b", 1.0),
    ("k", 1024.0),
    ("ki", 1024.0),
    ("kb", 1024.0),
    ("kib", 1024.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("m", 1048576.0),
    ("mi", 1048576.0),
    ("mb", 1048576.0),
    ("mib", 1048576.0),
    ("MB", 1e6),
    ("g", 1073741824.0),
    ("gi", 1073741824.0),
    ("gb", 1073741824.0),
    ("gib", 1073741824.0),
    ("GB", 1e9),
    ("t", 1099511627776.0),
    ("ti", 1099511627776.0),
    ("tb", 1099511627776.0),
    ("tib", 1099511627776.0),
    ("TB", 1e12),
    ("mB", 1e6),
];

const TIME_UNITS: [(&str, f64); 11] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("usec", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("msec", 1e6),
    ("s", 1e9),
    ("sec", 1e9),
    ("m", 60e9),
    ("min", 60e9),
    ("h", 3600e9),
];

const RATE_UNITS: [(&str, f64); 7] = [
    ("b/s", 1.0),
    ("kb/s", 1e3),
    ("mb/s", 1e6),
    ("gb/s", 1e9),
    ("kib/s", 1024.0),
    ("mib/s", 1048576.0),
    ("gib/s", 1073741824.0),
];

/// Rates in bits, as data sheets and drivers of links write them.
const RATES_OF_BITS: [&str; 6] = ["Kb/s", "Mb/s", "Gb/s", "Kib/s", "Mib/s", "Gib/s"];

/// Splits `text` into a number and the factor of its unit.
fn number_and_unit(text: &str, units: &[(&str, f64)], example: &str) -> Result<f64, ParseError> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 =
        text[..digits].parse().map_err(|_| ParseError::new(text, 0, format!("write a number, such as {example}")))?;
    let unit = text[digits..].trim();
    let spelled = |unit: &str| units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| factor);
    let factor = spelled(unit).or_else(|| spelled(&unit.to_lowercase()));
    match factor {
        Some(factor) => Ok(number * factor),
        None => Err(ParseError::new(text, digits, format!("there is no unit `{unit}`; write it like {example}"))),
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bytes = number_and_unit(text, &SIZE_UNITS, "4096, 4KiB or 1MiB")?;
        if bytes.fract() != 0.0 || bytes > u64::MAX as f64 {
            return Err(ParseError::new(text, 0, "a size must be a whole number of bytes"));
        }
        Ok(Self(bytes as u64))
    }
}

impl FromStr for Nanos {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let seconds = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let owned = if seconds { format!("{text}s") } else { text.to_string() };
        let nanos = number_and_unit(&owned, &TIME_UNITS, "80us, 5ms, 2s or 2m")
            .map_err(|error| ParseError { text: text.to_string(), ..error })?;
        if nanos > 1e18 {
            return Err(ParseError::new(text, 0, "this is longer than thirty years"));
        }
        Ok(Self(nanos.round() as u64))
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if RATES_OF_BITS.contains(&unit.trim()) {
            let message = "that is bits, and rates are of bytes, which are 8: write 1.25GB/s for 10Gb/s";
            return Err(ParseError::new(text, text.len() - unit.len(), message));
        }
        let rate = number_and_unit(text, &RATE_UNITS, "3.5GB/s or 500MB/s")?;
        match rate {
            rate if rate <= 0.0 => Err(ParseError::new(text, 0, "a rate must be above 0")),
            rate if rate.is_finite() => Ok(Self(rate)),
            _ => Err(ParseError::new(text, 0, "no rate is as large as that")),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match units.iter().find(|(unit, _)| self.0 >= *unit && self.0.is_multiple_of(*unit)) {
            Some((unit, name)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1_000_000_000u64, "s"), (1_000_000, "ms"), (1_000, "us")];
        match units.iter().find(|(unit, _)| self.0 >= *unit && self.0.is_multiple_of(*unit)) {
            Some((unit, name)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}ns", self.0),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")];
        // Use only a unit in which the number reads back exactly.
        match units.iter().find(|(unit, _)| self.0 >= *unit && self.0 / unit * unit == self.0) {
            Some((unit, name)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}B/s", self.0),
        }
    }
}

/// Parses a time; without a unit it is in microseconds, as in fio.
///
/// # Errors
/// If it is no time.
pub fn microseconds(text: &str) -> Result<Nanos, ParseError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return text.parse();
    }
    format!("{text}us").parse().map_err(|error: ParseError| ParseError { text: text.to_string(), ..error })
}

/// Parses a share: `3%` or `0.03`.
pub(crate) fn share(text: &str) -> Result<f64, ParseError> {
    let (digits, scale) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 0.01));
    match digits.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&(number * scale)) => Ok(number * scale),
        _ => Err(ParseError::new(text, 0, "write a share from 0% to 100%")),
    }
}

impl Bytes {
    /// The size in KiB, the unit of the cost formulas.
    pub fn kib(self) -> f64 {
        self.0 as f64 / 1024.0
    }
}

impl Nanos {
    /// The span in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// A span from seconds; negative spans become 0.
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as u64)
    }
}

impl From<Nanos> for Duration {
    fn from(span: Nanos) -> Self {
        Self::from_nanos(span.0)
    }
}

impl Rate {
    /// The rate in decimal MB/s.
    pub fn mbps(self) -> f64 {
        self.0 / 1e6
    }
}

/// Parses a comma-separated list with `read` for each item; errors point into the whole text.
pub fn list<T>(text: &str, read: impl Fn(&str) -> Result<Vec<T>, ParseError>) -> Result<Vec<T>, ParseError> {
    let mut values = Vec::new();
    let mut offset = 0;
    for item in text.split(',') {
        values.extend(read(item).map_err(|error| error.within(text, offset))?);
        offset += item.len() + 1;
    }
    Ok(values)
}

/// Doubles from the first to the last value of `first..last` or `first-last`; returns a single value as it is.
fn doubling(item: &str, read: impl Fn(&str) -> Result<u64, ParseError>) -> Result<Vec<u64>, ParseError> {
    let Some((first, last)) = item.split_once("..").or_else(|| item.split_once('-')) else {
        return Ok(vec![read(item)?]);
    };
    let after = item.len() - last.len();
    let low = read(first).map_err(|error| error.within(item, 0))?;
    let high = read(last).map_err(|error| error.within(item, after))?;
    if low == 0 || low > high {
        return Err(ParseError::new(item, after, "a range must rise, from a first value above 0"));
    }
    Ok(std::iter::successors(Some(low), |value| value.checked_mul(2)).take_while(|value| *value <= high).collect())
}

/// Parses block sizes: `4KiB..1MiB` is every power of two from the first to the last.
pub fn bytes_axis(text: &str) -> Result<Vec<Bytes>, ParseError> {
    let sizes = list(text, |item| doubling(item, |size| size.parse::<Bytes>().map(|bytes| bytes.0)))?;
    distinct_above_zero(text, sizes, "a block size must be at least one byte")
        .map(|sizes| sizes.into_iter().map(Bytes).collect())
}

/// Parses counts such as depths and threads: `1..32` is 1, 2, 4, 8, 16, 32.
pub fn count_axis(text: &str) -> Result<Vec<u32>, ParseError> {
    let read = |count: &str| {
        count.parse::<u32>().map(u64::from).map_err(|_| ParseError::new(count, 0, "write a whole number"))
    };
    let counts = list(text, |item| doubling(item, read))?;
    distinct_above_zero(text, counts, "a depth must be at least 1: one request at a time")
        .map(|counts| counts.into_iter().map(|count| count as u32).collect())
}

fn distinct_above_zero(text: &str, mut values: Vec<u64>, message: &str) -> Result<Vec<u64>, ParseError> {
    if values.contains(&0) {
        return Err(ParseError::new(text, 0, message));
    }
    values.sort_unstable();
    values.dedup();
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_fio_and_spreadsheets_write_them() {
        let cases = [
            ("512", 512),
            ("4k", 4096),
            ("4KiB", 4096),
            ("4kb", 4096),
            ("4kB", 4000),
            ("1GB", 1_000_000_000),
            ("1gb", 1 << 30),
            ("4KIB", 4096),
            ("8B", 8),
            ("1MiB", 1 << 20),
            ("1.5k", 1536),
        ];
        for (text, bytes) in cases {
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn a_wrong_unit_is_pointed_at() {
        let error = "64KiX".parse::<Bytes>().unwrap_err();
        assert_eq!(error.at, 2);
        assert!(error.to_string().contains("character 3"), "{error}");
    }

    #[test]
    fn a_rate_in_bits_is_refused_at_its_unit() {
        for (text, at) in [("10Gb/s", 2), ("100Mb/s", 3), ("1.5 Kb/s", 3), ("10Gib/s", 2)] {
            let error = text.parse::<Rate>().unwrap_err();
            assert!(error.at == at && error.message.contains("bytes"), "{text}: {error:?}");
        }
        for text in ["10GB/s", "10gb/s", "10gB/s", "10 GB/s"] {
            assert_eq!(text.parse::<Rate>(), Ok(Rate(1e10)), "{text}");
        }
    }

    #[test]
    fn what_is_printed_is_read_again() {
        for bytes in [0, 1, 511, 512, 4096, 3000, 1 << 20, (1 << 30) + 1] {
            assert_eq!(Bytes(bytes).to_string().parse::<Bytes>(), Ok(Bytes(bytes)));
        }
        for nanos in [0, 999, 1000, 80_000, 2_500_000, 120_000_000_000] {
            assert_eq!(Nanos(nanos).to_string().parse::<Nanos>(), Ok(Nanos(nanos)));
        }
        for rate in [1.0, 1500.0, 500e6, 3.5e9, 8.2e9, 8200e6, 1e9 / 3.0, 123_456_789.0] {
            assert_eq!(Rate(rate).to_string().parse::<Rate>(), Ok(Rate(rate)));
        }
    }

    #[test]
    fn a_bare_number_of_time_is_seconds() {
        assert_eq!("0.25".parse::<Nanos>(), Ok(Nanos(250_000_000)));
        assert_eq!("2m".parse::<Nanos>(), Ok(Nanos(120_000_000_000)));
        assert_eq!("2min".parse::<Nanos>(), Ok(Nanos(120_000_000_000)));
    }

    #[test]
    fn of_microseconds_a_bare_number_is_one() {
        for (text, ns) in [("100", 100_000), ("0.5", 500), ("2ms", 2_000_000), ("0", 0)] {
            assert_eq!(microseconds(text), Ok(Nanos(ns)), "{text}");
        }
        assert!(microseconds("").is_err() && microseconds("1.2.3").is_err());
    }

    #[test]
    fn a_range_doubles_and_a_list_is_sorted_once() {
        assert_eq!(count_axis("1..32").unwrap(), [1, 2, 4, 8, 16, 32]);
        assert_eq!(count_axis("8,1,8,2").unwrap(), [1, 2, 8]);
        assert_eq!(bytes_axis("4KiB..16KiB,1m").unwrap(), [4096, 8192, 16384, 1 << 20].map(Bytes));
        assert_eq!(bytes_axis("4k-16kb,1m").unwrap(), bytes_axis("4KiB..16KiB,1m").unwrap());
    }

    #[test]
    fn zero_and_falling_ranges_are_refused() {
        assert!(count_axis("0").is_err());
        assert!(count_axis("0..4").is_err());
        assert!(bytes_axis("1MiB..4KiB").is_err());
    }

    #[test]
    fn an_error_points_into_the_whole_list() {
        assert_eq!(bytes_axis("4KiB,8KiB..64Kix").unwrap_err().at, 13);
    }
}
