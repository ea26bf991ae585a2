//! Shows the experiments beside the walks, a section each: the question, the answer, its pictures with their tables,
//! what could not be had, and what the papers saw.

use halfpower_experiments::{ExperimentSection, Line, Picture, PictureKind, Point, StudyFindings};
use maud::{Markup, html};

use crate::html::format::{UNKNOWN, heading, number};

/// All sections, in the order of the question.
pub(crate) fn experiments(findings: &StudyFindings) -> Markup {
    html! { @for experiment in &findings.experiments { (section(experiment)) } }
}

/// Where the page's links go.
pub(crate) fn section_id(experiment: &ExperimentSection) -> &'static str {
    experiment.experiment.word()
}

fn section(experiment: &ExperimentSection) -> Markup {
    let name = experiment.experiment.word();
    html! {
        section.experiment id=(section_id(experiment)) {
            h2 { (heading(name)) }
            p.asks { (experiment.asks) }
            @if experiment.ran { p.lead.told { strong { (experiment.answer) } } }
            @else { p.lead.told { strong { "Not run here." } } }
            @if !experiment.notes.is_empty() {
                ul.notes { @for note in &experiment.notes { li { (note) } } }
            }
            @if !experiment.pictures.is_empty() {
                div.multiples {
                    @for (at, picture) in experiment.pictures.iter().enumerate() { (figure(name, at, picture)) }
                }
            }
            p.papers { b { "1998 and 2000: " } (experiment.papers) }
        }
    }
}

fn figure(name: &str, at: usize, picture: &Picture) -> Markup {
    html! {
        figure.chart data-chart="picture" data-path={ (name) " " (at) } {
            figcaption { (picture.title) }
            div.plot role="group" aria-label={ (picture.title) ". The numbers are in the table that follows." } {
                p.pending { "This chart is drawn by the page's script." }
            }
            p.said aria-live="polite" {}
            details { summary { "Numbers" } (table(picture)) }
        }
    }
}

/// A row for each place across, a column for each line.
fn table(picture: &Picture) -> Markup {
    let mut labels: Vec<(&str, f64)> = Vec::new();
    for Point { label, x, .. } in picture.lines.iter().flat_map(|line| &line.points) {
        if !labels.iter().any(|(known, _)| known == label) {
            labels.push((label, *x));
        }
    }
    if picture.kind == PictureKind::Lines {
        labels.sort_by(|one, other| one.1.total_cmp(&other.1));
    }
    let value = |line: &Line, label: &str| {
        let point = line.points.iter().find(|point| point.label == label);
        point.map_or_else(|| UNKNOWN.to_string(), |point| number(point.y))
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label=(picture.title) {
            table {
                caption { (picture.title) ", " (picture.y.title) }
                thead {
                    tr {
                        th scope="col" { (picture.x.title) }
                        @for line in &picture.lines { th.number scope="col" { (line.name) } }
                    }
                }
                tbody {
                    @for (label, _) in &labels {
                        tr {
                            th scope="row" { (label) }
                            @for line in &picture.lines { td.number { (value(line, label)) } }
                        }
                    }
                }
            }
        }
    }
}
