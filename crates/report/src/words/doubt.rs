//! Writes why a stop is not believed, and what measuring would still tell.

use halfpower_analyse::StopDoubt;
use halfpower_spec::format::percent;

use super::stop_brief::StopBrief;
use super::stops::StopWords;

/// Measuring time still needed: `40 s`, `8 min`, `3 h`.
pub(crate) fn about(seconds: f64) -> String {
    match seconds {
        short if short < 90.0 => format!("{:.0} s", short.ceil()),
        long if long < 5400.0 => format!("{:.0} min", (long / 60.0).ceil()),
        longer => format!("{:.0} h", (longer / 3600.0).ceil()),
    }
}

/// What is said in place of a stop that is not believed.
pub(super) fn in_doubt(doubt: &StopDoubt) -> StopWords {
    let reason = doubted(doubt);
    StopWords {
        brief: StopBrief::unknown(&reason),
        sentence: format!("What stops it is not known: {reason}."),
        why: format!("Not known: {reason}."),
        falsified_by: String::new(),
    }
}

/// Why a stop is not believed.
fn doubted(doubt: &StopDoubt) -> String {
    match doubt {
        StopDoubt::FasterThanReads => "faster than reads, so perhaps a host's cache".to_string(),
        StopDoubt::Contradicted { device_share } => {
            format!("the device moved only {} of the bytes, a cache the rest", percent(*device_share))
        }
        StopDoubt::RateUnknown { more_seconds: Some(seconds) } => {
            format!("runs differ too much; needs about {} more", about(*seconds))
        }
        StopDoubt::RateUnknown { more_seconds: None } => "runs differ too much".to_string(),
        StopDoubt::OneDepth => "no other depth tells what more would bring".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::about;

    #[test]
    fn time_is_told_in_its_usual_unit() {
        assert_eq!([about(12.2), about(480.0), about(7300.0)], ["13 s", "8 min", "3 h"]);
    }
}
