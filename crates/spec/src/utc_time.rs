//! Converts seconds of Unix time to dates in UTC, and back.

use std::fmt;

use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

/// A date and a time of day in UTC; displayed as `2000-06-16 12:00:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UtcTime {
    /// Year, up to 9999.
    pub year: i32,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, from 1.
    pub day: u8,
    /// Hour of the day.
    pub hour: u8,
    /// Minute of the hour.
    pub minute: u8,
    /// Second of the minute.
    pub second: u8,
}

impl UtcTime {
    /// The date of a second of Unix time; the last second of the year 9999 for anything later.
    pub fn of_unix_s(unix_s: u64) -> Self {
        let known = i64::try_from(unix_s).ok().and_then(|unix_s| OffsetDateTime::from_unix_timestamp(unix_s).ok());
        let at = known.unwrap_or(PrimitiveDateTime::MAX.assume_utc());
        Self {
            year: at.year(),
            month: at.month().into(),
            day: at.day(),
            hour: at.hour(),
            minute: at.minute(),
            second: at.second(),
        }
    }

    /// The second of Unix time that `text` names in the form of `Display`; `None` for any other form, for impossible
    /// dates and for dates before 1970.
    pub fn unix_s_of(text: &str) -> Option<u64> {
        let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<u8>().ok();
        let year = text.get(0..4)?.parse().ok()?;
        let date = Date::from_calendar_date(year, Month::try_from(number(5..7)?).ok()?, number(8..10)?).ok()?;
        let time = Time::from_hms(number(11..13)?, number(14..16)?, number(17..19)?).ok()?;
        let unix_s = u64::try_from(PrimitiveDateTime::new(date, time).assume_utc().unix_timestamp()).ok()?;
        // Other characters between or beside the numbers do not read back the same.
        (Self::of_unix_s(unix_s).to_string() == text).then_some(unix_s)
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second } = self;
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::UtcTime;

    #[test]
    fn dates_follow_the_calendar() {
        // Checked with date -u -d @SECONDS.
        let cases = [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (961_156_800, "2000-06-16 12:00:00"),
            (1_709_251_199, "2024-02-29 23:59:59"),
            (1_798_761_599, "2026-12-31 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
            (253_402_300_799, "9999-12-31 23:59:59"),
        ];
        for (unix_s, text) in cases {
            assert_eq!(UtcTime::of_unix_s(unix_s).to_string(), text, "{unix_s}");
            assert_eq!(UtcTime::unix_s_of(text), Some(unix_s), "{text}");
        }
        assert_eq!(UtcTime::of_unix_s(u64::MAX).to_string(), "9999-12-31 23:59:59");
        let others = [
            "2026-02-30 00:00:00",
            "2026-01-01 24:00:00",
            "6/16/00 12:00",
            "",
            "1969-12-31 23:59:59",
            "2026-01-01T00:00:00",
            "2026-01-01 00:00:00 ",
        ];
        for other in others {
            assert_eq!(UtcTime::unix_s_of(other), None, "{other}");
        }
    }
}
