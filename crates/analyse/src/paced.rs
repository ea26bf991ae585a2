//! Finds whether a direction is limited in slices of time, and which runs were too short for their rate to be valid.
//!
//! A limit that hands out slices makes completions come in regular waves. A window with only a few waves is wrong by up
//! to one of them, so a cell uses only longer windows if it has any.

use std::collections::{BTreeMap, BTreeSet};

use halfpower_record::Record;
use halfpower_spec::{Direction, Pass};

use crate::mean::median;
use crate::waves::{Waves, waves};

/// Periods that a window must contain for a rate from whole waves.
const PERIODS: f64 = 5.5;
/// Turnovers of the queue that a window must contain: behind such a limit the whole queue may complete at once.
const TURNOVERS: f64 = 3.0;
/// Share of the slowest rate seen in waves above which a run counts as limited too.
const NEAR: f64 = 0.5;
/// Relative distance of wave periods from the median within which they count as equal.
const ALIKE: f64 = 0.15;
/// Share of runs in waves, among those near the limit, from which the limit counts as real.
const SEEN_IN: f64 = 0.25;

/// A limit that hands out slices of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Paced {
    /// Time from one slice to the next, in nanoseconds.
    pub period_ns: u64,
    /// The slowest rate seen in waves, in MB/s; something else limits slower runs.
    least_mbps: f64,
}

impl Paced {
    /// The limit on these runs; `None` if too few of them complete in waves, or if only requests of one size do: disks
    /// in lockstep complete together too, but their period depends on the size.
    fn of(records: &[&Record]) -> Option<Self> {
        let regular = |record: &Record| waves(record).filter(|waves| waves.regular);
        let seen: Vec<(Waves, &Record)> =
            records.iter().filter_map(|record| Some((regular(record)?, *record))).collect();
        let period_ns = median(seen.iter().map(|(waves, _)| waves.period_ns as f64).collect());
        let alike = |(waves, _): &&(Waves, &Record)| (waves.period_ns as f64 / period_ns - 1.0).abs() <= ALIKE;
        let alike: Vec<&(Waves, &Record)> = seen.iter().filter(alike).collect();
        let sizes: BTreeSet<u64> = alike.iter().map(|(_, record)| record.run.workload.bs.0).collect();
        let least_mbps = alike.iter().map(|(_, record)| record.mbps()).reduce(f64::min)?;
        let paced = Self { period_ns: period_ns as u64, least_mbps };
        let near = records.iter().filter(|record| paced.is_near(record) && !paced.is_short(record)).count();
        (sizes.len() > 1 && alike.len() as f64 >= SEEN_IN * near as f64).then_some(paced)
    }

    fn is_near(&self, record: &Record) -> bool {
        record.mbps() >= NEAR * self.least_mbps
    }

    fn is_short(&self, record: &Record) -> bool {
        let queue_bytes = record.run.workload.bs.0 as f64 * f64::from(record.run.workload.total_depth());
        let turnover_ns = queue_bytes * 1e3 / record.mbps().max(f64::MIN_POSITIVE);
        (record.elapsed_ns as f64) < (PERIODS * self.period_ns as f64).max(TURNOVERS * turnover_ns)
    }

    /// Whether the run's window cuts waves, so that its rate is not valid.
    pub fn cuts(&self, record: &Record) -> bool {
        self.is_short(record) && self.is_near(record)
    }
}

/// The slice limit of each direction that has one.
pub(crate) fn paced<'a>(records: impl Iterator<Item = &'a Record>) -> BTreeMap<Direction, Paced> {
    let mut directions: BTreeMap<Direction, Vec<&Record>> = BTreeMap::new();
    for record in records.filter(|record| record.run.workload.cache.direct()) {
        if let Some(direction) = record.run.workload.rw.direction() {
            directions.entry(direction).or_default().push(record);
        }
    }
    directions.into_iter().filter_map(|(direction, of)| Some((direction, Paced::of(&of)?))).collect()
}

/// Removes the runs of a cell whose windows cut waves, if others remain; returns the limit if all of them do.
pub(crate) fn keep_whole_waves(paced: &BTreeMap<Direction, Paced>, runs: &mut Vec<&Record>) -> Option<Paced> {
    let direction = runs.first().and_then(|record| record.run.workload.rw.direction())?;
    let paced = *paced.get(&direction)?;
    let is_whole = |record: &&Record| record.run.pass == Pass::Soaker || !paced.cuts(record);
    if runs.iter().any(|record| record.run.pass == Pass::Plain && !paced.cuts(record)) {
        runs.retain(is_whole);
        return None;
    }
    runs.iter().any(|record| paced.cuts(record)).then_some(paced)
}
