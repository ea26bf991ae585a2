//! Words of an application that was asked again: what differs, and by how much.

use halfpower_analyse::{Interval, ReplayChange, ReplayFindings, ReplayRow, ReplayVerdict};
use halfpower_record::{CaptureSource, Captured, OperationKind};
use halfpower_spec::format::{factor, number, size, thousands, two_digits};

use crate::replay_asked::ReplayAsked;

/// What a verdict says in a column.
pub(crate) fn verdict(verdict: ReplayVerdict) -> &'static str {
    match verdict {
        ReplayVerdict::Same => "the same",
        ReplayVerdict::Slower => "slower",
        ReplayVerdict::Faster => "faster",
        ReplayVerdict::NotDecided => "not decided",
    }
}

/// What a row is about: `direct read 8 KiB`, `fdatasync`, `all operations`.
pub(crate) fn row(row: &ReplayRow) -> String {
    let Some(kind) = row.kind else { return "all operations".to_string() };
    let way = if row.direct == Some(true) { "direct " } else { "" };
    let what = match kind {
        OperationKind::Read => format!("{way}read"),
        OperationKind::Write => format!("{way}write"),
        OperationKind::DurableWrite => format!("{way}durable write"),
        OperationKind::Fdatasync => "fdatasync".to_string(),
        OperationKind::Fsync => "fsync".to_string(),
        OperationKind::OtherSync => "sync".to_string(),
        OperationKind::FaultRead => "page fault".to_string(),
    };
    if row.bytes == 0 { what } else { format!("{what} {}", size(row.bytes as f64)) }
}

/// How often: `1,240`, `4.2`.
pub(crate) fn rate(per_second: &Interval) -> String {
    let rate = per_second.value;
    if rate >= 9.95 { thousands(rate) } else { two_digits(rate) }
}

/// A mean depth: `0.053`, `1.3`, `32`.
pub(crate) fn depth(depth: &Interval) -> String {
    let depth = depth.value;
    if depth >= 9.95 { thousands(depth) } else { two_digits(depth) }
}

/// A quotient in a column, such as `0.95 times`, where the sides differ; else what it says: `the same`.
pub(crate) fn change(change: &ReplayChange) -> String {
    match (change.ratio, change.verdict) {
        (Some(ratio), ReplayVerdict::Slower | ReplayVerdict::Faster) => format!("{} times", factor(ratio.value)),
        _ => verdict(change.verdict).to_string(),
    }
}

/// What a quotient is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figured {
    /// Operations a second.
    Rate,
    /// Operations in progress.
    Depth,
    /// A latency.
    Latency,
}

/// A quotient as a figure of its own: the number, and what it counts.
pub(crate) fn figure(change: &ReplayChange, of: Figured) -> Option<(String, &'static str)> {
    let times = match of {
        Figured::Rate | Figured::Depth => "times as many",
        Figured::Latency => "times as long",
    };
    change.ratio.map(|ratio| (factor(ratio.value), times))
}

/// What stands below such a figure: its interval, both sides, and what they say. `second` names the other side.
pub(crate) fn below_figure(change: &ReplayChange, of: Figured, sides: [&str; 2], second: &str) -> String {
    let [before, after] = sides;
    let sides = format!("{after} {second}, {before} when captured");
    let Some(ratio) = change.ratio else { return format!("{sides}; too few operations to compare") };
    let says = match (change.verdict, of) {
        (ReplayVerdict::Slower | ReplayVerdict::Faster, Figured::Depth) if ratio.value > 1.0 => "higher",
        (ReplayVerdict::Slower | ReplayVerdict::Faster, Figured::Depth) => "lower",
        (ReplayVerdict::Same, _) => "the same within 5%",
        (said, _) => verdict(said),
    };
    let [low, high] = [ratio.low, ratio.high].map(factor);
    let range = if low == high { String::new() } else { format!(" ({low} to {high} times)") };
    format!("{says}{range}: {sides}")
}

/// The first sentence: how many operations a second, of how many.
pub(crate) fn sentence(findings: &ReplayFindings, subject: &str, place: &str) -> String {
    let whole = &findings.whole;
    let subject = if subject.is_empty() { "the application" } else { subject };
    let Some(ratio) = whole.rate.ratio else {
        return format!("{subject}, asked again in {place}: too few operations to compare");
    };
    let says = match whole.rate.verdict {
        ReplayVerdict::Same => "the same within 5%",
        ReplayVerdict::Slower => "slower",
        ReplayVerdict::Faster => "faster",
        ReplayVerdict::NotDecided => "not decided: a longer --runtime tells",
    };
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(factor);
    let range = if low == high { String::new() } else { format!(" ({low} to {high})") };
    format!(
        "{subject}, asked again in {place}: {} operations a second, {value} times{range} as many as when it was captured, {says}",
        rate(&whole.after.per_second)
    )
}

/// What was compared: whole rounds, or a part.
pub(crate) fn rounds(findings: &ReplayFindings) -> String {
    match (findings.part, findings.rounds) {
        (true, _) => {
            "The time was over before all of it was asked: its first part is compared; a longer --runtime asks all"
                .to_string()
        }
        (false, 0) => "Nothing was asked to its end".to_string(),
        (false, 1) => "All of it was asked once".to_string(),
        (false, many) => format!("All of it was asked in {} rounds", thousands(many as f64)),
    }
}

/// What was asked otherwise than it was captured, and what is missing.
pub(crate) fn notes(findings: &ReplayFindings, captured: &Captured, asked: &ReplayAsked) -> Vec<String> {
    let seconds = two_digits(asked.span_ns as f64 / 1e9);
    let laid_out = match asked.laid_out_bytes {
        0 => String::new(),
        bytes => format!("; the files that were laid out for it ({}) are gone again", size(bytes as f64)),
    };
    let mut notes = vec![format!("It took {seconds} s{laid_out}")];
    if !asked.pauses {
        notes.push(
            "Operations had no pauses: each was asked as soon as the one before in its lane had ended".to_string(),
        );
    }
    if asked.speed != 1.0 {
        let what = if asked.open { "Operations were due" } else { "Pauses were" };
        let how = if asked.open { "times as often as captured" } else { "times shorter than captured" };
        notes.push(format!("{what} {} {how}", factor(asked.speed)));
    }
    if asked.open {
        notes.push(
            "Operations were asked when they were due, or as soon as their lane was free (open loop); their latencies count \
             from when they were due"
                .to_string(),
        );
    }
    if captured.source == CaptureSource::Blkparse {
        notes.push(
            "The capture is of the block layer: nothing of the page cache or of a file system is in it".to_string(),
        );
    }
    notes.extend(counts(captured, asked));
    notes.extend(shared_commits(findings, "here"));
    if asked.full {
        notes.push("It ended early: more operations are not kept".to_string());
    }
    notes
}

/// How many commits a sync makes durable; `None` if each has its own.
pub(crate) fn shared_commits(findings: &ReplayFindings, place: &str) -> Option<String> {
    let [before, after] = findings.commits_of_a_sync?.map(number);
    Some(format!(
        "A sync makes several commits durable (group commit): {before} when it was captured, {after} {place}. Each commit is one \
         operation, from when its thread began to wait or to write."
    ))
}

/// Notes on operations and files, each with how many there are.
fn counts(captured: &Captured, asked: &ReplayAsked) -> Vec<String> {
    let all = [
        (
            asked.not_direct_files as u64,
            "file was used with O_DIRECT, which there is not here: it was asked through the page cache",
            "files were used with O_DIRECT, which there is not here: they were asked through the page cache",
        ),
        (
            asked.widened,
            "operation begins or ends within a block of this disk, and was asked for as whole blocks",
            "operations begin or end within a block of this disk, and were asked for as whole blocks",
        ),
        (
            asked.short_reads,
            "read got less than it asked for, because its file ended",
            "reads got less than they asked for, because their files ended",
        ),
        (
            asked.waits,
            "pause was a wait for another lane's sync, and lasted until that sync had ended here",
            "pauses were waits for another lane's sync, and lasted until that sync had ended here",
        ),
        (captured.left_out, "operation is not in the capture", "operations are not in the capture"),
        (
            captured.cut,
            "operation was in progress when a traced slice ended, and is taken to have been as long as another one like it",
            "operations were in progress when a traced slice ended, and are taken to have been as long as others like them",
        ),
    ];
    let said = |(count, one, many): (u64, &str, &str)| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        more => Some(format!("{} {many}", thousands(more as f64))),
    };
    all.into_iter().filter_map(said).collect()
}
