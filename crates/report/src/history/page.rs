//! Writes the history of a target as one HTML file: a chart for each figure, its levels, and what changed beside it.
//!
//! The frame and the style are those of the report. The charts are drawn here, as SVG: the page needs no script and no other
//! file, and is some tens of kilobytes.

use std::collections::BTreeSet;
use std::io::{self, Write};

use halfpower_analyse::{FigureHistory, FigurePoint, History, HistoryChange};
use halfpower_spec::InOrder;
use maud::{DOCTYPE, Markup, html};

use crate::html::format::{heading, scrolling_table};
use crate::html::tiles::tile;
use crate::html::{foot_without_script, head};
use crate::words::compare::{case, case_figures, signed};
use crate::words::history as words;

/// Additions to the report's style.
const OWN_STYLE: &str = "
.in-time { display: block; width: 100%; height: auto; overflow: visible; margin: 0.4rem 0; }
.in-time .level { stroke: var(--accent); stroke-width: 2.5; }
.in-time .spread { fill: var(--accent); opacity: 0.13; }
.in-time .reach { stroke: var(--soft); stroke-width: 1; opacity: 0.6; }
.in-time .study { fill: var(--card); stroke: var(--accent); stroke-width: 1.4; }
.in-time .many { fill: var(--accent); stroke: none; opacity: 0.5; }
.in-time .dense { fill: none; stroke: var(--accent); stroke-width: 4; stroke-linecap: round; opacity: 0.4; }
.in-time .change { stroke: var(--bad); stroke-width: 1.2; stroke-dasharray: 4 3; }
.in-time .grid { stroke: var(--line); stroke-width: 1; }
.in-time text { fill: var(--soft); font-size: 12px; }
.in-time .number { fill: var(--bad); font-weight: 650; text-anchor: middle; }
.in-time .end { text-anchor: end; }
.beside { margin: 0.2rem 0 1.4rem; padding-left: 1.2rem; }
";
/// Width and height of a chart in its own units; it is as wide as the page.
const WIDE: f64 = 1000.0;
const HIGH: f64 = 240.0;
/// Room for labels on the left, on top, and below.
const LEFT: f64 = 96.0;
const TOP: f64 = 22.0;
const BELOW: f64 = 24.0;
/// Studies from which a point has no room for an interval of its own.
const MANY: usize = 250;
/// Studies from which their marks are drawn together, and those of each figure that keep a mark with their name: the farthest
/// from their level.
const DENSE: usize = 1000;
const NAMED: usize = 100;
/// Longest sentence, in characters, that is set as a headline.
const HEADLINE: usize = 80;
/// Studies that the table lists at most, the last ones.
const LISTED: usize = 500;

/// Writes the page of a history.
///
/// # Errors
/// Those of `out`.
pub fn history_html(history: &History, out: &mut dyn Write) -> io::Result<()> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{} in time", history.target), OWN_STYLE))
            body {
                a.skip href="#answer" { "To the answer" }
                (banner(history))
                main {
                    (answer(history))
                    (conditions(history))
                    (changes(history))
                    (lines(history))
                    (studies(history))
                    (left_out(history))
                }
                (foot_without_script())
            }
        }
    };
    out.write_all(page.into_string().as_bytes())
}

fn banner(history: &History) -> Markup {
    let all = [
        (true, "answer", "Answer"),
        (!history.fail_if.is_empty(), "conditions", "Conditions"),
        (!history.changes.is_empty(), "changes", "Changes"),
        (true, "figures", "Figures"),
        (true, "studies", "Studies"),
        (!history.unread.is_empty(), "left-out", "Left out"),
    ];
    html! {
        header.banner {
            p.brand { "half" b { "power" } }
            nav aria-label="Sections" {
                @for (_, id, word) in all.iter().filter(|(there, ..)| *there) { a href={ "#" (id) } { (word) } }
            }
        }
    }
}

fn answer(history: &History) -> Markup {
    html! {
        section #answer {
            p.eyebrow { (words::extent(history)) }
            h1 { code { (history.target) } }
            div.verdict {
                @for sentence in words::verdict(history) { p.long[sentence.chars().count() > HEADLINE] { (sentence) } }
            }
            div.tiles {
                @for figure in &history.figures { (figure_tile(figure)) }
            }
        }
    }
}

fn figure_tile(figure: &FigureHistory) -> Markup {
    let now = figure.levels.last().map_or_else(String::new, |level| words::value(figure.figure, level.median));
    let about = match figure.levels.as_slice() {
        [.., before, now] => {
            let percent = 100.0 * (now.median / before.median - 1.0);
            format!("{} from {} before", signed(percent), words::value(figure.figure, before.median))
        }
        [now] => format!("one level in {} studies", now.studies),
        [] => String::new(),
    };
    tile(&heading(&words::figure(figure)), &now, "", &about)
}

fn conditions(history: &History) -> Markup {
    html! {
        @if !history.fail_if.is_empty() {
            section #conditions {
                h2 { "Conditions" }
                p.lead { "The last level of each path against the one before." }
                ul {
                    @for finding in &history.fail_if {
                        li {
                            code { (finding.condition) }
                            @if finding.holds { " " b { "holds" } } @else { " does not hold" }
                            @for one in finding.cases.iter().filter(|one| one.holds) {
                                br; (case(one)) " " (case_figures(finding.limit, one))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn changes(history: &History) -> Markup {
    html! {
        @if !history.changes.is_empty() {
            section #changes {
                h2 { "Changes, the last first" }
                p.lead {
                    "A history without changes shows one in at most one of twenty cases. Beside each change stands what \
                     differs between the studies around it, which need not be its cause."
                }
                @for (at, change) in history.changes.iter().enumerate().rev() { (one_change(at, change, history)) }
            }
        }
    }
}

fn one_change(at: usize, change: &HistoryChange, history: &History) -> Markup {
    html! {
        h3 { (at + 1) ". " (words::place(change, history)) }
        ul.beside {
            @for figure in words::figures(change, history) { li { b { (figure) } } }
            @for around in words::around(change) { li { "beside it: " (around) } }
        }
    }
}

fn lines(history: &History) -> Markup {
    html! {
        section #figures {
            h2 { "Figures in time" }
            p.lead {
                "A mark for each study in order of time, with its 95% interval within that study where it has one; the \
                 lines are the medians of the levels, and the bands their intervals. A dashed line is a change, with its \
                 number above."
                @if history.studies.len() > DENSE {
                    " Of so many studies the " (NAMED) " of a figure that are farthest from their level have their names."
                }
            }
            @for figure in &history.figures {
                figure {
                    figcaption { (heading(&words::figure(figure))) }
                    (Line::of(figure, history).drawn())
                    details { summary { "Numbers" } (levels(figure, history)) }
                }
            }
        }
    }
}

/// The chart of one figure.
struct Line<'a> {
    figure: &'a FigureHistory,
    history: &'a History,
    low: f64,
    high: f64,
}

impl<'a> Line<'a> {
    fn of(figure: &'a FigureHistory, history: &'a History) -> Self {
        let values = || figure.points.iter().map(|point| point.value);
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(0.0, f64::max);
        // A figure that hardly changes must not seem to jump.
        Self { figure, history, low: (low * 0.9).max(0.0), high: high * 1.1 }
    }

    fn x(&self, study: f64) -> f64 {
        let studies = self.history.studies.len().max(1) as f64;
        LEFT + (WIDE - LEFT) * (study + 0.5) / studies
    }

    fn y(&self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        TOP + (HIGH - TOP - BELOW) * (1.0 - share)
    }

    fn drawn(&self) -> Markup {
        let number = |value: f64| format!("{value:.1}");
        let name = words::figure(self.figure);
        let bottom = number(HIGH - BELOW);
        html! {
            svg.in-time viewBox={ "0 0 " (WIDE) " " (HIGH) } role="img" aria-label={ (name) " in time; the numbers follow" } {
                @for value in [self.low, (self.low + self.high) / 2.0, self.high] {
                    line.grid x1=(LEFT) x2=(WIDE) y1=(number(self.y(value))) y2=(number(self.y(value))) {}
                    text.end x=(LEFT - 8.0) y=(number(self.y(value) + 4.0)) { (words::value(self.figure.figure, value)) }
                }
                @for (at, change) in self.history.changes.iter().enumerate() {
                    @if change.figures.iter().any(|one| one.figure == self.figure.figure) {
                        @let x = number(self.x(change.at as f64 - 0.5));
                        line.change x1=(x) x2=(x) y1=(TOP) y2=(bottom) {}
                        text.number x=(x) y=(TOP - 7.0) { (at + 1) }
                    }
                }
                @for level in &self.figure.levels {
                    @let from = self.x(level.first as f64 - 0.4);
                    @let to = self.x(level.last as f64 + 0.4);
                    @if let Some((low, high)) = level.low.zip(level.high) {
                        rect.spread x=(number(from)) y=(number(self.y(high))) width=(number(to - from))
                            height=(number((self.y(low) - self.y(high)).max(1.0))) {}
                    }
                    @let y = number(self.y(level.median));
                    line.level x1=(number(from)) x2=(number(to)) y1=(y) y2=(y) {}
                }
                @if self.is_dense() { path.dense d=(self.marks()) {} }
                @for point in self.named() { (self.point(point)) }
                @for (place, class) in [(self.history.studies.first(), ""), (self.history.studies.last(), "end")] {
                    @if let Some(study) = place {
                        @let x = if class.is_empty() { LEFT } else { WIDE };
                        text class=(class) x=(x) y=(HIGH - 6.0) { (words::day(study.at_unix_ms)) }
                    }
                }
            }
        }
    }

    fn is_dense(&self) -> bool {
        self.figure.points.len() > DENSE
    }

    /// A dot for each study, as one path: those at one place are one.
    fn marks(&self) -> String {
        let place =
            |point: &FigurePoint| (self.x(point.study as f64).round() as i64, self.y(point.value).round() as i64);
        let places: BTreeSet<(i64, i64)> = self.figure.points.iter().map(place).collect();
        places.iter().map(|(x, y)| format!("M{x} {y}h0")).collect::<Vec<String>>().concat()
    }

    /// The studies with a mark and a name of their own: all, or of very many those farthest from their level.
    fn named(&self) -> Vec<&FigurePoint> {
        let mut points: Vec<&FigurePoint> = self.figure.points.iter().collect();
        if self.is_dense() {
            let level = |point: &FigurePoint| {
                let own = self.figure.levels.iter().find(|level| (level.first..=level.last).contains(&point.study));
                own.map_or(point.value, |level| level.median)
            };
            let far = |point: &FigurePoint| (point.value / level(point)).ln().abs();
            points.order_by(|one, other| far(other).total_cmp(&far(one)));
            points.truncate(NAMED);
        }
        points
    }

    fn point(&self, point: &FigurePoint) -> Markup {
        let is_one_of_many = self.figure.points.len() > MANY;
        let x = format!("{:.1}", self.x(point.study as f64));
        let study = &self.history.studies[point.study];
        let reach = point.low.zip(point.high).filter(|_| !is_one_of_many);
        let class = if is_one_of_many { "many" } else { "study" };
        html! {
            @if let Some((low, high)) = reach {
                line.reach x1=(x) x2=(x) y1={ (format!("{:.1}", self.y(low))) } y2={ (format!("{:.1}", self.y(high))) } {}
            }
            circle class=(class) cx=(x) cy={ (format!("{:.1}", self.y(point.value))) } r=(if is_one_of_many { 2 } else { 4 }) {
                title {
                    (words::day(study.at_unix_ms)) ", " (study.name) ": " (words::value(self.figure.figure, point.value))
                    @if let Some((low, high)) = point.low.zip(point.high) {
                        " (within this study " (words::value(self.figure.figure, low)) " to "
                        (words::value(self.figure.figure, high)) ")"
                    }
                }
            }
        }
    }
}

/// The levels of a figure as a table.
fn levels(figure: &FigureHistory, history: &History) -> Markup {
    let day = |study: usize| history.studies.get(study).map_or_else(String::new, |study| words::day(study.at_unix_ms));
    let columns = html! {
        th scope="col" { "From" }
        th scope="col" { "to" }
        th.number scope="col" { "studies" }
        th.number scope="col" { "median (95% interval)" }
    };
    let rows = html! {
        tbody {
            @for level in &figure.levels {
                tr {
                    th scope="row" { (day(level.first)) }
                    td { (day(level.last)) }
                    td.number { (level.studies) }
                    td.number { (words::level(figure.figure, level)) }
                }
            }
        }
    };
    scrolling_table("Levels: stretches between changes", columns, rows)
}

fn studies(history: &History) -> Markup {
    let first = history.studies.len().saturating_sub(LISTED);
    let columns = html! {
        th scope="col" { "Study" }
        th scope="col" { "Day" }
        th.number scope="col" { "runs" }
    };
    let rows = html! {
        tbody {
            @for study in &history.studies[first..] {
                tr {
                    th scope="row" { (study.name) }
                    td { (words::day(study.at_unix_ms)) @if !study.is_dated { " (of its file)" } }
                    td.number { (study.runs) }
                }
            }
        }
    };
    html! {
        section #studies {
            h2 { "Studies" }
            @if first > 0 { p.lead { "The last " (LISTED) " of " (history.studies.len()) "." } }
            details { summary { "All files" } (scrolling_table("Studies in order of time", columns, rows)) }
        }
    }
}

fn left_out(history: &History) -> Markup {
    html! {
        @if !history.unread.is_empty() {
            section #left-out {
                h2 { "Left out" }
                ul { @for unread in &history.unread { li { (unread.why) } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use halfpower_analyse::{FigureLevel, HistoryFigure, HistoryStudy};

    use super::*;

    /// Studies of which one is far slower than all others.
    fn history(studies: usize, slow: usize) -> History {
        let study = |at: usize| HistoryStudy {
            name: format!("nightly/2026/day-{at:05}.halfpower"),
            at_unix_ms: 1_767_225_600_000 + at as u64 * 3_600_000,
            is_dated: true,
            runs: 500,
        };
        let value = |at: usize| if at == slow { 40.0 } else { 100.0 + (at * 7919 % 101) as f64 / 50.0 };
        let point = |at: usize| FigurePoint { study: at, value: value(at), low: None, high: None };
        let level =
            FigureLevel { first: 0, last: studies - 1, studies, median: 101.0, low: None, high: None, coverage: None };
        let figure = |figure: &HistoryFigure| FigureHistory {
            figure: *figure,
            cell: None,
            points: (0..studies).map(point).collect(),
            levels: vec![level],
            two_speeds: None,
        };
        History {
            target: "/srv/data".to_string(),
            studies: (0..studies).map(study).collect(),
            figures: HistoryFigure::ALL.iter().map(figure).collect(),
            changes: Vec::new(),
            fail_if: Vec::new(),
            unread: Vec::new(),
        }
    }

    fn page(history: &History) -> String {
        let mut out = Vec::new();
        history_html(history, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn thousands_of_studies_are_on_one_page_that_can_be_mailed() {
        let many = page(&history(5000, 77));
        assert!(many.len() < 600_000, "{} bytes", many.len());
        assert!(many.contains("day-00077.halfpower"), "the odd one has its name");
        assert!(many.contains("class=\"dense\"") && many.contains("farthest from their level"));
        let few = page(&history(300, 77));
        assert!(!few.contains("class=\"dense\"") && few.contains("day-00123.halfpower"), "all have their names");
    }
}
