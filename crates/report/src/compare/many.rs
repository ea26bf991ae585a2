//! Builds the screen that compares several studies with one baseline: for each path, one row per study.

use halfpower_analyse::{Comparison, PathSettings};
use halfpower_spec::format::{number, size};

use super::parts::{Part, row};
use super::tables::common_paths;
use super::terminal::{
    Extent, LINES, SETTINGS, STUDIES, UNKNOWN, all_cells, conditions, half_powers, marks, narrow, price, study,
};
use crate::terminal::Noun;
use crate::words::compare::verdict_among_several;
use crate::words::settings::path as path_words;
use crate::words::{checks, compare_notes};

const ROWS: Noun = Noun("study", "studies");

/// The parts for a baseline and two or more comparisons, in order.
pub(super) fn parts(comparisons: &[Comparison], extent: Extent) -> Vec<Part> {
    let studies = std::iter::once(study(&comparisons[0].a));
    let studies = studies.chain(comparisons.iter().map(|comparison| study(&comparison.b))).collect();
    let mut parts = vec![Part::facts(studies, STUDIES), verdicts(comparisons), conditions(comparisons, extent)];
    let settings = |comparison: &Comparison| {
        let of = |text: String| ("  ", format!("{}: {text}", comparison.b.letter));
        checks::compared(comparison).into_iter().map(of).collect::<Vec<_>>()
    };
    parts.push(Part::lines(Some(SETTINGS), comparisons.iter().flat_map(settings).collect(), LINES, usize::MAX));
    parts.extend(comparisons.iter().map(price));
    parts.extend(common_paths(comparisons).into_iter().map(|path| throughput(comparisons, path)));
    parts.push(half_power(comparisons));
    if extent == Extent::Full {
        parts.extend(comparisons.iter().map(all_cells));
    }
    let note = |comparison: &Comparison| {
        let of = |note| ("  ! ", format!("{}: {}", comparison.b.letter, compare_notes::sentence(note, comparison)));
        comparison.notes.iter().map(of).collect::<Vec<_>>()
    };
    let notes = comparisons.iter().flat_map(note).collect();
    parts.push(Part::lines(Some("Before you believe it"), notes, LINES, usize::MAX));
    parts
}

fn verdicts(comparisons: &[Comparison]) -> Part {
    let mut lines: Vec<(&str, String)> = Vec::new();
    for comparison in comparisons {
        lines.push(("", verdict_among_several(comparison)));
    }
    lines.extend(marks(comparisons).map(|said| ("", said)));
    Part::lines(None, lines, LINES, usize::MAX)
}

/// One path: for each study its mean changes, its peak, and the baseline's peak over the same cells.
fn throughput(comparisons: &[Comparison], settings: PathSettings) -> Part {
    let letter = &comparisons[0].a.letter;
    let mut heading = path_words(settings);
    heading[..1].make_ascii_uppercase();
    let columns = [
        &format!("{heading}, MB/s"),
        "differ",
        "mean change",
        "p99",
        "cost",
        &format!("peak {letter}"),
        "peak",
        "change",
    ];
    let mut rows = vec![row(columns)];
    let own = |comparison: &Comparison| comparison.paths.iter().position(|path| path.path == settings);
    for (comparison, at) in comparisons.iter().filter_map(|comparison| Some((comparison, own(comparison)?))) {
        let path = &comparison.paths[at];
        let or_unknown = |change: Option<_>| change.map_or(UNKNOWN.to_string(), |change| narrow(&change));
        rows.push(row([
            &name(comparison),
            &format!("{} of {}", path.cells_different, path.cells),
            &narrow(&path.throughput_mbps),
            &or_unknown(path.latency_ns_p99),
            &or_unknown(path.charged_us),
            &number(path.peak_mbps.a),
            &number(path.peak_mbps.b),
            &narrow(&path.peak_mbps),
        ]));
    }
    Part::table(rows, &[1, 5, 6], ROWS).with_ranks(&[0, 3, 0, 1, 4, 2, 2, 2])
}

fn half_power(comparisons: &[Comparison]) -> Part {
    let letter = &comparisons[0].a.letter;
    let mut rows = vec![row(["Half power", "path", "deep", &format!("n1/2 {letter}"), "n1/2", "change of n1/2"])];
    for comparison in comparisons {
        for half in half_powers(comparison) {
            let n_half = half.n_half_bytes;
            rows.push(row([
                &name(comparison),
                &path_words(half.path),
                &half.iodepth.to_string(),
                &n_half.map_or(UNKNOWN.to_string(), |change| size(change.a)),
                &n_half.map_or(UNKNOWN.to_string(), |change| size(change.b)),
                &n_half.map_or(UNKNOWN.to_string(), |change| narrow(&change)),
            ]));
        }
    }
    Part::table(rows, &[2, 3, 4], ROWS).with_ranks(&[0, 0, 2, 1, 1, 0])
}

/// A study's letter and the end of its name: `  B after.halfpower`.
fn name(comparison: &Comparison) -> String {
    const LONGEST: usize = 24;
    let name = &comparison.b.name;
    let length = name.chars().count();
    let end: String = name.chars().skip(length.saturating_sub(LONGEST)).collect();
    let dots = if length > LONGEST { "..." } else { "" };
    format!("  {} {dots}{end}", comparison.b.letter)
}
