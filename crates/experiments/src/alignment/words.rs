//! Says what `alignment` asks, what it found and what the papers saw; draws the share that shifted requests keep, and
//! their rates.

use halfpower_analyse::Interval;
use halfpower_spec::{format, path_words};

use super::analysis::{AlignmentAnswer, AlignmentRow, Rows, ShiftedKind};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::words::{NOT_DECIDED, sentence, share, size};

pub(crate) const QUESTION: &str = "What do requests lose that do not begin where chunks, pages and blocks do?";
pub(crate) const PAPERS: &str = "In 1998 files lay off the chunks of a stripe, so that a request of 64 KB was one of 12 and one of 52 KB on \
    two drives, and both had to be waited for; aligned ones were 15 to 20% faster (Figure 13). What is the \
    same: a request over a chunk's end is two. What is new: devices whose blocks of 4 KiB are larger than the \
    sectors they take requests in, and file systems that write a part of a block only while nobody else does.";

/// Number of losses that the answer names; the report's table has all of them.
const NAMED: usize = 3;

pub(crate) fn answer(found: &AlignmentAnswer) -> Told {
    Told::of(short(found), details(found), "No request could be set beside an aligned one.")
}

/// What the kind that loses most keeps of its rate.
fn short(found: &AlignmentAnswer) -> Option<ShortAnswer> {
    let AlignmentAnswer { kinds, lose, unclear, .. } = found;
    if let Some(worst) = lose.first() {
        let path = path_words(worst.pattern, worst.cache, worst.rw);
        let [bs, by] = [worst.bs_bytes, worst.shift_bytes].map(size);
        let others = match lose.len() - 1 {
            0 => String::new(),
            1 => format!("; another of {kinds} kinds loses less"),
            others => format!("; {others} others of {kinds} kinds lose less"),
        };
        let what = format!("{path}s of {bs}, {} deep, keep that when they begin {by} later: align them", worst.iodepth);
        let figure = format!("{} of the rate", share(&worst.of_aligned));
        return Some(ShortAnswer::new(figure, sentence(&(what + &others))));
    }
    match (kinds, unclear) {
        (0, _) => None,
        (kinds, 0) => {
            let what =
                format!("Requests that begin off chunks, pages and blocks keep their rate ({kinds} kinds of them)");
            Some(ShortAnswer::new("nothing lost", format!("{what}: none needs to be aligned.")))
        }
        (kinds, unclear) => {
            let what =
                format!("These runs cannot tell of {unclear} of {kinds} kinds of shifted requests what they lose");
            Some(ShortAnswer::new(NOT_DECIDED, format!("{what}: give the study a larger budget.")))
        }
    }
}

fn details(found: &AlignmentAnswer) -> Vec<String> {
    let AlignmentAnswer { kinds, lose, alike, faster, unclear } = found;
    if *kinds == 0 {
        return Vec::new();
    }
    let mut clauses = Vec::new();
    if !lose.is_empty() {
        let named: Vec<String> = lose.iter().take(NAMED).map(loss).collect();
        let more = lose.len().saturating_sub(NAMED);
        let more = if more > 0 { format!("; {more} more kinds lose less than these") } else { String::new() };
        clauses.push(named.join("; ") + &more);
    }
    if *faster > 0 {
        clauses.push(format!("{faster} of {kinds} kinds of shifted requests are faster than aligned ones"));
    }
    if alike + unclear > 0 || *faster == 0 {
        clauses.push(rest(*kinds, *alike, *unclear));
    }
    vec![sentence(&clauses.join("; "))]
}

/// Describes the kinds that do not lose.
fn rest(kinds: usize, alike: usize, unclear: usize) -> String {
    match (alike, unclear) {
        (0, 0) => "no kind of shifted requests comes within 10% of aligned ones".to_string(),
        (alike, 0) => format!("{alike} of {kinds} kinds of shifted requests come within 10% of aligned ones"),
        (0, unclear) if unclear == kinds => {
            format!("these runs cannot tell whether any of {kinds} kinds of shifted requests loses")
        }
        (0, unclear) => format!("of {unclear} of {kinds} kinds of shifted requests these runs cannot tell"),
        (alike, unclear) => format!(
            "{alike} of {kinds} kinds of shifted requests come within 10% of aligned ones, and of {unclear} these runs \
             cannot tell"
        ),
    }
}

/// Describes the loss of one kind.
fn loss(kind: &ShiftedKind) -> String {
    let path = path_words(kind.pattern, kind.cache, kind.rw);
    let of = size(kind.bs_bytes);
    let by = size(kind.shift_bytes);
    let kept = share(&kind.of_aligned);
    format!("{path}s of {of}, {} deep, keep {kept} of their rate when they begin {by} later", kind.iodepth)
}

pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let rows = &rows.alignment;
    [shares(rows), rates(rows)].into_iter().flatten().collect()
}

/// A kind of request, such as `random direct writes of 4 KiB, 8 deep`.
fn kind(row: &AlignmentRow) -> String {
    let path = path_words(row.pattern, row.cache, row.rw);
    format!("{path}s of {}, {} deep", format::size(row.bs_bytes as f64), row.iodepth)
}

/// One line per kind and one bar per shift, since the legend has more room for the long names of kinds; `of` gives the
/// value of a row.
fn lines(rows: &[AlignmentRow], of: impl Fn(&AlignmentRow) -> Option<Interval>) -> Vec<Line> {
    let begin = |row: &AlignmentRow| match row.shift_bytes {
        0 => "aligned".to_string(),
        shift => format!("{} later", format::size(shift as f64)),
    };
    let same = |row: &AlignmentRow| (row.pattern, row.cache, row.rw, row.bs_bytes, row.iodepth);
    let mut kinds: Vec<&AlignmentRow> = rows.iter().filter(|row| of(row).is_some()).collect();
    kinds.dedup_by_key(|row| same(row));
    let line = |of_kind: &&AlignmentRow| Line {
        name: kind(of_kind),
        points: rows
            .iter()
            .filter(|row| same(row) == same(of_kind))
            .filter_map(|row| Some(Point::named(begin(row), of(row)?)))
            .collect(),
    };
    kinds.iter().map(line).collect()
}

fn shares(rows: &[AlignmentRow]) -> Option<Picture> {
    let percent = |row: &AlignmentRow| {
        let Interval { value, low, high } = row.of_aligned?;
        Some(Interval { value: value * 100.0, low: low * 100.0, high: high * 100.0 })
    };
    let lines = lines(rows, percent);
    (!lines.is_empty()).then(|| Picture {
        title: "What shifted requests keep".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Where requests begin"),
        y: Axis::even("% of aligned"),
        lines,
    })
}

fn rates(rows: &[AlignmentRow]) -> Option<Picture> {
    let rate = |row: &AlignmentRow| Some(Interval { value: row.mbps, low: row.low, high: row.high });
    (!rows.is_empty()).then(|| Picture {
        title: "Throughput, aligned and shifted".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Where requests begin"),
        y: Axis::even("MB/s"),
        lines: lines(rows, rate),
    })
}
