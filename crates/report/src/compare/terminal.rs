//! Prints the comparison of two studies on one screen: at most forty lines.
//!
//! The verdict stands first, then each path's throughput and peak, half power, cost, and the cells that differ most.
//! Where there is more than a screen holds, the last lines of the last parts give way, and say how many they were.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use halfpower_analyse::{
    Bound, CellComparison, Change, Comparison, CostComparison, CostTerm, HalfPowerComparison, PathComparison, PriceRow,
    StudyFacts,
};
use halfpower_text::format::{number, percent, size, two_digits};

use crate::Style;
use crate::terminal::Noun;
use crate::words::compare::{self, signed};
use crate::words::compare_notes;
use crate::words::settings::{cell as cell_words, path as path_words};

/// Lines on a screen, the prompt left out.
const SCREEN: usize = 40;
/// Narrowest and widest text that is folded to the terminal.
const WIDTH: (usize, usize) = (40, 120);
/// Stands where something is not known.
const UNKNOWN: &str = "-";
/// Cases of a condition that are shown.
const CASES: usize = 3;
/// Marks what is beyond chance and beyond the practical threshold.
const DIFFERENT: &str = " *";

const STUDIES: Noun = Noun("study", "studies");
const LINES: Noun = Noun("line", "lines");
const PATHS: Noun = Noun("path", "paths");
const CELLS: Noun = Noun("cell; --json and --html have it", "cells; --json and --html have them all");

/// A part of the screen: a heading, lines, and how many of them stay at least.
struct Part {
    heading: Option<String>,
    lines: Vec<String>,
    noun: Noun,
    shown: usize,
    least: usize,
}

impl Part {
    fn new(heading: Option<String>, lines: Vec<String>, noun: Noun, least: usize) -> Self {
        let shown = lines.len();
        Self { heading, shown, least: least.min(shown), lines, noun }
    }

    fn height(&self) -> usize {
        if self.lines.is_empty() {
            return 0;
        }
        1 + usize::from(self.heading.is_some()) + self.shown + usize::from(self.shown < self.lines.len())
    }
}

/// Prints the comparison on at most one screen of forty lines, unless its first parts alone are longer.
///
/// # Errors
/// Those of `out`.
pub fn compare_text(comparison: &Comparison, style: &Style, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let width = style.width.clamp(WIDTH.0, WIDTH.1);
    let mut parts = parts(comparison, width);
    for at in (0..parts.len()).rev() {
        while parts.iter().map(Part::height).sum::<usize>() > SCREEN + 1 && parts[at].shown > parts[at].least {
            parts[at].shown -= 1;
        }
    }
    let mut first = true;
    for part in parts.iter().filter(|part| !part.lines.is_empty()) {
        if !std::mem::take(&mut first) {
            writeln!(out)?;
        }
        print(part, width, style.colour, out)?;
    }
    Ok(())
}

fn print(part: &Part, width: usize, colour: bool, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    if let Some(heading) = &part.heading {
        let heading = cut(heading, width);
        if colour { writeln!(out, "\x1b[1m{heading}\x1b[0m")? } else { writeln!(out, "{heading}")? }
    }
    for line in &part.lines[..part.shown] {
        writeln!(out, "{}", cut(line, width))?;
    }
    match part.lines.len() - part.shown {
        0 => Ok(()),
        hidden => writeln!(out, "{}", cut(&part.noun.more(hidden), width)),
    }
}

fn parts(comparison: &Comparison, width: usize) -> Vec<Part> {
    let mut verdict: Vec<String> =
        compare::verdict(comparison).iter().flat_map(|sentence| folded("", sentence, width)).collect();
    if comparison.different {
        verdict.push(format!(
            "Changes are from A to B, with 95% intervals;{DIFFERENT} is beyond chance and of practical size."
        ));
    }
    let note = |note| folded("  ! ", &compare_notes::sentence(note, comparison), width);
    let notes = comparison.notes.iter().flat_map(note).collect();
    vec![
        Part::new(None, vec![study("A", &comparison.a), study("B", &comparison.b)], STUDIES, 2),
        Part::new(None, verdict, LINES, usize::MAX),
        conditions(comparison, width),
        price(comparison),
        throughput(comparison),
        half_power(comparison),
        cost(comparison),
        cells(comparison),
        Part::new(Some("Before you believe it".to_string()), notes, LINES, 4),
    ]
}

/// Such as `A  before.halfpower: 212 runs in 118 s of /data; 2 x EPYC, Linux 6.1; ext4 on nvme0n1`.
fn study(letter: &str, facts: &StudyFacts) -> String {
    let place = [facts.filesystem.as_ref().map(|fs| fs.kind.as_str()), facts.device.as_ref().map(|d| d.name.as_str())];
    let place: Vec<&str> = place.into_iter().flatten().collect();
    let mut text = format!("{letter}  {}: {} runs in {} s", facts.name, facts.runs, number(facts.seconds));
    text += &format!("; {} x {}", facts.machine.cpus, facts.machine.cpu_model);
    facts.machine.system().iter().for_each(|system| text += &format!(", {system}"));
    if !place.is_empty() {
        text += &format!("; {}", place.join(" on "));
    }
    format!("{text}; {}", facts.target)
}

fn conditions(comparison: &Comparison, width: usize) -> Part {
    let mut lines = Vec::new();
    for finding in &comparison.fail_if {
        let word = if finding.holds { "holds" } else { "does not hold" };
        lines.push(format!("  `{}` {word}", finding.condition));
        let holding: Vec<_> = finding.cases.iter().filter(|case| case.holds).collect();
        for case in holding.iter().take(CASES) {
            lines.extend(folded("    ", &format!("{}: {}", compare::case(case), change_words(&case.change)), width));
        }
        if holding.len() > CASES {
            lines.push(format!("    and for {} more", holding.len() - CASES));
        }
    }
    Part::new(Some("Conditions".to_string()), lines, LINES, usize::MAX)
}

fn throughput(comparison: &Comparison) -> Part {
    let mut rows = vec![row(["Throughput, MB/s", "cells", "differ", "mean change", "peak A", "peak B", "change"])];
    rows.extend(comparison.paths.iter().map(|path: &PathComparison| {
        let peak = &path.peak_mbps;
        row([
            &format!("  {}", path_words(path.settings())),
            &path.cells.to_string(),
            &path.cells_different.to_string(),
            &narrow(&path.throughput_mbps),
            &number(peak.a),
            &number(peak.b),
            &narrow(peak),
        ])
    }));
    part(rows, &[1, 2, 4, 5], PATHS)
}

/// One depth a path: of those at which both studies know the size from both sides the one with the surest n1/2, or
/// the deepest.
fn half_power(comparison: &Comparison) -> Part {
    let mut rows = vec![row(["Half power from", "deep", "A", "B", "n1/2 A", "n1/2 B", "change of n1/2"])];
    let same = |one: &HalfPowerComparison, other: &HalfPowerComparison| one.settings() == other.settings();
    for depths in comparison.half_power.chunk_by(same) {
        let width = |half: &HalfPowerComparison| {
            half.n_half_bytes.and_then(|change| change.interval()).map_or(f64::INFINITY, |(low, high)| high - low)
        };
        let known = depths.iter().filter(|half| half.bracketed_a && half.bracketed_b);
        let known = known.min_by(|one, other| width(one).total_cmp(&width(other)));
        let half = known.unwrap_or(&depths[depths.len() - 1]);
        let bound =
            |bytes: u64, bracketed: bool| format!("{}{}", if bracketed { "" } else { "<= " }, size(bytes as f64));
        let n_half = half.n_half_bytes;
        rows.push(row([
            &format!("  {}", path_words(half.settings())),
            &half.iodepth.to_string(),
            &bound(half.bs_bytes_a, half.bracketed_a),
            &bound(half.bs_bytes_b, half.bracketed_b),
            &n_half.map_or(UNKNOWN.to_string(), |change| size(change.a)),
            &n_half.map_or(UNKNOWN.to_string(), |change| size(change.b)),
            &n_half.map_or(UNKNOWN.to_string(), |change| narrow(&change)),
        ]));
    }
    part(rows, &[1, 2, 3, 4, 5], PATHS)
}

fn cost(comparison: &Comparison) -> Part {
    let in_cycles = comparison.paths.iter().any(|path| path.charged_kilocycles.is_some());
    let mut heading = row(["Cost, us a request + KiB", "charged A", "charged B", "mean change a request"]);
    if in_cycles {
        heading.push("kilocycles A, B".to_string());
    }
    let mut rows = vec![heading];
    for path in &comparison.paths {
        let fits = |cost: &&CostComparison| cost.settings() == path.settings() && cost.bound == Bound::Charged;
        let fit = comparison.cost.iter().find(fits);
        let bill = |of: fn(&CostTerm) -> f64| {
            fit.map_or(UNKNOWN.to_string(), |cost| {
                format!("{} + {}", two_digits(of(&cost.fixed_us)), two_digits(of(&cost.marginal_us_per_kib)))
            })
        };
        let mut cells = row([
            &format!("  {}", path_words(path.settings())),
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
    part(rows, &[], PATHS)
}

/// The cells that differ, the largest change first.
fn cells(comparison: &Comparison) -> Part {
    let mut different: Vec<&CellComparison> = comparison.cells.iter().filter(|cell| cell.different()).collect();
    let size = |cell: &CellComparison| cell.largest().map_or(0.0, |change| (change.b / change.a).ln().abs());
    different.sort_by(|one, other| size(other).total_cmp(&size(one)));
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
    part(rows, &[1, 2], CELLS)
}

/// The price-performance table, a row a figure, as the 2000 paper's Table 10 has it.
fn price(comparison: &Comparison) -> Part {
    let Some(table) = &comparison.price else { return Part::new(None, Vec::new(), LINES, 0) };
    let mut rows = vec![row(["Price and performance", "A", "B", "B over A"])];
    for (name, of) in price_figures() {
        let (a, b) = (of(&table.a), of(&table.b));
        if a.is_none() && b.is_none() {
            continue;
        }
        let shown = |value: Option<f64>| value.map_or(UNKNOWN.to_string(), three_digits);
        let over = a.zip(b).filter(|(a, _)| *a > 0.0).map_or(UNKNOWN.to_string(), |(a, b)| percent(b / a));
        rows.push(row([&format!("  {name}"), &shown(a), &shown(b), &over]));
    }
    let mut part = part(rows, &[1, 2, 3], LINES);
    let missing = table.missing.iter().map(|(study, figure)| compare_notes::missing(*study, *figure));
    part.lines.extend(missing.map(|sentence| format!("  {sentence}")));
    part.shown = part.lines.len();
    part.least = part.shown;
    part
}

/// What stands in the price table, in its order.
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

/// A price or a figure for it: `1,250`, `34.1`, `0.197`.
pub(crate) fn three_digits(value: f64) -> String {
    if value.abs() >= 0.9995 || value == 0.0 {
        return number(value);
    }
    let decimals = (2 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{value:.decimals$}")
}

/// Such as `-9.1% (-9.9 to -8.3) *`; the star is for what is beyond chance and beyond the practical threshold.
pub(crate) fn change_words(change: &Change) -> String {
    let ends = match change.interval() {
        Some((low, high)) => {
            let bare = |percent| signed(percent).trim_end_matches('%').to_string();
            format!(" ({} to {})", bare(low), bare(high))
        }
        None => String::new(),
    };
    format!("{}{ends}{}", signed(change.percent), mark(change))
}

/// The same in a column: `-9.1% ±0.9 *`, with the longer half of the interval.
fn narrow(change: &Change) -> String {
    let half = change.interval().map(|(low, high)| (high - change.percent).max(change.percent - low));
    let half = half.map_or(String::new(), |half| format!(" ±{half:.1}"));
    format!("{}{half}{}", signed(change.percent), mark(change))
}

fn mark(change: &Change) -> &'static str {
    if change.different { DIFFERENT } else { "" }
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_string).to_vec()
}

/// A part whose first row is its heading; nothing where that is all there is.
fn part(rows: Vec<Vec<String>>, right: &[usize], noun: Noun) -> Part {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).force_no_tty();
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if right.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut lines = table.lines().map(|line| line.trim_end().to_string());
    let heading = lines.next();
    Part::new(heading, lines.collect(), noun, 2)
}

/// The first `width` characters, the last of them three dots where something is lost.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    let head: String = text.chars().take(width - 3).collect();
    format!("{}...", head.trim_end())
}

/// Lines of at most `width` characters, those after the first indented as far as `lead` is long.
fn folded(lead: &str, text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![lead.to_string()];
    let indent = lead.chars().count();
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("one was put in");
        let length = line.chars().count();
        if length > indent && length + 1 + word.chars().count() > width {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        } else {
            let space = if length > indent { " " } else { "" };
            line.push_str(&format!("{space}{word}"));
        }
    }
    lines
}
