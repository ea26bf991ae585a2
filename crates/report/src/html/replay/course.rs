//! Gives the charts of a replay their places and their data: latencies of both sides by percentile, and what happened over
//! time.

use halfpower_analyse::{Percentiles, ReplayCourse, ReplayFindings, ReplayStep};
use halfpower_spec::format::{precise_time_us, time_ns};
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::html::data::round;
use crate::html::format::{UNKNOWN, heading, number, scrolling_table};
use crate::words::replay;

/// The percentiles of the table.
const SHOWN: [(f64, &str); 5] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (0.9999, "p99.99")];

/// Whether there is a curve of latencies.
pub(super) fn has_curves(course: &ReplayCourse) -> bool {
    course.latencies.iter().any(|one| !one.before.points.is_empty() || !one.after.points.is_empty())
}

/// Whether there is something over time.
pub(super) fn has_steps(course: &ReplayCourse) -> bool {
    !course.before.is_empty() || !course.after.is_empty()
}

/// A curve: which chart has it, its name, and its percentiles.
struct Curve<'a> {
    kind: usize,
    name: String,
    percentiles: &'a Percentiles,
}

/// Both curves of each kind of operation that has enough of them.
fn curves<'a>(findings: &ReplayFindings, course: &'a ReplayCourse, sides: [&str; 2]) -> Vec<Curve<'a>> {
    let mut all = Vec::new();
    for (kind, (row, latencies)) in findings.rows.iter().zip(&course.latencies).enumerate() {
        for (side, percentiles) in sides.iter().zip([&latencies.before, &latencies.after]) {
            if !percentiles.points.is_empty() {
                all.push(Curve { kind, name: format!("{}, {side}", replay::row(row)), percentiles });
            }
        }
    }
    all
}

/// A chart of latencies for each kind, both sides in one, and the table.
pub(super) fn curve_charts(findings: &ReplayFindings, course: &ReplayCourse, second: &str) -> Markup {
    let curves = curves(findings, course, ["captured", second]);
    let kinds = findings.rows.iter().enumerate().filter(|(kind, _)| curves.iter().any(|curve| curve.kind == *kind));
    html! {
        @if !curves.is_empty() {
            section #latency {
                h2 { "How long operations take" }
                p.lead {
                    "The share of the operations that took no longer. A curve ends at the last percentile that five operations \
                     lie beyond."
                }
                noscript { p.lead { "The charts need JavaScript; the table below them does not." } }
                div.multiples {
                    @for (kind, row) in kinds {
                        (chart("percentiles", &kind.to_string(), &heading(&replay::row(row)), "latency by percentile", false))
                    }
                }
                (curve_table(&curves))
            }
        }
    }
}

fn curve_table(curves: &[Curve<'_>]) -> Markup {
    let columns = html! {
        th scope="col" { "Operations" }
        @for (_, name) in SHOWN { th.number scope="col" { (name) } }
    };
    let at = |curve: &Curve<'_>, share: f64| {
        let point = curve.percentiles.points.iter().find(|(other, _)| *other == share);
        point.map_or_else(|| UNKNOWN.to_string(), |(_, ns)| time_ns(*ns as f64))
    };
    let body = html! {
        tbody {
            @for curve in curves {
                tr {
                    th scope="row" { (curve.name) }
                    @for (share, _) in SHOWN { td.number { (at(curve, share)) } }
                }
            }
        }
    };
    scrolling_table("Latency by percentile", columns, body)
}

/// The charts over time, and their table.
pub(super) fn time_charts(course: &ReplayCourse, second: &str) -> Markup {
    html! {
        @if has_steps(course) {
            section #time {
                h2 { "Over time" }
                p.lead {
                    "What was captured, its slices one after the other, and what was asked again, round after round; each point \
                     is " (precise_time_us(course.step_ns as f64 / 1e3)) "."
                }
                div.multiples {
                    (chart("replay-rate", "all", "Operations a second", "operations a second over time on both sides", true))
                    (chart("replay-depth", "all", "In flight", "operations in progress over time on both sides", true))
                    (chart("replay-latency", "all", "Latency", "p50 and p99 of all operations over time on both sides", true))
                }
                details { summary { "Numbers" } (time_table("captured", &course.before)) (time_table(second, &course.after)) }
            }
        }
    }
}

fn time_table(side: &str, steps: &[ReplayStep]) -> Markup {
    let columns = html! {
        @for name in ["From", "a second", "In flight", "p50", "p99"] { th.number scope="col" { (name) } }
    };
    let time = |ns: Option<u64>| ns.map_or_else(|| UNKNOWN.to_string(), |ns| time_ns(ns as f64));
    let body = html! {
        tbody {
            @for step in steps {
                tr {
                    td.number { (time(Some(step.from_ns))) }
                    td.number { (number(step.per_second)) }
                    td.number { (number(step.depth)) }
                    td.number { (time(step.p50_ns)) }
                    td.number { (time(step.p99_ns)) }
                }
            }
        }
    };
    scrolling_table(&format!("Step by step, {side}"), columns, body)
}

/// The place of one chart.
fn chart(kind: &str, path: &str, words: &str, what: &str, wide: bool) -> Markup {
    html! {
        figure.chart.wide[wide] data-chart=(kind) data-path=(path) {
            figcaption { (words) }
            div.plot role="group" aria-label={ (words) ": " (what) ". The numbers are in the table below the charts." } {
                p.pending { "This chart is drawn by the page's script." }
            }
            p.said aria-live="polite" {}
        }
    }
}

/// The JSON for the page's script, without the character `<`.
pub(super) fn data(findings: &ReplayFindings, course: &ReplayCourse, sides: [&str; 2]) -> String {
    let curves: Value = curves(findings, course, sides)
        .into_iter()
        .map(|curve| json!({ "rw": curve.kind.to_string(), "name": curve.name, "points": curve.percentiles.points }))
        .collect();
    let mut replay = json!({
        "step_s": course.step_ns as f64 / 1e9,
        "sides": [side(sides[0], &course.before), side(sides[1], &course.after)],
    });
    round(&mut replay);
    // The page's main script looks for cells and curves of a study, of which there are none.
    let whole =
        json!({ "findings": { "cells": [], "curves": [], "replay": replay }, "percentiles": curves, "runs": null });
    whole.to_string().replace('<', "\\u003c")
}

fn side(name: &str, steps: &[ReplayStep]) -> Value {
    let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
    json!({
        "name": name,
        "from_s": steps.iter().map(|step| step.from_ns as f64 / 1e9).collect::<Vec<_>>(),
        "per_second": steps.iter().map(|step| step.per_second).collect::<Vec<_>>(),
        "depth": steps.iter().map(|step| step.depth).collect::<Vec<_>>(),
        "p50_us": steps.iter().map(|step| us(step.p50_ns)).collect::<Vec<_>>(),
        "p99_us": steps.iter().map(|step| us(step.p99_ns)).collect::<Vec<_>>(),
    })
}
