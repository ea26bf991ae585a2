//! Writes the report page: the findings of a study as one HTML file that works offline.
//!
//! The file needs no other file: text, tables and the ladder of levels are HTML, and the page's script draws the charts
//! as SVG. A content policy in the page forbids all requests. Without JavaScript the charts are missing, but not their
//! tables.

pub(crate) mod advice;
pub(crate) mod answer;
pub(crate) mod application;
pub(crate) mod beside;
pub(crate) mod charts;
pub(crate) mod checks;
pub(crate) mod data;
pub(crate) mod experiments;
pub(crate) mod first_chart;
pub(crate) mod fold;
pub(crate) mod format;
pub(crate) mod hosts;
pub(crate) mod knee_chart;
pub(crate) mod load_chart;
pub(crate) mod measured;
pub(crate) mod path;
pub(crate) mod percentiles;
pub(crate) mod replay;
pub(crate) mod scale;
pub(crate) mod settings;
pub(crate) mod tables;
pub(crate) mod tiles;
pub(crate) mod trust;
pub(crate) mod watch;

use std::io::{self, Write};

use halfpower_experiments::StudyFindings;
use halfpower_record::Record;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use advice::advice;
use answer::answer;
use charts::charts;
use checks::checks;
use data::data;
use experiments::experiments;
use first_chart::first_chart;
use fold::{Fold, contents, folds};
use hosts::hosts;
use measured::{definitions, measured, raw_numbers};
use path::path_section;
use percentiles::{PercentileRow, percentile_rows};
use tables::{half_power_and_cost, issuing};
use trust::{faults_section, trust};

const STYLE: &str = concat!(include_str!("../assets/report.css"), include_str!("../assets/first.css"));
/// What draws charts, and what turns findings into charts.
pub(crate) const CHARTS: &str = concat!(
    include_str!("../assets/page.js"),
    include_str!("../assets/plot.js"),
    include_str!("../assets/stage.js"),
    include_str!("../assets/charts.js"),
    include_str!("../assets/trust.js"),
    include_str!("../assets/percentiles.js"),
    include_str!("../assets/experiments.js"),
    include_str!("../assets/hosts.js")
);
pub(crate) const SCRIPT: &str =
    concat!(include_str!("../assets/pins.js"), include_str!("../assets/folds.js"), include_str!("../assets/report.js"));
/// The generator tag, by which halfpower recognises its own pages before it replaces one.
const GENERATOR: &str = concat!("halfpower ", env!("CARGO_PKG_VERSION"));
/// Forbids all requests: scripts and styles must be inside the page, pictures must be made by it.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'";

/// Largest page in bytes, so that it can be mailed and attached to tickets; runs that find no room are left out.
const MOST_BYTES: usize = 580_000;
/// Upper estimate in bytes of the page's head, banner, definitions and footer.
const FRAME: usize = 12_000;

/// Writes the report page: findings, the records behind them, and the command that measured them.
///
/// # Errors
/// Those of `out`.
pub fn html(findings: &StudyFindings, records: &[Record], command: &str, out: &mut dyn Write) -> io::Result<()> {
    // A span in pieces spread over the target gives no size, so that a job covers the whole target.
    let parts = records.iter().filter(|record| record.spread_bytes.is_none());
    let span_bytes = parts.map(|record| record.span_bytes).max();
    let (chart, chart_style) = first_chart(findings);
    let curves = percentile_rows(findings, records);
    let first = answer(findings, &chart, span_bytes);
    let mut sections = sections(findings, records, command, &curves, span_bytes);
    let written: usize = sections.iter().map(|fold| fold.body.0.len() + fold.gist.len()).sum();
    let fixed = STYLE.len() + CHARTS.len() + SCRIPT.len() + FRAME;
    let data = data(findings, records, &curves, MOST_BYTES.saturating_sub(fixed + written + first.0.len()));
    sections.extend(raw_numbers(findings, data.runs_left_out));
    sections.push(definitions());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&findings.target, &chart_style))
            body.study {
                a.skip href="#answer" { "To the answer" }
                main {
                    (first)
                    div.below {
                        (contents(&sections))
                        div.folds {
                            (folds(&sections))
                            p.on-paper { "Further paths, settings in full, processor cost, tables and raw numbers: on the page that this is a print of." }
                        }
                    }
                }
                (footer())
                script #data type="application/json" { (PreEscaped(&data.json)) }
                script { (PreEscaped(CHARTS)) (PreEscaped(SCRIPT)) }
            }
        }
    };
    out.write_all(page.into_string().as_bytes())
}

/// The folded sections below the first screen, except the raw numbers and the definitions.
fn sections(
    findings: &StudyFindings,
    records: &[Record],
    command: &str,
    curves: &[PercentileRow],
    span_bytes: Option<u64>,
) -> Vec<Fold> {
    let mut all = Vec::new();
    all.extend(faults_section(&findings.faults));
    all.extend(charts(findings, curves));
    all.extend(path_section(findings));
    all.extend(advice(findings, span_bytes));
    all.extend(issuing(findings));
    all.extend(hosts(findings));
    all.extend(experiments(findings));
    all.extend(checks(findings));
    all.push(trust(findings));
    all.extend(half_power_and_cost(findings));
    all.push(measured(findings, records, command));
    all
}

/// The head of every page: its `title`, and page-specific styles after the common ones.
pub(crate) fn head(title: &str, own_style: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="generator" content=(GENERATOR);
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            // Without an icon in the page, a browser would request one from the server.
            link rel="icon" href="data:,";
            title { "halfpower: " (title) }
            style { (PreEscaped(STYLE)) (PreEscaped(own_style)) }
        }
    }
}

/// The foot of a page that needs no script.
pub(crate) fn foot_without_script() -> Markup {
    html! {
        footer {
            p {
                "Written by halfpower " (env!("CARGO_PKG_VERSION")) ". The page needs no script; nothing is fetched and \
                 nothing is sent."
            }
        }
    }
}

pub(crate) fn footer() -> Markup {
    html! {
        footer {
            p {
                "Written by halfpower " (env!("CARGO_PKG_VERSION")) ". All of it is inside this file; nothing is fetched \
                 and nothing is sent."
            }
        }
    }
}
