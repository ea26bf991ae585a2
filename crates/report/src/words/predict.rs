//! Says what an application would get on another path, and what that rests on.

use halfpower_analyse::{Interval, PathSettings, PredictFindings, PredictNote, PredictedFlush, WithoutComputing};
use halfpower_spec::{Direction, Pattern, escaped, format};

use super::{replay, settings};

/// The answer in one sentence or two; `place` names the path.
pub(crate) fn answer(findings: &PredictFindings, subject: &str, place: &str) -> String {
    let whole = &findings.operations.whole;
    let rate = with_range(&whole.after.per_second, format::number);
    let times = whole.rate.ratio.map_or(String::new(), |ratio| {
        format!(", {} times as many as when it was captured", format::factor(ratio.value))
    });
    let who = if subject.is_empty() { "this application".to_string() } else { escaped(subject).into_owned() };
    let mut text = format!("On {}, {who} would do {rate} operations a second{times}.", escaped(place));
    if let Some(commits) = findings.commits().filter(|row| row.after.operations > 0) {
        let rate = with_range(&commits.after.per_second, format::number);
        let often = commits
            .rate
            .ratio
            .map_or(String::new(), |ratio| format!(" ({} times as often)", format::factor(ratio.value)));
        let there = with_range(&commits.after.p99_ns, format::time_ns);
        let now = format::time_ns(commits.before.p99_ns.value);
        text += &format!(
            " It would commit {rate} times a second{often}; a commit would take {there} (p99) instead of {now}."
        );
    }
    if let Some(WithoutComputing { per_second, commits_per_second }) = findings.without_computing {
        let commits = commits_per_second.map_or(String::new(), |rate| format!(" and {} commits", format::number(rate)));
        text += &format!(
            " That is if what it computes takes as long as when it was captured. Processors that rest less compute \
             faster: with no computing at all there would be {} operations{commits} a second.",
            format::number(per_second)
        );
    }
    text
}

/// `12,400 (11,900 to 12,800)`; the value alone if it has no interval.
fn with_range(interval: &Interval, number: fn(f64) -> String) -> String {
    let Interval { value, low, high } = *interval;
    let [value, low, high] = [value, low, high].map(number);
    if low == high { value } else { format!("{value} ({low} to {high})") }
}

/// What the prediction rests on, and where it may be wrong.
pub(crate) fn notes(findings: &PredictFindings) -> Vec<String> {
    let shared = replay::shared_commits(&findings.operations, "there");
    flush(&findings.flush).into_iter().chain(shared).chain(findings.notes.iter().map(note)).collect()
}

/// What is said of flushes; `None` if nothing has to be.
fn flush(flush: &PredictedFlush) -> Option<String> {
    match flush {
        PredictedFlush::NotNeeded | PredictedFlush::OfSystem => None,
        PredictedFlush::Measured { ns } => {
            let time = with_range(ns, format::time_ns);
            Some(format!("A flush of the device takes {time}, as the study's runs of commits saw."))
        }
        PredictedFlush::Unknown => Some(
            "How long a flush takes there is not known, so syncs and durable writes take the time that was captured. A study \
             with --experiments sequential,random,commits measures it; of a simulated disk, flush=1ms says it."
                .to_string(),
        ),
    }
}

/// A note in a sentence or two.
fn note(note: &PredictNote) -> String {
    match note {
        PredictNote::SizesBeyond { pattern, rw, asked_bytes, studied_bytes } => {
            let asked = sizes(*asked_bytes);
            let studied = sizes(*studied_bytes);
            let measure = format::precise_size(asked_bytes[1] as f64).replace(' ', "");
            format!(
                "The application's {} are of {asked}, and {studied} were studied: beyond, a limit may stand that no run saw. \
                 Measure them there: halfpower run --rw {} --bs {measure}.",
                accesses(*pattern, *rw),
                rw_word(*pattern, *rw),
            )
        }
        PredictNote::DepthBeyond { studied_depth, at_most_per_second } => format!(
            "More is in flight than the {studied_depth} that were studied. It is taken that the path serves no more at once; \
             if it does, there are at most {} operations a second. A study with a larger --iodepth decides.",
            format::number(*at_most_per_second)
        ),
        PredictNote::MayBeLimit { at_most_per_second } => format!(
            "The studied path gave one request at a time what it gave several, evenly. A slow device and a limit of rate look \
             the same so; it is taken as a slow device. If it is a limit, what comes after a pause does not wait: then there are \
             at most {} operations a second. Measure it below its rate: with `halfpower run --rate` at half of it, requests \
             behind a limit take far less time.",
            format::number(*at_most_per_second)
        ),
        PredictNote::StandIn { pattern, rw, taken_as, share } => format!(
            "The {} ({} of the requests) are predicted from the {}: the study has none of theirs past the page cache.",
            accesses(*pattern, *rw),
            format::percent(*share),
            path_of_study(*taken_as)
        ),
        PredictNote::NoInterval => {
            "The model does not say how far it may be off, so there is no interval; `halfpower calibrate` writes that into \
             the model, and a study has it."
                .to_string()
        }
        PredictNote::NeverSynced { bytes } => format!(
            "{} were written into the page cache and not synced. Writing them back takes a part of the path, which is left \
             out.",
            format::size(*bytes as f64)
        ),
        PredictNote::Folded { bytes } => format!(
            "The files take {}, more than the path holds: places were folded into it.",
            format::size(*bytes as f64)
        ),
        PredictNote::Cut => {
            "Some thread was too slow there to come to its end while others went on: its last operations are left out."
                .to_string()
        }
        PredictNote::LeftOut { operations: 1 } => {
            "The capture lacks 1 operation, so the path is busier than is predicted.".to_string()
        }
        PredictNote::LeftOut { operations } => format!(
            "The capture lacks {} operations, so the path is busier than is predicted.",
            format::thousands(*operations as f64)
        ),
        PredictNote::Processors { used_before, used, usable, longer } => {
            processors([*used_before, *used, *usable], *longer)
        }
        PredictNote::ProcessorsUnknown => {
            "How much processor time its operations take is not known, so processors are taken to be enough for all of them. \
             A capture by `halfpower watch --record` knows it."
                .to_string()
        }
        PredictNote::WaitsForSyncs { pauses } => format!(
            "{} were waits for another thread's sync of a file that both write, as in a group commit: they last until that sync \
             has ended there.",
            if *pauses == 1 { "1 pause".to_string() } else { format!("{} pauses", format::thousands(*pauses as f64)) }
        ),
    }
}

/// Processors in use before and there, and those that it can have; how many times as long computing takes.
fn processors(counts: [f64; 3], longer: f64) -> String {
    let [before, used, usable] = counts.map(format::number);
    let computing = if longer >= 1.02 {
        format!(" There, what it computes takes {} times as long.", format::factor(longer))
    } else if longer <= 0.98 {
        let share = format::percent(longer);
        format!(" There, what it computes takes {share} of the time, as it waits less for a processor.")
    } else {
        String::new()
    };
    format!(
        "It used {before} processors when it was captured, and would use {used} of the {usable} that it can have.{computing}"
    )
}

fn accesses(pattern: Pattern, rw: Direction) -> String {
    format!("{} {rw}s", settings::pattern_word(pattern))
}

fn path_of_study(path: PathSettings) -> String {
    format!("{}s", settings::path(path))
}

fn sizes([least, most]: [u64; 2]) -> String {
    let [first, last] = [least, most].map(|bytes| format::size(bytes as f64));
    if first == last { first } else { format!("{first} to {last}") }
}

/// The word of `--rw`.
fn rw_word(pattern: Pattern, rw: Direction) -> String {
    if pattern == Pattern::Sequential { rw.to_string() } else { format!("rand{rw}") }
}
