//! Sums up a cell that was measured in several sessions, each by its mean.

use halfpower_spec::JsonSchema;
use serde::Serialize;

use crate::mean::{mean, median, quotient};
use crate::order::{ranks, two_groups};
use crate::{CellFinding, CellSettings, Interval, LatencySummary};

/// The sessions of a study.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SessionsFinding {
    /// Sessions asked for.
    pub asked: u32,
    /// Sessions with a run.
    pub begun: usize,
    /// The cells that were measured in two or more.
    pub cells: Vec<SessionCell>,
}

/// A cell that was measured in two or more sessions.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SessionCell {
    /// Its settings.
    pub cell: CellSettings,
    /// Throughput over the means of sessions in MB/s, with its t interval.
    pub mbps: Interval,
    /// Mean throughput of each session in MB/s, in their order.
    pub session_mbps: Vec<f64>,
    /// Median latency of each session in nanoseconds; empty if one is not known.
    pub session_latency_ns_p50: Vec<f64>,
    /// The 99th percentile likewise.
    pub session_latency_ns_p99: Vec<f64>,
    /// Runs of all sessions.
    pub runs: usize,
    /// Throughput of the slowest of them in MB/s.
    pub least_mbps: f64,
    /// Throughput of the fastest of them in MB/s.
    pub most_mbps: f64,
    /// Latencies of all sessions, but for p50 and p99: the shortest and the longest, otherwise means of sessions.
    #[serde(skip)]
    pub latency_ns: LatencySummary,
    /// The two speeds that it has; `None` if it has one, or of fewer than six sessions.
    pub two_speeds: Option<SessionSpeeds>,
}

/// Two speeds of a cell: the means of its sessions lie in two groups with a gap that is wider than either.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SessionSpeeds {
    /// Median of the slower sessions in MB/s.
    pub lower_mbps: f64,
    /// Their number.
    pub lower_sessions: usize,
    /// Median of the faster sessions in MB/s.
    pub higher_mbps: f64,
    /// Their number.
    pub higher_sessions: usize,
    /// Median of all sessions in MB/s, between the means of two sessions that bound it, whatever the distribution is.
    pub median_mbps: Interval,
    /// How often such bounds hold the median, at least 0.95.
    pub coverage: f64,
}

impl SessionCell {
    /// The cell of a first session with those of the others; `None` if no other has it. `usual_mbps` is the rate of the
    /// windows of the first one that are no longer than those of the others.
    pub(crate) fn of(first: &CellFinding, usual_mbps: f64, others: &[Vec<CellFinding>]) -> Option<Self> {
        let is_it =
            |cell: &&CellFinding| (cell.settings, cell.engine) == (first.settings, first.engine) && cell.usable();
        let others = others.iter().filter_map(|cells| cells.iter().find(is_it));
        let sessions: Vec<&CellFinding> = std::iter::once(first).chain(others).collect();
        if sessions.len() < 2 || !first.usable() || first.prediction.is_some() {
            return None;
        }
        // What the reported rate leaves out, such as a credit, is left out of every session.
        let of_usual = quotient(first.mbps.value, usual_mbps);
        let further = sessions.iter().skip(1).map(|cell| mean(&cell.run_mbps) * of_usual);
        let session_mbps: Vec<f64> = std::iter::once(first.mbps.value).chain(further).collect();
        let known = |ns: &dyn Fn(&CellFinding) -> Option<u64>| -> Vec<f64> {
            let all: Option<Vec<f64>> = sessions.iter().copied().map(|cell| ns(cell).map(|ns| ns as f64)).collect();
            all.unwrap_or_default()
        };
        let runs: Vec<f64> = sessions.iter().flat_map(|cell| cell.run_mbps.iter().copied()).collect();
        Some(Self {
            cell: first.settings,
            mbps: Interval::of_means(&session_mbps),
            session_latency_ns_p50: known(&|cell| cell.latency_ns.p50),
            session_latency_ns_p99: known(&|cell| cell.latency_ns.p99),
            runs: runs.len(),
            least_mbps: runs.iter().copied().reduce(f64::min).unwrap_or(0.0),
            most_mbps: runs.iter().copied().reduce(f64::max).unwrap_or(0.0),
            latency_ns: latency_of_all(&sessions),
            two_speeds: SessionSpeeds::of(&session_mbps),
            session_mbps,
        })
    }
}

/// The latencies of all sessions but p50 and p99, each `None` where one of them does not know it.
fn latency_of_all(sessions: &[&CellFinding]) -> LatencySummary {
    let all = |of: fn(&LatencySummary) -> Option<u64>| -> Option<Vec<u64>> {
        sessions.iter().map(|cell| of(&cell.latency_ns)).collect()
    };
    let mean_of = |of| all(of).map(|ns| mean(&ns.iter().map(|ns| *ns as f64).collect::<Vec<f64>>()).round() as u64);
    let means: Option<Vec<f64>> = sessions.iter().map(|cell| cell.latency_ns.mean).collect();
    LatencySummary {
        min: all(|of| of.min).and_then(|ns| ns.into_iter().min()),
        p90: mean_of(|of| of.p90),
        p999: mean_of(|of| of.p999),
        max: all(|of| of.max).and_then(|ns| ns.into_iter().max()),
        mean: means.map(|ns| mean(&ns)),
        ..LatencySummary::default()
    }
}

impl SessionSpeeds {
    /// The two speeds of these means of sessions, if they lie in two groups.
    fn of(session_mbps: &[f64]) -> Option<Self> {
        let mut ascending = session_mbps.to_vec();
        ascending.sort_by(f64::total_cmp);
        let (rank, coverage) = ranks(ascending.len())?;
        let low = ascending[rank - 1];
        let high = ascending[ascending.len() - rank];
        let (lower, higher) = two_groups(&ascending)?;
        Some(Self {
            lower_mbps: median(lower.to_vec()),
            lower_sessions: lower.len(),
            higher_mbps: median(higher.to_vec()),
            higher_sessions: higher.len(),
            median_mbps: Interval { value: median(session_mbps.to_vec()), low, high },
            coverage,
        })
    }
}
