//! Analyses `credit`: finds in each run when a credit ended, and the rate after it.

use halfpower_analyse::{
    ExperimentCell, Interval, Requests, SustainedLimit, has_settings, judge, levels, mean, run_mbps, waves,
};
use halfpower_record::{Record, total};
use halfpower_spec::{Direction, InOrder, JsonSchema, Pass};
use serde::Serialize;

use crate::data::ExperimentData;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Requests of one size in one direction.
    pub credit: Vec<CreditRow>,
}

/// Requests of one size in one direction, for as long as the budget allowed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CreditRow {
    /// Its requests.
    #[serde(flatten)]
    pub requests: Requests,
    /// Sustained throughput in MB/s: after the fall, if there was one, and over whole slices.
    pub mbps: Interval,
    /// Sustained rate in requests a second.
    pub iops: f64,
    /// Length of the longest run, in seconds.
    pub seconds: f64,
    /// Bytes that this run moved.
    pub bytes: u64,
    /// The faster beginning; `null` if there was none.
    pub credit: Option<CreditSpent>,
    /// The slices in which the limit grants requests; `null` if they passed evenly.
    pub slices: Option<LimitSlices>,
    /// Whether the rate was steady at the end and alike in all runs, so that it is known.
    #[serde(rename = "told")]
    pub settled: bool,
    /// Whether the rate exceeds a known limit of the path, so that it still came from a credit.
    pub above_known: bool,
}

/// What passes at once after a rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CreditSpent {
    /// Throughput during the credit, in MB/s.
    pub mbps: f64,
    /// Duration in seconds.
    pub lasts_s: f64,
    /// Bytes beyond what the limit allows in that time.
    pub bytes: f64,
    /// Requests beyond what the limit allows in that time.
    pub ios: f64,
    /// Whether the credit ended between two runs, or too late in one to show the sustained rate; the figures are then
    /// lower bounds.
    pub at_least: bool,
}

/// Slices in which a limit grants requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LimitSlices {
    /// Interval between slices, in milliseconds.
    pub every_ms: f64,
    /// Bytes per slice.
    pub bytes: f64,
}

impl CreditRow {
    /// Whether a limit shows.
    pub fn is_limited(&self) -> bool {
        self.credit.is_some() || self.slices.is_some()
    }

    /// The sustained rate in requests a second, with its interval.
    fn iops(&self) -> Interval {
        let Interval { value, low, high } = self.mbps;
        let [value, low, high] = [value, low, high].map(|mbps| mbps * 1e6 / self.bs_bytes.max(1) as f64);
        Interval { value, low, high }
    }
}

/// The limits on sustained requests.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct CreditAnswer {
    /// One entry per measured direction.
    pub limits: Vec<LimitFinding>,
}

/// The limit of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LimitFinding {
    /// Which way the bytes go.
    pub rw: Direction,
    /// What the limit counts.
    pub counts: LimitCounts,
    /// Sustained rate of the largest requests, in MB/s.
    pub sustained_mbps: f64,
    /// Sustained rate of the smallest requests, in requests a second.
    pub sustained_iops: f64,
    /// `sustained_mbps` with its interval.
    pub mbps: Interval,
    /// `sustained_iops` with its interval.
    pub iops: Interval,
    /// The larger credit of the two block sizes.
    pub credit: Option<CreditSpent>,
    /// Slices seen with the larger requests, or else with the smaller.
    pub slices: Option<LimitSlices>,
    /// Length of the longest run in seconds. A credit that lasts for longer than `seconds` and `bytes` would not have
    /// shown.
    pub seconds: f64,
    /// Bytes that this run moved.
    pub bytes: u64,
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitCounts {
    /// Bytes.
    Bytes,
    /// Requests.
    Requests,
    /// Both, each with a separate limit.
    Both,
    /// No limit shows.
    Nothing,
    /// The rate did not settle within the runs.
    Unknown,
}

impl LimitFinding {
    /// Derives the limit from the small and the large requests of a direction.
    pub(super) fn of(small: &CreditRow, large: &CreditRow) -> Self {
        let bytes = |credit: &CreditSpent| credit.bytes;
        let credits = [small.credit, large.credit].into_iter().flatten();
        let longest = if small.seconds > large.seconds { small } else { large };
        Self {
            rw: small.rw,
            counts: counts(small, large),
            sustained_mbps: large.mbps.value,
            sustained_iops: small.iops,
            mbps: large.mbps,
            iops: small.iops(),
            credit: credits.reduce(|most, next| if bytes(&next) > bytes(&most) { next } else { most }),
            slices: large.slices.or(small.slices),
            seconds: longest.seconds,
            bytes: longest.bytes,
        }
    }
}

impl LimitFinding {
    /// Whether this direction sustains the same rate as the other.
    pub(super) fn is_at_the_rate_of(&self, other: &Self) -> bool {
        let same = |one: f64, other: f64| (one / other - 1.0).abs() <= SAME;
        match other.counts {
            LimitCounts::Bytes => same(self.sustained_mbps, other.sustained_mbps),
            LimitCounts::Requests => same(self.sustained_iops, other.sustained_iops),
            LimitCounts::Both => {
                same(self.sustained_mbps, other.sustained_mbps) && same(self.sustained_iops, other.sustained_iops)
            }
            LimitCounts::Nothing | LimitCounts::Unknown => false,
        }
    }
}

/// Largest relative difference between rates of the same limit.
const SAME: f64 = 0.1;

fn counts(small: &CreditRow, large: &CreditRow) -> LimitCounts {
    let same = |one: f64, other: f64| (one / other - 1.0).abs() <= SAME;
    if [small, large].iter().any(|row| !row.settled || row.above_known) {
        return LimitCounts::Unknown;
    }
    match (small.is_limited(), large.is_limited()) {
        (false, false) => LimitCounts::Nothing,
        // A credit that one size has spent does not show in the other size.
        _ if same(small.iops, large.iops) => LimitCounts::Requests,
        _ if same(small.mbps.value, large.mbps.value) => LimitCounts::Bytes,
        (true, true) => LimitCounts::Both,
        (false, true) => LimitCounts::Bytes,
        (true, false) => LimitCounts::Requests,
    }
}

/// Smallest ratio of the rate within a credit to the sustained rate.
const FASTER: f64 = 1.25;
/// Smallest excess of a run's beginning that counts as a credit: a share of the limit's bytes, and a number of slices.
const EXCESS: f64 = 0.1;
const SLICES: f64 = 2.0;
/// Factor above a known limit from which a sustained rate is not believed.
const ABOVE_KNOWN: f64 = 1.05;
/// Multiple of the spread between runs that a credit must be, as a share of its run, if it does not come again.
const SPREADS: f64 = 2.0;
/// Fewest runs after a credit that ended between runs: of one alone, nobody knows what it may differ by.
const LEAST_AFTER: usize = 2;
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
    rows.order_by_key(|row| (row.rw, row.bs_bytes));
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

/// The standard deviation of rates as a share of their mean; 0 of fewer than two.
fn deviation(rates: &[f64]) -> f64 {
    let level = mean(rates);
    let squares: f64 = rates.iter().map(|rate| (rate - level).powi(2)).sum();
    if rates.len() < 2 || level <= 0.0 { 0.0 } else { (squares / (rates.len() - 1) as f64).sqrt() / level }
}

/// What one run shows.
struct RunRates {
    /// The sustained rate at the end, in MB/s.
    mbps: f64,
    /// The faster part before it.
    credit: Option<CreditSpent>,
    /// The credit's bytes as a share of all that the run moved; 0 without a credit.
    excess: f64,
    steady: bool,
    /// Relative half width of the run's interval, from five parts of the run.
    reach: f64,
}

fn row(cell: &ExperimentCell) -> Option<CreditRow> {
    let runs: Vec<&Record> =
        cell.records.iter().copied().filter(|record| record.run.pass == Pass::Plain && record.bytes > 0).collect();
    let went: Vec<RunRates> = runs.iter().copied().map(went).collect();
    let last = went.last()?;
    // Runs within the credit show nothing about the sustained rate.
    let within = within(&went);
    let sustained = &went[within..];
    let rates = mbps_of(sustained);
    let mbps = interval(&rates, last.reach);
    // A credit seen in a run within the credit is too small, since what followed was not yet the sustained rate. A faster
    // beginning that does not come again must exceed what runs differ by.
    let recurs = sustained.iter().filter(|one| one.credit.is_some()).count() * 2 > rates.len();
    let spread = deviation(&rates);
    let is_credit = |one: &&RunRates| recurs || one.excess > SPREADS * spread;
    let credits = sustained.iter().filter(is_credit).filter_map(|one| one.credit);
    let credits = credits.chain(between(&runs[..within], mbps.value));
    let bs_bytes = cell.finding.bs_bytes;
    let longest = runs.iter().max_by_key(|record| record.elapsed_ns)?;
    Some(CreditRow {
        requests: cell.finding.requests(),
        mbps,
        iops: mbps.value * 1e6 / bs_bytes as f64,
        seconds: longest.seconds(),
        bytes: longest.bytes,
        credit: credits.reduce(|most, next| if next.bytes > most.bytes { next } else { most }),
        slices: slices(runs.iter().copied()),
        above_known: false,
        settled: sustained.iter().all(|one| one.steady) && are_within(&rates, FASTER),
    })
}

/// The sustained rates of runs, in MB/s.
fn mbps_of(went: &[RunRates]) -> Vec<f64> {
    went.iter().map(|one| one.mbps).collect()
}

/// Whether no rate exceeds another one by more than this factor.
fn are_within(rates: &[f64], factor: f64) -> bool {
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    rates.iter().all(|rate| *rate <= factor * least)
}

/// The number of first runs that lie within the credit. They must be faster than the runs after them, and than a further
/// run of these would be at 95%; and at least two runs after them must be alike: a run may be fast by chance alone.
fn within(went: &[RunRates]) -> usize {
    let Some(last) = went.last() else { return 0 };
    let first = went.iter().take_while(|one| one.mbps > FASTER * last.mbps).count();
    let rest = mbps_of(&went[first..]);
    let sustained = Interval::of_means(&rest);
    let further = sustained.value + (sustained.high - sustained.value) * (rest.len() as f64 + 1.0).sqrt();
    let is_faster = went[..first].iter().all(|one| one.mbps > further.max(FASTER * sustained.value));
    if rest.len() >= LEAST_AFTER && are_within(&rest, 1.0 + SAME) && is_faster { first } else { 0 }
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
    let without =
        || RunRates { mbps: run_mbps(record), credit: None, excess: 0.0, steady, reach: whole.within_reach() };
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
    let excess = bytes / record.bytes.max(1) as f64;
    RunRates { mbps, credit: Some(credit), excess, steady: steady && rest.steady, reach: rest.within_reach() }
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

/// A credit that ended between two runs, or too late in a run to show the sustained rate `mbps`: everything that these runs
/// moved faster than at that rate.
fn between(runs: &[&Record], mbps: f64) -> Option<CreditSpent> {
    let sum = |of: fn(&Record) -> u64| runs.iter().map(|run| of(run) as f64).sum::<f64>();
    let moved = sum(|run| run.bytes);
    let ns = sum(|run| run.elapsed_ns);
    let bytes = moved - mbps * ns / 1e3;
    let ios = bytes / runs.first()?.run.workload.bs.0.max(1) as f64;
    Some(CreditSpent { mbps: moved * 1e3 / ns, lasts_s: ns / 1e9, bytes, ios, at_least: true })
}

fn slices<'a>(runs: impl Iterator<Item = &'a Record>) -> Option<LimitSlices> {
    let seen = runs.filter_map(waves).filter(|waves| waves.regular).last()?;
    Some(LimitSlices { every_ms: seen.period_ns as f64 / 1e6, bytes: seen.bytes })
}

has_settings!(CreditRow, requests: Requests);

#[cfg(test)]
mod tests {
    use halfpower_record::{Environment, Record};
    use halfpower_spec::{Cache, Direction, Experiment, Nanos, Question, Run, Rw, SimulatedDisk};

    use super::{CreditAnswer, LimitCounts, LimitFinding};
    use crate::built::{disk, run, workload};
    use crate::study_findings::analyse;
    use crate::table::ExperimentAnswer;

    /// The finding from runs of this length on a disk that rested before each run.
    fn found(constants: &str, seconds: f64) -> LimitFinding {
        found_in(&[4, 256].map(|kib| read(constants, kib, seconds)))
    }

    /// A run of this length on a disk that has rested.
    fn read(constants: &str, kib: u64, seconds: f64) -> Record {
        let disk: SimulatedDisk = disk(constants);
        let workload = workload(Rw::Randread, Cache::Device, kib, 32);
        let mut record = run(&disk, workload, (seconds * 1e9) as u64, 1, &|_| 1.0);
        record.run.experiment = Some(Experiment::Credit);
        record.run.runtime = Nanos((seconds * 1e9) as u64);
        record
    }

    /// The same run as a later repeat of its cell.
    fn again(record: Record, repeat: u32) -> Record {
        Record { run: Run { repeat, ..record.run }, ..record }
    }

    /// The finding where the runs of both cells, one after the other, went at these rates in MB/s.
    fn found_at(mbps: &[u64]) -> LimitFinding {
        let one = |(repeat, mbps): (u32, &u64)| {
            let disk = format!("fixed=10us,rate={mbps}MB/s");
            [4, 256].map(|kib| again(read(&disk, kib, 4.0), repeat))
        };
        found_in(&(0..).zip(mbps).flat_map(one).collect::<Vec<Record>>())
    }

    fn found_in(records: &[Record]) -> LimitFinding {
        let question = Question {
            experiments: vec![Experiment::Credit],
            directions: vec![Direction::Read],
            ..Question::about("d")
        };
        let findings = analyse(&question, &Environment::default(), records);
        println!("{}", findings.experiments[0].answer);
        let Some(ExperimentAnswer::Credit(CreditAnswer { limits })) = &findings.experiments[0].found else { panic!() };
        limits[0]
    }

    #[track_caller]
    fn near(found: f64, truth: f64) {
        assert!((found / truth - 1.0).abs() < 0.03, "{found} instead of {truth}");
    }

    #[test]
    fn a_credit_in_bytes_and_what_it_sustains_are_found() {
        for seconds in [2.0, 4.0, 10.0] {
            let limit = found("fixed=10us,rate=1GB/s,disks=8,shared=50MB/s,credit=200MB", seconds);
            assert_eq!(limit.counts, LimitCounts::Bytes, "{limit:?}");
            near(limit.sustained_mbps, 50.0);
            near(limit.credit.unwrap().bytes, 200e6);
        }
    }

    #[test]
    fn a_credit_in_requests_and_limits_on_both_are_found() {
        let limit = found("fixed=10us,rate=4GB/s,disks=8,iops=1000,credit_ios=3000", 4.0);
        assert_eq!(limit.counts, LimitCounts::Requests, "{limit:?}");
        near(limit.sustained_iops, 1000.0);
        near(limit.credit.unwrap().ios, 3000.0);
        let limit = found("fixed=10us,rate=4GB/s,disks=8,iops=1000,shared=40MB/s,slice=100ms", 4.0);
        assert_eq!(limit.counts, LimitCounts::Both, "{limit:?}");
        near(limit.sustained_iops, 1000.0);
        near(limit.sustained_mbps, 40.0);
    }

    #[test]
    fn a_credit_that_ends_late_in_a_run_is_told_from_what_goes_on_in_the_next() {
        let spent = "fixed=10us,rate=1GB/s,disks=8,shared=50MB/s";
        for seconds in [0.22, 0.25, 0.3] {
            let first = read(&format!("{spent},credit=200MB"), 256, seconds);
            let after = [1, 2].map(|repeat| again(read(spent, 256, 4.0), repeat));
            let limit = found_in(&[[first, read(spent, 4, 4.0)], after].concat());
            near(limit.sustained_mbps, 50.0);
            let credit = limit.credit.unwrap();
            assert!((credit.bytes / 200e6 - 1.0).abs() < 0.1, "{seconds}: {credit:?}");
        }
    }

    #[test]
    fn slices_are_no_credit() {
        // The built records have a hundred steps; for 5 s, the steps would be too long to separate slices of 100 ms.
        for seconds in [0.75, 3.0, 4.0] {
            let limit = found("fixed=10us,rate=1GB/s,disks=8,shared=37MB/s,slice=100ms", seconds);
            assert_eq!((limit.counts, limit.credit), (LimitCounts::Bytes, None), "{limit:?}");
            near(limit.sustained_mbps, 37.0);
            near(limit.slices.unwrap().bytes, 3.7e6);
        }
    }

    #[test]
    fn without_a_limit_none_is_claimed() {
        let limit = found("fixed=80us,rate=500MB/s", 3.0);
        assert_eq!((limit.counts, limit.credit, limit.slices), (LimitCounts::Nothing, None, None), "{limit:?}");
    }

    #[test]
    fn runs_that_differ_by_chance_are_no_credit() {
        for mbps in [&[335, 251][..], &[251, 335], &[407, 220], &[335, 251, 330], &[335, 230, 251]] {
            let limit = found_at(mbps);
            assert_eq!((limit.counts, limit.credit), (LimitCounts::Unknown, None), "{mbps:?}: {limit:?}");
        }
    }

    #[test]
    fn runs_within_a_credit_are_told_where_those_after_them_are_alike() {
        for mbps in [&[400, 100, 100][..], &[400, 390, 101, 100], &[400, 98, 102, 100, 99]] {
            let limit = found_at(mbps);
            assert!(limit.credit.is_some_and(|credit| credit.at_least), "{mbps:?}: {limit:?}");
            near(limit.sustained_mbps, 100.0);
        }
    }
}
