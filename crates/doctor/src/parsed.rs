//! Parses the small texts of /proc and /sys: lists of processors, words in brackets, figures after a key.

/// The numbers of a kernel list such as `0-3,8`; an unreadable part is left out.
pub(crate) fn list(text: &str) -> Vec<usize> {
    /// No machine has more processors; a longer range is no list.
    const MOST: usize = 1 << 16;
    let range = |part: &str| -> Option<std::ops::RangeInclusive<usize>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (last < MOST).then_some(first..=last)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// The word in brackets of `none [mq-deadline] kyber`, or a lone word.
pub(crate) fn chosen(text: &str) -> Option<&str> {
    match text.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        Some((word, _)) => Some(word),
        None => Some(text.trim()).filter(|word| !word.is_empty() && !word.contains(char::is_whitespace)),
    }
}

/// The first number of a text such as `16.0 GT/s PCIe`.
pub(crate) fn leading(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The number after `key` among the words of a text: `figure("avg10=1.5 avg60=2", "avg60=")` is 2.
pub(crate) fn figure(text: &str, key: &str) -> Option<f64> {
    text.split_whitespace().find_map(|word| word.strip_prefix(key)?.parse().ok())
}

/// The value of the first `key : value` line.
pub(crate) fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let value =
        |line: &'a str| line.split_once(':').filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim());
    text.lines().find_map(value)
}

/// The number of `0x1f` or `31`.
pub(crate) fn hexadecimal(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The first two numbers of a release such as `6.9.1-test`.
pub(crate) fn release(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_kernel_are_read() {
        assert_eq!(list("0-2,8, 10-10"), [0, 1, 2, 8, 10]);
        assert_eq!(list("0-99999999999,x,5"), [5]);
        assert_eq!(chosen("none [mq-deadline] kyber"), Some("mq-deadline"));
        assert_eq!((chosen("none"), chosen("a b"), chosen("")), (Some("none"), None, None));
        assert_eq!(leading("16.0 GT/s PCIe"), Some(16.0));
        assert_eq!(figure("some avg10=0.50 avg60=7.25", "avg60="), Some(7.25));
        assert_eq!(field("model name\t: X\nflags : a b", "flags"), Some("a b"));
        assert_eq!((hexadecimal("0x1f"), hexadecimal("31"), hexadecimal("?")), (Some(31), Some(31), None));
        assert_eq!(release("6.9.1-test"), Some((6, 9)));
    }
}
