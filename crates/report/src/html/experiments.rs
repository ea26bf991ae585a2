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
    let is_by_place = is_by_place(picture);
    let is_there = |one: &Point, other: &Point| one.label == other.label && (!is_by_place || one.x == other.x);
    let mut places: Vec<&Point> = Vec::new();
    for point in picture.lines.iter().flat_map(|line| &line.points) {
        if !places.iter().any(|known| is_there(known, point)) {
            places.push(point);
        }
    }
    if picture.kind == PictureKind::Lines {
        places.order_by(|one, other| one.x.total_cmp(&other.x));
    }
    let value = |line: &Line, place: &Point| {
        let point = line.points.iter().find(|point| is_there(point, place));
        point.map_or_else(|| UNKNOWN.to_string(), |point| number(point.y))
    };
    let columns = html! {
        th scope="col" { (picture.x.title) }
        @for line in &picture.lines { th.number scope="col" { (line.name) } }
    };
    let body = html! {
        tbody {
            @for place in &places {
                tr {
                    th scope="row" { (place.label) }
                    @for line in &picture.lines { td.number { (value(line, place)) } }
                }
            }
        }
    };
    scrolling_table(&format!("{}, {}", picture.title, picture.y.title), columns, body)
}

/// Whether the positions of a line have labels in common, which are rounded: then each position has a row of its own.
fn is_by_place(picture: &Picture) -> bool {
    let is_again = |one: &Point, other: &Point| one.label == other.label && one.x != other.x;
    let repeats = |line: &Line| line.points.iter().any(|one| line.points.iter().any(|other| is_again(one, other)));
    picture.kind == PictureKind::Lines && picture.lines.iter().any(repeats)
}

#[cfg(test)]
mod tests {
    use halfpower_analyse::Interval;
    use halfpower_experiments::Axis;

    use super::*;

    /// The places of `zones` on a stick of 17 GiB are half a GiB apart, and from 10 GiB on their names are whole.
    #[test]
    fn positions_whose_names_are_rounded_alike_have_a_row_each() {
        let point = |(x, label, mbps): (f64, &str, f64)| Point::at(x, label, Interval::exact(mbps));
        let line = |name: &str, points: &[(f64, &str, f64)]| Line {
            name: name.to_string(),
            points: points.iter().copied().map(point).collect(),
        };
        let measured = line("measured", &[(9.5, "9.5 GiB", 21.0), (10.6, "11 GiB", 22.0), (11.1, "11 GiB", 23.0)]);
        let bands = line("bands", &[(9.5, "9.5 GiB", 24.0), (11.1, "11 GiB", 25.0)]);
        let (kind, axes) = (PictureKind::Lines, || Axis::even("x"));
        let picture = Picture { title: String::new(), kind, x: axes(), y: axes(), lines: vec![measured, bands] };
        let shown = table(&picture).into_string();
        let has = |cells: &str| assert!(shown.contains(cells), "{cells}: {shown}");
        has("11 GiB</th><td class=\"number\">22.0</td><td class=\"number\">\u{2013}</td>");
        has("11 GiB</th><td class=\"number\">23.0</td><td class=\"number\">25.0</td>");
    }
}
