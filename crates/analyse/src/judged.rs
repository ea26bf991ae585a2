//! Judges whether a cell was steady from all its runs.
//!
//! A cell is not steady if most of its runs are not. One disturbed run does not condemn it, since the interval over
//! runs already shows that run.

use halfpower_record::Record;
use halfpower_spec::{Nanos, Workload};

use crate::mean::some_mean;
use crate::steady::{Burst, Steadiness, judge};
use crate::waves::{Paced, RunRate, Waves, waves, waves_after};
use crate::{Interval, Unsteady};

/// Relative change of a run's rate below which nothing is trimmed: it would not be visible.
const WORTH_TRIMMING: f64 = 0.01;
/// Waves of requests that a start must lack to be a warm-up: the first wave of a deep queue is always late.
const WAVES: f64 = 2.0;

/// Throughput of one run in MB/s as its cell counts it: without an unsteady start; 0 if nothing moved.
pub fn run_mbps(record: &Record) -> f64 {
    if record.elapsed_ns == 0 || record.bytes == 0 {
        return 0.0;
    }
    rate(record, &judge(&record.series), None).mbps
}

/// The waves in which a run's requests completed, where its window cut them, so that the rate between them is another one than
/// that of the window: behind a limit that hands out slices, a second of ten of them may miss most of one. `None` elsewhere, and
/// where the run's own pauses or its asked rate may have made them.
pub fn cut_waves(record: &Record) -> Option<Waves> {
    let Workload { rate, options, .. } = record.run.workload;
    let is_free = rate.is_none() && options.thinktime == Nanos(0) && options.file_operation.is_none();
    let waves = waves(record).filter(|_| is_free && record.flush_ns == 0)?;
    waves.mbps.is_some_and(|mbps| matters(mbps, record.mbps())).then_some(waves)
}

/// Whether a rate differs visibly from that of the whole window.
fn matters(mbps: f64, whole_mbps: f64) -> bool {
    (mbps / whole_mbps - 1.0).abs() > WORTH_TRIMMING
}

/// The runs of one cell, judged.
pub(crate) struct Judged {
    runs: Vec<Steadiness>,
    rates: Vec<Counted>,
}

/// A run's throughput as its cell counts it.
#[derive(Clone, Copy)]
struct Counted {
    mbps: f64,
    /// What its waves or slices leave open, as a share of it; 0 where it has none.
    reach: f64,
    /// Share of the run's time that the rate leaves out.
    trimmed: f64,
}

impl Judged {
    /// The runs of a cell, behind this limit that hands out slices, if there is one.
    pub fn of(records: &[&Record], paced: Option<Paced>) -> Self {
        let runs: Vec<Steadiness> = records.iter().map(|record| judge(&record.series)).collect();
        let rates = records.iter().zip(&runs).map(|(record, run)| rate(record, run, paced)).collect();
        Self { runs, rates }
    }

    /// Throughput of each run: over the whole window, or over the rest if a start was trimmed.
    pub fn run_mbps(&self) -> Vec<f64> {
        self.rates.iter().map(|rate| rate.mbps).collect()
    }

    /// A cell's interval, no narrower than what the waves or slices of one run leave open. The runs of a cell begin alike, so that
    /// behind slices that are not alike all of them may be off by the same.
    pub fn no_surer_than_its_waves(&self, mbps: Interval) -> Interval {
        mbps.widened_to(some_mean(self.rates.iter().map(|rate| rate.reach)).unwrap_or(0.0))
    }

    pub fn is_steady(&self) -> bool {
        !most(self.unsteady_runs().count(), self.runs.len())
    }

    /// The objection to the first unsteady run, if most are unsteady.
    pub fn unsteady(&self) -> Option<Unsteady> {
        let objection = self.unsteady_runs().find_map(|run| run.objection).filter(|_| !self.is_steady())?;
        Some(Unsteady { objection, unsteady_runs: self.unsteady_runs().count(), runs: self.runs.len() })
    }

    pub fn trimmed_share(&self) -> f64 {
        some_mean(self.rates.iter().map(|rate| rate.trimmed)).unwrap_or(0.0)
    }

    /// Mean rates before and after the burst, if most runs began with one.
    pub fn burst(&self) -> Option<(f64, f64)> {
        let bursts: Vec<Burst> = self.runs.iter().filter_map(|run| run.burst).collect();
        if !most(bursts.len(), self.runs.len()) {
            return None;
        }
        let mean = |of: fn(&Burst) -> f64| some_mean(bursts.iter().map(of));
        Some((mean(|burst| burst.burst_mbps)?, mean(|burst| burst.sustained_mbps)?))
    }

    /// The median over runs of the relative half width from five parts of a run.
    pub fn within_reach(&self) -> Option<f64> {
        let mut all: Vec<f64> =
            self.runs.iter().filter(|run| run.conclusive).map(|run| run.within.relative_reach()).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    }

    fn unsteady_runs(&self) -> impl Iterator<Item = &Steadiness> {
        self.runs.iter().filter(|run| !run.steady)
    }
}

fn most(count: usize, of: usize) -> bool {
    count * 2 > of
}

/// A run's throughput.
///
/// If requests complete in waves, it is the rate between waves, if that makes a difference. If other runs show a limit that
/// hands out slices, it is the rate over whole slices, likewise; of the two, the surer one counts.
///
/// A start is trimmed only if the run was steady after it and had no closing flush: the data to flush arrived over the
/// whole window, so the flush counts for all of it.
fn rate(record: &Record, run: &Steadiness, paced: Option<Paced>) -> Counted {
    let cut = run.trimmed_steps.min(record.series.bytes.len());
    let cut_ns = cut as f64 * record.series.step_ns as f64;
    let rest_ns = record.elapsed_ns as f64 - cut_ns;
    let cut_bytes: f64 = record.series.bytes[..cut].iter().map(|bytes| *bytes as f64).sum();
    let rest_bytes = record.bytes as f64 - cut_bytes;
    let matters = |mbps: f64| matters(mbps, record.mbps());
    let uncut = uncut_rate(record, cut, paced);
    if let Some(RunRate { mbps, reach, lasts_ns }) = uncut
        && matters(mbps)
    {
        return Counted { mbps, reach, trimmed: 1.0 - (lasts_ns / record.elapsed_ns as f64).min(1.0) };
    }
    let whole = Counted { mbps: record.mbps(), reach: uncut.map_or(0.0, |rate| rate.reach), trimmed: 0.0 };
    if cut == 0 || !run.steady || record.flush_ns > 0 || rest_ns <= 0.0 || rest_bytes <= 0.0 {
        return whole;
    }
    let workload = &record.run.workload;
    let wave = workload.bs.0 as f64 * f64::from(workload.iodepth) * f64::from(workload.threads);
    let rest = rest_bytes * 1e3 / rest_ns;
    let lacking = (rest * cut_ns / 1e3 - cut_bytes).abs();
    let worth = lacking > WAVES * wave && matters(rest);
    if worth { Counted { mbps: rest, trimmed: cut_ns / record.elapsed_ns as f64, ..whole } } else { whole }
}

/// The rate after the first `cut` steps of a run that completes in waves, or lies behind this limit in slices; `None` of others.
fn uncut_rate(record: &Record, cut: usize, paced: Option<Paced>) -> Option<RunRate> {
    let waves = waves_after(&record.series, cut, record.run.workload.bs.0).filter(|_| record.flush_ns == 0);
    let between_waves = waves.and_then(|waves| waves.rate());
    let whole_slices = paced.and_then(|paced| paced.over_whole_slices(record));
    // The waves of members that have a limit each are not alike while one of them spends its credit.
    if record.run.workload.options.members > 1 {
        return whole_slices.or(between_waves);
    }
    between_waves.into_iter().chain(whole_slices).min_by(|one, other| one.reach.total_cmp(&other.reach))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waves::tests::{BEHIND_UNEVEN, UNEVEN, UNEVEN_MBPS, uneven};

    /// All runs of such a cell begin with the same slice, so that they agree on a rate that need not be that of the limit.
    #[test]
    fn a_cell_whose_runs_agree_is_no_surer_than_uneven_slices_leave_it() {
        for window_ms in (900..=4000).step_by(100) {
            for first in 0..UNEVEN.len() {
                let record = uneven(window_ms, first);
                let judged = Judged::of(&[&record; 5], Some(BEHIND_UNEVEN));
                let agreed = Interval::of_means(&judged.run_mbps());
                let Interval { value, low, high } = judged.no_surer_than_its_waves(agreed);
                let case = format!("{window_ms} ms from {first}: {value} ({low} to {high}) of {UNEVEN_MBPS}");
                assert!((agreed.high - agreed.low).abs() < 1e-6, "{case}");
                assert!(low <= UNEVEN_MBPS && UNEVEN_MBPS <= high, "{case}");
                assert!((value / UNEVEN_MBPS - 1.0).abs() < 0.06, "{case}");
            }
        }
    }
}
