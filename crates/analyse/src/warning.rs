//! Holds what a reader should know before believing a number: one variant a kind of doubt, with its evidence.
//!
//! Shares are 0 to 1; `worst` and `fastest` are the cell that shows it most.

use halfpower_spec::Experiment;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{CellSettings, PathSettings, Unsteady};

/// What a doubt does to the figures, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Harm {
    /// Figures are not of what they stand for: requests failed, a cache answered.
    Wrong,
    /// Figures are of a target that others, or its own state, had changed meanwhile.
    Disturbed,
    /// Figures are right, but known badly.
    Unsure,
    /// Something was not measured as asked.
    Changed,
    /// Only what is said of the processor's cost, or of a few runs, is touched.
    Slight,
}

/// A doubt about a study.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Warning {
    /// The environment could not be had as asked, in its own words.
    Environment {
        /// What, in a sentence.
        note: String,
    },
    /// Requests failed; they are not counted, and their cells bear no conclusion.
    RequestsFailed {
        /// Cells in which any failed.
        cells: usize,
        /// Errors by name.
        errors: Vec<String>,
        /// The cell with most.
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
    /// Runs of buffered cells opened with bytes of the target in the page cache.
    OpenedCached {
        /// Cells whose runs did.
        cells: usize,
        /// The cell with most.
        worst: CellSettings,
        /// Share of its span that was cached.
        share: f64,
    },
    /// Cells are faster than the path advertises: a cache answered, or the figure is another path's.
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
    /// Cells of an experiment are faster than the path is known to let through: they take no part in its answer.
    ExperimentAboveKnown {
        /// Which.
        experiment: Experiment,
        /// Such cells.
        cells: usize,
        /// All its cells.
        of_cells: usize,
        /// The one that is most above its limit.
        worst: CellSettings,
        /// Its throughput in MB/s.
        mbps: f64,
        /// What the path lets through of it, in MB/s.
        known_mbps: f64,
    },
    /// A small share of the device was used: heads move little, or its own cache holds much of it.
    SmallSpan {
        /// Bytes that were used.
        span_bytes: u64,
        /// Bytes of the device.
        device_bytes: u64,
        /// Whether the device turns.
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
        /// Cells of the path that are deeper than 1.
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
    /// Cells began faster than they went on.
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
    /// The device moved more bytes than were asked of it.
    OthersUsedTheDisk {
        /// Cells while it did.
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
        /// Cells while it did.
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
    /// The interval of cells that decide is wide.
    WideInterval {
        /// Such cells.
        cells: usize,
        /// Cells that decide: the best of each path and the advised ones.
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
    /// Single runs of cells that decide leave much open.
    RestlessRuns {
        /// Such cells.
        cells: usize,
        /// Cells that decide.
        of_cells: usize,
        /// Half width within a run, as a share of its mean, above which a cell counts.
        above_share: f64,
        /// The cell with the widest.
        worst: CellSettings,
        /// Half that width, as a share of the mean.
        share: f64,
    },
    /// halfpower's own time is a part of the latency.
    HarnessShare {
        /// Its own time a request in nanoseconds.
        harness_ns_per_io: f64,
        /// Cells of which it is much.
        cells: usize,
        /// Share of the mean latency above which a cell counts.
        above_share: f64,
        /// The cell of which it is most.
        worst: CellSettings,
        /// Share there.
        share: f64,
    },
    /// Hosts are slower than their peers by more than chance.
    SlowHosts {
        /// How many.
        hosts: usize,
        /// Of so many.
        of_hosts: usize,
        /// The slowest.
        worst: String,
        /// Its rate as a share of its peers'.
        of_peers: f64,
    },
    /// Requests to a share waited for delayed acknowledgements.
    DelayedAcks {
        /// Cells in which a mode of about 40 ms stands apart.
        cells: usize,
        /// The cell with most.
        worst: CellSettings,
        /// Share of its requests in that mode.
        share: f64,
    },
    /// No run was beside the soaker.
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

    /// Cells that show it, where it is of cells.
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
