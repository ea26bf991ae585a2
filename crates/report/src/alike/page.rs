//! Writes the comparison of alike machines as one HTML file: a map of machines and figures, the most unlike ones first.
//!
//! Machines that are unlike the others and the most typical ones have a row each, which opens to its figures. All others
//! stand in a compact map, drawn here as SVG, a few pixels each. The page needs no script and no other file.

use std::collections::BTreeSet;
use std::io::{self, Write};

use halfpower_analyse::{Access, AlikeMachines, MachineLevel, MachineLevels, UnlikeFigure, UnreadStudy};
use halfpower_spec::format::{percent, thousands, two_digits};
use maud::{DOCTYPE, Markup, html};

use crate::html::format::{UNKNOWN, heading, scrolling_table};
use crate::html::{foot_without_script, head};
use crate::words::alike as words;
use crate::words::settings::count;

/// Additions to the report's style.
const OWN_STYLE: &str = "
.fleet { overflow-x: auto; font-size: 0.82rem; margin-bottom: 1.6rem; }
.fleet h3 { margin: 1.2rem 0 0.3rem; }
.fleet .row { display: grid; grid-template-columns: minmax(9rem, 15rem) minmax(0, 1fr); gap: 0.8rem; align-items: center; min-width: calc(11rem + var(--columns) * 3.6rem); }
.fleet .cells { display: grid; grid-template-columns: repeat(var(--columns), minmax(3.2rem, 1fr)); gap: 2px; color: var(--ink); }
.fleet .heads .cells { color: var(--soft); align-items: end; line-height: 1.25; }
.fleet .heads span { text-align: center; }
.fleet .name { overflow-wrap: anywhere; color: var(--ink); }
.fleet .machine .name::before { content: '\\25b8'; color: var(--soft); margin-right: 0.4rem; }
.fleet .machine[open] .name::before { content: '\\25be'; }
.fleet summary { list-style: none; padding: 0.1rem 0; }
.fleet summary::-webkit-details-marker { display: none; }
.cell { position: relative; isolation: isolate; text-align: center; padding: 0.15rem 0; }
.cell::before { content: ''; position: absolute; inset: 0; z-index: -1; border-radius: 3px; background: var(--line); opacity: 0.4; }
.cell.w1::before, .cell.w2::before, .cell.w3::before { background: var(--bad); }
.cell.b1::before, .cell.b2::before, .cell.b3::before { background: var(--accent); }
.cell.w1::before, .cell.b1::before { opacity: 0.18; }
.cell.w2::before, .cell.b2::before { opacity: 0.34; }
.cell.w3::before, .cell.b3::before { opacity: 0.5; }
.steps { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; list-style: none; padding: 0; font-size: 0.85rem; color: var(--soft); }
.steps .cell { display: inline-block; width: 1.6rem; height: 0.9rem; margin-right: 0.4rem; vertical-align: -0.1rem; }
.others { display: block; width: 100%; height: auto; margin: 0.4rem 0 1rem; }
.others rect { fill: var(--line); }
.others rect.none { fill: none; }
.others g:hover rect { stroke: var(--ink); stroke-width: 0.6; }
.others .w1, .others .w2, .others .w3 { fill: var(--bad); }
.others .b1, .others .b2, .others .b3 { fill: var(--accent); }
.others .w1, .others .b1 { opacity: 0.35; }
.others .w2, .others .b2 { opacity: 0.65; }
.others text { fill: var(--soft); font-size: 10px; text-anchor: end; }
@media print { .fleet details.machine { display: block; } }
";
/// Distances, in deviations, from which a cell has the first, second and third step of colour.
const STEPS: [f64; 3] = [2.0, 3.0, 4.5];
/// Machines that are unlike the others and have a row; the page counts the others.
const SHOWN: usize = 40;
/// Machines in the compact map, the farthest ones, so that the page can be mailed.
const MAPPED: usize = 1500;
/// Machines of the compact map whose farthest figure is in the table.
const LISTED: usize = 200;
/// Width of the compact map in its own units; it is as wide as the page.
const WIDE: usize = 1000;
/// Room for the names of the figures on its left.
const LEFT: usize = 160;
/// Width of a machine and height of a figure in it, with the gap behind them.
const STEP_X: usize = 8;
const STEP_Y: usize = 11;
/// Gap between two bands of machines.
const BETWEEN: usize = 12;

/// A column of the map: a figure, and the part of the cells; `None` for all cells together.
type Figure = (UnlikeFigure, Option<Access>);

/// Writes the page of a comparison of alike machines; `unread` are the files that are left out.
///
/// # Errors
/// Those of `out`.
pub fn alike_html(found: &AlikeMachines, unread: &[UnreadStudy], out: &mut dyn Write) -> io::Result<()> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head("alike machines", OWN_STYLE))
            body {
                a.skip href="#answer" { "To the answer" }
                (banner(unread))
                main {
                    (answer(found))
                    (map(found))
                    (left_out(unread))
                }
                (foot_without_script())
            }
        }
    };
    out.write_all(page.into_string().as_bytes())
}

fn banner(unread: &[UnreadStudy]) -> Markup {
    html! {
        header.banner {
            p.brand { "half" b { "power" } }
            nav aria-label="Sections" {
                a href="#answer" { "Answer" }
                a href="#map" { "Map" }
                @if !unread.is_empty() { a href="#left-out" { "Left out" } }
            }
        }
    }
}

fn answer(found: &AlikeMachines) -> Markup {
    /// Unlike machines that are told in a sentence.
    const TOLD: usize = 5;
    html! {
        section #answer {
            h1 { "Alike machines" }
            div.verdict {
                p.long { (words::gist(found)) }
                @for one in found.unlike.iter().take(TOLD) { p { code { (one.name) } ": " (words::unlike(one)) "." } }
                @if found.unlike.len() > TOLD { p { "The others are in the map." } }
            }
        }
    }
}

fn map(found: &AlikeMachines) -> Markup {
    let figures = figures(found);
    let unlike: Vec<&MachineLevels> = found.all.iter().filter(|one| one.is_unlike).collect();
    html! {
        section #map {
            h2 { "How far each machine is from the others" }
            p.lead {
                "A row or a column for each machine, a cell for each figure: its level as a share of the others', the median \
                 over the cells that both have. The colour is its distance in their standard deviations; a cell that is \
                 coloured is not yet unlike the others, since of so many some are far by chance. Point at a cell to see its \
                 figure, open a row to see all of them."
            }
            (steps())
            div.fleet tabindex="0" role="region" aria-label="The map of machines and figures"
                style={ "--columns: " (figures.len()) } {
                (heads(&figures))
                @if !unlike.is_empty() {
                    h3 { "Unlike the others" }
                    @for one in unlike.iter().take(SHOWN) { (row(one, &figures)) }
                    @if unlike.len() > SHOWN { p.lead { "... and " (unlike.len() - SHOWN) " more: --json has all." } }
                }
                h3 { "The most typical" }
                @for one in found.typical() { (row(one, &figures)) }
            }
            (others(&found.between(), &figures))
        }
    }
}

/// All figures that a machine has, rates first.
fn figures(found: &AlikeMachines) -> Vec<Figure> {
    let all: BTreeSet<Figure> =
        found.all.iter().flat_map(|one| &one.levels).map(|level| (level.figure, level.part)).collect();
    all.into_iter().collect()
}

fn level_of(machine: &MachineLevels, figure: Figure) -> Option<&MachineLevel> {
    machine.levels.iter().find(|level| (level.figure, level.part) == figure)
}

/// The step of colour as a class: `w` where it is worse than the others, `b` where it is better; empty if it is near.
fn step(level: &MachineLevel) -> &'static str {
    let reached = STEPS.iter().filter(|least| level.deviations.abs() >= **least).count();
    match (level.is_worse(), reached) {
        (_, 0) => "",
        (true, 1) => "w1",
        (true, 2) => "w2",
        (true, _) => "w3",
        (false, 1) => "b1",
        (false, 2) => "b2",
        (false, _) => "b3",
    }
}

/// What the colours mean.
fn steps() -> Markup {
    let of = |letter: char| (1..).zip(STEPS).map(move |(step, least)| (format!("{letter}{step}"), two_digits(least)));
    html! {
        ul.steps {
            li { span.cell {} "as the others" }
            @for (class, least) in of('w') { li { span.cell.(class) {} "worse by " (least) " deviations" } }
            @for (class, least) in of('b') { li { span.cell.(class) {} "better by " (least) } }
        }
    }
}

fn heads(figures: &[Figure]) -> Markup {
    html! {
        div.row.heads {
            span.name {}
            div.cells { @for (figure, part) in figures { span { (heading(&words::column(*figure, *part))) } } }
        }
    }
}

/// A machine with a cell for each figure; it opens to the figures.
fn row(machine: &MachineLevels, figures: &[Figure]) -> Markup {
    html! {
        details.machine {
            summary.row {
                span.name { (machine.name) }
                span.cells {
                    @for figure in figures {
                        @match level_of(machine, *figure) {
                            Some(level) => {
                                span.cell.(step(level)) title={ (machine.name) ": " (words::level(level)) } {
                                    (percent(level.of_others))
                                }
                            },
                            None => { span.cell { (UNKNOWN) } },
                        }
                    }
                }
            }
            (numbers(machine))
        }
    }
}

fn numbers(machine: &MachineLevels) -> Markup {
    let columns = html! {
        th scope="col" { "Figure" }
        th.number scope="col" { "of the others'" }
        th.number scope="col" { "95% interval" }
        th.number scope="col" { "cells" }
        th.number scope="col" { "deviations" }
    };
    let rows = html! {
        tbody {
            @for level in &machine.levels {
                tr {
                    th scope="row" { (heading(&words::column(level.figure, level.part))) }
                    td.number { (percent(level.of_others)) }
                    td.number { (words::interval(level).unwrap_or_else(|| UNKNOWN.to_string())) }
                    td.number { (level.cells) }
                    td.number { (format!("{:+.1}", level.deviations)) }
                }
            }
        }
    };
    scrolling_table(&format!("{}, of {}", machine.name, machine.target), columns, rows)
}

/// The machines that are neither unlike nor most typical: a compact map, and a table of the farthest.
fn others(others: &[&MachineLevels], figures: &[Figure]) -> Markup {
    let mapped = &others[..others.len().min(MAPPED)];
    html! {
        @if !others.is_empty() && !figures.is_empty() {
            h3 { "All others, the farthest first" }
            @if mapped.len() < others.len() {
                p.lead { "The " (thousands(MAPPED as f64)) " farthest of " (thousands(others.len() as f64)) "." }
            }
            (compact(mapped, figures))
            details { summary { "Numbers" } (farthest(&others[..others.len().min(LISTED)])) }
        }
    }
}

/// A narrow column of cells for each machine, in bands from left to right. Only cells away from the others are drawn.
fn compact(machines: &[&MachineLevels], figures: &[Figure]) -> Markup {
    let in_band = (WIDE - LEFT) / STEP_X;
    let height = figures.len() * STEP_Y;
    let bands = machines.len().div_ceil(in_band);
    let high = bands * (height + BETWEEN);
    let label = format!("{}: how far each is from the others", count(machines.len(), "machine"));
    html! {
        svg.others viewBox={ "0 0 " (WIDE) " " (high) } role="img" aria-label={ (label) "; the numbers follow" } {
            @for (band, machines) in machines.chunks(in_band).enumerate() {
                @let top = band * (height + BETWEEN);
                @for (at, (figure, part)) in figures.iter().enumerate() {
                    text x=(LEFT - 6) y=(top + at * STEP_Y + 9) { (words::column(*figure, *part)) }
                }
                @for (at, machine) in machines.iter().enumerate() {
                    (narrow(machine, figures, LEFT + at * STEP_X, top))
                }
            }
        }
    }
}

fn narrow(machine: &MachineLevels, figures: &[Figure], left: usize, top: usize) -> Markup {
    let class_of = |figure: &Figure| level_of(machine, *figure).map_or("", step);
    let classes: Vec<&str> = figures.iter().map(class_of).collect();
    // Neighbours of one colour are one rectangle.
    let mut coloured: Vec<(usize, usize, &str)> = Vec::new();
    let mut from = 0;
    for same in classes.chunk_by(|one, other| one == other) {
        if !same[0].is_empty() {
            coloured.push((from, same.len(), same[0]));
        }
        from += same.len();
    }
    html! {
        g {
            title { (machine.name) @if let Some(level) = far(machine) { ": " (words::level(level)) } }
            rect x=(left) y=(top) width=(STEP_X - 1) height=(figures.len() * STEP_Y - 1) {}
            @for (from, cells, class) in coloured {
                rect class=(class) x=(left) y=(top + from * STEP_Y) width=(STEP_X - 1) height=(cells * STEP_Y - 1) {}
            }
        }
    }
}

/// The level in which a machine is farthest from the others.
fn far(machine: &MachineLevels) -> Option<&MachineLevel> {
    machine.levels.iter().max_by(|one, other| one.deviations.abs().total_cmp(&other.deviations.abs()))
}

fn farthest(machines: &[&MachineLevels]) -> Markup {
    let columns = html! { th scope="col" { "Machine" } th scope="col" { "Its farthest figure" } };
    let rows = html! {
        tbody {
            @for machine in machines {
                tr {
                    th scope="row" { (machine.name) }
                    td { (far(machine).map_or_else(|| UNKNOWN.to_string(), words::level)) }
                }
            }
        }
    };
    scrolling_table("The farthest of them", columns, rows)
}

fn left_out(unread: &[UnreadStudy]) -> Markup {
    html! {
        @if !unread.is_empty() {
            section #left-out {
                h2 { "Left out" }
                ul { @for unread in unread { li { (unread.why) } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use halfpower_analyse::UnlikeMachine;
    use halfpower_spec::{Direction, Pattern};

    use super::*;

    fn levels(deviations: f64) -> Vec<MachineLevel> {
        let parts = Pattern::ALL.iter().flat_map(|pattern| Direction::ALL.iter().map(|rw| (*pattern, *rw)));
        let parts: Vec<Option<Access>> =
            std::iter::once(None).chain(parts.map(|(pattern, rw)| Some(Access { pattern, rw }))).collect();
        let level = |figure: UnlikeFigure, part: Option<Access>| MachineLevel {
            figure,
            part,
            of_others: 1.0 + deviations / 100.0,
            low: Some(0.9),
            high: Some(1.1),
            cells: 16,
            deviations,
        };
        let of = |figure: UnlikeFigure| parts.iter().map(move |part| level(figure, *part)).collect::<Vec<_>>();
        [of(UnlikeFigure::Rate), of(UnlikeFigure::Latency)].concat()
    }

    /// Machines of which the first are unlike the others, and each further one is nearer to them.
    fn fleet(machines: usize, unlike: usize) -> AlikeMachines {
        let machine = |at: usize| {
            let deviations = -20.0 * (1.0 - at as f64 / machines as f64).powi(4);
            MachineLevels {
                name: format!("fleet/rack-{:02}/machine-{at:04}.halfpower", at / 40),
                target: "/srv/data".to_string(),
                is_unlike: at < unlike,
                deviations: Some(deviations.abs()),
                levels: levels(deviations),
            }
        };
        let all: Vec<MachineLevels> = (0..machines).map(machine).collect();
        let told = |one: &MachineLevels| UnlikeMachine {
            name: one.name.clone(),
            figure: UnlikeFigure::Rate,
            part: None,
            of_others: 0.8,
            deviations: 20.0,
            chance: 0.001,
            rates: std::collections::BTreeMap::new(),
        };
        let unlike = all.iter().filter(|one| one.is_unlike).map(told).collect();
        AlikeMachines { machines, cells: 16, unlike, all }
    }

    fn page(found: &AlikeMachines) -> String {
        let mut out = Vec::new();
        let unread = [UnreadStudy { name: "x".to_string(), why: "x is <no> study".to_string() }];
        alike_html(found, &unread, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_thousand_machines_are_on_one_page_that_can_be_mailed() {
        let found = fleet(1000, 60);
        let page = page(&found);
        assert!(page.len() < 600_000, "{} bytes", page.len());
        let missing: Vec<&str> =
            found.between().iter().map(|one| one.name.as_str()).filter(|name| !page.contains(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert_eq!(page.matches("<details class=\"machine\">").count(), SHOWN + 10);
        assert!(page.contains("... and 20 more") && page.contains("<svg class=\"others\""));
        assert!(page.contains("x is &lt;no&gt; study"), "what was left out is told, and drives no page");
    }

    #[test]
    fn machines_of_which_no_figure_is_known_have_a_page_without_a_map() {
        let mut found = fleet(30, 0);
        for one in &mut found.all {
            (one.levels, one.deviations) = (Vec::new(), None);
        }
        assert!(!page(&found).contains("<svg"));
    }

    #[test]
    fn a_cell_tells_its_figure_its_interval_and_the_file_of_the_study() {
        let found = fleet(30, 1);
        let page = page(&found);
        let told = "fleet/rack-00/machine-0000.halfpower: all requests at 80% of the others' rate (95% interval 90% to \
                    110%), 20 deviations away";
        assert!(page.contains(told), "{told}");
        assert!(page.contains("class=\"cell w3\"") && page.contains("class=\"cell b3\""), "slower, and earlier");
        assert!(!page.contains("<script") && !page.contains("more: --json"));
        let unlike = page.find("machine-0000").zip(page.find("machine-0029"));
        assert!(unlike.is_some_and(|(first, last)| first < last), "the unlike one is first");
    }
}
