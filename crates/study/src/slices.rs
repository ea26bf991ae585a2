//! Handles limits that work in time slices, so that windows hold enough slices.
//!
//! A control group releases its limit ten times a second, and other limits do likewise, so requests complete in waves.
//! A window of a few waves is wrong by up to a whole wave.

use halfpower_record::Environment;
use halfpower_spec::{Bytes, Direction, Nanos};

use crate::observed_cell::Observation;

/// Slices that a window should hold, and the fewest.
const SLICES: f64 = 9.0;
const FEWEST_SLICES: f64 = 6.5;
/// Slices that a window of several members should hold: each spends its credit with up to six of them.
const SLICES_OF_MEMBERS: f64 = 17.0;
/// Largest share of the budget for such a window, and for a window of the fewest slices.
const SHARE: f64 = 0.05;
const MOST_SHARE: f64 = 0.15;
/// Times that a window should turn the queue over, and the fewest: behind such a limit, a whole queue may complete at once, and
/// slices of a deep queue of large requests need not be alike.
const TURNOVERS: f64 = 9.0;
const FEWEST_TURNOVERS: f64 = 3.5;
/// Slices of the kernel's control groups (`DFL_THROTL_SLICE_HD`, block/blk-throttle.c), in nanoseconds.
const CGROUP_SLICE_NS: u64 = 100_000_000;
/// Shortest slice that needs longer windows, in nanoseconds.
const LEAST_SLICE_NS: u64 = 50_000_000;
/// A cell counts as limited if its rate exceeds this share of the slowest rate seen in waves.
const NEAR: f64 = 0.5;
/// The probe's name for limits of a control group.
const CGROUP_LEVEL: &str = "cgroup limit";

/// A limit that is released in time slices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slices {
    period_ns: u64,
    /// The slowest rate seen under the limit, in MB/s.
    least_mbps: f64,
    /// Slices that a window should hold.
    wanted: f64,
}

impl Slices {
    /// The limit that the path's levels advertise for requests of at least `least_bs`.
    pub fn advertised(environment: &Environment, direction: Direction, least_bs: Bytes) -> Option<Self> {
        let holds = |of: Option<Direction>| of.is_none_or(|of| of == direction);
        let levels = environment.levels.iter();
        let limits = levels.filter(|level| level.name.starts_with(CGROUP_LEVEL) && holds(level.direction));
        let rates = limits.flat_map(|level| {
            let by_requests = level.pap_iops.map(|iops| iops * least_bs.0 as f64 / 1e6);
            [level.pap.map(|pap| pap.mbps()), by_requests].into_iter().flatten()
        });
        let least_mbps = rates.reduce(f64::min)?;
        Some(Self { period_ns: CGROUP_SLICE_NS, least_mbps, wanted: SLICES })
    }

    /// The limit that a run shows; `None` if its requests did not complete in waves.
    pub fn seen(seen: &Observation) -> Option<Self> {
        let direct = seen.run.workload.cache.direct();
        let period_ns = seen.wave_ns.filter(|period_ns| direct && *period_ns >= LEAST_SLICE_NS)?;
        Some(Self { period_ns, least_mbps: seen.mbps, wanted: SLICES })
    }

    /// Combines this limit with what was known before.
    pub fn joined(self, known: Option<Self>) -> Self {
        let Some(known) = known else { return self };
        Self {
            period_ns: self.period_ns.max(known.period_ns),
            least_mbps: self.least_mbps.min(known.least_mbps),
            wanted: self.wanted,
        }
    }

    /// The limit as so many members together meet it.
    pub fn of_members(self, members: u32) -> Self {
        Self { wanted: if members > 1 { SLICES_OF_MEMBERS } else { SLICES }, ..self }
    }

    /// The window of a cell with expected rate `mbps` and `queue_bytes` in flight: `usual`, or a longer one that holds
    /// enough slices and turns the queue over often enough, as far as the budget allows.
    pub fn window(&self, usual: Nanos, mbps: Option<f64>, queue_bytes: f64, budget: Nanos) -> Nanos {
        if mbps.is_some_and(|mbps| mbps < NEAR * self.least_mbps) {
            return usual;
        }
        let of = |slices: f64| slices * self.period_ns as f64;
        let share = |share: f64| share * budget.0 as f64;
        let wanted = [self.wanted, SLICES].into_iter().map(of).find(|length| *length <= share(SHARE));
        let needed = wanted.unwrap_or(of(FEWEST_SLICES));
        let turned_over = |times: f64| needed.max(times * queue_bytes * 1e3 / self.limited_mbps(mbps));
        let (often, enough) = (turned_over(TURNOVERS), turned_over(FEWEST_TURNOVERS));
        let needed = if often <= share(SHARE) { often } else { enough };
        if needed <= share(MOST_SHARE) { Nanos(usual.0.max(needed as u64)) } else { usual }
    }

    /// Most bytes in flight that a window turns over often enough within a budget, at a rate of `mbps`.
    pub fn most_queue_bytes(&self, mbps: Option<f64>, budget: Nanos) -> f64 {
        MOST_SHARE * budget.0 as f64 * self.limited_mbps(mbps) / 1e3 / FEWEST_TURNOVERS
    }

    /// The rate behind the limit of a cell with expected rate `mbps`.
    fn limited_mbps(&self, mbps: Option<f64>) -> f64 {
        mbps.unwrap_or(self.least_mbps).max(self.least_mbps)
    }
}
