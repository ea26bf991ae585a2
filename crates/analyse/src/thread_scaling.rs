//! Finds how many threads are needed before the device is the limit, not the threads' processor time.

use std::collections::BTreeMap;

use halfpower_spec::{InOrder, JsonSchema};
use serde::Serialize;

use crate::policy::{FULL_CORE, MORE_THREADS_GAIN, NEAR_BEST};
use crate::{CellFinding, CellSettings, Interval};

/// One cell with a growing number of threads.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ThreadScaling {
    /// The cell with the fewest threads that are enough.
    #[serde(flatten)]
    pub cell: CellSettings,
    /// The results for each number of threads, the fewest first.
    pub steps: Vec<ThreadStep>,
    /// What stops these threads.
    pub limit: ThreadLimit,
}

/// The result for one number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ThreadStep {
    /// Number of threads.
    pub threads: u32,
    /// Throughput in MB/s.
    pub mbps: Interval,
    /// Requests a second.
    pub iops: f64,
    /// Share of the processors they can use that they were charged for, in 0 to 1.
    pub busy_share: f64,
}

/// What stops the threads that are enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadLimit {
    /// The device: more threads give no gain, or their processors have time left.
    Device,
    /// All processors are full.
    Processors,
    /// No larger number of threads was measured.
    Unknown,
}

/// One for each cell measured with several numbers of threads, on a machine with `cpus` processors.
pub(crate) fn thread_scaling(cells: &[CellFinding], cpus: f64) -> Vec<ThreadScaling> {
    let mut groups: BTreeMap<CellSettings, Vec<&CellFinding>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.usable()) {
        groups.entry(cell.settings.but_for_threads()).or_default().push(cell);
    }
    groups.into_values().filter(|cells| cells.len() > 1).filter_map(|cells| of_cell(cells, cpus)).collect()
}

fn of_cell(mut cells: Vec<&CellFinding>, cpus: f64) -> Option<ThreadScaling> {
    cells.order_by_key(|cell| cell.threads);
    let usable = |threads: u32| if cpus > 0.0 { f64::from(threads).min(cpus) } else { f64::from(threads) };
    let step = |cell: &&CellFinding| ThreadStep {
        threads: cell.threads,
        mbps: cell.mbps,
        iops: cell.iops,
        busy_share: cell.core_share.unwrap_or(0.0) / usable(cell.threads),
    };
    let steps: Vec<ThreadStep> = cells.iter().map(step).collect();
    let best = steps.iter().map(|step| step.mbps.value).fold(0.0, f64::max);
    let place = steps.iter().position(|step| step.mbps.value >= NEAR_BEST * best)?;
    let enough = &steps[place];
    let last = steps.last()?;
    let no_more = last.threads > enough.threads && last.mbps.value < MORE_THREADS_GAIN * enough.mbps.value;
    let wanted = cells[place].wanted_processors() / usable(enough.threads);
    let limit = if wanted < FULL_CORE || no_more {
        ThreadLimit::Device
    } else if cpus > 0.0 && f64::from(enough.threads) >= cpus {
        ThreadLimit::Processors
    } else {
        ThreadLimit::Unknown
    };
    Some(ThreadScaling { cell: cells[place].settings, limit, steps })
}
