//! Writes numbers as short text with a unit; the only place that rounds for display.
//!
//! Lines and sentences take the shortest text ([`number`], [`size`], [`time_us`]). Tables, where figures are compared,
//! take three digits ([`three_digits`], [`precise_size`], [`precise_time_us`]); `charts.js` repeats those for values under
//! the pointer.

/// Throughput in decimal MB/s: `1,780 MB/s`, `43.1 MB/s`, `4.31 MB/s`.
pub fn mbps(mbps: f64) -> String {
    format!("{} MB/s", number(mbps))
}

/// Requests a second: `12,300 IOPS`.
pub fn iops(iops: f64) -> String {
    format!("{} IOPS", number(iops))
}

/// A number with three significant digits, and separators if it is long: `1,780`, `43.1`, `4.31`, `0.05`.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => thousands(value),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A size in binary units: `512 B`, `4 KiB`, `1.5 MiB`.
pub fn size(bytes: f64) -> String {
    let units = [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB")];
    let (unit, name) = units.into_iter().find(|(unit, _)| bytes >= *unit).unwrap_or((1.0, "B"));
    let count = bytes / unit;
    if count >= 10.0 || (count - count.round()).abs() < 0.05 {
        format!("{} {name}", thousands(count))
    } else {
        format!("{count:.1} {name}")
    }
}

/// A number with three significant digits, also below 1: `1,780`, `43.1`, `4.31`, `0.0456`.
pub fn three_digits(value: f64) -> String {
    if value.abs() >= 0.9995 || value == 0.0 {
        return number(value);
    }
    let decimals = (2 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{value:.decimals$}")
}

/// A size with three digits, or whole if it is a whole number of its unit: `4 KiB`, `12.4 KiB`, `1.82 TiB`.
pub fn precise_size(bytes: f64) -> String {
    let units = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let Some((unit, name)) = units.iter().find(|(unit, _)| bytes >= *unit as f64) else {
        return format!("{bytes:.0} B");
    };
    let count = bytes / *unit as f64;
    let count = if count.fract() == 0.0 { thousands(count) } else { three_digits(count) };
    format!("{count} {name}")
}

/// A span in microseconds with three digits: `0.85 µs`, `84.2 µs`, `1.24 ms`, `2.50 s`.
pub fn precise_time_us(us: f64) -> String {
    match us {
        us if us >= 999_500.0 => format!("{} s", three_digits(us / 1e6)),
        us if us >= 999.5 => format!("{} ms", three_digits(us / 1e3)),
        us => format!("{} µs", three_digits(us)),
    }
}

/// Nanoseconds in the most readable unit.
pub fn time_ns(ns: f64) -> String {
    time_us(ns / 1e3)
}

/// A span given in microseconds: `85 ns`, `3.2 µs`, `85 µs`, `1.9 ms`, `2.1 s`.
pub fn time_us(us: f64) -> String {
    let (value, unit) = match us {
        us if us >= 999_500.0 => (us / 1e6, "s"),
        us if us >= 999.5 => (us / 1e3, "ms"),
        us if us >= 0.9995 => (us, "µs"),
        us => (us * 1e3, "ns"),
    };
    if value >= 9.95 { format!("{} {unit}", thousands(value)) } else { format!("{value:.1} {unit}") }
}

/// A share: `97%`, `4.2%`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() >= 9.95 || percent == 0.0 { format!("{}%", thousands(percent)) } else { format!("{percent:.1}%") }
}

/// A share in whole percent: `97%`, `4%`.
pub fn whole_percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// A small number with two significant digits: `0.083`, `1.2`, `15`.
pub fn two_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_string();
    }
    let decimals = (1 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    if decimals == 0 { thousands(value) } else { format!("{value:.decimals$}") }
}

/// A factor, with two decimals below 10: `0.98`, `1.00`, `12`.
pub fn factor(value: f64) -> String {
    if value.abs() < 9.995 { format!("{value:.2}") } else { two_digits(value) }
}

/// A whole number with separators: `1,234,567`.
pub fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0.0 && digits != "0" {
        text.push('-');
    }
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_digits_that_matter() {
        assert_eq!([mbps(1779.6), mbps(43.12), mbps(4.312)], ["1,780 MB/s", "43.1 MB/s", "4.31 MB/s"]);
        assert_eq!([thousands(1234567.0), thousands(-999.0), thousands(-0.2)], ["1,234,567", "-999", "0"]);
        assert_eq!([factor(0.998), factor(1.0), factor(12.4), factor(123.4)], ["1.00", "1.00", "12", "123"]);
        assert_eq!([two_digits(0.0834), two_digits(1.24), two_digits(1234.0)], ["0.083", "1.2", "1,234"]);
        assert_eq!([percent(0.97), percent(0.042), percent(0.0)], ["97%", "4.2%", "0%"]);
    }

    #[test]
    fn tables_keep_three_digits() {
        let cases = [
            (0.0, "0.00"),
            (0.0456, "0.0456"),
            (0.1974, "0.197"),
            (0.9996, "1.00"),
            (12.34, "12.3"),
            (99.96, "100"),
            (1_234_567.0, "1,234,567"),
            (-250.0, "-250"),
        ];
        for (value, text) in cases {
            assert_eq!(three_digits(value), text);
        }
        let sizes = [512.0, 4096.0, 12_700.0, 2e12].map(precise_size);
        assert_eq!(sizes, ["512 B", "4 KiB", "12.4 KiB", "1.82 TiB"]);
        assert_eq!([84.2, 1240.0, 2.5e6].map(precise_time_us), ["84.2 µs", "1.24 ms", "2.50 s"]);
        assert_eq!([0.97, 0.042].map(whole_percent), ["97%", "4%"]);
    }

    #[test]
    fn sizes_and_times_choose_their_unit() {
        assert_eq!([size(512.0), size(4096.0), size(1572864.0)], ["512 B", "4 KiB", "1.5 MiB"]);
        assert_eq!([size(41_000.0), size(1048576.0)], ["40 KiB", "1 MiB"]);
        assert_eq!([time_us(0.085), time_us(85.0), time_us(1900.0)], ["85 ns", "85 µs", "1.9 ms"]);
        assert_eq!([time_us(999.7), time_us(2_100_000.0)], ["1.0 ms", "2.1 s"]);
    }
}
