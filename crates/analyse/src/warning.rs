//! Defines the warnings of a study: one variant for each kind of doubt, with its evidence.
//!
//! Shares are 0 to 1; `worst` and `fastest` name the most affected cell.

use halfpower_spec::Experiment;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{CellSettings, PathSettings, Unsteady};

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
        /// Requests in flight there, on average.
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
    /// Cells have fewer runs than were asked for.
    FewRuns {
        /// Such cells.
        cells: usize,
        /// All cells.
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
            | Self::DelayedAcks { .. } => Harm::Disturbed,
            Self::WideInterval { .. } | Self::RestlessRuns { .. } | Self::FewRuns { .. } => Harm::Unsure,
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
