//! Shows each experiment except the walks in a section: question, answer, pictures with their tables, what could not be
//! measured, and what the papers saw.

use halfpower_experiments::{ExperimentAnswer, ExperimentSection, Line, Picture, PictureKind, Point, StudyFindings};
use maud::{Markup, html};

use crate::html::application::tables;
use crate::html::fold::Fold;
use crate::html::format::{UNKNOWN, heading, number, scrolling_table};
use halfpower_spec::InOrder;

/// Most experiments whose pictures appear in print.
const PRINTED: usize = 3;

/// One section per experiment, in the order of the question.
pub(crate) fn experiments(findings: &StudyFindings) -> Vec<Fold> {
    let pictures = findings.experiments.len() <= PRINTED;
    findings.experiments.iter().map(|experiment| section(experiment, pictures)).collect()
}

fn section(experiment: &ExperimentSection, printed_pictures: bool) -> Fold {
    let name = experiment.experiment.word();
    let body = html! {
        p.asks { (experiment.asks) }
        @if !experiment.ran { p.lead.told { strong { "Not run here." } } }
        @else if let Some(short) = &experiment.short { p.lead.told { strong { (short.figure) } ". " (short.sentence) } }
        @else { p.lead.told { strong { (experiment.answer) } } }
        @if let Some(ExperimentAnswer::Application(found)) = &experiment.found { (tables(found)) }
        @if !experiment.notes.is_empty() {
            ul.notes { @for note in &experiment.notes { li { (note) } } }
        }
        @if !experiment.pictures.is_empty() {
            div.multiples.screen[!printed_pictures] {
                @for (at, picture) in experiment.pictures.iter().enumerate() { (figure(name, at, picture)) }
            }
        }
        @if !experiment.details.is_empty() {
            details { summary { "All that it found" } ul { @for told in &experiment.details { li { (told) } } } }
        }
        p.papers { b { "1998 and 2000: " } (experiment.papers) }
    };
    let gist = if experiment.ran { experiment.brief() } else { "not run".to_string() };
    Fold::new(name, heading(name), gist, body).printed()
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

/// One row per position on the horizontal axis, one column per line.
fn table(picture: &Picture) -> Markup {
    let mut labels: Vec<(&str, f64)> = Vec::new();
    for Point { label, x, .. } in picture.lines.iter().flat_map(|line| &line.points) {
        if !labels.iter().any(|(known, _)| known == label) {
            labels.push((label, *x));
        }
    }
    if picture.kind == PictureKind::Lines {
        labels.order_by(|one, other| one.1.total_cmp(&other.1));
    }
    let value = |line: &Line, label: &str| {
        let point = line.points.iter().find(|point| point.label == label);
        point.map_or_else(|| UNKNOWN.to_string(), |point| number(point.y))
    };
    let columns = html! {
        th scope="col" { (picture.x.title) }
        @for line in &picture.lines { th.number scope="col" { (line.name) } }
    };
    let body = html! {
        tbody {
            @for (label, _) in &labels {
                tr {
                    th scope="row" { (label) }
                    @for line in &picture.lines { td.number { (value(line, label)) } }
                }
            }
        }
    };
    scrolling_table(&format!("{}, {}", picture.title, picture.y.title), columns, body)
}
