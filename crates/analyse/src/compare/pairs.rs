//! Pairs the cells that two studies share, each with the logarithms of its runs' figures and their common spread.
//!
//! Logarithms, because the comparison uses ratios: noise of 3% is then as wide at 10 MB/s as at 1,000.

use std::collections::BTreeMap;

use halfpower_record::Record;
use halfpower_spec::{Bytes, Pass, Question};

use super::comparison::{Flaw, InStudy, LeftOut, StudyRecords};
use super::spread::{Estimate, Prior};
use crate::warnings::OTHERS;
use crate::{CellFinding, CellSettings};

/// A figure that each run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    Throughput,
    P50,
    P99,
    Cost,
}

/// The logarithms of one figure in the runs of a cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Logs(Vec<f64>);

/// A cell in one study.
#[derive(Debug, Clone, Default)]
pub(crate) struct CellRuns {
    mbps: Logs,
    latency_ns_p50: Logs,
    latency_ns_p99: Logs,
    charged_us: Logs,
    unsteady: bool,
    beside_others: bool,
    flaw: Option<Flaw>,
}

/// A cell that both studies have.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    pub settings: CellSettings,
    pub a: CellRuns,
    pub b: CellRuns,
}

/// The cells of two studies, matched.
#[derive(Debug, Clone, Default)]
pub(crate) struct Matched {
    pub pairs: Vec<Pair>,
    pub only_a: Vec<CellSettings>,
    pub only_b: Vec<CellSettings>,
    pub left_out: Vec<LeftOut>,
    /// Cells of A and of B that both questions ask for, even if only one measured them; the peaks are among them.
    pub asked_by_both: [Vec<OwnCell>; 2],
}

/// A cell of one study.
#[derive(Debug, Clone)]
pub(crate) struct OwnCell {
    pub settings: CellSettings,
    pub mbps: Logs,
    /// Whether others used the disk meanwhile.
    pub beside_others: bool,
}

impl CellSettings {
    /// Whether the cell is on a question's axes.
    fn is_asked_by(&self, question: &Question) -> bool {
        question.bs.contains(&Bytes(self.bs_bytes))
            && question.iodepth.contains(&self.iodepth)
            && question.cache.contains(&self.cache)
            && question.directions.contains(&self.rw)
            && question.patterns().any(|pattern| pattern == self.pattern)
            && question.threads == self.threads
    }
}

impl Logs {
    fn add(&mut self, value: f64) {
        self.0.push(value.ln());
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    fn squares(&self) -> f64 {
        let mean = self.mean();
        self.0.iter().map(|log| (log - mean).powi(2)).sum()
    }

    /// The moderated variance of one run and its degrees of freedom, using the spread of all cells; `None` for a single
    /// run.
    pub fn moderated(&self, prior: Option<Prior>) -> Option<(f64, f64)> {
        let freedom = self.count().checked_sub(1).filter(|freedom| *freedom > 0)?;
        Some(prior?.moderated(self.squares() / freedom as f64, freedom))
    }

    /// Whether there is at least one run, and a number for every run.
    fn sound(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|log| log.is_finite())
    }
}

impl CellRuns {
    pub fn runs(&self) -> usize {
        self.mbps.count()
    }

    /// Whether each of its runs was steady.
    pub fn steady(&self) -> bool {
        !self.unsteady
    }

    /// Whether others used the disk while it was measured.
    pub fn beside_others(&self) -> bool {
        self.beside_others
    }

    pub fn logs(&self, figure: Figure) -> &Logs {
        match figure {
            Figure::Throughput => &self.mbps,
            Figure::P50 => &self.latency_ns_p50,
            Figure::P99 => &self.latency_ns_p99,
            Figure::Cost => &self.charged_us,
        }
    }
}

impl Pair {
    /// The logarithms in both studies, if each run has the figure.
    pub fn logs(&self, figure: Figure) -> Option<(&Logs, &Logs)> {
        let a = self.a.logs(figure);
        let b = self.b.logs(figure);
        (a.sound() && b.sound()).then_some((a, b))
    }

    /// The variance within both studies and its degrees of freedom; `None` if either has a single run.
    fn variance(&self, figure: Figure) -> Option<(f64, usize)> {
        let (a, b) = self.logs(figure)?;
        let freedom = a.count() + b.count() - 2;
        (a.count() > 1 && b.count() > 1).then(|| ((a.squares() + b.squares()) / freedom as f64, freedom))
    }

    /// ln(B / A) with its error; `None` if a study has a single run.
    pub fn estimate(&self, figure: Figure, prior: Option<Prior>) -> Option<Estimate> {
        let (variance, freedom) = self.variance(figure)?;
        self.estimate_with(figure, prior?.moderated(variance, freedom))
    }

    /// The logarithm of B's figure with its error; `None` for a single run.
    pub fn estimate_of_b(&self, figure: Figure, prior: Option<Prior>) -> Option<Estimate> {
        let (_, b) = self.logs(figure)?;
        let (variance, freedom) = b.moderated(prior)?;
        let error = (variance / b.count() as f64).sqrt();
        Some(Estimate { log_ratio: b.mean(), error, freedom })
    }

    /// For A and for B, whether others used the disk.
    pub fn beside_others(&self) -> [bool; 2] {
        [self.a.beside_others, self.b.beside_others]
    }

    /// The same with the pooled spread of all cells, for a cell without its own: accurate enough for a mean over cells.
    pub fn pooled_estimate(&self, figure: Figure, prior: Option<Prior>) -> Option<Estimate> {
        self.estimate_with(figure, prior?.pooled())
    }

    fn estimate_with(&self, figure: Figure, (variance, freedom): (f64, f64)) -> Option<Estimate> {
        let (a, b) = self.logs(figure)?;
        let runs = 1.0 / a.count() as f64 + 1.0 / b.count() as f64;
        Some(Estimate { log_ratio: b.mean() - a.mean(), error: (variance * runs).sqrt(), freedom })
    }
}

/// The common prior of the variances of one figure over all cells.
pub(crate) fn prior(pairs: &[Pair], figure: Figure) -> Option<Prior> {
    let variances: Vec<(f64, usize)> = pairs.iter().filter_map(|pair| pair.variance(figure)).collect();
    Prior::of(&variances)
}

/// Matches the cells of two studies by their settings; the engines may differ.
pub(crate) fn matched(a: &StudyRecords<'_>, b: &StudyRecords<'_>) -> Matched {
    let mut of_a = cells(a);
    let of_b = cells(b);
    let asked_by_both = [&of_a, &of_b].map(|cells| own_cells(cells, a.question, b.question));
    let mut matched = Matched { asked_by_both, ..Matched::default() };
    for (settings, in_b) in of_b {
        match of_a.remove(&settings) {
            None => matched.only_b.push(settings),
            Some(in_a) => match left_out(&in_a, &in_b) {
                Some((study, flaw)) => matched.left_out.push(LeftOut { settings, study, flaw }),
                None => matched.pairs.push(Pair { settings, a: in_a, b: in_b }),
            },
        }
    }
    matched.only_a = of_a.into_keys().collect();
    matched
}

fn own_cells(cells: &BTreeMap<CellSettings, CellRuns>, a: &Question, b: &Question) -> Vec<OwnCell> {
    let usable = cells
        .iter()
        .filter(|(settings, cell)| cell.flaw.is_none() && settings.is_asked_by(a) && settings.is_asked_by(b));
    usable
        .map(|(settings, cell)| OwnCell {
            settings: *settings,
            mbps: cell.mbps.clone(),
            beside_others: cell.beside_others,
        })
        .collect()
}

fn left_out(a: &CellRuns, b: &CellRuns) -> Option<(InStudy, Flaw)> {
    match (a.flaw, b.flaw) {
        (None, None) => None,
        (Some(one), Some(other)) if one == other => Some((InStudy::Both, one)),
        (Some(flaw), _) => Some((InStudy::A, flaw)),
        (None, Some(flaw)) => Some((InStudy::B, flaw)),
    }
}

fn cells(study: &StudyRecords<'_>) -> BTreeMap<CellSettings, CellRuns> {
    let mut cells: BTreeMap<CellSettings, CellRuns> = BTreeMap::new();
    for finding in &study.findings.cells {
        let cell = cells.entry(finding.settings).or_default();
        finding.run_mbps.iter().for_each(|mbps| cell.mbps.add(*mbps));
        finding.run_charged_us.iter().for_each(|us| cell.charged_us.add(*us));
        cell.unsteady |= !finding.steady;
        cell.beside_others |= finding.noise.foreign_share.is_some_and(|share| share > OTHERS);
        cell.flaw = cell.flaw.or(flaw(finding));
    }
    // The runs of one session are alike, so over sessions the unit is a session.
    let over_sessions = study.findings.summary.sessions.iter().flat_map(|sessions| &sessions.cells);
    let is_over_sessions = |settings: &CellSettings| over_sessions.clone().any(|cell| cell.cell == *settings);
    let is_plain = |record: &&Record| record.run.pass == Pass::Plain && record.ios > 0;
    let plain = study.records.iter().filter(|record| record.session == 0).filter(is_plain);
    for record in plain {
        if let Some(cell) = CellSettings::of_record(record)
            .filter(|settings| !is_over_sessions(settings))
            .and_then(|settings| cells.get_mut(&settings))
        {
            record.latency_ns_at(0.5).into_iter().for_each(|ns| cell.latency_ns_p50.add(ns as f64));
            record.latency_ns_at(0.99).into_iter().for_each(|ns| cell.latency_ns_p99.add(ns as f64));
        }
    }
    for over in over_sessions {
        if let Some(cell) = cells.get_mut(&over.cell) {
            over.session_latency_ns_p50.iter().for_each(|ns| cell.latency_ns_p50.add(*ns));
            over.session_latency_ns_p99.iter().for_each(|ns| cell.latency_ns_p99.add(*ns));
        }
    }
    cells
}

fn flaw(cell: &CellFinding) -> Option<Flaw> {
    match cell {
        cell if cell.errors > 0 => Some(Flaw::RequestsFailed),
        cell if cell.cached => Some(Flaw::CacheAnswered),
        cell if !cell.usable() => Some(Flaw::NothingMoved),
        _ => None,
    }
}

/// The common spread of each figure over all cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Priors {
    throughput: Option<Prior>,
    p50: Option<Prior>,
    p99: Option<Prior>,
    cost: Option<Prior>,
}

impl Priors {
    pub fn of(pairs: &[Pair]) -> Self {
        Self {
            throughput: prior(pairs, Figure::Throughput),
            p50: prior(pairs, Figure::P50),
            p99: prior(pairs, Figure::P99),
            cost: prior(pairs, Figure::Cost),
        }
    }

    pub fn of_figure(&self, figure: Figure) -> Option<Prior> {
        match figure {
            Figure::Throughput => self.throughput,
            Figure::P50 => self.p50,
            Figure::P99 => self.p99,
            Figure::Cost => self.cost,
        }
    }
}
