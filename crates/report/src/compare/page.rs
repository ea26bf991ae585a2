//! Writes two studies as one HTML file, one laid over the other.
//!
//! The frame, the style, the charting library and the page's own script are those of the report; `compare.js` adds
//! the kinds of chart that show two studies at once. The file stands alone, as the report does.

use std::io::{self, Write};

use halfpower_analyse::{CellComparison, Comparison, StudyFacts};
use halfpower_experiments::StudyFindings;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::data::data;
use super::tables::{cell_list, cost_table, half_power_table, path_table, wide};
use super::terminal::{change_words, price_figures, three_digits};
use crate::html::format::{UNKNOWN, date, heading, number, path_words, size};
use crate::html::page::{CHARTS, LIBRARY, SCRIPT, footer, head};
use crate::html::tiles::tile;
use crate::words::{self, compare::signed};

/// The kinds of chart that show two studies.
const COMPARED: &str = include_str!("../../assets/compare.js");
/// What the page needs beyond the report's style: two colours and a sign for a difference.
const OWN_STYLE: &str = "
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1.2rem; margin: 0 0 1.6rem; }
.sides p { overflow-wrap: anywhere; border-left: 4px solid var(--side); padding-left: 0.8rem; }
.side-a { --side: #0b6b70; } .side-b { --side: #b4530a; }
.different { font-weight: 650; white-space: nowrap; }
@media (prefers-color-scheme: dark) { .side-a { --side: #56c5c4; } .side-b { --side: #f2a25c; } }
@media print { .side-a { --side: #0b6b70; } .side-b { --side: #b4530a; } }
";
/// Longest sentence, in characters, that is still read as a headline.
const HEADLINE: usize = 80;

/// Writes the page of a comparison and the findings of A and B that it rests on.
///
/// # Errors
/// Whatever `out` answers when it is written to.
pub fn compare_html(comparison: &Comparison, findings: [&StudyFindings; 2], out: &mut impl Write) -> io::Result<()> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{} and {}", comparison.a.name, comparison.b.name), OWN_STYLE))
            body {
                a.skip href="#answer" { "To the answer" }
                (banner(comparison))
                main {
                    (answer(comparison))
                    (trust(comparison))
                    (conditions(comparison))
                    (price(comparison))
                    (charts(comparison))
                    (tables(comparison))
                    (cell_list(comparison))
                    (definitions(comparison))
                }
                (footer())
                script #data type="application/json" { (PreEscaped(data(comparison, findings))) }
                script #library type="application/octet-stream" { (PreEscaped(LIBRARY)) }
                script { (PreEscaped(CHARTS)) (PreEscaped(COMPARED)) (PreEscaped(SCRIPT)) }
            }
        }
    };
    out.write_all(page.into_string().as_bytes())
}

fn banner(comparison: &Comparison) -> Markup {
    let all = [
        (true, ("answer", "Answer")),
        (!comparison.fail_if.is_empty(), ("conditions", "Conditions")),
        (comparison.price.is_some(), ("price", "Price")),
        (true, ("throughput", "Throughput")),
        (true, ("changes", "Changes")),
        (true, ("cost", "Cost")),
        (true, ("tail", "Latency")),
        (true, ("tables", "Tables")),
        (true, ("cells", "Cells")),
        (true, ("words", "Words")),
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

fn answer(comparison: &Comparison) -> Markup {
    html! {
        section #answer {
            div.sides {
                (side("A", "side-a", &comparison.a))
                (side("B", "side-b", &comparison.b))
            }
            h1 { "Changes are from A to B" }
            div.verdict {
                @for sentence in words::compare::verdict(comparison) { p.long[sentence.chars().count() > HEADLINE] { (sentence) } }
            }
            div.tiles { @for figure in tiles(comparison) { (figure) } }
        }
    }
}

fn side(letter: &str, class: &str, facts: &StudyFacts) -> Markup {
    let device = facts.device.as_ref().map(|device| device.model.clone().unwrap_or_else(|| device.name.clone()));
    let filesystem = facts.filesystem.as_ref().map(|filesystem| filesystem.kind.clone());
    let machine = Some(format!("{} × {}", facts.machine.cpus, facts.machine.cpu_model));
    let system = facts.machine.system();
    let day = (facts.started_unix_ms > 0).then(|| date(facts.started_unix_ms));
    let runs = Some(format!("{} runs in {} s", facts.runs, number(facts.seconds)));
    let about = [device, filesystem, machine, system, runs, day].into_iter().flatten().collect::<Vec<_>>().join(" · ");
    html! {
        p class=(class) { b { (letter) ": " (facts.name) } br; code { (facts.target) } br; small { (about) } }
    }
}

/// How a figure is had from a path.
type PathFigure = fn(&halfpower_analyse::PathComparison) -> Option<halfpower_analyse::Change>;

/// The mean change of the path that changes most in each figure, and the number of cells that differ.
fn tiles(comparison: &Comparison) -> Vec<Markup> {
    let mut tiles = Vec::new();
    let different = comparison.cells.iter().filter(|cell| cell.different()).count();
    tiles.push(tile(
        "Cells that differ",
        &different.to_string(),
        &format!("of {}", comparison.cells.len()),
        "in throughput, p99 latency or cost, beyond chance and the practical threshold",
    ));
    let of: [(&str, PathFigure); 3] = [
        ("Throughput", |path| Some(path.throughput_mbps)),
        ("Cost a request", |path| path.charged_us),
        ("p99 latency", |path| path.latency_ns_p99),
    ];
    for (what, figure) in of {
        let changes =
            comparison.paths.iter().filter_map(|path| Some((words::settings::path(path.settings()), figure(path)?)));
        let size = |change: &halfpower_analyse::Change| (change.b / change.a).ln().abs();
        if let Some((path, change)) = changes.max_by(|one, other| size(&one.1).total_cmp(&size(&other.1))) {
            let mut ends = change
                .interval()
                .map_or("no interval".to_string(), |(low, high)| format!("95%: {} to {}", signed(low), signed(high)));
            if !change.different {
                ends.push_str("; none beyond chance and of practical size");
            }
            let word = if comparison.paths.len() > 1 { "most at " } else { "mean over " };
            tiles.push(tile(what, &signed(change.percent), "", &format!("{word}{path}s; {ends}")));
        }
    }
    tiles
}

fn trust(comparison: &Comparison) -> Markup {
    html! {
        @if !comparison.notes.is_empty() {
            section #trust {
                h2 { "Before you believe it" }
                ul.warnings { @for note in &comparison.notes { li { (words::compare_notes::sentence(note, comparison)) } } }
            }
        }
    }
}

fn conditions(comparison: &Comparison) -> Markup {
    html! {
        @if !comparison.fail_if.is_empty() {
            section #conditions {
                h2 { "Conditions" }
                @let rows = html! {
                    @for finding in &comparison.fail_if {
                        tr {
                            th scope="row" { code { (finding.condition) } }
                            td { @if finding.holds { span.different { "holds" } } @else { "does not hold" } }
                            td {
                                @for case in &finding.cases { (words::compare::case(case)) " " (change_words(&case.change)) br; }
                            }
                        }
                    }
                };
                (wide("Conditions set for this comparison", &["Condition", "Outcome", "Held against"], 3, rows))
            }
        }
    }
}

fn price(comparison: &Comparison) -> Markup {
    let Some(table) = &comparison.price else { return html! {} };
    let shown = |value: Option<f64>| value.map_or(UNKNOWN.to_string(), three_digits);
    let rows = html! {
        @for (name, of) in price_figures() {
            @let (a, b) = (of(&table.a), of(&table.b));
            tr {
                th scope="row" { (name) }
                td.number { (shown(a)) }
                td.number { (shown(b)) }
                td.number { (a.zip(b).map_or(UNKNOWN.to_string(), |(a, b)| three_digits(b / a))) }
            }
        }
    };
    html! {
        section #price {
            h2 { "What the money buys" }
            p.lead { "KAPS and MAPS are accesses to kilobytes and to megabytes a second, from random direct reads." }
            (wide("Price and performance", &["", "A", "B", "B over A"], 1, rows))
            @for (study, figure) in &table.missing { p.lead { (words::compare_notes::missing(*study, *figure, comparison)) } }
        }
    }
}

/// The common cells of one path, with its key for the page's script.
struct ComparedPath<'a> {
    key: String,
    words: String,
    cells: Vec<&'a CellComparison>,
}

fn paths(comparison: &Comparison) -> Vec<ComparedPath<'_>> {
    let mut ordered: Vec<&halfpower_analyse::PathComparison> = comparison.paths.iter().collect();
    ordered.sort_by_key(|path| (!path.cache.direct(), path.pattern, path.rw, path.cache));
    let own = |path: &halfpower_analyse::PathComparison, cell: &CellComparison| cell.settings.path() == path.settings();
    let of = |path: &halfpower_analyse::PathComparison| ComparedPath {
        key: format!("{} {} {}", path.pattern, path.cache, path.rw),
        words: heading(&path_words(path.pattern, path.cache, path.rw)),
        cells: comparison.cells.iter().filter(|cell| own(path, cell)).collect(),
    };
    ordered.into_iter().map(of).collect()
}

fn charts(comparison: &Comparison) -> Markup {
    let paths = paths(comparison);
    let throughput = |cell: &CellComparison| Some(cell.mbps);
    html! {
        noscript { p.lead { "The charts need JavaScript; the tables below them do not." } }
        section #throughput {
            h2 { "Throughput against block size" }
            p.lead {
                "A is solid, B dashed, with 95% intervals; at the least, the middle and the greatest depth that both \
                 have, each with a mark of its own."
            }
            (multiples(&paths, "overlay", "throughput of both studies against block size", throughput))
        }
        section #changes {
            h2 { "Where it changes" }
            p.lead {
                "The change of throughput from A to B in percent, in each common cell; the colour deepens with it. A \
                 box marks what is beyond chance and beyond the practical threshold."
            }
            (multiples(&paths, "change", "the change of throughput over block size and depth", throughput))
        }
        section #cost {
            h2 { "What a request costs the processor" }
            p.lead {
                "Charged microseconds a request against block size, in all cells: A filled, B open; the lines are the \
                 fits of both studies."
            }
            (multiples(&paths, "costs", "processor time a request in both studies", |cell| cell.charged_us))
        }
        section #tail {
            h2 { "How the slowest requests change" }
            p.lead { "The change of the 99th percentile of latency in percent, drawn as that of throughput." }
            (multiples(&paths, "tail", "the change of p99 latency over block size and depth", |cell| cell.latency_ns_p99))
        }
    }
}

fn multiples(
    paths: &[ComparedPath<'_>],
    kind: &str,
    what: &str,
    of: impl Fn(&CellComparison) -> Option<halfpower_analyse::Change>,
) -> Markup {
    html! {
        div.multiples {
            @for path in paths {
                figure.chart data-chart=(kind) data-path=(path.key) {
                    figcaption { (path.words) }
                    div.plot role="img" aria-label={ (path.words) ": " (what) ". The numbers are in the table that follows." } {
                        p.pending { "This chart is drawn by the page's script." }
                    }
                    details { summary { "Numbers" } (numbers(path, what, &of)) }
                }
            }
        }
    }
}

fn numbers(
    path: &ComparedPath<'_>,
    what: &str,
    of: &impl Fn(&CellComparison) -> Option<halfpower_analyse::Change>,
) -> Markup {
    let rows = html! {
        @for cell in &path.cells {
            tr {
                th scope="row" { (size(cell.settings.bs_bytes as f64)) ", " (cell.settings.iodepth) " deep" }
                @match of(cell) {
                    Some(change) => {
                        td.number { (number(change.a)) }
                        td.number { (number(change.b)) }
                        td.number { (change_words(&change)) }
                    }
                    None => { td.number { (UNKNOWN) } td.number { (UNKNOWN) } td.number { (UNKNOWN) } }
                }
            }
        }
    };
    wide(&heading(what), &["Cell", "A", "B", "Change (95%)"], 1, rows)
}

fn tables(comparison: &Comparison) -> Markup {
    html! {
        section #tables {
            h2 { "Paths, half power and cost in numbers" }
            p.lead { "A star marks what is beyond chance and beyond the practical threshold." }
            (path_table(comparison))
            (half_power_table(comparison))
            (cost_table(comparison))
        }
    }
}

fn definitions(comparison: &Comparison) -> Markup {
    let practical = &comparison.practical;
    let threshold = |floor: &halfpower_analyse::Floor| {
        let noise = floor.noise_percent.map_or("unknown".to_string(), |noise| format!("{}%", three_digits(noise)));
        format!("{}% (noise floor {noise})", three_digits(floor.threshold_percent))
    };
    html! {
        section #words {
            h2 { "Words" }
            dl.words {
                div { dt { "Change" } dd { "100 (B / A − 1), between geometric means over runs, or over cells and runs." } }
                div {
                    dt { "95% interval" }
                    dd {
                        "A t interval on logarithms, from the spread of the runs of both studies; each cell's spread is \
                         drawn towards what all cells have in common. What changes from one study of a system to the \
                         next, such as its age or its neighbours, is not in it."
                    }
                }
                div {
                    dt { "Beyond chance" }
                    dd {
                        "Below 5% after Holm's correction over all that was tested: two studies of one system are \
                         called different in at most 1 of 20 comparisons."
                    }
                }
                div {
                    dt { "Practical threshold" }
                    dd {
                        "The larger of 5% and the noise floor, by which a typical cell differs at most in 19 of 20 \
                         comparisons of a system with itself. Here: throughput " (threshold(&practical.throughput))
                        ", p99 " (threshold(&practical.p99)) ", cost " (threshold(&practical.cost)) "."
                    }
                }
                div { dt { "Peak" } dd { "The best of the cells that both studies measured, wherever each has it." } }
                div { dt { "n½" } dd { "The block size at which half of a request's time is overhead." } }
            }
        }
    }
}
