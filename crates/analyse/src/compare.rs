//! Compares two studies cell by cell and path by path: whether they differ, in what, and by how much.
//!
//! Cells of equal settings are paired. The logarithm of each ratio gets an interval from the spread of the runs. Holm's
//! correction over all tests limits false alarms: two studies of one system are called different at most once in twenty
//! times. A difference must also exceed a practical threshold. `docs/method/compare.md` has every definition.

mod change;
mod comparison;
mod condition;
mod notes;
mod pairs;
mod paths;
mod price;
mod spread;

pub use comparison::{
    Accesses, CellComparison, Change, Comparison, ConditionCase, ConditionFinding, ConditionLimit, CostComparison,
    CostTerm, Flaw, Floor, HalfPowerComparison, InStudy, LeftOut, MissingFigure, Note, Outcome, PathComparison,
    Practical, PriceRow, PriceTable, Quantity, StudyFacts, StudyRecords,
};
pub use condition::{Condition, check_conditions};
pub use price::{KILOBYTES, MEGABYTES, price, price_row};
pub use spread::{Estimate, Prior};

pub(crate) use change::ERROR;

use halfpower_record::Machine;

use crate::checks::checks_compared;
use crate::mean::median;
use change::log_percent;
use notes::{facts, notes};
use pairs::{Figure, Pair, Priors, matched};
use paths::{costs, half_powers, path};
use spread::holm;

/// Smallest difference of practical use, in percent: the threshold of a mean over a path, and the least one of a cell.
pub const PRACTICAL_PERCENT: f64 = 5.0;

/// Compares two studies; `None` if they have no cell in common that allows a conclusion.
///
/// Prices and conditions are left to the caller: see [`crate::price`] and [`crate::check_conditions`].
pub fn compare(a: &StudyRecords<'_>, b: &StudyRecords<'_>) -> Option<Comparison> {
    compare_all(a, &[*b]).pop().filter(|comparison| comparison.outcome != Outcome::NothingInCommon)
}

/// Compares a baseline with each of `others`, in their order. The outcome says so if a study has no cell in common with
/// the baseline.
///
/// All tests form one family, so further studies do not make a false difference more likely.
pub fn compare_all(baseline: &StudyRecords<'_>, others: &[StudyRecords<'_>]) -> Vec<Comparison> {
    let mut comparisons: Vec<Comparison> = (1..).zip(others).map(|(at, b)| untested(baseline, b, at)).collect();
    test(&mut comparisons);
    for (comparison, b) in comparisons.iter_mut().zip(others) {
        comparison.notes = notes(comparison, baseline, b);
        comparison.outcome = outcome(comparison, baseline.records == b.records);
    }
    comparisons
}

fn outcome(comparison: &Comparison, same_records: bool) -> Outcome {
    if comparison.cells.is_empty() {
        Outcome::NothingInCommon
    } else if same_records {
        Outcome::SameRecords
    } else if comparison.cells.iter().all(|cell| cell.mbps.p.is_none()) {
        Outcome::ChanceUnknown
    } else if comparison.different {
        Outcome::Different
    } else {
        Outcome::NoDifference
    }
}

/// Letter of the study at this index: `A`, `B` and on to `Z`, then `AA`.
fn letter(at: usize) -> String {
    let last = char::from(b'A' + (at % 26) as u8);
    if at < 26 { last.to_string() } else { format!("{}{last}", letter(at / 26 - 1)) }
}

impl Comparison {
    /// A comparison that has figures of cells and of paths alone, and no studies, so that conditions can be checked on them.
    pub(crate) fn of_figures(targets: [&str; 2], cells: Vec<CellComparison>, paths: Vec<PathComparison>) -> Self {
        let floor = Floor { noise_percent: None, threshold_percent: PRACTICAL_PERCENT };
        Self {
            a: without_study(letter(0), targets[0]),
            b: without_study(letter(1), targets[1]),
            outcome: Outcome::NoDifference,
            different: false,
            notes: Vec::new(),
            practical: Practical { throughput: floor, p99: floor, cost: floor },
            paths,
            half_power: Vec::new(),
            cost: Vec::new(),
            price: None,
            cells,
            only_a: Vec::new(),
            only_b: Vec::new(),
            left_out: Vec::new(),
            checks: None,
            fail_if: Vec::new(),
        }
    }
}

/// The facts of a side that is no study.
fn without_study(letter: String, target: &str) -> StudyFacts {
    StudyFacts {
        name: letter.clone(),
        letter,
        target: target.to_string(),
        machine: Machine::default(),
        filesystem: None,
        device: None,
        engines: Vec::new(),
        runs: 0,
        seconds: 0.0,
        started_unix_ms: 0,
        cpu_mhz: None,
    }
}

/// Everything except the tests; `at` is the index of `b` among all studies.
fn untested(a: &StudyRecords<'_>, b: &StudyRecords<'_>, at: usize) -> Comparison {
    let matched = matched(a, b);
    let priors = &Priors::of(&matched.pairs);
    let facts_a = facts(a, letter(0));
    let facts_b = facts(b, letter(at));
    let mhz = facts_a.cpu_mhz.zip(facts_b.cpu_mhz).map(|(a, b)| [a, b]);
    let same = |one: &Pair, other: &Pair| one.settings.path() == other.settings.path();
    Comparison {
        a: facts_a,
        b: facts_b,
        outcome: Outcome::NothingInCommon,
        different: false,
        notes: Vec::new(),
        practical: Practical {
            throughput: floor(&matched.pairs, Figure::Throughput, priors),
            p99: floor(&matched.pairs, Figure::P99, priors),
            cost: floor(&matched.pairs, Figure::Cost, priors),
        },
        paths: matched.pairs.chunk_by(same).map(|pairs| path(pairs, &matched.asked_by_both, priors, mhz)).collect(),
        half_power: half_powers(a.findings, b.findings),
        cost: costs(a.findings, b.findings, mhz),
        price: None,
        cells: matched.pairs.iter().map(|pair| cell(pair, priors)).collect(),
        only_a: matched.only_a.clone(),
        only_b: matched.only_b.clone(),
        left_out: matched.left_out.clone(),
        checks: checks_compared(a.findings.checks.as_ref(), b.findings.checks.as_ref()),
        fail_if: Vec::new(),
    }
}

fn cell(pair: &Pair, priors: &Priors) -> CellComparison {
    let change = |figure| {
        let (a, b) = pair.logs(figure)?;
        let prior = priors.of_figure(figure);
        let change = Change::of_logs(a.mean(), b.mean(), pair.estimate(figure, prior));
        Some(change.with_estimate_of_b(pair.estimate_of_b(figure, prior)).beside_others(figure, pair.beside_others()))
    };
    CellComparison {
        settings: pair.settings,
        runs_a: pair.a.runs(),
        runs_b: pair.b.runs(),
        steady: pair.a.steady() && pair.b.steady(),
        mbps: change(Figure::Throughput).expect("a cell that moved nothing is left out"),
        latency_ns_p50: change(Figure::P50).map(|change| Change { p: None, ..change }),
        latency_ns_p99: change(Figure::P99),
        charged_us: change(Figure::Cost),
    }
}

/// The A/A noise floor: a typical cell's difference stays below it in 19 of 20 comparisons of equal systems.
fn floor(pairs: &[Pair], figure: Figure, priors: &Priors) -> Floor {
    let estimates = pairs.iter().filter_map(|pair| pair.estimate(figure, priors.of_figure(figure)));
    let reaches: Vec<f64> = estimates.map(|estimate| estimate.reach()).collect();
    let noise_percent = (!reaches.is_empty()).then(|| log_percent(median(reaches)));
    Floor { noise_percent, threshold_percent: noise_percent.unwrap_or(0.0).max(PRACTICAL_PERCENT) }
}

/// Corrects the p-values of all tests together, and marks what is different.
fn test(comparisons: &mut [Comparison]) {
    let mut family: Vec<(&mut Change, f64)> =
        comparisons.iter_mut().flat_map(tested).filter(|(change, _)| change.p.is_some()).collect();
    let adjusted = holm(&family.iter().map(|(change, _)| change.p.unwrap_or(1.0)).collect::<Vec<_>>());
    for ((change, threshold), p) in family.iter_mut().zip(adjusted) {
        change.p = Some(p);
        change.certain = change.beyond_chance() && !change.others_used_the_disk;
        change.different = change.certain && change.beyond(*threshold);
    }
    for comparison in comparisons {
        let different = tested(comparison).any(|(change, _)| change.different);
        comparison.different = different;
        for path in &mut comparison.paths {
            let own = comparison.cells.iter().filter(|cell| cell.settings.path() == path.path);
            path.cells_different = own.filter(|cell| cell.different()).count();
        }
    }
}

/// The tested changes, each with its practical threshold in percent.
fn tested(comparison: &mut Comparison) -> impl Iterator<Item = (&mut Change, f64)> {
    let Practical { throughput, p99, cost } = comparison.practical.clone();
    let of_cells = comparison.cells.iter_mut().flat_map(move |cell| {
        let changes = [Some(&mut cell.mbps), cell.latency_ns_p99.as_mut(), cell.charged_us.as_mut()];
        changes.into_iter().zip([throughput, p99, cost].map(|floor| floor.threshold_percent))
    });
    // A mean is far less noisy than a cell: beyond chance and 5% is enough.
    let of_paths = comparison.paths.iter_mut().flat_map(|path| {
        let PathComparison { throughput_mbps, latency_ns_p99, charged_us, peak_mbps, .. } = path;
        let changes = [Some(throughput_mbps), latency_ns_p99.as_mut(), charged_us.as_mut(), Some(peak_mbps)];
        changes.into_iter().zip([PRACTICAL_PERCENT; 4])
    });
    of_cells.chain(of_paths).filter_map(|(change, threshold)| Some((change?, threshold)))
}
