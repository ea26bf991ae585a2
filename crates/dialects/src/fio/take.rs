//! Parses the values of fio's options.

use halfpower_spec::Bytes;

/// Parses a switch: 0 or 1, true or false; without a value it is on.
pub fn on(value: &str) -> Result<bool, String> {
    match value {
        "" | "1" | "true" | "yes" => Ok(true),
        "0" | "false" | "no" => Ok(false),
        other => Err(format!("`{other}` is neither 0 nor 1")),
    }
}

/// Parses a whole number in fio's way, which may have a unit of sizes: `1k` is 1024.
pub fn number(value: &str) -> Result<u64, String> {
    size(value).map(|Bytes(number)| number).map_err(|_| format!("`{value}` is not a whole number; write it like 8"))
}

/// Parses a share in percent.
pub fn percent(value: &str) -> Result<u32, String> {
    match value.trim_end_matches('%').parse() {
        Ok(percent @ 0..=100) => Ok(percent),
        _ => Err(format!("`{value}` is no share in percent; write it like 50")),
    }
}

/// Parses a whole number.
pub fn count(value: &str) -> Result<u32, String> {
    value.parse().map_err(|_| format!("`{value}` is not a whole number; write it like 8"))
}

/// What fio's units of size are powers of (`kb_base`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KbBase {
    /// `k`, `kB`, `m` and so on of 1024, and `KiB`, `MiB` and so on of 1000: fio's default.
    #[default]
    Of1024,
    /// The other way round.
    Of1000,
}

impl KbBase {
    /// The base of `k` and its like, and that of `KiB` and its like.
    fn factors(self) -> (u64, u64) {
        match self {
            Self::Of1024 => (1024, 1000),
            Self::Of1000 => (1000, 1024),
        }
    }
}

/// Parses a size in bytes as fio does by default.
pub fn size(value: &str) -> Result<Bytes, String> {
    size_by(value, KbBase::default())
}

/// Parses a size in bytes as fio does (its documentation on units), with units in any case; `0x1000` is hexadecimal. fio
/// passes over a fraction and the unit behind it, so that only a whole number of bytes may have one: `4096.0`.
pub fn size_by(value: &str, base: KbBase) -> Result<Bytes, String> {
    if value.contains('%') {
        return Err(format!("`{value}`: this is a size and no share; write one like 1g"));
    }
    let unknown = || format!("`{value}` is no size of fio's; write one like 4096, 4k or 1g");
    if let Some(digits) = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).map(Bytes).map_err(|_| unknown());
    }
    let end = value.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(value.len());
    let (digits, unit) = value.split_at(end);
    let unit = match unit.strip_prefix('.') {
        None => unit,
        Some(fraction) if fraction.bytes().all(|digit| digit == b'0') => "",
        Some(_) => {
            return Err(format!(
                "`{value}`: fio passes over a fraction and what follows it, and reads {digits}; write a whole number, such \
                 as 1536m"
            ));
        }
    };
    let factor = factor(&unit.to_ascii_lowercase(), base).ok_or_else(unknown)?;
    let number: u64 = digits.parse().map_err(|_| unknown())?;
    number.checked_mul(factor).map(Bytes).ok_or_else(|| format!("`{value}` is more bytes than there are"))
}

/// The factor of one of fio's units of size, in lower case.
fn factor(unit: &str, base: KbBase) -> Option<u64> {
    let (plain, other) = base.factors();
    let (letter, base) = match unit.strip_suffix("ib") {
        Some(letter) => (letter, other),
        None => (unit.strip_suffix('b').unwrap_or(unit), plain),
    };
    let power = ["", "k", "m", "g", "t", "p"].iter().position(|known| *known == letter)?;
    base.checked_pow(power as u32)
}

/// Returns the single value of a list for reads, writes and trims, if all its items are equal.
pub fn same_for_all(value: &str) -> Result<&str, String> {
    let mut items = value.split(',').filter(|item| !item.is_empty());
    match items.next() {
        Some(first) if value.starts_with(first) && items.all(|item| item == first) => Ok(first),
        _ => {
            Err(format!("`{value}`: reads and writes share one value in a run; write a single one, and a run for each"))
        }
    }
}

/// Parses a time, in seconds without a unit, as in fio's `runtime`.
pub fn seconds(value: &str) -> Result<halfpower_spec::Nanos, String> {
    value.parse().map_err(|error: halfpower_spec::ParseError| error.to_string())
}

/// Parses a time, in microseconds without a unit, as in fio's `thinktime`.
pub fn microseconds(value: &str) -> Result<halfpower_spec::Nanos, String> {
    let with_unit =
        if value.ends_with(|c: char| c.is_ascii_digit()) { format!("{value}us") } else { value.to_string() };
    seconds(&with_unit)
}

/// Accepts the value only if halfpower always behaves so.
pub fn only(value: &str, accepted: &[&str], why: &str) -> Result<(), String> {
    if accepted.contains(&value) { Ok(()) } else { Err(format!("`{value}`: {why}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_fio_reads_them() {
        for four_kib in ["4k", "4K", "4kb", "4KB", "4096", "4096b"] {
            assert_eq!(size(four_kib), Ok(Bytes(4096)), "{four_kib}");
        }
        assert_eq!((size("4KiB"), size("1mib")), (Ok(Bytes(4000)), Ok(Bytes(1_000_000))));
        let decimal = |value| size_by(value, KbBase::Of1000);
        assert_eq!(
            (decimal("4k"), decimal("4KiB"), decimal("512")),
            (Ok(Bytes(4000)), Ok(Bytes(4096)), Ok(Bytes(512)))
        );
        assert_eq!(
            (size("1g"), size("256KB"), size("2T")),
            (Ok(Bytes(1 << 30)), Ok(Bytes(256 << 10)), Ok(Bytes(2 << 40)))
        );
        assert!(size("4x").is_err() && size("").is_err() && size("k").is_err() && size("99999999p").is_err());
        assert!(size("10%").is_err());
        assert_eq!((size("1073741824.0"), size("0x1000")), (Ok(Bytes(1 << 30)), Ok(Bytes(4096))));
        assert!(size("1.5g").unwrap_err().contains("reads 1;") && size("1.0g").is_err() && size("0xk").is_err());
        assert_eq!(microseconds("100").unwrap().0, 100_000);
        assert_eq!(microseconds("2ms").unwrap().0, 2_000_000);
        assert_eq!(same_for_all("4k,4k"), Ok("4k"));
        assert!(same_for_all("4k,8k").is_err());
        assert!(same_for_all(",8k").is_err());
        assert_eq!((on(""), on("0")), (Ok(true), Ok(false)));
        assert!(on("2").is_err());
    }
}
