//! Writes the findings of a study as one HTML file.
//!
//! The file stands alone: text, tables and the ladder of levels are written here, the charts are drawn by the
//! page's own script with plotly.js, which travels inside the file. A content policy in the page forbids every
//! request. Without JavaScript the charts are missing and their tables are not.

use std::io::{self, Write};

use halfpower_experiments::StudyFindings;
use halfpower_record::Record;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::html::advice::advice;
use crate::html::answer::{answer, warnings};
use crate::html::charts::{charts, paths};
use crate::html::data::data;
use crate::html::experiments::{experiments, section_id};
use crate::html::faults;
use crate::html::format::heading;
use crate::html::measured::{definitions, measured, raw_numbers};
use crate::html::path::path_section;
use crate::html::tables::half_power_and_cost;
use crate::html::trust::{flagged, unsteady_cells};

/// plotly.js, deflated and in base64 by the build script.
pub(crate) const LIBRARY: &str = include_str!(concat!(env!("OUT_DIR"), "/plotly.js.gz.b64"));
const STYLE: &str = include_str!("../../assets/report.css");
pub(crate) const CHARTS: &str = concat!(
    include_str!("../../assets/charts.js"),
    include_str!("../../assets/trust.js"),
    include_str!("../../assets/experiments.js")
);
pub(crate) const SCRIPT: &str = concat!(include_str!("../../assets/pins.js"), include_str!("../../assets/report.js"));
/// The mark by which a page of ours is known, and then replaced.
const GENERATOR: &str = concat!("halfpower ", env!("CARGO_PKG_VERSION"));
/// Nothing may be fetched; scripts and styles are those inside the page, pictures those that it makes itself.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'";

/// What a page may weigh, plotly.js included: it is sent by mail and put into tickets.
const MOST_BYTES: usize = 2_450_000;
/// Its head, banner, definitions and footer, roughly and rather too much.
const FRAME: usize = 12_000;

/// Writes the report page: findings, the records they rest on, and the command that measured them.
///
/// # Errors
/// Whatever `out` answers when it is written to.
pub fn html(findings: &StudyFindings, records: &[Record], command: &str, out: &mut impl Write) -> io::Result<()> {
    let told = html! {
        (answer(findings))
        (faults::section(&findings.faults))
        (warnings(findings))
        (path_section(findings))
        (advice(findings, records))
        (charts(findings))
        (unsteady_cells(findings))
        (half_power_and_cost(findings))
        (experiments(findings))
        (measured(findings, records, command))
    };
    let fixed = LIBRARY.len() + STYLE.len() + CHARTS.len() + SCRIPT.len() + FRAME;
    let data = data(findings, records, MOST_BYTES.saturating_sub(fixed + told.0.len()));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&findings.target, ""))
            body {
                a.skip href="#answer" { "To the answer" }
                (banner(findings))
                main {
                    (told)
                    (raw_numbers(findings, data.runs_left_out))
                    (definitions())
                }
                (footer())
                script #data type="application/json" { (PreEscaped(&data.json)) }
                script #library type="application/octet-stream" { (PreEscaped(LIBRARY)) }
                script { (PreEscaped(CHARTS)) (PreEscaped(SCRIPT)) }
            }
        }
    };
    out.write_all(page.into_string().as_bytes())
}

/// What every page says of itself before its body: its `title`, and styles of its own beside the common ones.
pub(crate) fn head(title: &str, own_style: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="generator" content=(GENERATOR);
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            // Without an icon of its own a page served over HTTP would ask the server for one.
            link rel="icon" href="data:,";
            title { "halfpower: " (title) }
            style { (PreEscaped(STYLE)) (PreEscaped(own_style)) }
        }
    }
}

/// The sections that the page has for these findings: where the link goes, and its word.
fn sections(findings: &StudyFindings) -> Vec<(&'static str, String)> {
    let charted = !paths(findings).is_empty();
    let tabled = !findings.curves.is_empty() || !findings.cost.is_empty();
    let all = [
        (true, ("answer", "Answer")),
        (!findings.levels.is_empty(), ("path", "Path")),
        (!findings.advice.is_empty(), ("advice", "Advice")),
        (charted, ("throughput", "Throughput")),
        (charted, ("heat", "Heat map")),
        (charted, ("latency", "Latency")),
        (charted, ("cost", "Cost")),
        (!flagged(findings).is_empty(), ("unsteady", "Not steady")),
        (tabled, ("tables", "Tables")),
        (true, ("measured", "Method")),
        (true, ("words", "Words")),
    ];
    let there = all.into_iter().filter(|(there, _)| *there);
    let mut sections: Vec<_> = there.map(|(_, (id, word))| (id, word.to_string())).collect();
    // Where many were asked for, one link leads to the first of them, so that the banner stays a line.
    let own =
        findings.experiments.iter().map(|experiment| (section_id(experiment), heading(experiment.experiment.word())));
    let own: Vec<_> = if own.len() > 4 {
        own.take(1).map(|(id, _)| (id, "Experiments".to_string())).collect()
    } else {
        own.collect()
    };
    let place = sections.len() - 2;
    sections.splice(place..place, own);
    sections
}

fn banner(findings: &StudyFindings) -> Markup {
    html! {
        header.banner {
            p.brand { "half" b { "power" } }
            nav aria-label="Sections" {
                @for (id, word) in sections(findings) { a href={ "#" (id) } { (word) } }
            }
        }
    }
}

pub(crate) fn footer() -> Markup {
    html! {
        footer {
            p {
                "Written by halfpower " (env!("CARGO_PKG_VERSION")) ". Charts by plotly.js (MIT), which is inside this \
                 file; nothing is fetched and nothing is sent."
            }
        }
    }
}
