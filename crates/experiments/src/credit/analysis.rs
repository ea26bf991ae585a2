//! Analyses `credit`: finds in each run where a credit ended, and what went on after it.

use halfpower_analyse::{ExperimentCell, Interval, SustainedLimit, judge, levels, run_mbps, waves};
use halfpower_record::{Record, total};
use halfpower_spec::{Direction, Pass};

use super::answer::{CreditAnswer, LimitCounts, LimitFinding};
use super::rows::{CreditRow, CreditSpent, LimitSlices, Rows};
use crate::data::ExperimentData;

/// How much faster than what goes on requests are within a credit.
const FASTER: f64 = 1.25;
/// Share of what a limit lets through that a start has to move more, and slices, to have been a credit.
const EXCESS: f64 = 0.1;
const SLICES: f64 = 2.0;
/// Factor of a known limit above which what goes on is none.
const ABOVE_KNOWN: f64 = 1.05;
/// Share of a credit whose spending is taken for its end.
const NEARLY_ALL: f64 = 0.95;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, CreditAnswer) {
    let mut rows: Vec<CreditRow> = data.sound().filter_map(row).collect();
    let levels = levels(data.question, data.environment);
    let is_above = |row: &CreditRow| {
        let limits = levels.iter().filter(|level| !level.id.kind.is_of_the_host());
        let limit = limits.filter_map(|level| level.most_mbps(row.rw, row.bs_bytes, &(0..0))).reduce(f64::min);
        limit.is_some_and(|limit| row.mbps.value > ABOVE_KNOWN * limit)
    };
    // What goes on above a limit that is known is still the credit.
    rows.iter_mut().filter(|row| is_above(row)).for_each(|row| (row.told, row.above_known) = (false, true));
    rows.sort_by_key(|row| (row.rw, row.bs_bytes));
    let limits = limits(&rows);
    (Rows { credit: rows }, CreditAnswer { limits })
}

/// The limit of each direction that was measured.
fn limits(rows: &[CreditRow]) -> Vec<LimitFinding> {
    let limit = |direction: &Direction| {
        let mut of = rows.iter().filter(|row| row.rw == *direction);
        let small = of.next()?;
        Some(LimitFinding::of(small, of.next_back().unwrap_or(small)))
    };
    let mut limits: Vec<LimitFinding> = Direction::ALL.iter().filter_map(limit).collect();
    // A limit that both directions share, and whose credit the first has spent, lets the other go on at the same rate.
    let seen: Vec<LimitFinding> = limits.iter().copied().filter(|found| found.counts != LimitCounts::Nothing).collect();
    for found in limits.iter_mut().filter(|found| found.counts == LimitCounts::Nothing) {
        let same = seen.iter().find(|other| found.is_at_the_rate_of(other));
        found.counts = same.map_or(found.counts, |other| other.counts);
    }
    limits
}

/// What each direction that is limited sustains.
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

/// The interval over runs; of a single one by its own parts.
fn interval(rates: &[f64], reach: f64) -> Interval {
    match rates {
        [mbps] if reach.is_finite() => Interval { value: *mbps, low: mbps * (1.0 - reach), high: mbps * (1.0 + reach) },
        _ => Interval::of_means(rates),
    }
}

/// What one run shows.
struct Went {
    /// What went on at last, in MB/s.
    mbps: f64,
    /// What was faster before.
    credit: Option<CreditSpent>,
    steady: bool,
    /// What five parts of it leave open, as a share.
    reach: f64,
}

fn row(cell: &ExperimentCell) -> Option<CreditRow> {
    let runs = || cell.records.iter().copied().filter(|record| record.run.pass == Pass::Plain && record.bytes > 0);
    let went: Vec<Went> = runs().map(went).collect();
    let last = went.last()?;
    // Runs before the credit had ended say nothing of what goes on.
    let faster = |one: &Went| one.mbps > FASTER * last.mbps;
    let rates: Vec<f64> = went.iter().filter(|one| !faster(one)).map(|one| one.mbps).collect();
    let mbps = interval(&rates, last.reach);
    // What such a run seems to have had is less than it had: its rest is no rest.
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
        told: went.iter().filter(|one| !faster(one)).all(|one| one.steady),
    })
}

fn went(record: &Record) -> Went {
    let whole = judge(&record.series);
    // A credit that is spent at once is over by the middle; one that lasts longer shows as a change.
    let cut_ns = whole.burst.map_or(record.elapsed_ns / 2, |burst| burst.lasted_ns);
    let rest = after(record, cut_ns);
    let mbps = run_mbps(&rest);
    let before_ns = (record.elapsed_ns - rest.elapsed_ns) as f64;
    let limited = mbps * before_ns / 1e3;
    let bytes = (record.bytes - rest.bytes) as f64 - limited;
    // A slice that was saved up is no credit.
    let slice = waves(record).filter(|waves| waves.regular).map_or(0.0, |waves| waves.bytes);
    let steady = whole.steady && !cuts_waves(record);
    let without = || Went { mbps: run_mbps(record), credit: None, steady, reach: whole.within_reach() };
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
    Went { mbps, credit: Some(credit), steady: steady && rest.steady, reach: rest.within_reach() }
}

/// Whether a run shows waves that are too few to tell a rate, so that its ends may be off by a whole one.
fn cuts_waves(record: &Record) -> bool {
    waves(record).is_some_and(|waves| waves.regular && waves.mbps.is_none())
}

/// When nearly all of a credit of so many bytes was spent, in seconds.
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

/// The part of a run after so many nanoseconds, as a run of its own.
fn after(record: &Record, cut_ns: u64) -> Record {
    let mut rest = record.clone();
    let cut = ((cut_ns / record.series.step_ns.max(1)) as usize).min(record.series.bytes.len());
    let before = total(rest.series.bytes.drain(..cut));
    rest.bytes = record.bytes.saturating_sub(before);
    rest.elapsed_ns = record.elapsed_ns.saturating_sub(cut as u64 * record.series.step_ns);
    rest
}

/// A credit that ended between two runs, or too late in one to tell what went on: all that was moved faster.
fn between<'a>(
    runs: impl Iterator<Item = &'a Record>,
    went: &[Went],
    faster: impl Fn(&Went) -> bool,
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
