//! Writes the page of an application that was asked again, or predicted: what it got beside what it gets, as figures, as a
//! table, and drawn.
//!
//! The frame, the style, what draws charts and the page's main script are those of the report; `replay.js` adds the charts
//! over time. The file needs no other file, like the report.

mod course;

use std::io::{self, Write};

use halfpower_analyse::{Interval, PredictFindings, ReplayChange, ReplayCourse, ReplayFindings, ReplayRow, ReplaySide};
use halfpower_record::Captured;
use halfpower_spec::format::{thousands, time_ns, two_digits};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::html::format::{UNKNOWN, date, heading, number, scrolling_table};
use crate::html::tiles::tile;
use crate::html::{CHARTS, SCRIPT, footer, head};
use crate::replay_asked::ReplayAsked;
use crate::words::replay::{self, Figured};
use crate::words::{predict, settings::count};
use course::{curve_charts, data, time_charts};

/// The kinds of chart of this page.
const REPLAYED: &str = include_str!("../../assets/replay.js");
/// What the captured figures are called.
const FIRST: &str = "captured";

/// What the page is about.
struct Page<'a> {
    captured: &'a Captured,
    /// Where it was asked again.
    place: &'a str,
    /// What was done, before the place: `asked again in`.
    done: &'static str,
    /// The first sentence.
    answer: String,
    findings: &'a ReplayFindings,
    course: &'a ReplayCourse,
    notes: Vec<String>,
    /// What the other figures are called.
    second: &'static str,
}

/// Writes the page of a capture that was asked again on a real target.
///
/// # Errors
/// Those of `out`.
pub fn replay_html(
    findings: &ReplayFindings,
    course: &ReplayCourse,
    captured: &Captured,
    asked: &ReplayAsked,
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = Page {
        captured,
        place: &asked.target,
        done: "asked again in",
        answer: replay::sentence(findings, &captured.subject, &asked.target),
        findings,
        course,
        notes: std::iter::once(replay::rounds(findings)).chain(replay::notes(findings, captured, asked)).collect(),
        second: "here",
    };
    page.write(out)
}

/// Writes the page of a capture that a model was asked.
///
/// # Errors
/// Those of `out`.
pub fn predict_html(
    findings: &PredictFindings,
    course: &ReplayCourse,
    captured: &Captured,
    place: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = Page {
        captured,
        place,
        done: "predicted on",
        answer: predict::answer(findings, &captured.subject, place),
        findings: &findings.operations,
        course,
        notes: predict::notes(findings),
        second: "there",
    };
    page.write(out)
}

impl Page<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(&format!("{}, {} {}", self.subject(), self.done, self.place), ""))
                body {
                    a.skip href="#answer" { "To the answer" }
                    (self.banner())
                    main {
                        (self.answer())
                        section #operations {
                            h2 { "Both sides" }
                            (table(self.findings, self.second))
                        }
                        (curve_charts(self.findings, self.course, self.second))
                        (time_charts(self.course, self.second))
                        (self.notes())
                    }
                    (footer())
                    script #data type="application/json" {
                        (PreEscaped(data(self.findings, self.course, [FIRST, self.second])))
                    }
                    script { (PreEscaped(CHARTS)) (PreEscaped(REPLAYED)) (PreEscaped(SCRIPT)) }
                }
            }
        };
        out.write_all(page.into_string().as_bytes())
    }

    fn subject(&self) -> &str {
        if self.captured.subject.is_empty() { "An application" } else { &self.captured.subject }
    }

    fn banner(&self) -> Markup {
        let all = [
            (true, ("answer", "Answer")),
            (true, ("operations", "Both sides")),
            (course::has_curves(self.course), ("latency", "Latency")),
            (course::has_steps(self.course), ("time", "Over time")),
            (!self.notes.is_empty(), ("notes", "Notes")),
        ];
        html! {
            header.banner {
                p.brand { "half" b { "power" } }
                nav aria-label="Sections" {
                    @for (_, (id, word)) in all.iter().filter(|(there, _)| *there) { a href={ "#" (id) } { (word) } }
                }
            }
        }
    }

    fn answer(&self) -> Markup {
        let captured = self.captured;
        let operations = format!("{} operations", thousands(captured.operations.len() as f64));
        let lanes = count(captured.lanes as usize, "lane");
        let seconds = format!("{} s captured", two_digits(captured.span_ns() as f64 / 1e9));
        let day = (captured.started_unix_ms > 0).then(|| date(captured.started_unix_ms));
        let about = [Some(operations), Some(lanes), Some(seconds), day].into_iter().flatten().collect::<Vec<_>>();
        html! {
            section #answer {
                h1 { (self.subject()) ", " (self.done) " " code { (self.place) } br; small { (about.join(" · ")) } }
                div.verdict { p.long { (self.answer) } }
                (tiles(self.findings, self.second))
            }
        }
    }

    fn notes(&self) -> Markup {
        html! {
            @if !self.notes.is_empty() {
                section #notes {
                    h2 { "What this rests on" }
                    ul.notes { @for note in &self.notes { li { (note) } } }
                }
            }
        }
    }
}

/// The quotients of all operations, and of what makes data durable, as figures.
fn tiles(findings: &ReplayFindings, second: &str) -> Markup {
    let whole = &findings.whole;
    let latency = |side: &ReplaySide, of: fn(&ReplaySide) -> &Interval| time_ns(of(side).value);
    let rates = [replay::rate(&whole.before.per_second), replay::rate(&whole.after.per_second)];
    let depths = [replay::depth(&whole.before.depth), replay::depth(&whole.after.depth)];
    let medians = [&whole.before, &whole.after].map(|side| latency(side, |side| &side.p50_ns));
    let tails = [&whole.before, &whole.after].map(|side| latency(side, |side| &side.p99_ns));
    let commits = findings.commits().map(|row| {
        let tails = [&row.before, &row.after].map(|side| latency(side, |side| &side.p99_ns));
        (format!("{}, p99", heading(&replay::row(row))), row.p99, tails)
    });
    let one = |what: &str, change: ReplayChange, of: Figured, [before, after]: [String; 2]| {
        let (value, unit) = replay::figure(&change, of).unwrap_or((UNKNOWN.to_string(), ""));
        tile(what, &value, unit, &replay::below_figure(&change, of, [&before, &after], second))
    };
    html! {
        div.tiles {
            (one("Operations a second", whole.rate, Figured::Rate, rates))
            (one("In flight", whole.depth, Figured::Depth, depths))
            (one("Latency, p50", whole.p50, Figured::Latency, medians))
            (one("Latency, p99", whole.p99, Figured::Latency, tails))
            @if let Some((what, change, tails)) = commits { (one(&what, change, Figured::Latency, tails)) }
        }
    }
}

/// A group of rows for all operations and for each kind: captured, again, and the quotients.
fn table(findings: &ReplayFindings, second: &str) -> Markup {
    let columns = html! {
        th scope="col" { "Operation" }
        th scope="col" {}
        th.number scope="col" { "Operations" }
        th.number scope="col" { "a second" }
        th.number scope="col" { "MB/s" }
        th.number scope="col" { "In flight" }
        th.number scope="col" { "p50" }
        th.number scope="col" { "p99" }
    };
    // One kind is all that there is.
    let whole = (findings.rows.len() != 1).then_some(&findings.whole);
    let bodies = html! { @for row in whole.into_iter().chain(&findings.rows) { (body(row, second)) } };
    scrolling_table("In grey below a figure: its 95% interval", columns, bodies)
}

fn body(row: &ReplayRow, second: &str) -> Markup {
    let cell = |figure: String, within: Option<String>| {
        html! { td.number { (figure) @if let Some(within) = within { small { (within) } } } }
    };
    let figures = |side: &ReplaySide| {
        let mbps = side.bytes_per_second.value / 1e6;
        html! {
            td.number { (thousands(side.operations as f64)) }
            (cell(replay::rate(&side.per_second), within(&side.per_second, number)))
            (cell(if mbps > 0.0 { number(mbps) } else { UNKNOWN.to_string() }, None))
            (cell(replay::depth(&side.depth), within(&side.depth, number)))
            (cell(time_ns(side.p50_ns.value), within(&side.p50_ns, time_ns)))
            (cell(time_ns(side.p99_ns.value), within(&side.p99_ns, time_ns)))
        }
    };
    let changes = [&row.rate, &row.depth, &row.p50, &row.p99].map(replay::change);
    let [rate, depth, p50, p99] = &changes;
    html! {
        tbody {
            tr { th scope="rowgroup" rowspan="3" { (replay::row(row)) } th scope="row" { (FIRST) } (figures(&row.before)) }
            tr { th scope="row" { (second) } (figures(&row.after)) }
            tr {
                th scope="row" { "so" }
                td {}
                td.number { b { (rate) } }
                td {}
                @for change in [depth, p50, p99] { td.number { b { (change) } } }
            }
        }
    }
}

/// The ends of an interval, if they differ.
fn within(interval: &Interval, shown: fn(f64) -> String) -> Option<String> {
    let [low, high] = [interval.low, interval.high].map(shown);
    (low != high).then(|| format!("{low} to {high}"))
}
