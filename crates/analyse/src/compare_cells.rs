//! Which cells do two studies share, and what do their runs say? Records of both enter; pairs of cells leave, each
//! with the logarithms of its runs' figures, and lists of what could not be paired.
//!
//! Logarithms, since what is compared is a ratio: noise of 3% is as wide at 10 MB/s as at 1,000.

use std::collections::BTreeMap;

use record::Record;
use spec::Pass;

use crate::compare_findings::{CellSettings, LeftOut};
use crate::compare_spread::{Estimate, Prior};
use crate::{CellFinding, Study};

/// A figure that each run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    Throughput,
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
    p99_us: Logs,
    charged_us: Logs,
    why_left_out: Option<&'static str>,
}

/// A cell in both.
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
}

impl CellSettings {
    fn of_record(record: &Record) -> Option<Self> {
        let workload = &record.run.workload;
        Some(Self {
            pattern: workload.rw.pattern(),
            rw: workload.rw.direction()?,
            cache: workload.cache,
            iodepth: workload.iodepth,
            bs_bytes: workload.bs.0,
            threads: workload.threads,
        })
    }

    pub(crate) fn of_cell(cell: &CellFinding) -> Self {
        Self {
            pattern: cell.pattern,
            rw: cell.rw,
            cache: cell.cache,
            iodepth: cell.iodepth,
            bs_bytes: cell.bs_bytes,
            threads: cell.threads,
        }
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

    /// Whether there is a number for every run, of which there is one at least.
    fn sound(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|log| log.is_finite())
    }
}

impl CellRuns {
    pub fn runs(&self) -> usize {
        self.mbps.count()
    }

    pub fn logs(&self, figure: Figure) -> &Logs {
        match figure {
            Figure::Throughput => &self.mbps,
            Figure::P99 => &self.p99_us,
            Figure::Cost => &self.charged_us,
        }
    }
}

impl Pair {
    /// The logarithms in both studies, where each run has the figure.
    pub fn logs(&self, figure: Figure) -> Option<(&Logs, &Logs)> {
        let (a, b) = (self.a.logs(figure), self.b.logs(figure));
        (a.sound() && b.sound()).then_some((a, b))
    }

    /// The variance within both studies and its degrees of freedom; `None` where either has a single run.
    fn variance(&self, figure: Figure) -> Option<(f64, usize)> {
        let (a, b) = self.logs(figure)?;
        let freedom = a.count() + b.count() - 2;
        (a.count() > 1 && b.count() > 1).then(|| ((a.squares() + b.squares()) / freedom as f64, freedom))
    }

    /// The variance of one run, with what all cells know of it, and its degrees of freedom.
    pub fn moderated(&self, figure: Figure, prior: Option<Prior>) -> Option<(f64, f64)> {
        let (variance, freedom) = self.variance(figure)?;
        Some(prior?.moderated(variance, freedom))
    }

    /// ln(B / A) with its error; `None` where a single run leaves none.
    pub fn estimate(&self, figure: Figure, prior: Option<Prior>) -> Option<Estimate> {
        let (variance, freedom) = self.moderated(figure, prior)?;
        let (a, b) = self.logs(figure)?;
        let runs = 1.0 / a.count() as f64 + 1.0 / b.count() as f64;
        Some(Estimate { log_ratio: b.mean() - a.mean(), error: (variance * runs).sqrt(), freedom })
    }
}

/// What the variances of one figure have in common over all cells.
pub(crate) fn prior(pairs: &[Pair], figure: Figure) -> Option<Prior> {
    let variances: Vec<(f64, usize)> = pairs.iter().filter_map(|pair| pair.variance(figure)).collect();
    Prior::of(&variances)
}

/// Matches the cells of two studies by their settings; the engine may differ.
pub(crate) fn matched(a: &Study<'_>, b: &Study<'_>) -> Matched {
    let mut of_a = cells(a);
    let mut matched = Matched::default();
    for (settings, in_b) in cells(b) {
        match of_a.remove(&settings) {
            None => matched.only_b.push(settings),
            Some(in_a) => match left_out(&in_a, &in_b) {
                Some(why) => matched.left_out.push(LeftOut { settings, why }),
                None => matched.pairs.push(Pair { settings, a: in_a, b: in_b }),
            },
        }
    }
    matched.only_a = of_a.into_keys().collect();
    matched
}

fn left_out(a: &CellRuns, b: &CellRuns) -> Option<String> {
    match (a.why_left_out, b.why_left_out) {
        (None, None) => None,
        (Some(one), Some(other)) if one == other => Some(format!("in both studies {one}")),
        (Some(why), _) => Some(format!("in A {why}")),
        (None, Some(why)) => Some(format!("in B {why}")),
    }
}

fn cells(study: &Study<'_>) -> BTreeMap<CellSettings, CellRuns> {
    let mut cells: BTreeMap<CellSettings, CellRuns> = BTreeMap::new();
    for record in study.records.iter().filter(|record| record.run.pass == Pass::Plain) {
        let Some(settings) = CellSettings::of_record(record) else { continue };
        let cell = cells.entry(settings).or_default();
        if record.elapsed_ns > 0 && record.bytes > 0 && record.ios > 0 {
            cell.mbps.add(record.mbps());
            cell.p99_us.add(record.latency.quantile_ns(0.99) as f64 / 1e3);
            cell.charged_us.add(record.cpu.us_per_io(record.cpu.charged_ns()).unwrap_or(0.0));
        }
    }
    for (settings, cell) in &mut cells {
        let findings = study.findings.cells.iter().filter(|cell| CellSettings::of_cell(cell) == *settings);
        cell.why_left_out = findings.filter_map(why_left_out).next();
        if cell.mbps.count() == 0 {
            cell.why_left_out = Some("nothing was moved");
        }
    }
    cells
}

fn why_left_out(cell: &CellFinding) -> Option<&'static str> {
    match cell {
        cell if cell.errors > 0 => Some("requests failed"),
        cell if cell.cached => Some("a cache answered"),
        cell if !cell.usable() => Some("nothing was moved"),
        _ => None,
    }
}
