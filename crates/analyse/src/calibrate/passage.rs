//! Which constants does one way through have? Its cells enter, a passage and what it rests on leave.
//!
//! The shapes of `shape.rs` (a line, a number side by side, a ceiling in bytes, one in requests, each there or not)
//! are settled from many starts, and then moved so that the mean of the relative errors is least, not of their
//! squares: a few cells that some disturbance spoilt do not bend the rest. Of the sets of terms the best by BIC is
//! taken, with Laplace's distribution of errors.

use std::collections::BTreeMap;

use model::Passage;
use spec::Bytes;

use super::{FittedWay, range_words, significant, within};
use crate::path::Path;
use crate::regime::starts;
use crate::shape::{Regime, Seen, Shape};
use crate::{CellFinding, format};

/// Relative error below which being nearer counts for little.
const KNEE: f64 = 0.01;
/// Shapes of each set of terms that are moved on, those that begin best.
const MOVED_ON: usize = 2;
/// Largest and smallest step of that, as a logarithm.
const STEPS: [f64; 2] = [0.2, 1e-4];
/// Moves with one step before the step is halved all the same.
const MOVES: usize = 40;
/// What a constant that was nothing begins to move from.
const LEAST_US: f64 = 1e-2;
const LEAST_US_PER_BYTE: f64 = 1e-6;
/// Fewest cells that tell a line from a limit.
const FEWEST: usize = 3;

/// A way through that was fitted.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub passage: Passage,
    pub cells: usize,
    pub range: String,
    /// Predicted over measured throughput less 1, of each cell with its settings.
    pub off: Vec<(f64, String)>,
    /// What each constant rests on, by its name.
    pub remarks: BTreeMap<&'static str, String>,
    pub parallelism_seen: bool,
    pub unseen_known: bool,
}

/// The passage of a path's usable cells.
///
/// # Errors
/// Why there is none, as the end of a sentence.
pub(super) fn fit(path: &Path<'_>) -> Result<Fit, String> {
    let cells: Vec<&CellFinding> = path.usable().collect();
    let (shape, bounds) = fit_shape(&cells)?;
    let deepest = cells.iter().map(|cell| cell.total_depth()).max().unwrap_or(1);
    let line = shape.line.unwrap_or_default();
    let passage = passage_of(&shape, deepest);
    let on = |regime| bounds.iter().filter(|bound| **bound == regime).count();
    let mut remarks = BTreeMap::new();
    let alone = on(Regime::Latency);
    remarks.insert("fixed_us", format!("fitted; the time of a request bounds {}", cells_words(alone)));
    remarks.insert(
        "us_per_kib",
        match line.1 {
            per_byte if per_byte > 0.0 => {
                format!("fitted; the bytes of one request pass at {}", format::mbps(1.0 / per_byte))
            }
            _ => "no effect of the size was seen".to_string(),
        },
    );
    remarks.insert(
        "side_by_side",
        match shape.parallelism {
            Some(_) => format!("fitted; more depth does not speed up {}", cells_words(on(Regime::Parallelism))),
            None => "not seen: the deepest that was measured".to_string(),
        },
    );
    remarks.insert("ceiling_mbps", format!("fitted; it bounds {}", cells_words(on(Regime::Bandwidth))));
    remarks.insert("ceiling_iops", format!("fitted; it bounds {}", cells_words(on(Regime::Requests))));
    let off = cells.iter().map(|cell| (off(&passage, cell), crate::path::settings_words(cell))).collect();
    let (count, range) = (cells.len(), range_words(&cells));
    let parallelism_seen = shape.parallelism.is_some();
    Ok(Fit { passage, cells: count, range, off, remarks, parallelism_seen, unseen_known: false })
}

fn cells_words(count: usize) -> String {
    if count == 1 { "one cell".to_string() } else { format!("{count} cells") }
}

/// The passage of some cells, whatever it rests on.
pub(super) fn passage(cells: &[&CellFinding]) -> Result<Passage, String> {
    let deepest = cells.iter().map(|cell| cell.total_depth()).max().unwrap_or(1);
    fit_shape(cells).map(|(shape, _)| passage_of(&shape, deepest))
}

/// Predicted over measured throughput, less 1.
pub(super) fn off(passage: &Passage, cell: &CellFinding) -> f64 {
    cell.time_per_request_us() / passage.between_us(Bytes(cell.bs_bytes), cell.total_depth()) - 1.0
}

impl Fit {
    /// How well it was met, for its table in the text.
    pub fn said(&self) -> String {
        let way = self.way("");
        let worst = self.off.iter().max_by(|one, other| one.0.abs().total_cmp(&other.0.abs()));
        let farthest = worst.map_or(String::new(), |(off, settings)| {
            format!(";\nfarthest off: {settings}, predicted {} of what was measured", format::percent(1.0 + off))
        });
        let missing: Vec<&str> =
            [(self.passage.ceiling_mbps.is_none(), "in bytes"), (self.passage.ceiling_iops.is_none(), "in requests")]
                .into_iter()
                .filter_map(|(missing, words)| missing.then_some(words))
                .collect();
        let none =
            if missing.is_empty() { String::new() } else { format!("\nNo ceiling {} was seen.", missing.join(" or ")) };
        format!(
            "{} cells, {}: half of them within {}, nine tenths within {}{farthest}.{none}",
            self.cells,
            self.range,
            format::percent(way.half_within),
            format::percent(way.most_within)
        )
    }

    pub fn way(&self, words: &str) -> FittedWay {
        let mut off: Vec<f64> = self.off.iter().map(|(off, _)| off.abs()).collect();
        off.sort_by(f64::total_cmp);
        FittedWay {
            words: words.to_string(),
            passage: self.passage,
            cells: self.cells,
            half_within: within(&off, 0.5),
            most_within: within(&off, 0.9),
        }
    }
}

fn passage_of(shape: &Shape, deepest: u32) -> Passage {
    let (fixed_us, us_per_byte) = shape.line.unwrap_or_default();
    Passage {
        fixed_us,
        us_per_kib: us_per_byte * 1024.0,
        // What was never seen is not promised.
        side_by_side: Some(shape.parallelism.unwrap_or_else(|| f64::from(deepest))),
        ceiling_mbps: shape.bandwidth,
        ceiling_iops: shape.requests.map(|per_us| significant(per_us * 1e6)),
        ..Passage::default()
    }
}

fn fit_shape(cells: &[&CellFinding]) -> Result<(Shape, Vec<Regime>), String> {
    let sizes = |cell: &&CellFinding| cell.bs_bytes;
    if cells.len() < FEWEST {
        return Err(format!("of at least {FEWEST} cells that it takes, {} could be used", cells.len()));
    }
    if cells.iter().all(|cell| sizes(cell) == sizes(&cells[0])) {
        return Err(format!(
            "all cells are of {}, so nothing tells what the size does",
            format::size(sizes(&cells[0]) as f64)
        ));
    }
    let (seen, shapes) = starts(cells);
    let mut by_terms: BTreeMap<[bool; 3], Vec<(f64, Shape)>> = BTreeMap::new();
    for shape in shapes {
        let terms = [shape.parallelism.is_some(), shape.bandwidth.is_some(), shape.requests.is_some()];
        by_terms.entry(terms).or_default().push((loss(&shape, &seen), shape));
    }
    let mut best: Option<(f64, Shape)> = None;
    for (terms, mut shapes) in by_terms {
        shapes.sort_by(|one, other| one.0.total_cmp(&other.0));
        shapes.dedup_by(|one, other| one.1 == other.1);
        for (_, shape) in shapes.into_iter().take(MOVED_ON) {
            let shape = moved(shape, &seen);
            let constants = 2 + terms.iter().filter(|there| **there).count();
            let score = score(&shape, &seen, constants);
            if best.as_ref().is_none_or(|(least, _)| score < *least) {
                best = Some((score, shape));
            }
        }
    }
    let (_, shape) = best.ok_or("the cells lie on no line")?;
    let bounds: Vec<Regime> = seen.iter().map(|seen| shape.time(seen).1).collect();
    Ok((without_idle_terms(shape, &bounds), bounds))
}

/// A term that bounds no cell says nothing.
fn without_idle_terms(shape: Shape, bounds: &[Regime]) -> Shape {
    let bound = |regime| bounds.contains(&regime);
    Shape {
        parallelism: shape.parallelism.filter(|_| bound(Regime::Parallelism)),
        bandwidth: shape.bandwidth.filter(|_| bound(Regime::Bandwidth)),
        requests: shape.requests.filter(|_| bound(Regime::Requests)),
        ..shape
    }
}

/// Schwarz's criterion for errors of Laplace's distribution; lower is better.
fn score(shape: &Shape, seen: &[Seen], constants: usize) -> f64 {
    let count = seen.len() as f64;
    2.0 * count * loss(shape, seen).ln() + constants as f64 * count.ln()
}

/// Mean relative error, rounded off at its knee.
fn loss(shape: &Shape, seen: &[Seen]) -> f64 {
    let off = |seen: &Seen| (shape.time(seen).0 / seen.time_us).ln().hypot(KNEE);
    seen.iter().map(off).sum::<f64>() / seen.len() as f64
}

/// The shape moved to where the loss is least: along each constant and each pair of them, by ever smaller steps.
fn moved(shape: Shape, seen: &[Seen]) -> Shape {
    let (mut shape, mut least) = (shape, loss(&shape, seen));
    let mut step = STEPS[0];
    while step > STEPS[1] {
        for _ in 0..MOVES {
            let before = least;
            for direction in directions() {
                let next = stepped(&shape, direction, step);
                let found = loss(&next, seen);
                if found < least {
                    (shape, least) = (next, found);
                }
            }
            if least >= before {
                break;
            }
        }
        step /= 2.0;
    }
    shape
}

/// Up and down along each of the five constants, and along each pair, both ways.
fn directions() -> impl Iterator<Item = [f64; 5]> {
    let signs = [-1.0, 0.0, 1.0];
    (0..5).flat_map(move |one| {
        (one..5).flat_map(move |other| {
            signs.into_iter().flat_map(move |of_one| {
                signs.into_iter().filter_map(move |of_other| {
                    let mut direction = [0.0; 5];
                    direction[other] = of_other;
                    direction[one] = of_one;
                    (direction[one] != 0.0).then_some(direction)
                })
            })
        })
    })
}

fn stepped(shape: &Shape, direction: [f64; 5], step: f64) -> Shape {
    let by = |constant: usize| (direction[constant] * step).exp();
    // From nothing no factor leads away.
    let grown = |value: f64, constant: usize, least: f64| match direction[constant] {
        0.0 => value,
        _ => value.max(least) * by(constant),
    };
    Shape {
        base_depth: shape.base_depth,
        line: shape.line.map(|(fixed, per_byte)| (grown(fixed, 0, LEAST_US), grown(per_byte, 1, LEAST_US_PER_BYTE))),
        parallelism: shape.parallelism.map(|most| (most * by(2)).max(1.0)),
        bandwidth: shape.bandwidth.map(|rate| rate * by(3)),
        requests: shape.requests.map(|rate| rate * by(4)),
    }
}
