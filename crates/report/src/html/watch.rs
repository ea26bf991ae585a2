//! Writes the page of an application that was watched: the answer, what happened second by second, and all that was counted.
//!
//! The frame, the style, what draws charts and the page's main script are those of the report; `watch.js` adds the
//! kinds of chart. The file needs no other file, like the report.

mod figures;
mod names;
mod series;
mod tables;

use std::io::{self, Write};

use halfpower_analyse::{OperationGroup, WatchFindings};
use halfpower_record::Watched;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::html::format::{UNKNOWN, date, heading as capitalised, number, scrolling_table};
use crate::html::tiles::tile;
use crate::html::{CHARTS, SCRIPT, footer, head};
use crate::watch::{STOPS, screen};
use crate::words::watch::{activity, depth, group, percentiles};
use crate::words::watch_stops;
use figures::latency_at;
use names::heading_of;
use series::Series;
use tables::{limits, operations, others, pressure, probe, requests, unseen, waits};

/// The kinds of chart of this page.
const WATCHED: &str = include_str!("../../assets/watch.js");
/// Additions to the report's style: the answer in rows.
const OWN_STYLE: &str = "
.rows { display: grid; grid-template-columns: 11rem 1fr; gap: 0.5rem 1.5rem; max-width: 62rem; margin-top: 1.2rem; }
.rows dt { color: var(--soft); font-size: 0.85rem; padding-top: 0.1rem; }
.rows dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
@media (max-width: 34rem) { .rows { grid-template-columns: 1fr; gap: 0; } .rows dd { margin-bottom: 0.7rem; } }
";
/// Width at which the answer's lines are made: a line of the page has more room than one of a terminal.
const WIDTH: usize = 1000;
/// Kinds of operations that get a tile.
const TILES: usize = 4;

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn watch_html(findings: &WatchFindings, watched: &Watched, out: &mut dyn Write) -> io::Result<()> {
    let counters = &findings.counters;
    let series = Series::of(&watched.seconds, [counters.own_mbps.is_some(), counters.other_mbps.is_some()]);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{} watched", title(watched)), OWN_STYLE))
            body {
                a.skip href="#answer" { "To the answer" }
                (banner(watched, &series))
                main {
                    (answer(findings, watched))
                    (charts(&series))
                    (counted(watched))
                    (unseen(watched))
                }
                (footer())
                script #data type="application/json" { (PreEscaped(series.data())) }
                script { (PreEscaped(CHARTS)) (PreEscaped(WATCHED)) (PreEscaped(SCRIPT)) }
            }
        }
    };
    out.write_all(page.into_string().as_bytes())
}

/// The name of the program, or what was asked for.
fn title(watched: &Watched) -> &str {
    if watched.subject.name.is_empty() { &watched.subject.asked } else { &watched.subject.name }
}

fn banner(watched: &Watched, series: &Series) -> Markup {
    let all = [
        (true, ("answer", "Answer")),
        (!series.is_empty(), ("seconds", "Over time")),
        (!watched.operations.is_empty(), ("operations", "Operations")),
        (!watched.requests.is_empty(), ("requests", "Requests")),
        (!watched.others.is_empty(), ("others", "Others")),
        (!watched.unseen.is_empty(), ("unseen", "Not seen")),
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

fn answer(findings: &WatchFindings, watched: &Watched) -> Markup {
    let subject = &watched.subject;
    let seconds = Some(format!("{} s", number(watched.span_ns as f64 / 1e9)));
    let traced = (watched.traced_ns > 0 && watched.traced_ns < watched.span_ns)
        .then(|| format!("{} s of it traced, in {} slices", number(watched.traced_ns as f64 / 1e9), watched.slices));
    let processes = (subject.processes > 0).then(|| format!("{} processes", subject.processes));
    let group = (!subject.cgroup.is_empty()).then(|| subject.cgroup.clone());
    let day = (watched.started_unix_ms > 0).then(|| date(watched.started_unix_ms));
    let about = [processes, group, seconds, traced, subject.ended.clone(), day];
    let about = about.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    html! {
        section #answer {
            h1 { (title(watched)) " " code { (subject.asked) } br; small { (about) } }
            dl.rows {
                @for (heading, lines) in rows(&screen(findings, watched, WIDTH)) {
                    dt { (heading) }
                    dd { @if heading == STOPS { (stops(findings)) } @else { (lines.join("\n")) } }
                }
            }
            div.tiles {
                @for one in findings.activities.iter().take(TILES) {
                    @let [p50, p99] = percentiles(one);
                    (tile(&capitalised(&activity(one)), &number(one.rate), "/s",
                        &format!("{p50}, {p99}, {} deep", depth(one.depth_while_busy))))
                }
            }
        }
    }
}

/// What stops each group, a line each, with the cause in bold.
fn stops(findings: &WatchFindings) -> Markup {
    html! {
        @for (at, of) in findings.groups.iter().enumerate() {
            @let brief = watch_stops::stop(&of.stop);
            @if at > 0 { "\n" }
            @if of.group != OperationGroup::All { (group(of.group)) ": " }
            b { (brief.cause) } (brief.rest)
        }
    }
}

/// The parts of the answer: each heading with its lines, which stand beside it and below it.
fn rows(text: &str) -> Vec<(String, Vec<String>)> {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        let (heading, rest) = heading_of(line);
        if let Some(heading) = heading {
            rows.push((heading.to_string(), Vec::new()));
        }
        let said = rest.trim();
        if let Some((_, lines)) = rows.last_mut().filter(|_| !said.is_empty()) {
            lines.push(said.to_string());
        }
    }
    rows.retain(|(_, lines)| !lines.is_empty());
    rows
}

/// The place of one chart.
fn chart(kind: &str, path: &str, words: &str, what: &str) -> Markup {
    html! {
        figure.chart.wide data-chart=(kind) data-path=(path) {
            figcaption { (words) }
            div.plot role="group" aria-label={ (words) ": " (what) ". The numbers are in the table below the charts." } {
                p.pending { "This chart is drawn by the page's script." }
            }
            p.said aria-live="polite" {}
        }
    }
}

fn charts(series: &Series) -> Markup {
    if series.is_empty() {
        return html! {};
    }
    html! {
        section #seconds {
            h2 { "Over time" }
            noscript { p.lead { "The charts need JavaScript; the table below them does not." } }
            p.lead {
                "What happened second by second" @if series.step_s() > 1 { ", " (series.step_s()) " seconds in each step" } "."
            }
            div.multiples {
                @if series.has_operations() {
                    (chart("watch-latency", "all", "Latency", "p50 and p99 of reads, writes and syncs over time"))
                    (chart("watch-depth", "all", "In flight", "the application's operations in progress over time"))
                }
                @if series.has_bytes() {
                    (chart("watch-bytes", "all", "Bytes on these disks", "MB/s of the application and of others over time"))
                }
                @for kind in series.kinds() {
                    (chart("watch-heat", kind, &format!("How long {kind} take"),
                        &format!("a map of the latencies of {kind}, by second and latency")))
                }
            }
            details { summary { "Numbers" } (numbers(series)) }
        }
    }
}

/// The steps as a table.
fn numbers(series: &Series) -> Markup {
    let columns = html! {
        th.number scope="col" { "From, s" }
        th.number scope="col" { "In flight" }
        @for kind in series.kinds() {
            th.number scope="col" { (kind) " p50" }
            th.number scope="col" { "p99" }
        }
        th.number scope="col" { "Own MB/s" }
        th.number scope="col" { "Others' MB/s" }
    };
    let shown = |value: Option<f64>| value.map_or(UNKNOWN.to_string(), number);
    let rows = html! {
        tbody {
            @for step in series.steps() {
                tr {
                    td.number { (step.from_s) }
                    td.number { (shown(step.depth)) }
                    @for kind in series.kinds() {
                        td.number { (latency_at(step.latency(kind), 0.5)) }
                        td.number { (latency_at(step.latency(kind), 0.99)) }
                    }
                    td.number { (shown(step.own_mbps)) }
                    td.number { (shown(step.other_mbps)) }
                }
            }
        }
    };
    scrolling_table("Step by step", columns, rows)
}

/// All that was counted.
fn counted(watched: &Watched) -> Markup {
    html! {
        @if !watched.operations.is_empty() {
            section #operations {
                h2 { "What it does, and where it waits" }
                (operations(watched))
                (waits(watched))
            }
        }
        @if !watched.requests.is_empty() {
            section #requests {
                h2 { "What the disks were asked for" }
                (requests(watched))
            }
        }
        @if watched.probe.is_some() {
            section #probe {
                h2 { "What one request alone takes" }
                (probe(watched))
            }
        }
        @if !watched.others.is_empty() {
            section #others {
                h2 { "Who else used the same disks" }
                (others(watched))
            }
        }
        @if !watched.group_limits.is_empty() || !watched.pressure.is_empty() {
            section #limits {
                h2 { "Limits of control groups, and pressure" }
                (limits(watched))
                (pressure(watched))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_taken_apart_at_its_headings() {
        let text = "postgres (12 processes)  /srv/pg\n\nWHAT IT DOES      random read 8 KiB  1,240/s\n                  \
                    append  180/s\nWHO ELSE\n  rsync takes 61%\nFALSIFIED BY\n";
        let found = rows(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(
            found[0],
            ("WHAT IT DOES".into(), vec!["random read 8 KiB  1,240/s".into(), "append  180/s".into()])
        );
        assert_eq!(found[1], ("WHO ELSE".into(), vec!["rsync takes 61%".into()]));
    }
}
