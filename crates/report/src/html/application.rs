//! Shows on the page what an application gets: its needs with their verdicts, and the lines to paste.

use halfpower_experiments::application::{ApplicationAnswer, at_once, bound, doubts, figure, rests_on, verdict};
use maud::{Markup, html};

use crate::html::format::{UNKNOWN, scrolling_table};

/// The needs as a table, the lines to paste, and the figures that they rest on. Sources stand as text: a profile of
/// anybody makes no links.
pub(crate) fn tables(found: &ApplicationAnswer) -> Markup {
    let lines: Vec<&str> = found.settings.iter().filter_map(|setting| setting.line.as_deref()).collect();
    html! {
        @if !found.needs.is_empty() { (needs(found)) }
        @if !found.at_once.is_empty() {
            p { "At the same time:" }
            ul { @for finding in &found.at_once { li { (at_once(finding)) } } }
        }
        @if !lines.is_empty() {
            p { "To paste:" }
            pre { (lines.join("\n")) }
        }
        @if !found.settings.is_empty() { (settings(found)) }
    }
}

fn needs(found: &ApplicationAnswer) -> Markup {
    let columns = html! {
        @for title in ["Need", "Verdict", "Measured", "Needed", "Missing", "Source"] { th scope="col" { (title) } }
    };
    let body = html! {
        tbody {
            @for need in &found.needs {
                tr {
                    th scope="row" { (need.what) }
                    td { (verdict(need.verdict)) }
                    td { (figure(need).unwrap_or_else(|| UNKNOWN.to_string())) }
                    td { (bound(need.bound, &need.unit)) }
                    td { (doubts(&need.doubts)) }
                    td { (need.source) }
                }
            }
        }
    };
    scrolling_table(&format!("What {} needs", found.name), columns, body)
}

fn settings(found: &ApplicationAnswer) -> Markup {
    let columns = html! {
        @for title in ["Setting", "Line", "Why", "Source"] { th scope="col" { (title) } }
    };
    let body = html! {
        tbody {
            @for setting in &found.settings {
                tr {
                    th scope="row" { (setting.name) }
                    td { @if let Some(line) = &setting.line { code { (line) } } @else { (UNKNOWN) } }
                    td {
                        @if setting.line.is_some() { (rests_on(setting)) }
                        @if !setting.doubts.is_empty() { " " (doubts(&setting.doubts)) }
                    }
                    td { (setting.source) }
                }
            }
        }
    };
    scrolling_table(&format!("What follows for {}", found.name), columns, body)
}
