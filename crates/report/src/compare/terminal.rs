//! Builds the screen that compares two studies, in at most forty lines.
//!
//! The verdict comes first, then throughput and peak of each path, half power, cost, and the cells that differ most. If
//! there is more than fits, the last lines of the last parts are replaced by their number. In full nothing is left out.

use halfpower_analyse::{
    Bound, CellComparison, Change, Comparison, ConditionLimit, CostComparison, CostTerm, HalfPowerComparison,
    PathComparison, PriceRow, StudyFacts,
};
use halfpower_spec::InOrder;
use halfpower_spec::format::{number, percent, size, three_digits, two_digits};

use super::parts::{Part, row};
use crate::terminal::Noun;
use crate::words::compare::{self, signed, signed_number};
use crate::words::settings::{cell as cell_words, path as path_words};
use crate::words::{checks, compare_notes};

/// Replaces an unknown figure.
pub(super) const UNKNOWN: &str = "-";
/// Cases of a condition that are shown.
const CASES: usize = 3;
/// Marks a change beyond chance and beyond the practical threshold.
const DIFFERENT: &str = " *";
/// Marks a change beyond chance and below the practical threshold.
const SMALL: &str = " <";
/// Marks a change that may be due to other users of the disk.
const PERHAPS_OTHERS: &str = " ?";
/// Heading of what the checks of settings say.
pub(crate) const SETTINGS: &str = "Settings that differ";
/// Lines of it that a screen shows at least.
const FEWEST_SETTINGS: usize = 4;
/// Lines on a screen, without the prompt.
pub(super) const SCREEN: usize = 40;

pub(super) const STUDIES: Noun = Noun("study", "studies");
pub(super) const LINES: Noun = Noun("line", "lines");
const PATHS: Noun = Noun("path", "paths");
const CELLS: Noun = Noun("cell: --full", "cells: --full");

/// How much of a comparison is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// What fits on a screen.
    Screen,
    /// Every cell and every depth.
    Full,
}

/// The parts of a comparison of two studies, in order.
pub(super) fn parts(comparison: &Comparison, extent: Extent) -> Vec<Part> {
    let mut verdict: Vec<(&str, String)> = compare::verdict(comparison).into_iter().map(|said| ("", said)).collect();
    verdict.extend(marks(std::slice::from_ref(comparison)).map(|said| ("", said)));
    let note = |note| ("  ! ", compare_notes::sentence(note, comparison));
    let notes = comparison.notes.iter().map(note).collect();
    let settings = checks::compared(comparison).into_iter().map(|text| ("  ", text)).collect();
    let settings = Part::lines(Some(SETTINGS), settings, LINES, FEWEST_SETTINGS);
    let mut parts = vec![
        Part::facts(vec![study(&comparison.a), study(&comparison.b)], STUDIES),
        Part::lines(None, verdict, LINES, usize::MAX),
        conditions(std::slice::from_ref(comparison), extent),
        price(comparison),
        throughput(comparison),
        half_power(comparison, extent),
        cost(comparison),
        cells(comparison, extent),
        Part::lines(Some("Before you believe it"), notes, LINES, 4),
    ];
    // Where figures differ, settings that differ may be why.
    let place = if comparison.different { 2 } else { parts.len() - 1 };
    parts.insert(place, settings);
    parts
}

/// Says what the marks in the tables mean, as far as there are any. An interval alone may exclude no change by chance.
pub(super) fn marks(comparisons: &[Comparison]) -> Option<String> {
    let of_path = |path: &PathComparison| {
        [Some(path.throughput_mbps), path.latency_ns_p99, path.charged_us, Some(path.peak_mbps)]
    };
    let of_cell = |cell: &CellComparison| [Some(cell.mbps), cell.latency_ns_p99, cell.charged_us];
    let changes = || {
        let cells = comparisons.iter().flat_map(|one| &one.cells).flat_map(of_cell);
        comparisons.iter().flat_map(|one| &one.paths).flat_map(of_path).chain(cells).flatten()
    };
    if !changes().any(|change| change.clear_of_none()) {
        return None;
    }
    let a = &comparisons[0].a.letter;
    let from = match comparisons {
        [comparison] => format!("from {a} to {}", comparison.b.letter),
        _ => format!("from {a}, the baseline"),
    };
    let tests: usize = comparisons.iter().map(Comparison::tests).sum();
    let mut said = format!("Changes are {from}, each with its own 95% interval: of {tests}, some exclude 0 by chance.");
    if changes().any(|change| change.different) {
        said += &format!("{DIFFERENT} is beyond chance and of practical size.");
    }
    if changes().any(|change| change.is_certain_but_small()) {
        said += &format!("{SMALL} is beyond chance and below the threshold.");
    }
    Some(said)
}

/// A study in one line: `A  before.halfpower: 212 runs in 118 s; 2 x EPYC, Linux 6.1; ext4 on nvme0n1; /data`.
pub(super) fn study(facts: &StudyFacts) -> String {
    let place = [facts.filesystem.as_ref().map(|fs| fs.kind.as_str()), facts.device.as_ref().map(|d| d.name.as_str())];
    let place: Vec<&str> = place.into_iter().flatten().collect();
    let mut text = format!("{}  {}: {} runs in {} s", facts.letter, facts.name, facts.runs, number(facts.seconds));
    if !facts.machine.cpu_model.is_empty() {
        text += &format!("; {} x {}", facts.machine.cpus, facts.machine.cpu_model);
    }
    facts.machine.system().iter().for_each(|system| text += &format!(", {system}"));
    if !place.is_empty() {
        text += &format!("; {}", place.join(" on "));
    }
    format!("{text}; {}", facts.target)
}

/// The results of the conditions, in each comparison.
pub(super) fn conditions(comparisons: &[Comparison], extent: Extent) -> Part {
    let mut lines = Vec::new();
    let most = if extent == Extent::Full { usize::MAX } else { CASES };
    for (comparison, finding) in
        comparisons.iter().flat_map(|one| one.fail_if.iter().map(move |finding| (one, finding)))
    {
        let word = if finding.holds { "holds" } else { "does not hold" };
        let of = if comparisons.len() == 1 { String::new() } else { format!(" for {}", comparison.b.letter) };
        lines.push(("  ", format!("`{}` {word}{of}", finding.condition)));
        let holding: Vec<_> = finding.cases.iter().filter(|case| case.holds).collect();
        for case in holding.iter().take(most) {
            let figures = match finding.limit {
                ConditionLimit::Percent(_) => change_words(&case.change),
                limit => compare::case_figures(limit, case),
            };
            lines.push(("    ", format!("{}: {figures}", compare::case(case))));
        }
        if holding.len() > most {
            lines.push(("    ", format!("and for {} more", holding.len() - most)));
        }
        lines.extend(compare::by_chance(finding).map(|said| ("    ", said)));
    }
    lines.extend(comparisons.first().and_then(compare::false_alarms).map(|said| ("  ", said)));
    Part::lines(Some("Conditions"), lines, LINES, usize::MAX)
}

fn throughput(comparison: &Comparison) -> Part {
    let mut rows = vec![row(["Throughput, MB/s", "cells", "differ", "mean change", "peak A", "peak B", "change"])];
    rows.extend(comparison.paths.iter().map(|path: &PathComparison| {
        let peak = &path.peak_mbps;
        row([
            &format!("  {}", path_words(path.path)),
            &path.cells.to_string(),
            &path.cells_different.to_string(),
            &narrow(&path.throughput_mbps),
            &number(peak.a),
            &number(peak.b),
            &narrow(peak),
        ])
    }));
    Part::table(rows, &[1, 2, 4, 5], PATHS).with_ranks(&[0, 4, 3, 0, 2, 2, 1])
}

/// One depth per path; in full, all of them.
fn half_power(comparison: &Comparison, extent: Extent) -> Part {
    let mut rows = vec![row(["Half power from", "deep", "A", "B", "n1/2 A", "n1/2 B", "change of n1/2"])];
    let shown: Vec<&HalfPowerComparison> = match extent {
        Extent::Screen => half_powers(comparison).collect(),
        Extent::Full => comparison.half_power.iter().collect(),
    };
    for half in shown {
        let bound =
            |bytes: u64, bracketed: bool| format!("{}{}", if bracketed { "" } else { "<= " }, size(bytes as f64));
        let n_half = half.n_half_bytes;
        rows.push(row([
            &format!("  {}", path_words(half.path)),
            &half.iodepth.to_string(),
            &bound(half.bs_bytes_a, half.bracketed_a),
            &bound(half.bs_bytes_b, half.bracketed_b),
            &n_half.map_or(UNKNOWN.to_string(), |change| size(change.a)),
            &n_half.map_or(UNKNOWN.to_string(), |change| size(change.b)),
            &n_half.map_or(UNKNOWN.to_string(), |change| narrow(&change)),
        ]));
    }
    Part::table(rows, &[1, 2, 3, 4, 5], PATHS).with_ranks(&[0, 0, 2, 2, 1, 1, 0])
}

/// One depth per path. Among depths whose half-power size is bracketed in both studies, it is the one with the most
/// precise n1/2; without such depths, the deepest.
pub(super) fn half_powers(comparison: &Comparison) -> impl Iterator<Item = &HalfPowerComparison> {
    let same = |one: &HalfPowerComparison, other: &HalfPowerComparison| one.path == other.path;
    comparison.half_power.chunk_by(same).map(|depths| {
        let width = |half: &HalfPowerComparison| {
            half.n_half_bytes.and_then(|change| change.interval()).map_or(f64::INFINITY, |(low, high)| high - low)
        };
        let known = depths.iter().filter(|half| half.bracketed_a && half.bracketed_b);
        let known = known.min_by(|one, other| width(one).total_cmp(&width(other)));
        known.unwrap_or(&depths[depths.len() - 1])
    })
}

fn cost(comparison: &Comparison) -> Part {
    let in_cycles = comparison.paths.iter().any(|path| path.charged_kilocycles.is_some());
    let mut heading = row(["Cost, µs a request + KiB", "charged A", "charged B", "mean change a request"]);
    if in_cycles {
        heading.push("kilocycles A, B".to_string());
    }
    let mut rows = vec![heading];
    for path in &comparison.paths {
        let fits = |cost: &&CostComparison| cost.path == path.path && cost.bound == Bound::Charged;
        let fit = comparison.cost.iter().find(fits);
        let bill = |of: fn(&CostTerm) -> f64| {
            fit.map_or(UNKNOWN.to_string(), |cost| {
                format!("{} + {}", two_digits(of(&cost.fixed_us)), two_digits(of(&cost.marginal_us_per_kib)))
            })
        };
        let mut cells = row([
            &format!("  {}", path_words(path.path)),
            &bill(|term| term.a.value),
            &bill(|term| term.b.value),
            &path.charged_us.map_or(UNKNOWN.to_string(), |change| narrow(&change)),
        ]);
        if in_cycles {
            let cycles = path.charged_kilocycles;
            cells.push(cycles.map_or(UNKNOWN.to_string(), |[a, b]| format!("{}, {}", two_digits(a), two_digits(b))));
        }
        rows.push(cells);
    }
    Part::table(rows, &[], PATHS).with_ranks(&[0, 1, 1, 0, 2])
}

fn cells(comparison: &Comparison, extent: Extent) -> Part {
    match extent {
        Extent::Screen => different_cells(comparison),
        Extent::Full => all_cells(comparison),
    }
}

/// All common cells with the intervals of their changes, in the order of their settings.
pub(super) fn all_cells(comparison: &Comparison) -> Part {
    let letter_a = &comparison.a.letter;
    let letter_b = &comparison.b.letter;
    let heading = [
        "All common cells",
        &format!("runs {letter_a}, {letter_b}"),
        &format!("MB/s {letter_a}"),
        &format!("MB/s {letter_b}"),
        "change",
        "p99",
        "cost",
    ];
    let or_unknown = |change: Option<Change>| change.map_or(UNKNOWN.to_string(), |change| narrow(&change));
    let mut rows = vec![row(heading)];
    rows.extend(comparison.cells.iter().map(|cell| {
        row([
            &format!("  {}", cell_words(&cell.settings)),
            &format!("{}, {}", cell.runs_a, cell.runs_b),
            &number(cell.mbps.a),
            &number(cell.mbps.b),
            &narrow(&cell.mbps),
            &or_unknown(cell.latency_ns_p99),
            &or_unknown(cell.charged_us),
        ])
    }));
    Part::table(rows, &[1, 2, 3], CELLS).with_ranks(&[0, 4, 3, 3, 0, 1, 2])
}

/// The cells that differ, largest change first.
fn different_cells(comparison: &Comparison) -> Part {
    let mut different: Vec<&CellComparison> = comparison.cells.iter().filter(|cell| cell.different()).collect();
    let size = |cell: &CellComparison| cell.largest().map_or(0.0, |change| (change.b / change.a).ln().abs());
    different.order_by(|one, other| size(other).total_cmp(&size(one)));
    let mut rows = vec![row(["Cells that differ", "MB/s A", "MB/s B", "change", "p99", "cost"])];
    let short = |change: Option<Change>| {
        change.map_or(UNKNOWN.to_string(), |change| format!("{}{}", signed(change.percent), mark(&change)))
    };
    rows.extend(different.iter().map(|cell| {
        row([
            &format!("  {}", cell_words(&cell.settings)),
            &number(cell.mbps.a),
            &number(cell.mbps.b),
            &short(Some(cell.mbps)),
            &short(cell.latency_ns_p99),
            &short(cell.charged_us),
        ])
    }));
    Part::table(rows, &[1, 2], CELLS).with_ranks(&[0, 2, 2, 0, 1, 1])
}

/// The price-performance table, one row per figure, as in Table 10 of the 2000 paper.
pub(super) fn price(comparison: &Comparison) -> Part {
    let Some(table) = &comparison.price else { return Part::lines(None, Vec::new(), LINES, 0) };
    let letter_a = &comparison.a.letter;
    let letter_b = &comparison.b.letter;
    let mut rows = vec![row(["Price and performance", letter_a, letter_b, &format!("{letter_b} over {letter_a}")])];
    for (name, of) in price_figures() {
        let a = of(&table.a);
        let b = of(&table.b);
        if a.is_none() && b.is_none() {
            continue;
        }
        let shown = |value: Option<f64>| value.map_or(UNKNOWN.to_string(), three_digits);
        let over = a.zip(b).filter(|(a, _)| *a > 0.0).map_or(UNKNOWN.to_string(), |(a, b)| percent(b / a));
        rows.push(row([&format!("  {name}"), &shown(a), &shown(b), &over]));
    }
    Part::table(rows, &[1, 2, 3], LINES).with_sentences(compare_notes::all_missing(std::slice::from_ref(comparison)))
}

/// A figure of the price table.
pub(crate) type PriceFigure = (&'static str, fn(&PriceRow) -> Option<f64>);

/// The rows of the price table.
pub(crate) fn price_figures() -> [PriceFigure; 12] {
    [
        ("price", |row| Some(row.price)),
        ("GB", |row| row.gb),
        ("GB/$", |row| row.gb_per_price),
        ("KAPS: random 8 KiB reads/s, 1 deep", |row| row.one_deep.kaps),
        ("KAPS/$", |row| row.one_deep.kaps_per_price),
        ("MAPS: random 1 MiB reads/s, 1 deep", |row| row.one_deep.maps),
        ("MAPS/$", |row| row.one_deep.maps_per_price),
        ("KAPS at the best depth", |row| row.best.kaps),
        ("KAPS/$ there", |row| row.best.kaps_per_price),
        ("MAPS at the best depth", |row| row.best.maps),
        ("MAPS/$ there", |row| row.best.maps_per_price),
        ("$ for a GB", |row| row.gb_per_price.map(|gb| 1.0 / gb)),
    ]
}

/// A change such as `-9.1% (-9.9 to -8.3) *`, with its mark.
pub(crate) fn change_words(change: &Change) -> String {
    let ends = match change.interval() {
        Some((low, high)) => format!(" ({} to {})", signed_number(low), signed_number(high)),
        None => String::new(),
    };
    format!("{}{ends}{}", signed(change.percent), mark(change))
}

/// A change in a column: `-9.1% ±0.9 *`, with the longer half of the interval.
pub(super) fn narrow(change: &Change) -> String {
    let half = change.interval().map(|(low, high)| (high - change.percent).max(change.percent - low));
    let half = half.map_or(String::new(), |half| format!(" ±{half:.1}"));
    format!("{}{half}{}", signed(change.percent), mark(change))
}

/// The mark of a change, to follow it.
pub(super) fn mark(change: &Change) -> &'static str {
    match change {
        change if change.different => DIFFERENT,
        change if change.is_certain_but_small() => SMALL,
        change if change.others_used_the_disk && change.clear_of_none() => PERHAPS_OTHERS,
        _ => "",
    }
}
