//! Do two studies differ, in what, and by how much? Two studies enter, one [`Comparison`] leaves; pure.
//!
//! Cells of equal settings are paired, the logarithm of each ratio gets an interval from the spread of the runs,
//! and Holm's correction over everything tested keeps two studies of one system from being called different more
//! than once in twenty times. What is beyond chance has to be beyond a practical threshold too. `docs/method.md`
//! has every definition.

use record::Record;
use spec::Question;

use crate::Findings;
use crate::compare_cells::{Figure, Matched, Pair, matched, prior};
use crate::compare_findings::{CellComparison, Change, Comparison, Floor, PathComparison, Practical, StudyFacts};
use crate::compare_notes::{facts, notes};
use crate::compare_paths::{costs, half_powers, path};
use crate::compare_spread::{Estimate, Prior, holm, median};
use crate::compare_verdict::verdict;

/// Least difference that anybody has a use for, in percent.
const PRACTICAL_PERCENT: f64 = 5.0;
/// Probability of calling two studies of one system different.
const ERROR: f64 = 0.05;

/// One of the two studies that are compared.
#[derive(Debug, Clone, Copy)]
pub struct Study<'a> {
    /// How it is called: its file.
    pub name: &'a str,
    /// What it asked.
    pub question: &'a Question,
    /// What the analysis says of it.
    pub findings: &'a Findings,
    /// Its records.
    pub records: &'a [Record],
}

/// The spread of each figure that cells share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Priors {
    throughput: Option<Prior>,
    p99: Option<Prior>,
    cost: Option<Prior>,
}

impl Priors {
    fn of(pairs: &[Pair]) -> Self {
        Self {
            throughput: prior(pairs, Figure::Throughput),
            p99: prior(pairs, Figure::P99),
            cost: prior(pairs, Figure::Cost),
        }
    }

    pub fn of_figure(&self, figure: Figure) -> Option<Prior> {
        match figure {
            Figure::Throughput => self.throughput,
            Figure::P99 => self.p99,
            Figure::Cost => self.cost,
        }
    }
}

/// Compares two studies; `None` where they have no cell in common from which anything could be concluded.
///
/// Prices and conditions are the caller's: see [`crate::price`] and [`crate::Condition`].
pub fn compare(a: &Study<'_>, b: &Study<'_>) -> Option<Comparison> {
    let matched = matched(a, b);
    if matched.pairs.is_empty() {
        return None;
    }
    let priors = Priors::of(&matched.pairs);
    let facts = [facts(a), facts(b)];
    let mut comparison = untested(a, b, facts, &matched, &priors);
    test(&mut comparison);
    let same_records = a.records == b.records;
    comparison.notes = notes(&comparison, a, b);
    comparison.verdict = verdict(&comparison, same_records);
    Some(comparison)
}

/// Two studies that have no cell in common, side by side: what is left to compare is what the caller adds, as
/// [`crate::price`] does.
pub fn compare_apart(a: &Study<'_>, b: &Study<'_>) -> Comparison {
    let matched = matched(a, b);
    let mut comparison = untested(a, b, [facts(a), facts(b)], &matched, &Priors::of(&matched.pairs));
    comparison.notes = notes(&comparison, a, b);
    comparison.verdict = vec![
        "Throughput, latency and cost are not compared: the two studies have no cell in common. Prices are."
            .to_string(),
    ];
    comparison
}

/// Everything but what rests on the family of tests.
fn untested(
    a: &Study<'_>,
    b: &Study<'_>,
    [facts_a, facts_b]: [StudyFacts; 2],
    matched: &Matched,
    priors: &Priors,
) -> Comparison {
    let mhz = facts_a.cpu_mhz.zip(facts_b.cpu_mhz).map(|(a, b)| [a, b]);
    let same = |one: &Pair, other: &Pair| {
        let path = |pair: &Pair| (pair.settings.pattern, pair.settings.rw, pair.settings.cache);
        path(one) == path(other)
    };
    Comparison {
        a: facts_a,
        b: facts_b,
        verdict: Vec::new(),
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
        fail_if: Vec::new(),
    }
}

fn cell(pair: &Pair, priors: &Priors) -> CellComparison {
    let change = |figure| {
        let (a, b) = pair.logs(figure)?;
        Some(Change::of_logs(a.mean(), b.mean(), pair.estimate(figure, priors.of_figure(figure))))
    };
    CellComparison {
        settings: pair.settings,
        runs_a: pair.a.runs(),
        runs_b: pair.b.runs(),
        steady: pair.a.steady() && pair.b.steady(),
        mbps: change(Figure::Throughput).expect("a cell that moved nothing is left out"),
        p99_us: change(Figure::P99),
        charged_us: change(Figure::Cost),
    }
}

/// The A/A noise floor: what a typical cell's difference stays below in 19 of 20 comparisons of equal systems.
fn floor(pairs: &[Pair], figure: Figure, priors: &Priors) -> Floor {
    let estimates = pairs.iter().filter_map(|pair| pair.estimate(figure, priors.of_figure(figure)));
    let reaches: Vec<f64> = estimates.map(|estimate| estimate.reach()).collect();
    let noise_percent = (!reaches.is_empty()).then(|| percent(median(reaches)));
    Floor { noise_percent, threshold_percent: noise_percent.unwrap_or(0.0).max(PRACTICAL_PERCENT) }
}

/// Corrects the chances of all that was tested together, and says what is different.
fn test(comparison: &mut Comparison) {
    let Practical { throughput, p99, cost } = comparison.practical.clone();
    let of_cells = comparison.cells.iter_mut().flat_map(|cell| {
        let changes = [Some(&mut cell.mbps), cell.p99_us.as_mut(), cell.charged_us.as_mut()];
        changes.into_iter().zip([throughput, p99, cost].map(|floor| floor.threshold_percent))
    });
    // A mean's own noise is far below a cell's: beyond chance and 5% is enough.
    let of_paths = comparison.paths.iter_mut().flat_map(|path| {
        let PathComparison { throughput_mbps, p99_us, charged_us, peak_mbps, .. } = path;
        let changes = [Some(throughput_mbps), p99_us.as_mut(), charged_us.as_mut(), Some(peak_mbps)];
        changes.into_iter().zip([PRACTICAL_PERCENT; 4])
    });
    let tested = of_cells.chain(of_paths).filter_map(|(change, threshold)| Some((change?, threshold)));
    let mut family: Vec<(&mut Change, f64)> = tested.filter(|(change, _)| change.p.is_some()).collect();
    let adjusted = holm(&family.iter().map(|(change, _)| change.p.unwrap_or(1.0)).collect::<Vec<_>>());
    for ((change, threshold), p) in family.iter_mut().zip(adjusted) {
        change.p = Some(p);
        change.different = p < ERROR && change.beyond(*threshold);
    }
    comparison.different = family.iter().any(|(change, _)| change.different);
    drop(family);
    for path in &mut comparison.paths {
        let own = comparison.cells.iter().filter(|cell| {
            let CellComparison { settings, .. } = cell;
            (settings.pattern, settings.rw, settings.cache) == (path.pattern, path.rw, path.cache)
        });
        path.cells_different = own.filter(|cell| cell.different()).count();
    }
}

/// A logarithm of a ratio as a change in percent.
fn percent(log_ratio: f64) -> f64 {
    100.0 * log_ratio.exp_m1()
}

impl CellComparison {
    /// Whether its throughput, its tail or its cost is different.
    pub fn different(&self) -> bool {
        self.mbps.different || [self.p99_us, self.charged_us].into_iter().flatten().any(|change| change.different)
    }

    /// The largest of its changes that are different, by its size whichever its sign; `None` where none is.
    pub fn largest(&self) -> Option<Change> {
        let changes = [Some(self.mbps), self.p99_us, self.charged_us].into_iter().flatten();
        let size = |change: &Change| (change.b / change.a).ln().abs();
        changes.filter(|change| change.different).max_by(|one, other| size(one).total_cmp(&size(other)))
    }
}

impl Change {
    /// A change between two means of logarithms, with the interval and the chance that an estimate gives it.
    pub(crate) fn of_logs(log_a: f64, log_b: f64, estimate: Option<Estimate>) -> Self {
        Self {
            a: log_a.exp(),
            b: log_b.exp(),
            percent: percent(log_b - log_a),
            low_percent: estimate.map(|one| percent(one.log_ratio - one.reach())),
            high_percent: estimate.map(|one| percent(one.log_ratio + one.reach())),
            p: estimate.map(|one| one.chance()),
            different: false,
        }
    }

    /// Whether it is more than a factor of 1 + threshold either way.
    fn beyond(&self, threshold_percent: f64) -> bool {
        (self.b / self.a).ln().abs() > (threshold_percent / 100.0).ln_1p()
    }

    /// Its interval in percent, where there is one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.low_percent.zip(self.high_percent)
    }

    /// Whether its interval lies clear of no change at all.
    pub fn clear_of_none(&self) -> bool {
        self.interval().is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}
