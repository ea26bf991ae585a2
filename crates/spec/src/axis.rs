//! Parses lists and ranges of values: `4KiB..1MiB` or `4k-1m` (powers of two), `1,4,16`, or both mixed.

use crate::{Bytes, ParseError};

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
