//! Shows what an application gets when it is asked again, beside what it got when it was captured.

use halfpower_analyse::{ReplayFindings, ReplayRow, ReplayVerdict};
use halfpower_record::Captured;
use halfpower_spec::escaped;
use halfpower_spec::format::time_ns;

use crate::replay_asked::ReplayAsked;
use crate::terminal::folded;
use crate::words::replay;

/// Narrowest and widest width of sentences.
const WIDTH: (usize, usize) = (60, 120);
/// Columns of a figure.
const FIGURE: usize = 12;
/// Heads of the figures.
const FIGURES: [&str; 4] = ["a second", "in flight", "p50", "p99"];
/// What stands before the quotients.
const SO: &str = "so";

/// Whom a comparison is about, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayHead<'a> {
    /// The program that was captured.
    pub subject: &'a str,
    /// Where it was asked again.
    pub place: &'a str,
    /// Notes, each a sentence.
    pub lines: Vec<String>,
    /// What the captured figures are called.
    pub first: &'static str,
    /// What the others are called.
    pub second: &'static str,
}

/// What a verdict says, in a word or two.
pub fn verdict_words(verdict: ReplayVerdict) -> &'static str {
    replay::verdict(verdict)
}

/// The answer on a real target, with sentences of at most `width` columns.
pub fn replay_text(findings: &ReplayFindings, captured: &Captured, asked: &ReplayAsked, width: usize) -> String {
    let width = width.clamp(WIDTH.0, WIDTH.1);
    let sentence = replay::sentence(findings, &captured.subject, &asked.target);
    let lines = std::iter::once(replay::rounds(findings)).chain(replay::notes(findings, captured, asked)).collect();
    let head =
        ReplayHead { subject: &captured.subject, place: &asked.target, lines, first: "captured", second: "here" };
    let mut text = folded("", &escaped(&sentence), width);
    text.push(String::new());
    text.extend(table(findings, &head));
    text.push(String::new());
    text.extend(head.lines.iter().flat_map(|line| folded("", &escaped(line), width)));
    text.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A row for all operations and for each kind, with both sides below each other, to stand below a sentence.
pub fn replay_table(findings: &ReplayFindings, head: &ReplayHead<'_>) -> String {
    let notes = head.lines.iter().map(|line| escaped(line).into_owned());
    table(findings, head).into_iter().chain(notes).map(|line| format!("{}\n", line.trim_end())).collect()
}

fn table(findings: &ReplayFindings, head: &ReplayHead<'_>) -> Vec<String> {
    // One kind is all that there is.
    let whole = (findings.rows.len() != 1).then_some(&findings.whole);
    let rows: Vec<&ReplayRow> = whole.into_iter().chain(&findings.rows).collect();
    let names: Vec<String> = rows.iter().map(|row| replay::row(row)).collect();
    let name_width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0) + 2;
    let side_width = [head.first, head.second, SO].map(|side| side.chars().count()).into_iter().max().unwrap_or(0);
    let line = |name: &str, side: &str, figures: [String; 4]| {
        let figures: String = figures.iter().map(|figure| format!("{figure:>FIGURE$}")).collect();
        format!("{name:<name_width$}{side:<side_width$}{figures}")
    };
    let mut lines = vec![line("", "", FIGURES.map(str::to_string))];
    for (name, row) in names.iter().zip(rows) {
        let [before, after] = [&row.before, &row.after].map(|side| {
            [
                replay::rate(&side.per_second),
                replay::depth(&side.depth),
                time_ns(side.p50_ns.value),
                time_ns(side.p99_ns.value),
            ]
        });
        lines.push(line(name, head.first, before));
        lines.push(line("", head.second, after));
        lines.push(line("", SO, [row.rate, row.depth, row.p50, row.p99].map(|change| replay::change(&change))));
    }
    lines
}
