//! Writes one HTML file that compares studies with a baseline.
//!
//! The frame, the style, what draws charts and the page's main script are those of the report; `compare.js` adds the
//! kinds of chart that show several studies. The file needs no other file, like the report.

use std::io::{self, Write};

use halfpower_analyse::{Comparison, ConditionFinding, Floor, Practical, StudyFacts};
use halfpower_experiments::StudyFindings;
use halfpower_spec::format::three_digits;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::cells::cell_list;
use super::charts::charts;
use super::data::data;
use super::sides;
use super::tables::{cost_table, half_power_table, named, path_table};
use super::terminal::{SETTINGS, change_words, price_figures};
use crate::html::format::{UNKNOWN, date, number, wide};
use crate::html::tiles::tile;
use crate::html::{CHARTS, SCRIPT, footer, head};
use crate::words;
use crate::words::compare::{signed, verdict_among_several};

/// The kinds of chart that show several studies.
const COMPARED: &str = include_str!("../../assets/compare.js");
/// Additions to the report's style: a colour per study and a sign for a difference.
const OWN_STYLE: &str = "
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1.2rem; margin: 0 0 1.6rem; }
.sides p { overflow-wrap: anywhere; border-left: 4px solid var(--side); padding-left: 0.8rem; }
.depths i { display: none; }
.different { font-weight: 650; white-space: nowrap; }
";
/// Longest sentence, in characters, that is set as a headline.
const HEADLINE: usize = 80;

/// Writes the page of one or more comparisons with the same baseline. `findings` has the findings of all studies in
/// them, the baseline's first.
///
/// # Errors
/// Those of `out`.
pub fn compare_html(comparisons: &[Comparison], findings: &[&StudyFindings], out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<&str> = studies(comparisons).map(|study| study.name.as_str()).collect();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&names.join(" and "), &format!("{OWN_STYLE}{}", sides::style(names.len()))))
            body {
                a.skip href="#answer" { "To the answer" }
                (banner(comparisons))
                main {
                    (answer(comparisons))
                    (settings(comparisons))
                    (trust(comparisons))
                    (conditions(comparisons))
                    (price(comparisons))
                    (charts(comparisons))
                    (tables(comparisons))
                    (cell_list(comparisons))
                    (definitions(comparisons))
                }
                (footer())
                script #data type="application/json" { (PreEscaped(data(comparisons, findings))) }
                script { (PreEscaped(CHARTS)) (PreEscaped(COMPARED)) (PreEscaped(SCRIPT)) }
            }
        }
    };
    out.write_all(page.into_string().as_bytes())
}

/// The baseline, then the others.
fn studies(comparisons: &[Comparison]) -> impl Iterator<Item = &StudyFacts> {
    std::iter::once(&comparisons[0].a).chain(comparisons.iter().map(|comparison| &comparison.b))
}

fn banner(comparisons: &[Comparison]) -> Markup {
    let of_two = comparisons.len() == 1;
    let all = [
        (true, ("answer", "Answer")),
        (comparisons.iter().any(|one| !words::checks::compared(one).is_empty()), ("checks", "Settings")),
        (comparisons.iter().any(|one| !one.fail_if.is_empty()), ("conditions", "Conditions")),
        (comparisons.iter().any(|one| one.price.is_some()), ("price", "Price")),
        (true, ("throughput", "Throughput")),
        (true, ("changes", "Changes")),
        (of_two, ("cost", "Cost")),
        (of_two, ("tail", "Latency")),
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

fn answer(comparisons: &[Comparison]) -> Markup {
    let (verdict, tiles) = match comparisons {
        [comparison] => (words::compare::verdict(comparison), tiles(comparison)),
        several => {
            let all = std::iter::once(words::compare::verdict_of_all(several));
            (all.chain(several.iter().map(verdict_among_several)).collect(), several.iter().map(study_tile).collect())
        }
    };
    let baseline = if comparisons.len() > 1 { "the baseline" } else { "" };
    html! {
        section #answer {
            div.sides {
                @for (at, study) in studies(comparisons).enumerate() { (side(at, study, if at == 0 { baseline } else { "" })) }
            }
            @if let [comparison] = comparisons {
                h1 { "Changes are from " (comparison.a.letter) " to " (comparison.b.letter) }
            } @else {
                h1 { "Changes are from " (comparisons[0].a.letter) ", the baseline" }
            }
            div.verdict {
                @for sentence in verdict { p.long[sentence.chars().count() > HEADLINE] { (sentence) } }
            }
            div.tiles { @for figure in tiles { (figure) } }
        }
    }
}

fn side(at: usize, facts: &StudyFacts, role: &str) -> Markup {
    let device = facts.device.as_ref().map(|device| device.model.clone().unwrap_or_else(|| device.name.clone()));
    let filesystem = facts.filesystem.as_ref().map(|filesystem| filesystem.kind.clone());
    let machine = Some(format!("{} × {}", facts.machine.cpus, facts.machine.cpu_model));
    let system = facts.machine.system();
    let day = (facts.started_unix_ms > 0).then(|| date(facts.started_unix_ms));
    let runs = Some(format!("{} runs in {} s", facts.runs, number(facts.seconds)));
    let about = [device, filesystem, machine, system, runs, day].into_iter().flatten().collect::<Vec<_>>().join(" · ");
    html! {
        p class=(sides::class(at)) {
            b { (facts.letter) ": " (facts.name) } @if !role.is_empty() { ", " (role) }
            br; code { (facts.target) } br; small { (about) }
        }
    }
}

/// How much of one study among several differs from the baseline, and where its throughput changes most.
fn study_tile(comparison: &Comparison) -> Markup {
    let different = comparison.cells.iter().filter(|cell| cell.different()).count();
    let size = |path: &&halfpower_analyse::PathComparison| (path.throughput_mbps.b / path.throughput_mbps.a).ln().abs();
    let most = comparison.paths.iter().max_by(|one, other| size(one).total_cmp(&size(other)));
    let about = most.map_or("no cell in common with the baseline".to_string(), |path| {
        let change = change_words(&path.throughput_mbps);
        format!("mean throughput changes most at {}s: {change}", words::settings::path(path.path))
    });
    let what = format!("Cells that differ in {}", named(&comparison.b));
    tile(&what, &different.to_string(), &format!("of {}", comparison.cells.len()), &about)
}

/// Gets a figure from a path.
type PathFigure = fn(&halfpower_analyse::PathComparison) -> Option<halfpower_analyse::Change>;

/// For each figure, the mean change of the path that changes most; and the number of cells that differ.
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
            comparison.paths.iter().filter_map(|path| Some((words::settings::path(path.path), figure(path)?)));
        let size = |change: &halfpower_analyse::Change| (change.b / change.a).ln().abs();
        if let Some((path, change)) = changes.max_by(|one, other| size(&one.1).total_cmp(&size(&other.1))) {
            let mut ends = change
                .interval()
                .map_or("no interval".to_string(), |(low, high)| format!("95%: {} to {}", signed(low), signed(high)));
            if change.is_certain_but_small() {
                ends.push_str("; certain, but below the threshold");
            } else if !change.different {
                ends.push_str("; none beyond chance and of practical size");
            }
            let word = if comparison.paths.len() > 1 { "most at " } else { "mean over " };
            tiles.push(tile(what, &signed(change.percent), "", &format!("{word}{path}s; {ends}")));
        }
    }
    tiles
}

/// What the checks of settings say of the studies.
fn settings(comparisons: &[Comparison]) -> Markup {
    let of = |comparison: &Comparison| {
        let study = if comparisons.len() > 1 { format!("{}: ", comparison.b.letter) } else { String::new() };
        words::checks::compared(comparison).into_iter().map(move |text| format!("{study}{text}"))
    };
    let texts: Vec<String> = comparisons.iter().flat_map(of).collect();
    html! {
        @if !texts.is_empty() {
            section #checks {
                h2 { (SETTINGS) }
                ul { @for text in texts { li { (text) } } }
            }
        }
    }
}

fn trust(comparisons: &[Comparison]) -> Markup {
    let of = |comparison: &Comparison| {
        let study = if comparisons.len() > 1 { format!("{}: ", comparison.b.letter) } else { String::new() };
        let said = |note| format!("{study}{}", words::compare_notes::sentence(note, comparison));
        comparison.notes.iter().map(said).collect::<Vec<_>>()
    };
    let notes: Vec<String> = comparisons.iter().flat_map(of).collect();
    html! {
        @if !notes.is_empty() {
            section #trust {
                h2 { "Before you believe it" }
                ul.warnings { @for note in notes { li { (note) } } }
            }
        }
    }
}

fn conditions(comparisons: &[Comparison]) -> Markup {
    let findings: Vec<(&Comparison, &ConditionFinding)> =
        comparisons.iter().flat_map(|one| one.fail_if.iter().map(move |finding| (one, finding))).collect();
    let several = comparisons.len() > 1;
    let rows = html! {
        @for (comparison, finding) in &findings {
            tr {
                th scope="row" { code { (finding.condition) } @if several { small { (named(&comparison.b)) } } }
                td { @if finding.holds { span.different { "holds" } } @else { "does not hold" } }
                td {
                    @for case in &finding.cases { (words::compare::case(case)) " " (change_words(&case.change)) br; }
                }
            }
        }
    };
    html! {
        @if !findings.is_empty() {
            section #conditions {
                h2 { "Conditions" }
                (wide("Conditions set for this comparison", &["Condition", "Outcome", "Held against"], 3, rows))
                @if let Some(said) = comparisons.first().and_then(words::compare::false_alarms) { p.lead { (said) "." } }
            }
        }
    }
}

/// The figures of the baseline, then of each other study with its ratio to them.
fn price(comparisons: &[Comparison]) -> Markup {
    let tables: Vec<_> = comparisons.iter().filter_map(|one| Some((one, one.price.as_ref()?))).collect();
    let Some((first, baseline)) = tables.first() else { return html! {} };
    let shown = |value: Option<f64>| value.map_or(UNKNOWN.to_string(), three_digits);
    let rows = html! {
        @for (name, of) in price_figures() {
            @let a = of(&baseline.a);
            tr {
                th scope="row" { (name) }
                td.number { (shown(a)) }
                @for (_, table) in &tables {
                    @let b = of(&table.b);
                    td.number { (shown(b)) }
                    td.number { (shown(a.zip(b).map(|(a, b)| b / a))) }
                }
            }
        }
    };
    let a = &first.a.letter;
    let b = |one: &Comparison| one.b.letter.clone();
    let mut columns = vec![String::new(), a.clone()];
    columns.extend(tables.iter().flat_map(|(one, _)| [b(one), format!("{} over {a}", b(one))]));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    html! {
        section #price {
            h2 { "What the money buys" }
            p.lead { "KAPS and MAPS are accesses to kilobytes and to megabytes a second, from random direct reads." }
            (wide("Price and performance", &columns, 1, rows))
            @for sentence in words::compare_notes::all_missing(comparisons) { p.lead { (sentence) } }
        }
    }
}

fn tables(comparisons: &[Comparison]) -> Markup {
    html! {
        section #tables {
            h2 { "Paths, half power and cost in numbers" }
            p.lead {
                "A star marks what is beyond chance and beyond the practical threshold, and < what is beyond chance and \
                 smaller. An interval without a mark may lie clear of 0 by chance: it is of that figure alone."
            }
            (path_table(comparisons))
            (half_power_table(comparisons))
            (cost_table(comparisons))
        }
    }
}

/// The definitions of the terms, with the thresholds of each comparison.
pub(super) fn definitions(comparisons: &[Comparison]) -> Markup {
    let threshold = |floor: &Floor| {
        let noise = floor.noise_percent.map_or("unknown".to_string(), |noise| format!("{}%", three_digits(noise)));
        format!("{}% (noise floor {noise})", three_digits(floor.threshold_percent))
    };
    let several = comparisons.len() > 1;
    let here = |comparison: &Comparison| {
        let Practical { throughput, p99, cost } = &comparison.practical;
        let study = if several { format!("for {} ", comparison.b.letter) } else { String::new() };
        format!("{study}throughput {}, p99 {}, cost {}", threshold(throughput), threshold(p99), threshold(cost))
    };
    let (b, others) = if several { ("a study", "A, the baseline") } else { ("B", "A") };
    html! {
        section #words {
            h2 { "Words" }
            dl.words {
                div { dt { "Change" } dd { "From " (others) " to " (b) ": 100 (" (b) " / A − 1), between geometric means over runs, or over cells and runs." } }
                div {
                    dt { "95% interval" }
                    dd {
                        "A t interval on logarithms, from the spread of the runs of both studies compared; each cell's spread is \
                         drawn towards what all cells have in common. What changes from one study of a system to the \
                         next, such as its age or its neighbours, is not in it."
                    }
                }
                div {
                    dt { "Beyond chance" }
                    dd {
                        "Below 5% after Holm's correction over all that was tested: two studies of one system are \
                         called different in at most 1 of 20 comparisons, however many studies are compared at once."
                    }
                }
                div {
                    dt { "Practical threshold" }
                    dd {
                        "The larger of 5% and the noise floor, by which a typical cell differs at most in 19 of 20 \
                         comparisons of a system with itself. Here: "
                        (comparisons.iter().map(here).collect::<Vec<_>>().join("; ")) "."
                    }
                }
                div { dt { "Peak" } dd { "The best of the cells that both studies compared have, wherever each has it." } }
                div { dt { "n½" } dd { "The block size at which half of a request's time is overhead." } }
            }
        }
    }
}
