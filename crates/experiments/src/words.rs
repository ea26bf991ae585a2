//! Holds the wording that several experiments share.

use halfpower_analyse::Interval;
use halfpower_record::LeftOut;
use halfpower_spec::format;

use crate::data::ExperimentData;
use crate::ratio::{RatioFinding, is_undecided};

/// A ratio as a factor: `1.20 times (1.10 to 1.31)`.
pub(crate) fn times(ratio: &RatioFinding) -> String {
    match ratio.is_known() {
        true => times_of(ratio.interval),
        false => format!("{} times (by one run each)", format::factor(ratio.interval.value)),
    }
}

/// What stands before the ends of an interval that is too wide for a figure.
pub(crate) const NOT_DECIDED: &str = "not decided";

/// An interval as a factor; without the factor if it is not decided: `not decided, 6.20 to 98 times`.
pub(crate) fn times_of(interval: Interval) -> String {
    let Interval { value, low, high } = interval;
    let [value, low, high] = [value, low, high].map(format::factor);
    match is_undecided(&interval) {
        true => format!("{NOT_DECIDED}, {low} to {high} times"),
        false => format!("{value} times ({low} to {high})"),
    }
}

/// A ratio as a share: `41% (34% to 49%)`, or `not decided, 10% to 60%`.
pub(crate) fn share(ratio: &RatioFinding) -> String {
    let is_undecided = ratio.is_undecided();
    let Interval { value, low, high } = ratio.interval;
    let [value, low, high] = [value, low, high].map(format::percent);
    if is_undecided {
        return format!("{NOT_DECIDED}, {low} to {high}");
    }
    if ratio.is_known() { format!("{value} ({low} to {high})") } else { format!("{value} (by one run each)") }
}

/// A figure with its unit and its interval: `1,480 MB/s (1,470 to 1,490)`. It stands alone if its interval has no width,
/// and the interval stands alone if it is too wide: `not decided, 200 to 1,900 MB/s`.
pub(crate) fn with_interval(figure: Interval, unit: &str) -> String {
    // No rate is below 0, although the t interval of a few runs may be.
    let [value, low, high] = [figure.value, figure.low.max(0.0), figure.high].map(format::number);
    match is_undecided(&figure) {
        true => format!("{NOT_DECIDED}, {low} to {high} {unit}"),
        false if low == high => format!("{value} {unit}"),
        false => format!("{value} {unit} ({low} to {high})"),
    }
}

/// A figure in words without its interval, or the ends of that if it is too wide: `1,480 MB/s`, `not decided, 200 MB/s to
/// 1,900 MB/s`.
pub(crate) fn decided(figure: Interval, words: impl Fn(f64) -> String) -> String {
    match is_undecided(&figure) {
        true => format!("{NOT_DECIDED}, {} to {}", words(figure.low.max(0.0)), words(figure.high)),
        false => words(figure.value),
    }
}

/// A size in bytes, such as `64 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    format::size(bytes as f64)
}

/// Each clause as a sentence.
pub(crate) fn each_sentence(clauses: impl IntoIterator<Item = Option<String>>) -> Vec<String> {
    clauses.into_iter().flatten().map(|clause| sentence(&clause)).collect()
}

/// A clause as a sentence: capital letter, full stop.
pub(crate) fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let text = format!("{first}{}", letters.as_str());
    if text.ends_with('.') { text } else { text + "." }
}

/// Counts the cells that exceed a known limit of the path and are therefore left out of the answer.
pub(crate) fn above_known(data: &ExperimentData) -> Option<String> {
    let above = data.cells.iter().filter(|cell| cell.finding.cached).count();
    let of = data.cells.len();
    let are = if above == 1 { "is" } else { "are" };
    (above > 0).then(|| {
        format!(
            "{above} of {of} cells {are} above what the path is known to let through, and not used: a cache or a \
                 credit answered, or the known limit is another path's."
        )
    })
}

/// One sentence per reason for leaving something out. Settings with the same reason are counted, and one is named.
pub(crate) fn notes<'a>(left_out: impl Iterator<Item = &'a LeftOut>) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&LeftOut>)> = Vec::new();
    for left in left_out {
        match reasons.iter_mut().find(|(why, _)| *why == left.why) {
            Some((_, alike)) => alike.push(left),
            None => reasons.push((&left.why, vec![left])),
        }
    }
    let note = |(why, alike): (&str, Vec<&LeftOut>)| {
        let why = why.strip_suffix('.').unwrap_or(why);
        match (alike.iter().find_map(|left| left.workload.as_ref()), alike.len()) {
            (None, _) => sentence(why),
            (Some(workload), 1) => sentence(&format!("{why} ({workload})")),
            (Some(workload), count) => sentence(&format!("{why} ({count} settings, such as {workload})")),
        }
    };
    reasons.into_iter().map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_whose_interval_spans_a_factor_of_four_is_not_decided() {
        let of = |value: f64, low: f64, high: f64| Interval { value, low, high };
        assert_eq!(times_of(of(25.0, 6.2, 98.0)), "not decided, 6.20 to 98 times");
        assert_eq!(times_of(of(1.2, 1.1, 1.31)), "1.20 times (1.10 to 1.31)");
        assert!(times_of(of(2.0, 1.0, 4.0)).starts_with(NOT_DECIDED), "four is too wide");
        assert_eq!(share(&RatioFinding::of(of(0.3, 0.1, 0.6), true)), "not decided, 10% to 60%");
        assert_eq!(share(&RatioFinding::of(of(0.3, 0.1, 0.6), false)), "30% (by one run each)");
        assert!(times_of(Interval::exact(0.0)).starts_with("0"), "no width is no doubt");
        assert_eq!(with_interval(of(1480.0, 1470.0, 1490.0), "MB/s"), "1,480 MB/s (1,470 to 1,490)");
        assert_eq!(with_interval(Interval::exact(482.0), "MB/s"), "482 MB/s");
        assert_eq!(with_interval(of(500.0, -90.0, 1090.0), "MB/s"), "not decided, 0.00 to 1,090 MB/s");
        assert_eq!(decided(of(1480.0, 1470.0, 1490.0), format::mbps), "1,480 MB/s");
        assert_eq!(decided(of(500.0, 200.0, 1090.0), format::mbps), "not decided, 200 MB/s to 1,090 MB/s");
    }
}
