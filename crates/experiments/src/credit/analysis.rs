//! Analyses `credit`: finds in each run when a credit ended, and the rate after it.

use halfpower_analyse::{ExperimentCell, Interval, SustainedLimit, judge, levels, run_mbps, waves};
use halfpower_record::{Record, total};
use halfpower_spec::{Direction, Pass};

use super::answer::{CreditAnswer, LimitCounts, LimitFinding};
use super::rows::{CreditRow, CreditSpent, LimitSlices, Rows};
use crate::data::ExperimentData;

/// Smallest ratio of the rate within a credit to the sustained rate.
const FASTER: f64 = 1.25;
/// Smallest excess of a run's beginning that counts as a credit: a share of the limit's bytes, and a number of slices.
const EXCESS: f64 = 0.1;
const SLICES: f64 = 2.0;
/// Factor above a known limit from which a sustained rate is not believed.
const ABOVE_KNOWN: f64 = 1.05;
/// Share of a credit whose spending counts as its end.
const NEARLY_ALL: f64 = 0.95;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, CreditAnswer) {
    let mut rows: Vec<CreditRow> = data.sound().filter_map(row).collect();
    let levels = levels(data.question, data.environment);
    let is_above = |row: &CreditRow| {
        let limits = levels.iter().filter(|level| !level.id.kind.is_of_the_host());
        let limit = limits.filter_map(|level| level.most_mbps(row.rw, row.bs_bytes, &(0..0))).reduce(f64::min);
        limit.is_some_and(|limit| row.mbps.value > ABOVE_KNOWN * limit)
    };
    // A rate above a known limit still comes from the credit.
    rows.iter_mut().filter(|row| is_above(row)).for_each(|row| (row.settled, row.above_known) = (false, true));
    rows.sort_by_key(|row| (row.rw, row.bs_bytes));
    let limits = limits(&rows);
    (Rows { credit: rows }, CreditAnswer { limits })
}

/// The limit of each measured direction.
fn limits(rows: &[CreditRow]) -> Vec<LimitFinding> {
    let limit = |direction: &Direction| {
        let mut of = rows.iter().filter(|row| row.rw == *direction);
        let small = of.next()?;
        Some(LimitFinding::of(small, of.next_back().unwrap_or(small)))
    };
    let mut limits: Vec<LimitFinding> = Direction::ALL.iter().filter_map(limit).collect();
    // If both directions share a limit and the first has spent its credit, the second shows no credit and the same
    // rate.
    let seen: Vec<LimitFinding> = limits.iter().copied().filter(|found| found.counts != LimitCounts::Nothing).collect();
    for found in limits.iter_mut().filter(|found| found.counts == LimitCounts::Nothing) {
        let same = seen.iter().find(|other| found.is_at_the_rate_of(other));
        found.counts = same.map_or(found.counts, |other| other.counts);
    }
    limits
}

/// The sustained limit of each limited direction.
pub(crate) fn sustained(rows: &[CreditRow]) -> Vec<SustainedLimit> {
    let limit = |found: LimitFinding| {
        let (on_bytes, on_requests) = match found.counts {
            LimitCounts::Bytes => (true, false),
            LimitCounts::Requests => (false, true),
            LimitCounts::Both => (true, true),
            LimitCounts::Nothing | LimitCounts::Unknown => return None,
        };
        let mbps = on_bytes.then_some(found.sustained_mbps);
        Some(SustainedLimit { rw: found.rw, mbps, iops: on_requests.then_some(found.sustained_iops) })
    };
    limits(rows).into_iter().filter_map(limit).collect()
}

/// The interval over runs; of a single run, from its parts.
fn interval(rates: &[f64], reach: f64) -> Interval {
    match rates {
        [mbps] if reach.is_finite() => Interval { value: *mbps, low: mbps * (1.0 - reach), high: mbps * (1.0 + reach) },
        _ => Interval::of_means(rates),
    }
}

/// What one run shows.
struct RunRates {
    /// The sustained rate at the end, in MB/s.
    mbps: f64,
    /// The faster part before it.
    credit: Option<CreditSpent>,
    steady: bool,
    /// Relative half width of the run's interval, from five parts of the run.
    reach: f64,
}

fn row(cell: &ExperimentCell) -> Option<CreditRow> {
    let runs = || cell.records.iter().copied().filter(|record| record.run.pass == Pass::Plain && record.bytes > 0);
    let went: Vec<RunRates> = runs().map(went).collect();
    let last = went.last()?;
    // Runs within the credit show nothing about the sustained rate.
    let faster = |one: &RunRates| one.mbps > FASTER * last.mbps;
    let rates: Vec<f64> = went.iter().filter(|one| !faster(one)).map(|one| one.mbps).collect();
    let mbps = interval(&rates, last.reach);
    // A credit seen in such a run is too small, since what followed was not yet the sustained rate.
    let credits = went.iter().filter(|one| !faster(one)).filter_map(|one| one.credit);
    let credits = credits.chain(between(runs(), &went, faster, mbps.value));
    let bs_bytes = cell.finding.bs_bytes;
    Some(CreditRow {
        rw: cell.finding.rw,
        bs_bytes,
        iodepth: cell.finding.iodepth,
        mbps,
        iops: mbps.value * 1e6 / bs_bytes as f64,
        seconds: runs().map(|record| record.elapsed_ns).max()? as f64 / 1e9,
        bytes: total(runs().map(|record| record.bytes)),
        credit: credits.reduce(|most, next| if next.bytes > most.bytes { next } else { most }),
        slices: slices(runs()),
        above_known: false,
        settled: went.iter().filter(|one| !faster(one)).all(|one| one.steady),
    })
}

fn went(record: &Record) -> RunRates {
    let whole = judge(&record.series);
    // A credit spent at once is over by the middle of the run; a longer one shows as a change of rate.
    let cut_ns = whole.burst.map_or(record.elapsed_ns / 2, |burst| burst.lasted_ns);
    let rest = after(record, cut_ns);
    let mbps = run_mbps(&rest);
    let before_ns = (record.elapsed_ns - rest.elapsed_ns) as f64;
    let limited = mbps * before_ns / 1e3;
    let bytes = (record.bytes - rest.bytes) as f64 - limited;
    // A single saved-up slice is not a credit.
    let slice = waves(record).filter(|waves| waves.regular).map_or(0.0, |waves| waves.bytes);
    let steady = whole.steady && !cuts_waves(record);
    let without = || RunRates { mbps: run_mbps(record), credit: None, steady, reach: whole.within_reach() };
    if mbps <= 0.0 || bytes < (EXCESS * limited).max(SLICES * slice) {
        return without();
    }
    let lasts_s = lasts_s(record, mbps, bytes);
    let ios = bytes / record.run.workload.bs.0.max(1) as f64;
    let credit = CreditSpent { mbps: mbps + bytes / 1e6 / lasts_s, lasts_s, bytes, ios, at_least: false };
    let steady = !cuts_waves(&rest);
    let rest = judge(&rest.series);
    if credit.mbps < FASTER * mbps {
        return without();
    }
    RunRates { mbps, credit: Some(credit), steady: steady && rest.steady, reach: rest.within_reach() }
}

/// Whether the run has regular waves, but too few for a rate: a cut wave at either end would distort it.
fn cuts_waves(record: &Record) -> bool {
    waves(record).is_some_and(|waves| waves.regular && waves.mbps.is_none())
}

/// Time in seconds until nearly all of a credit of `bytes` was spent.
fn lasts_s(record: &Record, mbps: f64, bytes: f64) -> f64 {
    let step_bytes = mbps * record.series.step_ns as f64 / 1e3;
    let mut spent = 0.0;
    let is_rest = |moved: &u64| {
        spent += *moved as f64 - step_bytes;
        spent >= NEARLY_ALL * bytes
    };
    let steps = record.series.bytes.iter().position(is_rest).map_or(record.series.bytes.len(), |at| at + 1);
    steps as f64 * record.series.step_ns as f64 / 1e9
}

/// The part of a run after `cut_ns` nanoseconds, as a run.
fn after(record: &Record, cut_ns: u64) -> Record {
    let mut rest = record.clone();
    let cut = ((cut_ns / record.series.step_ns.max(1)) as usize).min(record.series.bytes.len());
    let before = total(rest.series.bytes.drain(..cut));
    rest.bytes = record.bytes.saturating_sub(before);
    rest.elapsed_ns = record.elapsed_ns.saturating_sub(cut as u64 * record.series.step_ns);
    rest
}

/// A credit that ended between two runs, or too late in a run to show the sustained rate: everything moved faster than
/// that rate.
fn between<'a>(
    runs: impl Iterator<Item = &'a Record>,
    went: &[RunRates],
    faster: impl Fn(&RunRates) -> bool,
    mbps: f64,
) -> Option<CreditSpent> {
    let runs: Vec<&Record> = runs.zip(went).filter(|(_, went)| faster(went)).map(|(run, _)| run).collect();
    let sum = |of: fn(&Record) -> u64| runs.iter().map(|run| of(run) as f64).sum::<f64>();
    let (moved, ns) = (sum(|run| run.bytes), sum(|run| run.elapsed_ns));
    let bytes = moved - mbps * ns / 1e3;
    let ios = bytes / runs.first()?.run.workload.bs.0.max(1) as f64;
    Some(CreditSpent { mbps: moved * 1e3 / ns, lasts_s: ns / 1e9, bytes, ios, at_least: true })
}

fn slices<'a>(runs: impl Iterator<Item = &'a Record>) -> Option<LimitSlices> {
    let seen = runs.filter_map(waves).filter(|waves| waves.regular).last()?;
    Some(LimitSlices { every_ms: seen.period_ns as f64 / 1e6, bytes: seen.bytes })
}
