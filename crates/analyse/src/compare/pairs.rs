//! Pairs the cells that two studies share, each with the logarithms of its runs' figures and their common spread.
//!
//! Logarithms, because the comparison uses ratios: noise of 3% is then as wide at 10 MB/s as at 1,000.

use std::collections::BTreeMap;

use halfpower_spec::{Bytes, Question};

use super::comparison::{Flaw, InStudy, LeftOut, StudyRecords};
use super::spread::{Estimate, Prior};
use crate::cells::gather;
use crate::mean::quotient;
use crate::sessions::first_session;
use crate::warnings::OTHERS;
use crate::weather::{Occasions, TimedRun, Weather};
use crate::{CellFinding, CellSettings, SessionCell};

/// Probability that occasions which do not differ pass as such. A weather that is overlooked is a false alarm, so it is low;
/// where a weather is mistaken, it is small and costs little (T. A. Bancroft, Analysis and inference for incompletely
/// specified models involving the use of preliminary test(s) of significance, 1964).
const LIKELY: f64 = 0.75;

/// A figure that each run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    Throughput,
    P50,
    P99,
    Cost,
}

impl Figure {
    pub const ALL: [Self; 4] = [Self::Throughput, Self::P50, Self::P99, Self::Cost];
}

/// The logarithms of one figure in the runs of a cell, by the occasion when they were made.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Logs {
    occasions: Occasions,
    /// Whether each is the mean of a session, which other cells' occasions tell nothing about.
    over_sessions: bool,
}

/// A cell in one study.
#[derive(Debug, Clone, Default)]
pub(crate) struct CellRuns {
    figures: [Logs; Figure::ALL.len()],
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
    /// How far its path wanders within both studies.
    pub weathers: Weathers,
}

/// How far a path wanders in each figure, if its occasions differ.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weathers([Option<Weather>; Figure::ALL.len()]);

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
    fn of_runs(runs: Vec<(TimedRun, f64)>) -> Self {
        Self { occasions: Occasions::of(runs), over_sessions: false }
    }

    fn over_sessions(means: &[f64]) -> Self {
        let runs = means.iter().map(|mean| (TimedRun::default(), *mean));
        Self { occasions: Occasions::of(runs), over_sessions: true }
    }

    pub fn count(&self) -> usize {
        self.occasions.runs()
    }

    pub fn mean(&self) -> f64 {
        self.occasions.mean()
    }

    /// Sum of squares of its runs and its degrees of freedom: within occasions where a weather is told apart.
    fn squares(&self, weather: Option<Weather>) -> (f64, usize) {
        let [within, between] = self.occasions.squares();
        let [freedom_within, freedom_between] = self.occasions.freedom();
        match weather.filter(|_| !self.over_sessions) {
            Some(_) => (within, freedom_within),
            None => (within + between, freedom_within + freedom_between),
        }
    }

    /// Share of the variance from occasion to occasion that is in its mean.
    pub fn share_between(&self) -> f64 {
        if self.over_sessions { 0.0 } else { self.occasions.share_between() }
    }

    /// Its mean with an error that uses the spread of all cells; `None` for a single run.
    pub fn estimate(&self, prior: Option<Prior>, weather: Option<Weather>) -> Option<Estimate> {
        let (squares, freedom) = self.squares(weather);
        let prior = prior.filter(|_| self.count() > 1)?;
        let (variance, freedom) = prior.moderated(quotient(squares, freedom as f64), freedom);
        let error = (variance / self.count() as f64).sqrt();
        let estimate = Estimate { log_ratio: self.mean(), error, freedom };
        Some(estimate.in_weather(weather, self.share_between()))
    }

    /// Whether there is at least one run, and a number for every run.
    fn sound(&self) -> bool {
        self.count() > 0 && self.occasions.logs().all(f64::is_finite)
    }
}

impl CellRuns {
    pub fn runs(&self) -> usize {
        self.logs(Figure::Throughput).count()
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
        &self.figures[figure as usize]
    }
}

impl Weathers {
    /// The weather of a path by the cells of both studies.
    fn of(pairs: &[Pair]) -> Self {
        let of_figure = |figure| {
            let logs: Vec<[&Logs; 2]> =
                pairs.iter().filter_map(|pair| pair.logs(figure)).map(|(a, b)| [a, b]).collect();
            let told = |study: usize| logs.iter().map(move |of| of[study]).filter(|of| !of.over_sessions);
            let studies = [0, 1].map(|study| told(study).map(|of| &of.occasions).collect());
            Weather::of(&studies, LIKELY)
        };
        Self(Figure::ALL.map(of_figure))
    }

    pub fn of_figure(&self, figure: Figure) -> Option<Weather> {
        self.0[figure as usize]
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
        let weather = self.weathers.of_figure(figure);
        let [(of_a, freedom_of_a), (of_b, freedom_of_b)] = [a, b].map(|logs| logs.squares(weather));
        let freedom = freedom_of_a + freedom_of_b;
        (a.count() > 1 && b.count() > 1).then(|| (quotient(of_a + of_b, freedom as f64), freedom))
    }

    /// ln(B / A) with its error; `None` if a study has a single run.
    pub fn estimate(&self, figure: Figure, prior: Option<Prior>) -> Option<Estimate> {
        let (a, b) = self.logs(figure)?;
        let further = a.share_between() + b.share_between();
        Some(self.estimate_of_runs(figure, prior)?.in_weather(self.weathers.of_figure(figure), further))
    }

    /// The same without the weather of its path, which is common to its cells.
    pub fn estimate_of_runs(&self, figure: Figure, prior: Option<Prior>) -> Option<Estimate> {
        let (variance, freedom) = self.variance(figure)?;
        self.estimate_with(figure, prior?.moderated(variance, freedom))
    }

    /// The logarithm of B's figure with its error; `None` for a single run.
    pub fn estimate_of_b(&self, figure: Figure, prior: Option<Prior>) -> Option<Estimate> {
        let (_, b) = self.logs(figure)?;
        b.estimate(prior, self.weathers.of_figure(figure))
    }

    /// For A and for B, whether others used the disk.
    pub fn beside_others(&self) -> [bool; 2] {
        [self.a.beside_others, self.b.beside_others]
    }

    /// As [`Pair::estimate_of_runs`] with the pooled spread of all cells, for a cell without its own: accurate enough for a
    /// mean over cells.
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
                None => matched.pairs.push(Pair { settings, a: in_a, b: in_b, weathers: Weathers::default() }),
            },
        }
    }
    let same = |one: &Pair, other: &Pair| one.settings.path() == other.settings.path();
    for path in matched.pairs.chunk_by_mut(same) {
        let weathers = Weathers::of(path);
        path.iter_mut().for_each(|pair| pair.weathers = weathers);
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
            mbps: cell.logs(Figure::Throughput).clone(),
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

/// The runs of a cell with a figure of each, while they are collected.
#[derive(Default)]
struct Collected {
    runs: CellRuns,
    figures: [Vec<(TimedRun, f64)>; Figure::ALL.len()],
}

fn cells(study: &StudyRecords<'_>) -> BTreeMap<CellSettings, CellRuns> {
    let first = first_session(study.records);
    let gathered: BTreeMap<_, _> =
        gather(&[], &first).into_iter().map(|cell| ((cell.finding.settings, cell.finding.engine), cell)).collect();
    let mut cells: BTreeMap<CellSettings, Collected> = BTreeMap::new();
    for finding in &study.findings.cells {
        let Collected { runs, figures } = cells.entry(finding.settings).or_default();
        let reported = gathered.get(&(finding.settings, finding.engine));
        let at = |run: usize| reported.and_then(|cell| cell.timed.get(run)).copied().unwrap_or_default();
        for (figure, values) in [(Figure::Throughput, &finding.run_mbps), (Figure::Cost, &finding.run_charged_us)] {
            figures[figure as usize].extend(values.iter().enumerate().map(|(run, value)| (at(run), *value)));
        }
        if let Some(cell) = reported {
            for (figure, of_runs) in [Figure::P50, Figure::P99].into_iter().zip(&cell.latency_ns) {
                figures[figure as usize].extend(of_runs);
            }
        }
        runs.unsteady |= !finding.steady;
        runs.beside_others |= finding.noise.foreign_share.is_some_and(|share| share > OTHERS);
        runs.flaw = runs.flaw.or(flaw(finding));
    }
    let finished = |(settings, Collected { mut runs, figures }): (CellSettings, Collected)| {
        runs.figures = figures.map(Logs::of_runs);
        (settings, runs)
    };
    let mut cells: BTreeMap<CellSettings, CellRuns> = cells.into_iter().map(finished).collect();
    // The runs of one session are alike, so over sessions the unit is a session.
    for over in study.findings.summary.sessions.iter().flat_map(|sessions| &sessions.cells) {
        let Some(cell) = cells.get_mut(&over.cell) else { continue };
        let SessionCell { session_mbps, session_latency_ns_p50, session_latency_ns_p99, .. } = over;
        cell.figures[Figure::Throughput as usize] = Logs::over_sessions(session_mbps);
        cell.figures[Figure::P50 as usize] = Logs::over_sessions(session_latency_ns_p50);
        cell.figures[Figure::P99 as usize] = Logs::over_sessions(session_latency_ns_p99);
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
