//! Defines and finds the warnings of a study: one variant for each kind of doubt, with its evidence, its harm, and the
//! function that finds it.
//!
//! Shares are 0 to 1; `worst` and `fastest` name the most affected cell. Findings of one kind are one warning, so that a
//! bad study does not drown its report. The report gives each its words.

use halfpower_record::{Environment, Record};
use halfpower_spec::{Experiment, InOrder, JsonSchema, Pass, Question};
use serde::Serialize;

use crate::cells::{CellWithRecords, WITHIN, noise};
use crate::experiment_cells::experiment_cells;
use crate::ladder::known_limit;
use crate::path::{MeasuredPath, best, leading};
use crate::{Advice, CellFinding, CellSettings, FleetFinding, PathLevel, PathSettings, Unsteady};

/// Achieved share of the depth below which the queue counts as shallow.
const SHALLOW: f64 = 0.8;
/// Half width of the interval within one run, as a share of its mean, above which its cell counts as restless.
const RESTLESS: f64 = 0.2;
/// Standard deviation of an experiment's repeated runs, as a share of their mean, above which they differ.
const REPEATS_DIFFER: f64 = 0.2;
/// Share of a latency above which the harness's own time is reported.
const HARNESS: f64 = 0.05;
/// Loss of the soaker, as a share of the charge in the same pass, below which it is reported.
const BELOW_CHARGED: f64 = 0.98;
/// Share of a device below which the used span counts as small.
const SMALL_SPAN: f64 = 0.1;
/// Share of the span in the page cache above which it is reported.
const OPENED_CACHED: f64 = 0.01;
/// Share of the processors' time, or of the moved bytes, above which other activity is reported.
pub(crate) const OTHERS: f64 = 0.01;
/// Weight of cells with few runs: below all others, so that they never lead the screen.
const FEW_RUNS_WEIGHT: f64 = 0.2;
/// Time of all data in flight, and of a round trip, below which neither explains 40 ms; in microseconds.
const BRIEF_US: f64 = 10_000.0;

/// What a doubt does to the figures, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Harm {
    /// The figures measure something else: requests failed, or a cache answered.
    Wrong,
    /// Other activity, or the state of the target itself, changed the figures.
    Disturbed,
    /// The figures are right but uncertain.
    Unsure,
    /// Something was not measured as asked.
    Changed,
    /// The doubt affects only the processor cost, or only a few runs.
    Slight,
}

/// A doubt about a study.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Warning {
    /// Something in the environment was not as asked; the note says what.
    Environment {
        /// The note, one sentence.
        note: String,
    },
    /// Requests failed; they are not counted, and their cells allow no conclusion.
    RequestsFailed {
        /// Cells in which any failed.
        cells: usize,
        /// Errors by name.
        errors: Vec<String>,
        /// The cell with most failures.
        worst: CellSettings,
        /// Requests that failed there.
        failed_ios: u64,
    },
    /// Requests moved fewer bytes than asked.
    ShortTransfers {
        /// Cells in which any did.
        cells: usize,
        /// The cell with most.
        worst: CellSettings,
        /// Such requests there.
        short_transfers: u64,
    },
    /// Runs of buffered cells began with bytes of the target in the page cache.
    OpenedCached {
        /// Cells with such runs.
        cells: usize,
        /// The cell with most.
        worst: CellSettings,
        /// Share of its span that was cached.
        share: f64,
    },
    /// Cells are faster than the path advertises: a cache answered, or the figure belongs to another path.
    AboveAdvertised {
        /// Such cells.
        cells: usize,
        /// The fastest of them.
        fastest: CellSettings,
        /// Its throughput in MB/s.
        mbps: f64,
        /// What the path advertises for its direction, in MB/s.
        advertised_mbps: f64,
    },
    /// Cells of an experiment are faster than the known limit of the path; the experiment's answer ignores them.
    ExperimentAboveKnown {
        /// Which.
        experiment: Experiment,
        /// Such cells.
        cells: usize,
        /// All its cells.
        of_cells: usize,
        /// The cell farthest above its limit.
        worst: CellSettings,
        /// Its throughput in MB/s.
        mbps: f64,
        /// The known limit for it, in MB/s.
        known_mbps: f64,
    },
    /// Only a small share of the device was used: heads move little, or the device's cache holds much of it.
    SmallSpan {
        /// Bytes that were used.
        span_bytes: u64,
        /// Bytes of the device.
        device_bytes: u64,
        /// Whether the device is a rotating disk.
        rotational: bool,
    },
    /// The page cache answered buffered reads.
    PageCacheAnswered {
        /// Such cells.
        cells: usize,
        /// The fastest of them.
        fastest: CellSettings,
        /// Its throughput in MB/s.
        mbps: f64,
    },
    /// Cells of a path kept fewer requests in flight than asked.
    ShallowQueue {
        /// The path.
        path: PathSettings,
        /// Such cells.
        cells: usize,
        /// Cells of the path with a depth above 1.
        of_cells: usize,
        /// Share of the depth below which a cell counts.
        below_share: f64,
        /// The cell with the smallest share.
        worst: CellSettings,
        /// Requests in flight there, on average; of each process, if several measured together.
        achieved_depth: f64,
    },
    /// Cells were not steady within their runs.
    NotSteady {
        /// Such cells.
        cells: usize,
        /// All cells.
        of_cells: usize,
        /// The fastest of them.
        fastest: CellSettings,
        /// What its runs show.
        unsteady: Option<Unsteady>,
    },
    /// Cells began faster than they continued.
    BeganFaster {
        /// Such cells.
        cells: usize,
        /// The cell that fell most.
        worst: CellSettings,
        /// Its rate at first, in MB/s.
        burst_mbps: f64,
        /// Its rate after that, in MB/s.
        sustained_mbps: f64,
    },
    /// The hypervisor took processor time.
    HypervisorTookTime {
        /// Share of the processors' time over the whole study.
        share: f64,
        /// The cell with most.
        worst: CellSettings,
        /// Share there.
        worst_share: f64,
    },
    /// The device moved more bytes than the runs asked for.
    OthersUsedTheDisk {
        /// Affected cells.
        cells: usize,
        /// All cells.
        of_cells: usize,
        /// Share of the cell's own bytes above which a cell counts.
        above_share: f64,
        /// The cell with most.
        worst: CellSettings,
        /// Bytes beyond its own there, as a share of its own.
        share: f64,
    },
    /// The device moved fewer bytes than direct requests asked for.
    NeverReachedTheDisk {
        /// Affected cells.
        cells: usize,
        /// All cells.
        of_cells: usize,
        /// Share of the cell's own bytes above which a cell counts.
        above_share: f64,
        /// The cell with most.
        worst: CellSettings,
        /// Bytes that are missing there, as a share of its own.
        share: f64,
    },
    /// Cells that decide the result have fewer runs than were asked for.
    FewRuns {
        /// Such cells.
        cells: usize,
        /// Cells that decide the result: the best of each path and the advised ones.
        of_cells: usize,
        /// Runs a cell that were asked for.
        wanted_runs: usize,
    },
    /// The intervals of cells that decide the result are wide.
    WideInterval {
        /// Such cells.
        cells: usize,
        /// Cells that decide the result: the best of each path and the advised ones.
        of_cells: usize,
        /// Half width, as a share of the mean, above which a cell counts.
        above_share: f64,
        /// The cell with the widest.
        worst: CellSettings,
        /// Its throughput in MB/s.
        mbps: f64,
        /// Half the width of its interval, as a share of that.
        share: f64,
    },
    /// Single runs of cells that decide the result vary widely.
    RestlessRuns {
        /// Such cells.
        cells: usize,
        /// Cells that decide the result.
        of_cells: usize,
        /// Half width within a run, as a share of its mean, above which a cell counts.
        above_share: f64,
        /// The cell with the widest.
        worst: CellSettings,
        /// Half that width, as a share of the mean.
        share: f64,
    },
    /// Repeated runs of the experiments' cells differ: others were at work, or the path keeps no pace.
    RepeatsDiffer {
        /// Such cells.
        cells: usize,
        /// Cells of experiments with more than one run.
        of_cells: usize,
        /// Standard deviation of a cell's runs, as a share of their mean, above which a cell counts.
        above_share: f64,
        /// The cell whose runs differ most.
        worst: CellSettings,
        /// Its slowest run in MB/s.
        low_mbps: f64,
        /// Its fastest run in MB/s.
        high_mbps: f64,
    },
    /// Predicted cells lie beyond the block sizes or depths that the calibration saw: a limit may stand there that it could
    /// not show, so only bounds are known.
    BeyondCalibration {
        /// Such cells.
        cells: usize,
        /// All predicted cells.
        of_cells: usize,
        /// The cell whose bounds are farthest apart.
        worst: CellSettings,
        /// At least this throughput there, in MB/s.
        low_mbps: f64,
        /// At most this.
        high_mbps: f64,
    },
    /// halfpower's own time is a large part of the latency.
    HarnessShare {
        /// Its own time a request in nanoseconds.
        harness_ns_per_io: f64,
        /// Affected cells.
        cells: usize,
        /// Share of the mean latency above which a cell counts.
        above_share: f64,
        /// The cell with the largest share.
        worst: CellSettings,
        /// Share there.
        share: f64,
    },
    /// Hosts are slower than their peers by more than chance.
    SlowHosts {
        /// Number of slow hosts.
        hosts: usize,
        /// Number of all hosts.
        of_hosts: usize,
        /// The slowest.
        worst: String,
        /// Its rate as a share of its peers' rate.
        of_peers: f64,
    },
    /// Requests to a share waited for delayed acknowledgements.
    DelayedAcks {
        /// Cells with a separate mode of about 40 ms.
        cells: usize,
        /// The cell with most.
        worst: CellSettings,
        /// Share of its requests in that mode.
        share: f64,
    },
    /// No run was made beside the soaker.
    NoSoaker,
    /// The soaker lost less than the process was charged.
    SoakerBelowCharged {
        /// Such cells.
        cells: usize,
        /// Cells with a run beside the soaker.
        of_cells: usize,
        /// Paths of such cells.
        paths: Vec<PathSettings>,
    },
    /// Runs that both read and write are on no curve.
    MixedRuns {
        /// Such runs.
        runs: usize,
    },
}

impl Warning {
    /// What it does to the figures.
    pub fn harm(&self) -> Harm {
        match self {
            Self::RequestsFailed { .. }
            | Self::AboveAdvertised { .. }
            | Self::ExperimentAboveKnown { .. }
            | Self::NeverReachedTheDisk { .. } => Harm::Wrong,
            Self::OthersUsedTheDisk { .. }
            | Self::HypervisorTookTime { .. }
            | Self::NotSteady { .. }
            | Self::SlowHosts { .. }
            | Self::BeganFaster { .. }
            | Self::RepeatsDiffer { .. }
            | Self::DelayedAcks { .. } => Harm::Disturbed,
            Self::WideInterval { .. }
            | Self::RestlessRuns { .. }
            | Self::FewRuns { .. }
            | Self::BeyondCalibration { .. } => Harm::Unsure,
            Self::Environment { .. }
            | Self::ShortTransfers { .. }
            | Self::OpenedCached { .. }
            | Self::PageCacheAnswered { .. }
            | Self::ShallowQueue { .. } => Harm::Changed,
            Self::SmallSpan { rotational: true, .. } => Harm::Changed,
            Self::SmallSpan { .. }
            | Self::HarnessShare { .. }
            | Self::NoSoaker
            | Self::SoakerBelowCharged { .. }
            | Self::MixedRuns { .. } => Harm::Slight,
        }
    }

    /// Number of affected cells, for warnings that concern cells.
    pub fn cells(&self) -> Option<usize> {
        match self {
            Self::RequestsFailed { cells, .. }
            | Self::ShortTransfers { cells, .. }
            | Self::OpenedCached { cells, .. }
            | Self::AboveAdvertised { cells, .. }
            | Self::ExperimentAboveKnown { cells, .. }
            | Self::PageCacheAnswered { cells, .. }
            | Self::ShallowQueue { cells, .. }
            | Self::NotSteady { cells, .. }
            | Self::BeganFaster { cells, .. }
            | Self::OthersUsedTheDisk { cells, .. }
            | Self::NeverReachedTheDisk { cells, .. }
            | Self::FewRuns { cells, .. }
            | Self::WideInterval { cells, .. }
            | Self::RestlessRuns { cells, .. }
            | Self::HarnessShare { cells, .. }
            | Self::DelayedAcks { cells, .. }
            | Self::RepeatsDiffer { cells, .. }
            | Self::BeyondCalibration { cells, .. }
            | Self::SoakerBelowCharged { cells, .. } => Some(*cells),
            Self::Environment { .. }
            | Self::SmallSpan { .. }
            | Self::HypervisorTookTime { .. }
            | Self::SlowHosts { .. }
            | Self::NoSoaker
            | Self::MixedRuns { .. } => None,
        }
    }
}

/// Input of the warnings.
pub(crate) struct WarningInputs<'a> {
    pub question: &'a Question,
    pub environment: &'a Environment,
    pub levels: &'a [PathLevel],
    /// The levels as the environment and the user describe them, without what experiments measured.
    pub advertised: &'a [PathLevel],
    pub records: &'a [Record],
    pub gathered: &'a [CellWithRecords],
    pub cells: &'a [CellFinding],
    pub paths: &'a [MeasuredPath<'a>],
    pub advice: &'a [Advice],
    pub harness_ns_per_io: Option<f64>,
    pub fleet: Option<&'a FleetFinding>,
}

/// All warnings, the most harmful first: those that make figures wrong, then by harm times the share of affected cells.
pub(crate) fn warnings(grounds: &WarningInputs<'_>) -> Vec<Warning> {
    let notes = grounds.environment.notes.iter();
    let mut all: Vec<Warning> = notes.map(|note| Warning::Environment { note: note.clone() }).collect();
    all.extend(errors(grounds));
    all.extend(short_transfers(grounds));
    all.extend(opened_cached(grounds));
    all.extend(above_advertised(grounds));
    all.extend(grounds.question.experiments.iter().filter_map(|experiment| above_known(grounds, *experiment)));
    all.extend(small_span(grounds));
    all.extend(page_cache_answered(grounds));
    all.extend(grounds.paths.iter().filter_map(|path| shallow(path, grounds.environment.hosts.len())));
    all.extend(not_steady(grounds));
    all.extend(began_faster(grounds));
    all.extend(hypervisor(grounds));
    all.extend(slow_hosts(grounds));
    all.extend(others_used_the_disk(grounds));
    all.extend(never_reached_the_disk(grounds));
    all.extend(few_runs(grounds));
    all.extend(wide(grounds));
    all.extend(restless(grounds));
    all.extend(repeats_differ(grounds));
    all.extend(beyond_calibration(grounds));
    all.extend(harness(grounds));
    all.extend(delayed_acks(grounds));
    all.extend(no_soaker(grounds));
    all.extend(soaker_below(grounds));
    all.extend(mixed(grounds));
    let cells = grounds.cells.len();
    all.order_by(|one, other| {
        let is_wrong = |warning: &Warning| warning.harm() == Harm::Wrong;
        is_wrong(other).cmp(&is_wrong(one)).then(weight(other, cells).total_cmp(&weight(one, cells)))
    });
    all
}

/// How much a warning affects the reader's conclusions.
fn weight(warning: &Warning, cells: usize) -> f64 {
    let of_harm = match warning.harm() {
        // An interval says how well a figure is known; a number of runs only hints at it.
        _ if matches!(warning, Warning::FewRuns { .. }) => FEW_RUNS_WEIGHT,
        Harm::Wrong => 8.0,
        Harm::Disturbed => 4.0,
        Harm::Unsure => 3.0,
        Harm::Changed => 1.0,
        Harm::Slight => 0.3,
    };
    let share = match warning {
        Warning::HypervisorTookTime { share, .. } => *share,
        Warning::WideInterval { cells, of_cells, .. }
        | Warning::FewRuns { cells, of_cells, .. }
        | Warning::RestlessRuns { cells, of_cells, .. }
        | Warning::RepeatsDiffer { cells, of_cells, .. }
        | Warning::BeyondCalibration { cells, of_cells, .. } => *cells as f64 / (*of_cells).max(1) as f64,
        warning => warning.cells().map_or(1.0, |some| some as f64 / cells.max(1) as f64),
    };
    of_harm * share
}

fn errors(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let failed: Vec<&CellFinding> = grounds.cells.iter().filter(|cell| cell.errors > 0).collect();
    let worst = failed.iter().max_by_key(|cell| cell.errors)?;
    let mut errors: Vec<String> = grounds.records.iter().flat_map(|record| record.errors.keys()).cloned().collect();
    errors.sort_unstable();
    errors.dedup();
    let worst_cell = worst.settings;
    Some(Warning::RequestsFailed { cells: failed.len(), errors, worst: worst_cell, failed_ios: worst.errors })
}

fn short_transfers(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let short: Vec<&CellFinding> = grounds.cells.iter().filter(|cell| cell.short_transfers > 0).collect();
    let worst = short.iter().max_by_key(|cell| cell.short_transfers)?;
    let short_transfers = worst.short_transfers;
    Some(Warning::ShortTransfers { cells: short.len(), worst: worst.settings, short_transfers })
}

fn opened_cached(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let buffered = grounds.gathered.iter().filter(|cell| !cell.finding.cache.direct());
    let opened = buffered.filter_map(|cell| Some((cell.source.opened_cached?, cell)));
    let opened: Vec<(f64, &CellWithRecords)> = opened.filter(|(share, _)| *share > OPENED_CACHED).collect();
    let (share, worst) = opened.iter().max_by(|one, other| one.0.total_cmp(&other.0))?;
    let worst = worst.finding.settings;
    Some(Warning::OpenedCached { cells: opened.len(), worst, share: share.min(1.0) })
}

fn above_advertised(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let pap = |cell: &CellFinding| known_limit(grounds.levels, cell.rw, cell.bs_bytes, &(0..0));
    let above = grounds.cells.iter().filter(|cell| pap(cell).is_some_and(|pap| cell.cached && cell.mbps.value > pap));
    let above: Vec<&CellFinding> = above.collect();
    let highest = best(above.iter().copied())?;
    let advertised_mbps = pap(highest)?;
    let fastest = highest.settings;
    let mbps = highest.mbps.value;
    Some(Warning::AboveAdvertised { cells: above.len(), fastest, mbps, advertised_mbps })
}

fn above_known(grounds: &WarningInputs<'_>, experiment: Experiment) -> Option<Warning> {
    // The block size and depth walks have their own cells.
    if experiment.pattern().is_some() {
        return None;
    }
    let cells = experiment_cells(grounds.advertised, experiment, grounds.records);
    let above = cells.iter().filter(|cell| cell.finding.cached);
    let above: Vec<(&CellFinding, f64)> = above.filter_map(|cell| Some((&cell.finding, cell.known_mbps?))).collect();
    let share = |(cell, known): &(&CellFinding, f64)| cell.mbps.value / known;
    let (worst, known_mbps) = above.iter().copied().max_by(|one, other| share(one).total_cmp(&share(other)))?;
    let settings = worst.settings;
    let mbps = worst.mbps.value;
    let of_cells = cells.len();
    Some(Warning::ExperimentAboveKnown { experiment, cells: above.len(), of_cells, worst: settings, mbps, known_mbps })
}

/// Reports a small span on a device that rotates or has its own cache.
fn small_span(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let Environment { capabilities, device, .. } = grounds.environment;
    let device = device.as_ref().filter(|_| capabilities.kind.is_hardware() && capabilities.members <= 1)?;
    // A spread file has the seeks and tracks of the whole device, but a cache holds it just as easily.
    let rotational = device.rotational == Some(true) && capabilities.spread.is_none();
    let is_cached = device.write_cache.as_deref() == Some("write back");
    let span_bytes = capabilities.span.0;
    let device_bytes = device.size.0;
    let is_small = span_bytes > 0 && (span_bytes as f64) < SMALL_SPAN * device_bytes as f64;
    (is_small && (rotational || is_cached)).then_some(Warning::SmallSpan { span_bytes, device_bytes, rotational })
}

fn page_cache_answered(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let answered = |cell: &&CellFinding| cell.cached && !cell.cache.direct();
    let limit = |cell: &CellFinding| known_limit(grounds.levels, cell.rw, cell.bs_bytes, &(0..0));
    let unexplained = |cell: &&CellFinding| limit(cell).is_none_or(|limit| cell.mbps.value <= limit);
    let cells: Vec<&CellFinding> = grounds.cells.iter().filter(answered).filter(unexplained).collect();
    let highest = best(cells.iter().copied())?;
    let fastest = highest.settings;
    let mbps = highest.mbps.value;
    Some(Warning::PageCacheAnswered { cells: cells.len(), fastest, mbps })
}

/// The warning of a path that so many processes measured together.
fn shallow(path: &MeasuredPath<'_>, processes: usize) -> Option<Warning> {
    let of_each = |cell: &CellFinding| cell.achieved_depth.map(|depth| depth / processes.max(1) as f64);
    // A cell without a known depth does not count as shallow.
    let share = |cell: &CellFinding| of_each(cell).map_or(1.0, |depth| depth / f64::from(cell.total_depth().max(1)));
    let deep: Vec<&CellFinding> = path.usable().filter(|cell| cell.total_depth() > 1).collect();
    let below: Vec<&CellFinding> = deep.iter().copied().filter(|cell| share(cell) < SHALLOW).collect();
    let worst = below.iter().copied().reduce(|low, next| if share(next) < share(low) { next } else { low })?;
    Some(Warning::ShallowQueue {
        path: path.settings,
        cells: below.len(),
        of_cells: deep.len(),
        below_share: SHALLOW,
        worst: worst.settings,
        achieved_depth: of_each(worst)?,
    })
}

fn not_steady(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let unsteady: Vec<&CellFinding> = grounds.cells.iter().filter(|cell| cell.usable() && !cell.steady).collect();
    let fastest = best(unsteady.iter().copied())?;
    Some(Warning::NotSteady {
        cells: unsteady.len(),
        of_cells: grounds.cells.len(),
        fastest: fastest.settings,
        unsteady: fastest.unsteady,
    })
}

fn began_faster(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let fall = |cell: &CellFinding| cell.burst_mbps.unwrap_or(0.0) / cell.sustained_mbps.unwrap_or(f64::MAX);
    let cells: Vec<&CellFinding> = grounds.cells.iter().filter(|c| c.usable() && c.burst_mbps.is_some()).collect();
    let worst = cells.iter().copied().max_by(|one, other| fall(one).total_cmp(&fall(other)))?;
    let (burst_mbps, sustained_mbps) = worst.burst_mbps.zip(worst.sustained_mbps)?;
    Some(Warning::BeganFaster { cells: cells.len(), worst: worst.settings, burst_mbps, sustained_mbps })
}

/// Ticks are too coarse for one cell: the study's share decides, and the warning names the most affected cell.
fn hypervisor(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let all: Vec<&Record> = grounds.records.iter().collect();
    let share = noise(&all).steal_share.filter(|steal| *steal > OTHERS)?;
    let of_cell = |cell: &CellFinding| cell.noise.steal_share.unwrap_or(0.0);
    let worst = grounds.cells.iter().max_by(|one, other| of_cell(one).total_cmp(&of_cell(other)))?;
    Some(Warning::HypervisorTookTime { share, worst: worst.settings, worst_share: of_cell(worst) })
}

fn slow_hosts(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let fleet = grounds.fleet?;
    let slowest = fleet.stragglers.first()?;
    let worst = slowest.name.clone();
    let of_peers = slowest.of_peers;
    Some(Warning::SlowHosts { hosts: fleet.slow_hosts(), of_hosts: fleet.hosts.len(), worst, of_peers })
}

fn others_used_the_disk(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let of_cell = |cell: &CellFinding| cell.noise.foreign_share.unwrap_or(0.0);
    let (cells, worst) = beyond(grounds.cells, OTHERS, of_cell)?;
    let share = of_cell(worst);
    let worst = worst.settings;
    Some(Warning::OthersUsedTheDisk { cells, of_cells: grounds.cells.len(), above_share: OTHERS, worst, share })
}

fn never_reached_the_disk(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let of_cell = |cell: &CellFinding| -cell.noise.foreign_share.unwrap_or(0.0);
    let (cells, worst) = beyond(grounds.cells, OTHERS, of_cell)?;
    let share = of_cell(worst);
    let worst = worst.settings;
    Some(Warning::NeverReachedTheDisk { cells, of_cells: grounds.cells.len(), above_share: OTHERS, worst, share })
}

/// Number of cells whose share is above `least`, and the cell with the largest share.
fn beyond<'a>(
    cells: impl IntoIterator<Item = &'a CellFinding>,
    least: f64,
    share: impl Fn(&CellFinding) -> f64,
) -> Option<(usize, &'a CellFinding)> {
    let over: Vec<&CellFinding> = cells.into_iter().filter(|cell| share(cell) > least).collect();
    let worst = over.iter().copied().max_by(|one, other| share(one).total_cmp(&share(other)))?;
    Some((over.len(), worst))
}

fn few_runs(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let wanted_runs = grounds.question.repeats as usize;
    let deciding = deciding(grounds);
    let cells = deciding.iter().filter(|cell| cell.runs < wanted_runs).count();
    let of_cells = deciding.len();
    // The runs of another tool were not planned here.
    (cells > 0 && grounds.environment.imported.is_empty()).then_some(Warning::FewRuns { cells, of_cells, wanted_runs })
}

/// The best cell of each path and the advised ones.
fn deciding<'a>(grounds: &WarningInputs<'a>) -> Vec<&'a CellFinding> {
    let advised = |cell: &CellFinding| {
        grounds.advice.iter().any(|advice| {
            let set = &advice.settings;
            (advice.pattern, advice.rw, set.cache, set.iodepth, set.threads, set.bs.0, set.engine)
                == (cell.pattern, cell.rw, cell.cache, cell.iodepth, cell.threads, cell.bs_bytes, cell.engine)
        })
    };
    // A path may hold its own copies of cells, reduced to the fewest threads.
    let same = |one: &CellFinding, other: &CellFinding| one.settings == other.settings && one.engine == other.engine;
    let is_best = |cell: &CellFinding| {
        grounds.paths.iter().any(|path| leading(path.usable()).is_some_and(|best| same(best, cell)))
    };
    grounds.cells.iter().filter(|cell| cell.usable() && (is_best(cell) || advised(cell))).collect()
}

fn wide(grounds: &WarningInputs<'_>) -> Option<Warning> {
    if !grounds.environment.imported.is_empty() {
        return None;
    }
    let deciding = deciding(grounds);
    let of_cell = |cell: &CellFinding| cell.mbps.relative_reach();
    let (cells, worst) = beyond(deciding.iter().copied(), WITHIN, of_cell)?;
    Some(Warning::WideInterval {
        cells,
        of_cells: deciding.len(),
        above_share: WITHIN,
        worst: worst.settings,
        mbps: worst.mbps.value,
        share: of_cell(worst),
    })
}

fn restless(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let deciding = deciding(grounds);
    let of_cell = |cell: &CellFinding| cell.within_run_reach.unwrap_or(0.0);
    let (cells, worst) = beyond(deciding.iter().copied(), RESTLESS, of_cell)?;
    let of_cells = deciding.len();
    let share = of_cell(worst);
    let worst = worst.settings;
    Some(Warning::RestlessRuns { cells, of_cells, above_share: RESTLESS, worst, share })
}

/// Looks at the runs of each experiment's cells; the cells of the walks have intervals and warnings of their own.
fn repeats_differ(grounds: &WarningInputs<'_>) -> Option<Warning> {
    // Beside walks, commits stand on the first screen with their own intervals, and few of their cells are repeated.
    let has_walks = grounds.question.patterns().next().is_some();
    // The rates of `load` are those that were asked for.
    let is_judged = |experiment: &&Experiment| match **experiment {
        Experiment::Load => false,
        Experiment::Commits => !has_walks,
        experiment => experiment.pattern().is_none(),
    };
    let experiments = grounds.question.experiments.iter().filter(is_judged);
    let cells = experiments.flat_map(|experiment| experiment_cells(grounds.levels, *experiment, grounds.records));
    let repeated: Vec<CellFinding> = cells.map(|cell| cell.finding).filter(|cell| cell.run_mbps.len() > 1).collect();
    let of_cell = |cell: &CellFinding| relative_deviation(&cell.run_mbps);
    let (cells, worst) = beyond(repeated.iter(), REPEATS_DIFFER, of_cell)?;
    Some(Warning::RepeatsDiffer {
        cells,
        of_cells: repeated.len(),
        above_share: REPEATS_DIFFER,
        worst: worst.settings,
        low_mbps: worst.run_mbps.iter().copied().fold(f64::INFINITY, f64::min),
        high_mbps: worst.run_mbps.iter().copied().fold(0.0, f64::max),
    })
}

fn beyond_calibration(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let predicted = grounds.cells.iter().filter_map(|cell| Some((cell, cell.prediction?)));
    let (beyond, within): (Vec<_>, Vec<_>) = predicted.partition(|(_, prediction)| prediction.beyond);
    let (worst, prediction) =
        beyond.iter().max_by(|one, other| one.1.mbps.relative_reach().total_cmp(&other.1.mbps.relative_reach()))?;
    Some(Warning::BeyondCalibration {
        cells: beyond.len(),
        of_cells: beyond.len() + within.len(),
        worst: worst.settings,
        low_mbps: prediction.mbps.low,
        high_mbps: prediction.mbps.high,
    })
}

/// Standard deviation of these rates as a share of their mean; 0 for fewer than two.
fn relative_deviation(rates: &[f64]) -> f64 {
    let runs = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / runs;
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    if runs < 2.0 || mean <= 0.0 { 0.0 } else { (squares / (runs - 1.0)).sqrt() / mean }
}

fn harness(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let harness_ns_per_io = grounds.harness_ns_per_io?;
    let of_cell = |cell: &CellFinding| {
        let latency_ns = cell.latency_ns.mean.filter(|ns| *ns > 0.0);
        latency_ns.map_or(0.0, |ns| harness_ns_per_io / ns)
    };
    let (cells, worst) = beyond(grounds.cells, HARNESS, of_cell)?;
    let share = of_cell(worst);
    let worst = worst.settings;
    Some(Warning::HarnessShare { harness_ns_per_io, cells, above_share: HARNESS, worst, share })
}

/// On a slow path, queueing alone can take 40 ms, without any delayed acknowledgement.
fn delayed_acks(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let best_mbps = grounds.cells.iter().map(|cell| cell.mbps.value).fold(0.0, f64::max);
    let is_delayed = |cell: &&CellFinding| {
        let moves_us = f64::from(cell.total_depth()) * cell.bs_bytes as f64 / best_mbps;
        let round_trip_us = cell.tcp.as_ref().and_then(|tcp| tcp.least_round_trip_us).unwrap_or(0.0);
        moves_us < BRIEF_US && round_trip_us < BRIEF_US
    };
    let of_cell = |cell: &CellFinding| cell.delayed_share.unwrap_or(0.0);
    let (cells, worst) = beyond(grounds.cells.iter().filter(is_delayed), 0.0, of_cell)?;
    Some(Warning::DelayedAcks { cells, worst: worst.settings, share: of_cell(worst) })
}

fn no_soaker(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let soaked = grounds.records.iter().any(|r| r.run.pass == Pass::Soaker && r.cpu.soaker.is_some());
    let imported = !grounds.environment.imported.is_empty();
    (!grounds.cells.is_empty() && !soaked && !imported).then_some(Warning::NoSoaker)
}

fn soaker_below(grounds: &WarningInputs<'_>) -> Option<Warning> {
    let is_below = |cell: &&CellFinding| {
        let charged_us = cell.soaker_us.zip(cell.unseen_us).map(|(soaker, unseen)| (soaker, soaker - unseen));
        charged_us.is_some_and(|(soaker, charged)| soaker < BELOW_CHARGED * charged)
    };
    let soaked = grounds.cells.iter().filter(|cell| cell.usable() && cell.unseen_us.is_some());
    let below: Vec<&CellFinding> = soaked.clone().filter(is_below).collect();
    let mut paths: Vec<PathSettings> = below.iter().map(|cell| cell.path()).collect();
    paths.dedup();
    let cells = below.len();
    let of_cells = soaked.count();
    (cells > 0).then_some(Warning::SoakerBelowCharged { cells, of_cells, paths })
}

fn mixed(grounds: &WarningInputs<'_>) -> Option<Warning> {
    // `load` mixes them by its plan, and tells of them itself.
    let is_mixed = |r: &&Record| r.run.workload.rw.direction().is_none() && r.run.experiment != Some(Experiment::Load);
    let runs = grounds.records.iter().filter(is_mixed).count();
    (runs > 0).then_some(Warning::MixedRuns { runs })
}
