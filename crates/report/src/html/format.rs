//! Formats numbers and names for the page.
//!
//! The page's script follows the same rules for its own text (`assets/charts.js`).

use halfpower_analyse::Interval;
use halfpower_spec::{Cache, Direction, Pattern, UtcTime};

/// Replaces an unknown number.
pub const UNKNOWN: &str = "\u{2013}";

/// Digits in groups of three, separated by commas.
fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with three significant digits, or with all digits before the decimal point.
pub fn number(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => UNKNOWN.to_string(),
        size if size >= 99.95 => {
            let sign = if value < 0.0 { "\u{2212}" } else { "" };
            format!("{sign}{}", grouped(&format!("{size:.0}")))
        }
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.9995 || size == 0.0 => format!("{value:.2}"),
        size if size >= 0.01 => format!("{value:.3}"),
        size if size >= 0.0001 => format!("{value:.5}"),
        _ => format!("{value:.1e}"),
    }
}

/// A throughput from MB/s.
pub fn mbps(value: f64) -> String {
    format!("{} MB/s", number(value))
}

/// A size in bytes, exact if it is a whole number of its unit.
pub fn size(bytes: f64) -> String {
    let units = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let Some((unit, name)) = units.iter().find(|(unit, _)| bytes >= *unit as f64) else {
        return format!("{bytes:.0} B");
    };
    let count = bytes / *unit as f64;
    if count.fract() == 0.0 {
        format!("{} {name}", grouped(&format!("{count:.0}")))
    } else {
        format!("{} {name}", number(count))
    }
}

/// A time from microseconds.
pub fn span(us: f64) -> String {
    match us {
        us if us >= 999_500.0 => format!("{} s", number(us / 1e6)),
        us if us >= 999.5 => format!("{} ms", number(us / 1e3)),
        us => format!("{} µs", number(us)),
    }
}

/// A share of a peak in words.
pub fn share(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// A throughput that may be unknown.
pub fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| "unknown".to_string(), mbps)
}

/// The ends of an interval, if they differ from the value and are meaningful.
pub fn ends(interval: &Interval) -> Option<String> {
    let known = interval.low.is_finite() && interval.high.is_finite() && interval.low != interval.high;
    (known && !is_open(interval)).then(|| format!("{} to {}", number(interval.low), number(interval.high)))
}

/// Whether the interval extends more than half of the value to a side, so that neither is meaningful.
pub fn is_open(interval: &Interval) -> bool {
    const MOST_REACH: f64 = 0.5;
    let known = interval.low.is_finite() && interval.high.is_finite();
    known && (interval.high - interval.low) / 2.0 > MOST_REACH * interval.value.abs()
}

/// A path in words, as in `random direct read`.
pub fn path_words(pattern: Pattern, cache: Cache, rw: Direction) -> String {
    let cache = match cache {
        Cache::Both => "buffered",
        Cache::Os => "buffered durable",
        Cache::Device => "direct",
        Cache::None => "direct durable",
    };
    format!("{pattern} {cache} {rw}")
}

/// The text with an initial capital, for a heading.
pub fn heading(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Quotes a word so that a shell takes it as one argument, whatever it contains.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A date and time of day in UTC, from milliseconds of Unix time.
pub fn date(unix_ms: u64) -> String {
    let UtcTime { year, month, day, hour, minute, .. } = UtcTime::of_unix_s(unix_ms / 1000);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let cases = [
            (0.0, "0.00"),
            (0.0456, "0.046"),
            (1.234, "1.23"),
            (12.34, "12.3"),
            (99.96, "100"),
            (1234.5, "1,234"),
            (1_234_567.0, "1,234,567"),
            (-250.0, "\u{2212}250"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(number(f64::NAN), UNKNOWN);
    }

    #[test]
    fn sizes_and_spans_take_the_unit_that_fits() {
        assert_eq!(
            [size(512.0), size(4096.0), size(12_700.0), size(1048576.0)],
            ["512 B", "4 KiB", "12.4 KiB", "1 MiB"]
        );
        assert_eq!([span(84.2), span(1240.0), span(2.5e6)], ["84.2 µs", "1.24 ms", "2.50 s"]);
    }

    #[test]
    fn a_word_for_the_shell_stays_one_word() {
        assert_eq!(shell_word("/data/a.b"), "/data/a.b");
        assert_eq!(shell_word("it's <b>"), r"'it'\''s <b>'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400_000), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_767_225_599_000), "2025-12-31 23:59 UTC");
    }
}
