//! Compares two targets that were measured in turns (a duet): each cell's figures by pairs, and conditions on them.

use std::collections::BTreeMap;

use halfpower_record::{Ratio, TrialVerdict};
use halfpower_spec::{JsonSchema, Workload};
use serde::Serialize;

use crate::compare::{
    CellComparison, Change, Comparison, Condition, ConditionFinding, Estimate, PathComparison, check_conditions,
};
use crate::mean::mean;
use crate::trial::{Looks, PairedFigure};
use crate::{CellSettings, PathSettings};

/// Two targets that were measured in alternating slices.
#[derive(Debug, Clone, PartialEq)]
pub struct Duet {
    /// The first target, as the user wrote it.
    pub a: String,
    /// The second one.
    pub b: String,
    /// The cells, in the order of the plan.
    pub cells: Vec<DuetCell>,
    /// Cells that were not measured, because a target cannot.
    pub left_out: Vec<DuetLeftOut>,
    /// What the targets noted meanwhile.
    pub notes: Vec<String>,
    /// Seconds of a slice.
    pub slice_s: f64,
    /// Seconds of all slices with what comes before each, by the clocks of the targets.
    pub seconds: f64,
    /// Conditions that the user set, with their results.
    pub fail_if: Vec<ConditionFinding>,
}

/// One cell on both targets.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DuetCell {
    /// What was measured.
    #[serde(skip)]
    pub workload: Workload,
    /// Whether B is faster or slower than A, by the rate.
    pub decided: TrialVerdict,
    /// Why the pairs do not tell; `null` if they do.
    pub doubt: Option<DuetDoubt>,
    /// Pairs of slices that count.
    pub pairs: u32,
    /// Pairs that do not count because others used a device.
    pub disturbed_pairs: u32,
    /// Share of the devices' bytes that others moved meanwhile; `null` if unknown.
    pub others_share: Option<f64>,
    /// Throughput in MB/s; `null` without a pair.
    pub mbps: Option<DuetFigure>,
    /// Median latency of each slice in nanoseconds; `null` without a pair.
    pub latency_ns_p50: Option<DuetFigure>,
    /// 99th percentile of latency of each slice in nanoseconds; `null` without a pair.
    pub latency_ns_p99: Option<DuetFigure>,
}

/// One figure of both targets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DuetFigure {
    /// Geometric mean over the slices of A.
    pub a: f64,
    /// Geometric mean over the slices of B.
    pub b: f64,
    /// B over A, by pairs. The intervals of all cells hold together; `null` with fewer than two pairs.
    pub ratio: Option<Ratio>,
    /// ln(B / A), with an interval that holds over all looks at this one cell.
    #[serde(skip)]
    estimate: Option<Estimate>,
    /// The logarithm of B's figure, likewise.
    #[serde(skip)]
    estimate_of_b: Option<Estimate>,
}

/// Why the pairs of a cell do not tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum DuetDoubt {
    /// The budget was spent.
    TimeOver,
    /// Others used a device in too many pairs.
    Disturbed,
    /// The pairs differ more than the targets do.
    Noise,
    /// A run failed.
    Failed {
        /// Where, and why.
        what: String,
    },
}

/// A cell that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DuetLeftOut {
    /// What would have been measured.
    #[serde(skip)]
    pub workload: Workload,
    /// Why it was not.
    pub why: String,
}

/// What a duet says as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DuetOutcome {
    /// B is faster or slower in at least one cell.
    Different,
    /// B is within 2% of A in every cell.
    NoDifference,
    /// No cell differs, and at least one is not decided.
    NotDecided,
}

impl Duet {
    /// What it says as a whole.
    pub fn outcome(&self) -> DuetOutcome {
        let is = |verdict: TrialVerdict| move |cell: &DuetCell| cell.decided == verdict;
        let has = |verdict: TrialVerdict| self.cells.iter().any(is(verdict));
        if has(TrialVerdict::Faster) || has(TrialVerdict::Slower) {
            DuetOutcome::Different
        } else if !self.cells.is_empty() && self.cells.iter().all(is(TrialVerdict::Same)) {
            DuetOutcome::NoDifference
        } else {
            DuetOutcome::NotDecided
        }
    }
}

impl DuetFigure {
    /// The figure from its pairs, which were looked at so; `None` without a pair.
    pub fn of(pairs: &PairedFigure, looks: Looks) -> Option<Self> {
        let [a, b] = pairs.means()?;
        let estimate = pairs.estimate();
        Some(Self {
            a,
            b,
            ratio: estimate.and_then(|estimate| looks.ratio(estimate)),
            estimate: estimate.map(|estimate| looks.over_looks(estimate)),
            estimate_of_b: pairs.estimate_of_b().map(|estimate| looks.over_looks(estimate)),
        })
    }

    fn change(&self) -> Change {
        Change::of_logs(self.a.ln(), self.b.ln(), self.estimate).with_estimate_of_b(self.estimate_of_b)
    }
}

/// Checks conditions on the cells of a duet: one finding for each. Equal targets fulfil any of them in at most 5% of duets.
pub fn check_duet(conditions: &[Condition], cells: &[DuetCell]) -> Vec<ConditionFinding> {
    check_conditions(conditions, &[compared(cells)]).pop().unwrap_or_default()
}

/// The first condition that asks about nothing that these workloads tell.
pub fn asked_in_vain<'a>(conditions: &'a [Condition], workloads: &[Workload]) -> Option<&'a Condition> {
    let cells: Vec<DuetCell> = workloads.iter().map(DuetCell::expected).collect();
    let findings = check_duet(conditions, &cells);
    let asked = conditions.iter().zip(findings);
    asked.filter(|(_, finding)| finding.cases.is_empty()).map(|(condition, _)| condition).next()
}

impl DuetCell {
    /// A cell that is to be measured, with figures that stand for those to come.
    fn expected(workload: &Workload) -> Self {
        let figure = Some(DuetFigure { a: 1.0, b: 1.0, ratio: None, estimate: None, estimate_of_b: None });
        Self {
            workload: *workload,
            decided: TrialVerdict::NotDecided,
            doubt: None,
            pairs: 1,
            disturbed_pairs: 0,
            others_share: None,
            mbps: figure,
            latency_ns_p50: figure,
            latency_ns_p99: figure,
        }
    }

    fn compared(&self) -> Option<CellComparison> {
        let change = |figure: Option<DuetFigure>| figure.map(|figure| figure.change());
        Some(CellComparison {
            settings: CellSettings::of_workload(&self.workload)?,
            runs_a: self.pairs as usize,
            runs_b: self.pairs as usize,
            steady: true,
            mbps: change(self.mbps)?,
            latency_ns_p50: change(self.latency_ns_p50),
            latency_ns_p99: change(self.latency_ns_p99),
            charged_us: None,
        })
    }
}

/// The cells and their paths as a comparison, on which conditions can be checked.
fn compared(cells: &[DuetCell]) -> Comparison {
    let mut of_paths: BTreeMap<PathSettings, Vec<(&DuetCell, CellComparison)>> = BTreeMap::new();
    for cell in cells {
        if let Some(compared) = cell.compared() {
            of_paths.entry(compared.settings.path()).or_default().push((cell, compared));
        }
    }
    let paths = of_paths.iter().filter_map(|(path, cells)| compared_path(*path, cells)).collect();
    let cells = of_paths.into_values().flatten().map(|(_, compared)| compared).collect();
    Comparison::of_figures(["A", "B"], cells, paths)
}

/// The mean over the cells of a path.
fn compared_path(path: PathSettings, cells: &[(&DuetCell, CellComparison)]) -> Option<PathComparison> {
    let both = |cell: &CellComparison| cell.mbps.a.ln() + cell.mbps.b.ln();
    let compared = cells.iter().map(|(_, compared)| compared);
    let peak = compared.max_by(|one, other| both(one).total_cmp(&both(other)))?;
    Some(PathComparison {
        path,
        cells: cells.len(),
        cells_different: 0,
        throughput_mbps: over_cells(cells.iter().filter_map(|(cell, _)| cell.mbps))?,
        latency_ns_p99: over_cells(cells.iter().filter_map(|(cell, _)| cell.latency_ns_p99)),
        charged_us: None,
        charged_kilocycles: None,
        peak_mbps: peak.mbps,
        peak_at_a: peak.settings,
        peak_at_b: peak.settings,
    })
}

/// The change of the mean of several cells; `None` without one.
fn over_cells(figures: impl Iterator<Item = DuetFigure>) -> Option<Change> {
    let figures: Vec<DuetFigure> = figures.collect();
    if figures.is_empty() {
        return None;
    }
    let log = |of: fn(&DuetFigure) -> f64| mean(&figures.iter().map(|figure| of(figure).ln()).collect::<Vec<_>>());
    let estimate = |of: fn(&DuetFigure) -> Option<Estimate>| {
        let all: Option<Vec<Estimate>> = figures.iter().map(of).collect();
        all.map(|all| Estimate::mean(&all, &[]))
    };
    let log_a = log(|figure| figure.a);
    let log_b = log(|figure| figure.b);
    let change = Change::of_logs(log_a, log_b, estimate(|figure| figure.estimate));
    Some(change.with_estimate_of_b(estimate(|figure| figure.estimate_of_b)))
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Bytes, Rw};

    use super::*;
    use crate::trial::TrialPairs;

    fn workload(rw: Rw, iodepth: u32) -> Workload {
        Workload { rw, bs: Bytes(4096), iodepth, ..Workload::default() }
    }

    /// A cell whose rates in B are so many times those in A, and whose latency is their inverse.
    fn cell(workload: Workload, ratios: &[f64]) -> DuetCell {
        let looks = Looks::of_a_duet(2);
        let mut pairs = TrialPairs::looked_at(looks);
        let mut latency = PairedFigure::default();
        for ratio in ratios {
            assert!(pairs.add(100.0, 100.0 * ratio) && latency.add(1e5, 1e5 / ratio));
        }
        pairs.end();
        DuetCell {
            decided: pairs.verdict(),
            pairs: pairs.len() as u32,
            mbps: DuetFigure::of(pairs.rates(), looks),
            latency_ns_p50: DuetFigure::of(&latency, looks),
            latency_ns_p99: DuetFigure::of(&latency, looks),
            ..DuetCell::expected(&workload)
        }
    }

    fn holds(condition: &str, cells: &[DuetCell]) -> bool {
        let conditions: Vec<Condition> = vec![condition.parse().unwrap()];
        check_duet(&conditions, cells)[0].holds
    }

    const SLOWER: [f64; 4] = [0.90, 0.91, 0.90, 0.91];
    const EQUAL: [f64; 4] = [0.999, 1.001, 0.998, 1.001];

    fn duet(cells: Vec<DuetCell>) -> Duet {
        Duet {
            a: "sim:".to_string(),
            b: "sim:".to_string(),
            cells,
            left_out: Vec::new(),
            notes: Vec::new(),
            slice_s: 0.5,
            seconds: 1.0,
            fail_if: Vec::new(),
        }
    }

    #[test]
    fn conditions_are_those_of_compared_studies() {
        let cells = [cell(workload(Rw::Randread, 1), &SLOWER), cell(workload(Rw::Randread, 32), &EQUAL)];
        assert!(holds("random read iodepth=1 iops < -5%", &cells));
        assert!(holds("random read bs=4k iodepth=1 p99 > +5%", &cells));
        assert!(
            holds("random read iodepth=1 throughput < -5%", &cells) && holds("random read throughput < -3%", &cells)
        );
        assert!(!holds("random read iodepth=1 iops < -15%", &cells));
        assert!(!holds("random read iodepth=32 iops < -0.01%", &cells), "what is not certain holds no condition");
        assert!(
            holds("random read iodepth=1 p99 > 100us", &cells) && !holds("random read iodepth=1 p50 > 1ms", &cells)
        );
    }

    #[test]
    fn a_condition_that_no_cell_answers_is_told_before_anything_is_measured() {
        let asked = |text: &str| {
            let conditions: Vec<Condition> = vec![text.parse().unwrap()];
            asked_in_vain(&conditions, &[workload(Rw::Randread, 1)]).map(ToString::to_string)
        };
        assert_eq!(asked("random read iops < -5%"), None);
        assert_eq!(asked("random read p99 > +10%"), None);
        assert_eq!(asked("peak < -5%"), None);
        for unknown in ["random write iops < -5%", "cost > +5%", "half_power > +5%", "random read bs=8k iops < -5%"] {
            assert_eq!(asked(unknown).as_deref(), Some(unknown));
        }
    }

    #[test]
    fn the_outcome_is_that_of_all_cells() {
        let equal = cell(workload(Rw::Randread, 32), &EQUAL);
        let slower = cell(workload(Rw::Randread, 1), &SLOWER);
        let open = cell(workload(Rw::Randread, 8), &[0.5, 2.0, 0.9, 1.1]);
        assert_eq!(duet(vec![equal.clone(), slower.clone()]).outcome(), DuetOutcome::Different);
        assert_eq!(duet(vec![equal.clone(), equal.clone()]).outcome(), DuetOutcome::NoDifference);
        assert_eq!(duet(vec![equal, open.clone()]).outcome(), DuetOutcome::NotDecided);
        assert_eq!(duet(vec![slower, open]).outcome(), DuetOutcome::Different);
        assert_eq!(duet(Vec::new()).outcome(), DuetOutcome::NotDecided);
    }

    #[test]
    fn a_figure_without_pairs_is_unknown() {
        assert_eq!(DuetFigure::of(&PairedFigure::default(), Looks::of_a_duet(1)), None);
        let mut one = PairedFigure::default();
        assert!(one.add(1.0, 2.0));
        let figure = DuetFigure::of(&one, Looks::of_a_duet(1)).expect("one pair has a mean");
        assert_eq!(figure.ratio, None);
        assert!((figure.b / figure.a - 2.0).abs() < 1e-9);
    }
}
