//! Reads times as traces write them: seconds with a fraction.

/// Most digits of seconds; as nanoseconds they fit into 64 bits.
const MOST_DIGITS: usize = 10;
const SECOND_NS: u64 = 1_000_000_000;

/// Seconds with a fraction of up to nine digits (`1700000000.123456`), in nanoseconds; `None` for any other form.
pub(crate) fn seconds_ns(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    whole(seconds)?.checked_mul(SECOND_NS)?.checked_add(fraction_ns(fraction)?)
}

/// A time of day with a fraction (`23:59:59.123456`), in nanoseconds after midnight; `None` for any other form.
pub(crate) fn time_of_day_ns(text: &str) -> Option<u64> {
    let (clock, fraction) = text.split_once('.')?;
    let mut parts = clock.split(':').map(whole);
    let hours = parts.next()??;
    let minutes = parts.next()??;
    let seconds = parts.next()??;
    if parts.next().is_some() || hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    Some((hours * 3600 + minutes * 60 + seconds) * SECOND_NS + fraction_ns(fraction)?)
}

fn whole(digits: &str) -> Option<u64> {
    if digits.is_empty() || digits.len() > MOST_DIGITS || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

fn fraction_ns(digits: &str) -> Option<u64> {
    if digits.len() > 9 {
        return None;
    }
    Some(whole(digits)? * 10_u64.pow(9 - digits.len() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_seconds_and_a_fraction() {
        assert_eq!(seconds_ns("1700000000.123456"), Some(1_700_000_000_123_456_000));
        assert_eq!(seconds_ns("0.000000001"), Some(1));
        assert_eq!(seconds_ns("9999999999.999999999"), Some(9_999_999_999_999_999_999));
        for wrong in ["", "1", "1.", ".5", "1.2.3", "-1.0", "1.0000000001", "99999999999.0", "1.5s"] {
            assert_eq!(seconds_ns(wrong), None, "{wrong}");
        }
        assert_eq!(time_of_day_ns("01:02:03.5"), Some(3_723_500_000_000));
        for wrong in ["01:02", "01:02.5", "24:00:00.0", "1:2:3:4.0", "a:b:c.0"] {
            assert_eq!(time_of_day_ns(wrong), None, "{wrong}");
        }
    }
}
