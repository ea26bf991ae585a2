//! Holds the wording that several experiments share.

use halfpower_analyse::Interval;
use halfpower_record::LeftOut;
use halfpower_spec::format;

use crate::data::ExperimentData;
use crate::ratio::RatioFinding;

/// A ratio as a factor: `1.20 times (1.10 to 1.31)`.
pub(crate) fn times(ratio: &RatioFinding) -> String {
    match ratio.is_known() {
        true => times_of(ratio.interval),
        false => format!("{} times (by one run each)", format::factor(ratio.interval.value)),
    }
}

/// An interval as a factor.
pub(crate) fn times_of(interval: Interval) -> String {
    let Interval { value, low, high } = interval;
    let [value, low, high] = [value, low, high].map(format::factor);
    format!("{value} times ({low} to {high})")
}

/// A ratio as a share: `41% (34% to 49%)`.
pub(crate) fn share(ratio: &RatioFinding) -> String {
    let Interval { value, low, high } = ratio.interval;
    let [value, low, high] = [value, low, high].map(format::percent);
    if ratio.is_known() { format!("{value} ({low} to {high})") } else { format!("{value} (by one run each)") }
}

/// A size in bytes, such as `64 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    format::size(bytes as f64)
}

/// Each clause as a sentence; `otherwise` if there are none.
pub(crate) fn sentences(clauses: impl IntoIterator<Item = Option<String>>, otherwise: &str) -> String {
    let sentences: Vec<String> = clauses.into_iter().flatten().map(|clause| sentence(&clause)).collect();
    if sentences.is_empty() { otherwise.to_string() } else { sentences.join(" ") }
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
