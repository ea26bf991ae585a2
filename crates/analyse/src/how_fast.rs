//! Chooses the few cells that show how fast a target is: small requests and the best cell, for reads and for writes.

use halfpower_spec::{Direction, JsonSchema, Pattern};
use serde::Serialize;

use crate::headline::{durable_cell, more_seconds};
use crate::path::{peak, unsure_peak};
use crate::{CellFinding, CellSettings, Interval, LatencySummary, Sureness};

/// What a row of the answer represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateRole {
    /// The smallest requests, many at once.
    SmallDeep,
    /// The smallest requests, one at a time.
    SmallAlone,
    /// The most bytes a second.
    Best,
    /// What may move more than the best, and is not known: its runs differ too much.
    Unsure,
}

impl RateRole {
    /// Whether requests a second describe it, and not bytes.
    pub fn is_small(self) -> bool {
        matches!(self, Self::SmallDeep | Self::SmallAlone)
    }
}

/// One row of the answer to "how fast".
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RateRow {
    /// What it represents.
    pub role: RateRole,
    /// The cell.
    #[serde(flatten)]
    pub cell: CellSettings,
    /// Rate of the cell. For writes: the accepted rate.
    #[serde(flatten)]
    pub rate: CellRate,
    /// Direct writes only: the same writes if each is durable before it completes, if that was measured.
    pub durable: Option<CellRate>,
}

/// Rate and latency of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CellRate {
    /// Throughput in MB/s.
    pub mbps: Interval,
    /// Requests a second.
    pub iops: Interval,
    /// How well both are known.
    pub sureness: Sureness,
    /// Median latency in nanoseconds; `None` if not known.
    pub latency_ns_p50: Option<u64>,
    /// 99th percentile of latency in nanoseconds; `None` if not known.
    pub latency_ns_p99: Option<u64>,
    /// The median latency of its runs with the interval; `None` if not known, or of fewer than two runs.
    pub latency_ns_p50_interval: Option<Interval>,
    /// The 99th percentile likewise.
    pub latency_ns_p99_interval: Option<Interval>,
    /// Whether half of the requests took less than a quarter of the mean, or of what a direct read of the same size
    /// takes alone: reads whose bytes read-ahead had fetched.
    pub read_ahead: bool,
    /// Runs behind it.
    pub runs: usize,
    /// Throughput of its slowest run in MB/s.
    pub least_mbps: f64,
    /// Throughput of its fastest run in MB/s.
    pub most_mbps: f64,
    /// Whether it was steady within its runs.
    pub steady: bool,
}

/// The rows for `cells`, reads first; `seconds_a_run` is the mean time of a run.
///
/// A row exists if its cell was measured and allows a conclusion. Small requests are those of the smallest block size,
/// random and direct if there are such cells. No cell has two rows.
pub fn how_fast(cells: &[CellFinding], seconds_a_run: f64) -> Vec<RateRow> {
    let mut rows: Vec<RateRow> = Vec::new();
    for rw in Direction::ALL {
        let small = smallest(cells, *rw);
        let deep = small.iter().copied().max_by_key(|cell| (cell.total_depth(), cell.run_mbps.len()));
        let alone = small.iter().copied().find(|cell| cell.total_depth() == 1).filter(|_| *rw == Direction::Read);
        let chosen = [
            (RateRole::SmallDeep, deep),
            (RateRole::SmallAlone, alone),
            (RateRole::Best, peak(cells, *rw)),
            (RateRole::Unsure, unsure_peak(cells, *rw)),
        ];
        for (role, cell) in chosen {
            let Some(cell) = cell.filter(|cell| rows.iter().all(|row| row.cell != cell.settings)) else {
                continue;
            };
            let durable = durable_cell(cell, cells).map(|durable| CellRate::of(durable, cells, seconds_a_run));
            let rate = CellRate::of(cell, cells, seconds_a_run);
            rows.push(RateRow { role, cell: cell.settings, rate, durable });
        }
    }
    rows
}

/// The cells of the smallest block size on the path that represents small requests: direct before buffered, random
/// before sequential.
fn smallest(cells: &[CellFinding], rw: Direction) -> Vec<&CellFinding> {
    let rank = |cell: &CellFinding| (!cell.cache.direct(), cell.pattern != Pattern::Random, cell.cache);
    let usable = || cells.iter().filter(move |cell| cell.rw == rw && cell.usable());
    let Some(path) = usable().map(rank).min() else { return Vec::new() };
    let on_path = || usable().filter(move |cell| rank(cell) == path);
    let least = on_path().map(|cell| cell.bs_bytes).min();
    on_path().filter(|cell| Some(cell.bs_bytes) == least).collect()
}

/// Share of the mean latency, or of a direct read's alone, below which a median of buffered reads is that of bytes that
/// were in memory already.
const AHEAD: f64 = 0.25;

/// Whether the median latency is that of reads whose bytes read-ahead had fetched. Where it fetched all of them in
/// time, the mean is of memory as well, and only a direct read tells what the device takes.
fn is_of_read_ahead(cell: &CellFinding, cells: &[CellFinding]) -> bool {
    if cell.cache.direct() || cell.rw != Direction::Read || cell.pattern != Pattern::Sequential {
        return false;
    }
    let LatencySummary { p50, mean, .. } = cell.latency_ns;
    let alone = cells.iter().filter(|other| {
        let is_direct_read = other.cache.direct() && other.rw == Direction::Read && other.usable();
        is_direct_read && other.total_depth() == 1 && other.bs_bytes == cell.bs_bytes
    });
    let of_device = alone.filter_map(|other| other.latency_ns.p50).min().map(|ns| ns as f64);
    let is_far_below = |ns: f64| p50.is_some_and(|p50| (p50 as f64) < AHEAD * ns);
    mean.into_iter().chain(of_device).any(is_far_below)
}

impl CellRate {
    fn of(cell: &CellFinding, cells: &[CellFinding], seconds_a_run: f64) -> Self {
        let runs = cell.run_mbps.len();
        // Both count the same requests, so both have the same relative error.
        let scale = if cell.mbps.value > 0.0 { cell.iops / cell.mbps.value } else { 0.0 };
        let mbps = cell.prediction.map_or(cell.mbps, |prediction| prediction.mbps);
        let Interval { low, high, .. } = mbps;
        let sureness = match cell.prediction {
            // More runs of a prediction tell nothing more.
            Some(_) => Sureness::of(&mbps, runs.max(2), None),
            None => Sureness::of(&mbps, runs, more_seconds(cell, seconds_a_run)),
        };
        Self {
            mbps,
            iops: Interval { value: cell.iops, low: low * scale, high: high * scale },
            sureness,
            latency_ns_p50: cell.latency_ns.p50,
            latency_ns_p99: cell.latency_ns.p99,
            latency_ns_p50_interval: cell.latency_ns.p50_interval,
            latency_ns_p99_interval: cell.latency_ns.p99_interval,
            read_ahead: is_of_read_ahead(cell, cells),
            runs,
            least_mbps: cell.run_mbps.iter().copied().reduce(f64::min).unwrap_or(0.0),
            most_mbps: cell.run_mbps.iter().copied().reduce(f64::max).unwrap_or(0.0),
            steady: cell.steady,
        }
    }
}
