//! Groups records into cells and sums up each: one finding for each combination of settings.
//!
//! Throughput, latency, depth and the charged cost come from the plain runs, the upper bound of cost from the soaker's.
//! A run that moved nothing counts as a run and adds its errors, but no throughput. Cells without a plain run are left
//! out, and so are runs that both read and write: they fit no curve.

use std::collections::BTreeMap;

use halfpower_record::{CpuTimes, Latency, Predicted, Record, Unknown};
use halfpower_spec::{Cache, Direction, EngineName, InOrder, Pass, Pattern, Workload};

use crate::interval::t95;
use crate::judged::Judged;
use crate::ladder::{known_limit, narrowest_pap};
use crate::mean::{quotient, some_mean};
use crate::policy::{ABOVE_DIRECT, CONFIRMING_RUNS, is_buffered_read, is_from_device, measured_memory};
use crate::tcp_cell::delayed_share;
use crate::waves::{Paced, keep_whole_waves, paced, paced_cell};
use crate::weather::{Occasions, SURE, TimedRun, Weather};
use crate::{
    BusiestProcessor, CellFinding, CellSettings, FarCell, Interval, LatencySummary, NoiseFinding, PathLevel,
    Prediction, Sureness, TcpCell, Unsteady, UnsteadyReason,
};

/// The settings that make two runs the same cell, in listing order.
type Key = (Pattern, Direction, Cache, u32, u64, u32, EngineName);

/// Ratio to a peak advertised performance above which a result counts as a cache's.
pub(crate) const ABOVE_PAP: f64 = 1.05;

/// Half width of an interval, as a share of its mean, up to which a cell's throughput is known well enough.
pub(crate) const WITHIN: f64 = 0.05;

/// A cell, with facts from its records that the finding lacks.
#[derive(Debug, Clone)]
pub(crate) struct CellWithRecords {
    pub finding: CellFinding,
    pub source: ByteSource,
    pub processors: Processors,
    /// When the runs were made that it is reported by.
    pub timed: Vec<TimedRun>,
    /// The median latency of each of them in nanoseconds, and the 99th percentile, where they are known.
    pub latency_ns: [Vec<(TimedRun, f64)>; 2],
    /// Their mean rate in MB/s, but for long windows that show what is a credit in the others.
    pub usual_mbps: f64,
    /// Of these runs the throughput, the median latency and its 99th percentile, by occasion.
    wandering: [Occasions; 3],
}

impl CellWithRecords {
    /// The intervals of what wanders, if it has them.
    fn intervals(&mut self) -> [Option<&mut Interval>; 3] {
        let CellFinding { mbps, latency_ns, run_mbps, .. } = &mut self.finding;
        let LatencySummary { p50_interval, p99_interval, .. } = latency_ns;
        [(run_mbps.len() > 1).then_some(mbps), p50_interval.as_mut(), p99_interval.as_mut()]
    }
}

/// Where the bytes of a cell's runs came from, if its records show it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteSource {
    /// Largest share of the span that was in the page cache when a run opened; `None` if no run could tell.
    pub opened_cached: Option<f64>,
    /// Whether the device moved the bytes of each run, by its own counter.
    pub from_device: bool,
}

impl ByteSource {
    /// The source of all runs of a cell; the reported ones are `valid`.
    fn of(runs: &[&Record], valid: &[&Record]) -> Self {
        let share = |r: &&Record| Some(quotient(r.cached_bytes? as f64, r.span_bytes as f64));
        Self {
            opened_cached: runs.iter().filter_map(share).reduce(f64::max),
            from_device: valid.iter().all(|record| is_from_device(record.device_share())),
        }
    }
}

/// All cells of these records, by pattern, direction, cache setting, depth, block size, threads and engine.
///
/// `cached` rests on the records only; [`cells_within`] also knows the advertised peaks.
pub fn cells(records: &[Record]) -> Vec<CellFinding> {
    cells_within(&[], records)
}

/// The same; `cached` is also set if a result exceeds the peak that a level of the path advertises.
pub fn cells_within(levels: &[PathLevel], records: &[Record]) -> Vec<CellFinding> {
    gather(levels, records).into_iter().map(|cell| cell.finding).collect()
}

/// The cells of a further session. Its runs may be too few to show a limit in slices, so those of the first count too.
pub(crate) fn cells_after(levels: &[PathLevel], first: &[Record], own: &[Record]) -> Vec<CellFinding> {
    let mut limits = paced(walks(own));
    limits.extend(paced(walks(first).chain(walks(own))));
    gather_behind(&limits, levels, own).into_iter().map(|cell| cell.finding).collect()
}

pub(crate) fn gather(levels: &[PathLevel], records: &[Record]) -> Vec<CellWithRecords> {
    gather_behind(&paced(walks(records)), levels, records)
}

fn walks(records: &[Record]) -> impl Iterator<Item = &Record> {
    records.iter().filter(|record| record.walks())
}

/// The same behind these limits in slices.
fn gather_behind(
    limits: &BTreeMap<Direction, Paced>,
    levels: &[PathLevel],
    records: &[Record],
) -> Vec<CellWithRecords> {
    let mut groups: BTreeMap<Key, Vec<&Record>> = BTreeMap::new();
    for record in walks(records) {
        let workload = &record.run.workload;
        if let Some(direction) = workload.rw.direction() {
            let rank = (workload.rw.pattern(), direction, workload.cache, workload.iodepth);
            let key = (rank.0, rank.1, rank.2, rank.3, workload.bs.0, workload.threads, record.engine);
            groups.entry(key).or_default().push(record);
        }
    }
    // Floating-point sums depend on their order, but the findings must not depend on the order of records.
    groups.values_mut().for_each(|runs| {
        runs.order_by_key(|record| (record.run.repeat, record.run.seed, record.elapsed_ns, record.bytes, record.ios));
    });
    let of_group = |(key, mut runs): (Key, Vec<&Record>)| {
        let cut = keep_whole_waves(limits, &mut runs);
        cell(&key, &runs, paced_cell(limits, &runs)).map(|cell| without_waves(cell, cut))
    };
    let mut cells: Vec<CellWithRecords> = groups.into_iter().filter_map(of_group).collect();
    mark_cached(levels, &mut cells);
    widen_by_weather(&mut cells);
    cells
}

/// Widens the intervals of the cells of each path that wanders: of each figure by its own weather, since a neighbour may
/// lengthen the longest waits and leave the median as it is.
fn widen_by_weather(cells: &mut [CellWithRecords]) {
    let mut paths: BTreeMap<_, Vec<&mut CellWithRecords>> = BTreeMap::new();
    for cell in cells {
        paths.entry(cell.finding.settings.path()).or_default().push(cell);
    }
    for mut cells in paths.into_values() {
        let of_figure = |at: usize| Weather::of(&[cells.iter().map(|cell| &cell.wandering[at]).collect()], SURE);
        let weathers = [0, 1, 2].map(of_figure);
        cells.iter_mut().for_each(|cell| widen(cell, weathers));
    }
}

fn widen(cell: &mut CellWithRecords, weathers: [Option<Weather>; 3]) {
    let further = [0, 1, 2].map(|at| weathers[at].map(|weather| weather.further_reach(&cell.wandering[at])));
    for (interval, further) in cell.intervals().into_iter().zip(further) {
        let Some((interval, further)) = interval.zip(further) else { continue };
        let Interval { value, low, high } = *interval;
        *interval = Interval { value, low: (low - further * value).max(0.0), high: high + further * value };
    }
    cell.finding.within_5_percent &= cell.finding.mbps.relative_reach() <= WITHIN;
}

/// The cell, marked unsteady if the windows of all its runs cut the waves of its direction.
fn without_waves(cell: CellWithRecords, cut: Option<Paced>) -> CellWithRecords {
    let Some(paced) = cut else { return cell };
    let objection = UnsteadyReason::CutsWaves { period_s: paced.period_ns as f64 / 1e9 };
    let runs = cell.finding.run_mbps.len();
    let unsteady = Some(Unsteady { objection, unsteady_runs: runs, runs });
    CellWithRecords { finding: CellFinding { steady: false, unsteady, ..cell.finding }, ..cell }
}

/// The runs of one workload as a cell, behind this limit that hands out slices, if there is one; also for experiments
/// that vary more than the usual axes.
pub(crate) fn cell_of(
    workload: &Workload,
    engine: EngineName,
    records: &[&Record],
    paced: Option<Paced>,
) -> Option<CellFinding> {
    let Workload { rw, cache, iodepth, bs, threads, .. } = *workload;
    // A mixed workload is listed with the reads.
    let direction = rw.direction().unwrap_or(Direction::Read);
    let key = (rw.pattern(), direction, cache, iodepth, bs.0, threads, engine);
    cell(&key, records, paced).map(|gathered| gathered.finding)
}

/// The runs that a cell is reported by, and the rate in MB/s of the runs that chose it, if it was confirmed.
///
/// Rates that chose a cell are too high to report; runs without a part in the choice are not.
fn reported<'a>(
    plain: &[&'a Record],
    confirming: &[&'a Record],
    paced: Option<Paced>,
) -> (Vec<&'a Record>, Option<f64>) {
    let moved = |runs: &[&'a Record]| -> Vec<&'a Record> { runs.iter().copied().filter(|r| counts(r)).collect() };
    let plain = moved(plain);
    let confirmed = moved(confirming);
    if confirmed.len() < CONFIRMING_RUNS {
        return (plain, None);
    }
    let chosen_mbps = Interval::of_means(&Judged::of(&plain, paced).run_mbps()).value;
    (confirmed, Some(chosen_mbps))
}

impl CellSettings {
    /// The runs of the walks that the cell is reported by: the confirming ones if they are enough, otherwise the plain
    /// ones. Those whose window cut the slices of a limit are not among them, if it has others.
    pub fn reported_runs<'a>(&self, records: &'a [Record]) -> Vec<&'a Record> {
        let mut runs: Vec<&Record> = records.iter().filter(|record| Self::of_record(record) == Some(*self)).collect();
        keep_whole_waves(&paced(walks(records)), &mut runs);
        let of_pass = |pass| runs.iter().copied().filter(|record| record.run.pass == pass).collect::<Vec<_>>();
        reported(&of_pass(Pass::Plain), &of_pass(Pass::Confirm), None).0
    }
}

fn cell(
    &(pattern, rw, cache, iodepth, bs_bytes, threads, engine): &Key,
    records: &[&Record],
    paced: Option<Paced>,
) -> Option<CellWithRecords> {
    let of_pass = |pass| records.iter().copied().filter(move |record| record.run.pass == pass);
    let [plain, confirming] = [Pass::Plain, Pass::Confirm].map(|pass| of_pass(pass).collect::<Vec<&Record>>());
    let first = *plain.first()?;
    let (valid, chosen_mbps) = reported(&plain, &confirming, paced);
    let plain: Vec<&Record> = plain.into_iter().chain(confirming).collect();
    let means = |of: &dyn Fn(&Record) -> f64| -> Vec<f64> { valid.iter().map(|record| of(record)).collect() };
    let judged = Judged::of(&valid, paced);
    let run_mbps = judged.run_mbps();
    let credit = credit(&valid, &run_mbps);
    let usual = credit.as_ref().map_or_else(|| Interval::of_means(&run_mbps), |credit| credit.short);
    let mbps = judged.no_surer_than_its_waves(credit.as_ref().map_or(usual, Credit::sustained));
    let burst = judged.burst().or_else(|| credit.map(|credit| (credit.short.value, credit.long_mbps)));
    let run_iops: Vec<f64> = valid.iter().zip(&run_mbps).map(|(r, mbps)| r.iops() * mbps / r.mbps()).collect();
    // Both count the same requests, so what the reported rate leaves out is left out of both.
    let of_reported = quotient(mbps.value, Interval::of_means(&run_mbps).value);
    let total = |of: &dyn Fn(&Record) -> f64| -> f64 { valid.iter().map(|record| of(record)).sum() };
    let [charged_ns, span_ns] = [total(&|r| r.cpu.charged_ns() as f64), total(&|r| r.charged_span_ns() as f64)];
    let soaked = Soaked::of(of_pass(Pass::Soaker));
    let knows = |what| valid.iter().all(|record| record.knows(what));
    let timed: Vec<TimedRun> = valid.iter().map(|record| TimedRun::of(record)).collect();
    let rates = timed.iter().copied().zip(run_mbps.iter().copied()).filter(|(_, mbps)| *mbps > 0.0);
    let latency_ns = [0.5, 0.99].map(|quantile| latencies(&valid, quantile));
    let [p50, p99] = latency_ns.each_ref().map(|known| Occasions::of(known.iter().copied()));
    let wandering = [Occasions::of(rates), p50, p99];
    let finding = CellFinding {
        settings: CellSettings { pattern, rw, cache, iodepth, bs_bytes, threads },
        engine,
        issuing: first.run.workload.issuing,
        runs: plain.len(),
        chosen_mbps,
        mbps,
        prediction: prediction(&valid, mbps),
        iops: Interval::of_means(&run_iops).value * of_reported,
        latency_ns: latency(&valid),
        achieved_depth: knows(Unknown::Latency).then(|| mean_depth(&means(&|r| finite(r.achieved_depth)))),
        charged_us: knows(Unknown::ChargedTime).then(|| quotient(charged_ns, total(&|r| r.cpu.ios as f64)) / 1e3),
        soaker_us: soaked.map(|soaked| soaked.lost_us),
        unseen_us: soaked.map(|soaked| soaked.lost_us - soaked.charged_us),
        core_share: knows(Unknown::ChargedTime).then(|| quotient(charged_ns, span_ns)),
        waited_share: quotient(total(&|r| r.cpu.waited_ns as f64), span_ns),
        busiest: BusiestProcessor::of(records),
        far_end: FarCell::of(records),
        buffer_segments: some_mean(valid.iter().filter_map(|record| record.buffer_segments)),
        client_mbps: some_mean(valid.iter().filter_map(|record| record.client_mbps())),
        tcp: TcpCell::of(&valid),
        delayed_share: delayed_share(&valid),
        errors: plain.iter().flat_map(|r| r.errors.values()).fold(0, |sum, count| sum.saturating_add(*count)),
        short_transfers: plain.iter().fold(0, |sum, r| sum.saturating_add(r.short_transfers)),
        cached: false,
        run_mbps,
        run_charged_us: if knows(Unknown::ChargedTime) { means(&charged_us) } else { Vec::new() },
        steady: judged.is_steady(),
        unsteady: judged.unsteady(),
        trimmed_share: judged.trimmed_share(),
        burst_mbps: burst.map(|(burst, _)| burst),
        sustained_mbps: burst.map(|(_, sustained)| sustained),
        within_5_percent: valid.len() > 1 && mbps.relative_reach() <= WITHIN,
        within_run_reach: judged.within_reach(),
        memory_mbps: some_mean(valid.iter().filter_map(|r| r.memory_mbps())),
        flush_share: flush_share(&valid),
        noise: noise(&valid),
        series_mbps: series_mbps(first),
        series_step_ns: first.series.step_ns,
    };
    Some(CellWithRecords {
        finding,
        source: ByteSource::of(&plain, &valid),
        processors: Processors::of(records),
        timed,
        latency_ns,
        usual_mbps: usual.value,
        wandering,
    })
}

/// Ratio of a long window to the usual one of its cell, at least.
const LONGER: u64 = 3;
/// Least share by which a long window is slower for a credit to be worth telling.
const WORTH_TELLING: f64 = 0.002;

/// What a cell's short windows had beyond its rate: a path that hands out a credit after each pause is faster in them
/// than in a long one.
#[derive(Debug, Clone, Copy)]
struct Credit {
    /// Rate of the short windows, in MB/s.
    short: Interval,
    /// Rate of the long ones, in MB/s.
    long_mbps: f64,
}

impl Credit {
    /// The rate of the long windows, with an interval that holds both.
    fn sustained(&self) -> Interval {
        let Self { short, long_mbps } = *self;
        let reach = (short.high - short.low) / 2.0;
        Interval { value: long_mbps, low: long_mbps - reach, high: short.high }
    }
}

/// The credit of a cell whose long windows are slower than chance explains: below the 95% prediction interval of one
/// more short run. `None` without long windows, or of fewer than two short ones.
fn credit(runs: &[&Record], run_mbps: &[f64]) -> Option<Credit> {
    let shortest = runs.iter().map(|record| record.run.runtime.0).min()?;
    let is_long = |record: &Record| record.run.runtime.0 >= shortest.saturating_mul(LONGER) && shortest > 0;
    let (long, short): (Vec<_>, Vec<_>) = runs.iter().zip(run_mbps).partition(|(record, _)| is_long(record));
    let rates = |of: Vec<(&&Record, &f64)>| of.into_iter().map(|(_, mbps)| *mbps).collect::<Vec<f64>>();
    let long_mbps = some_mean(rates(long).into_iter())?;
    let short = rates(short);
    let interval = Interval::of_means(&short);
    // The interval of a mean is t s / sqrt(n); of one more run, t s sqrt(1 + 1 / n).
    let reach = (interval.high - interval.low) / 2.0 * (short.len() as f64 + 1.0).sqrt();
    let below = interval.value - long_mbps;
    let is_credit = short.len() > 1 && below > reach && below > WORTH_TELLING * interval.value;
    is_credit.then_some(Credit { short: interval, long_mbps })
}

/// The throughput of predicted runs, with an interval that holds their error and that of the predictions.
fn prediction(runs: &[&Record], mbps: Interval) -> Option<Prediction> {
    let predicted: Vec<Predicted> = runs.iter().filter_map(|record| record.predicted).collect();
    let beyond = predicted.iter().any(|predicted| predicted.beyond);
    let low = predicted.iter().map(|predicted| predicted.low).reduce(f64::min)?;
    let high = predicted.iter().map(|predicted| predicted.high).reduce(f64::max)?;
    // Independent errors, each as a share of the value.
    let below = (1.0 - quotient(mbps.low, mbps.value)).hypot(1.0 - low);
    let above = (quotient(mbps.high, mbps.value) - 1.0).hypot(high - 1.0);
    let interval =
        Interval { value: mbps.value, low: mbps.value * (1.0 - below).max(0.0), high: mbps.value * (1.0 + above) };
    (mbps.value > 0.0).then_some(Prediction { mbps: interval, beyond })
}

fn mean_depth(of_runs: &[f64]) -> f64 {
    Interval::of_means(of_runs).value
}

/// Whether a run moved anything and so has a rate.
pub(crate) fn counts(record: &Record) -> bool {
    record.elapsed_ns > 0 && record.bytes > 0 && record.ios > 0
}

/// Charged processor time a request of one run, in microseconds.
fn charged_us(record: &Record) -> f64 {
    quotient(record.cpu.user_ns as f64 + record.cpu.system_ns as f64, record.cpu.ios as f64) / 1e3
}

/// The latencies of a cell's runs at this quantile, where they are known.
fn latencies(records: &[&Record], quantile: f64) -> Vec<(TimedRun, f64)> {
    let known = records.iter().filter_map(|record| Some((TimedRun::of(record), record.latency_ns_at(quantile)?)));
    known.filter(|(_, ns)| *ns > 0).map(|(run, ns)| (run, ns as f64)).collect()
}

/// Of the runs that a cell is reported by, those whose latencies count: they keep Little's law. None if half of the
/// runs or more do not, or if another tool left latencies out.
pub(crate) fn with_latency<'a>(records: &[&'a Record]) -> Vec<&'a Record> {
    let are_told = records.iter().all(|record| record.knows(Unknown::Latency));
    let obeying: Vec<&Record> = records.iter().copied().filter(|record| record.knows_latency()).collect();
    if are_told && obeying.len() * 2 > records.len() { obeying } else { Vec::new() }
}

fn latency(records: &[&Record]) -> LatencySummary {
    let obeying = with_latency(records);
    let known = !obeying.is_empty();
    let mut all = Latency::default();
    obeying.iter().for_each(|record| all.merge(&record.latency));
    let known_at = |quantile| known && obeying.iter().all(|record| record.knows_latency_at(quantile));
    let at = |quantile| known_at(quantile).then(|| all.quantile_ns(quantile));
    let within = |quantile| {
        let of_runs: Vec<f64> = obeying.iter().map(|record| record.latency.quantile_ns(quantile) as f64).collect();
        (known_at(quantile) && of_runs.len() > 1).then(|| Interval::of_means(&of_runs))
    };
    LatencySummary {
        min: known.then(|| all.min_ns()),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max: known.then(|| all.max_ns()),
        mean: known.then(|| all.mean_ns()),
        p50_interval: within(0.5),
        p99_interval: within(0.99),
    }
}

/// The soaker's pass of a cell, in microseconds a request.
#[derive(Debug, Clone, Copy)]
struct Soaked {
    lost_us: f64,
    /// Charged in the same runs.
    charged_us: f64,
}

impl Soaked {
    fn of<'a>(records: impl Iterator<Item = &'a Record>) -> Option<Self> {
        let mut lost_ns = 0.0;
        let mut charged_ns = 0.0;
        let mut ios = 0.0;
        for record in records.filter(|record| record.cpu.ios > 0) {
            if let Some(soaker) = &record.cpu.soaker {
                lost_ns += soaker.lost_ns as f64;
                charged_ns += record.cpu.user_ns as f64 + record.cpu.system_ns as f64;
                ios += record.cpu.ios as f64;
            }
        }
        (ios > 0.0).then(|| Self { lost_us: lost_ns / ios / 1e3, charged_us: charged_ns / ios / 1e3 })
    }
}

fn series_mbps(record: &Record) -> Vec<f64> {
    match record.series.step_ns {
        0 => Vec::new(),
        step_ns => record.series.bytes.iter().map(|bytes| *bytes as f64 * 1e3 / step_ns as f64).collect(),
    }
}

/// Share of the windows spent in closing flushes; `None` if nothing was flushed.
fn flush_share(records: &[&Record]) -> Option<f64> {
    let flushed: Vec<&&Record> = records.iter().filter(|r| r.memory_mbps().is_some()).collect();
    some_mean(flushed.iter().map(|r| quotient(r.flush_ns as f64, r.elapsed_ns as f64)))
}

fn mark_cached(levels: &[PathLevel], cells: &mut [CellWithRecords]) {
    let above_pap = |cell: &CellFinding| {
        known_limit(levels, cell.rw, cell.bs_bytes, &(0..0)).is_some_and(|limit| cell.mbps.value > ABOVE_PAP * limit)
    };
    for cell in cells.iter_mut() {
        let opened = measured_memory(cell.finding.cache, cell.finding.rw, cell.source.opened_cached);
        cell.finding.cached = opened || above_pap(&cell.finding);
    }
    if narrowest_pap(levels, Direction::Read).is_some() {
        return;
    }
    for pattern in Pattern::ALL {
        let direct = |cell: &&CellWithRecords| cell.finding.cache.direct() && cell.finding.rw == Direction::Read;
        let same = cells.iter().filter(|cell| cell.finding.pattern == *pattern);
        let Some(best) = same.filter(direct).map(|cell| cell.finding.mbps.value).reduce(f64::max) else {
            continue;
        };
        let open = |cell: &&mut CellWithRecords| cell.finding.pattern == *pattern && !cell.source.from_device;
        for CellWithRecords { finding, .. } in cells.iter_mut().filter(open) {
            finding.cached |=
                is_buffered_read(finding.cache, finding.rw) && best > 0.0 && finding.mbps.value > ABOVE_DIRECT * best;
        }
    }
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

impl CellFinding {
    /// How well its runs tell its rate.
    pub(crate) fn sureness(&self) -> Sureness {
        Sureness::of(&self.mbps, self.run_mbps.len(), None)
    }

    /// Relative standard error of its mean by the runs or sessions that its interval rests on; `None` for a single one.
    pub(crate) fn relative_error(&self) -> Option<f64> {
        let freedom = self.run_mbps.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
        Some(self.mbps.relative_reach() / t95(freedom))
    }

    /// Processors that its threads were charged for or waited for; 0 if not known.
    pub(crate) fn wanted_processors(&self) -> f64 {
        self.core_share.map_or(0.0, |charged| charged + self.waited_share)
    }

    /// Whether conclusions may rest on it: it moved bytes, without errors, and not out of a cache.
    pub fn usable(&self) -> bool {
        self.mbps.value > 0.0 && self.bs_bytes > 0 && self.errors == 0 && !self.cached
    }

    /// Whether advice may also rest on it: it was steady within its runs.
    pub fn trusted(&self) -> bool {
        self.usable() && self.steady
    }

    /// Requests outstanding over all threads.
    pub fn total_depth(&self) -> u32 {
        self.iodepth.saturating_mul(self.threads)
    }

    /// Time between two completions in microseconds, for requests of the full block size; infinite if nothing moved. A
    /// byte a microsecond is a decimal MB/s.
    pub fn time_per_request_us(&self) -> f64 {
        self.bs_bytes as f64 / self.mbps.value
    }

    /// Charged processor time a decimal megabyte, in milliseconds; `None` if not known.
    pub fn charged_ms_per_mb(&self) -> Option<f64> {
        self.charged_us.map(|us| quotient(us * 1e3, self.bs_bytes as f64))
    }
}

/// Noise of a cell from the records of its runs; each share covers the runs that report it.
pub(crate) fn noise(records: &[&Record]) -> NoiseFinding {
    NoiseFinding {
        steal_share: share(records, |r| Some((steal_ns(r)?, machine_ns(r)))),
        pressure_io_share: share(records, |r| Some((r.noise.pressure_io_ns? as f64, r.cpu.span_ns as f64))),
        pressure_cpu_share: share(records, |r| Some((r.noise.pressure_cpu_ns? as f64, r.cpu.span_ns as f64))),
        foreign_share: share(records, |r| Some((r.foreign_bytes()? as f64, r.submitted_bytes()))),
        cpu_mhz: some_mean(records.iter().filter_map(|r| r.noise.cpu_mhz)),
    }
}

/// Sum of the part over sum of the whole; `None` if no record has the part, or if the whole is 0.
fn share(records: &[&Record], of: impl Fn(&Record) -> Option<(f64, f64)>) -> Option<f64> {
    let reported: Vec<(f64, f64)> = records.iter().filter_map(|record| of(record)).collect();
    let (part, whole) = reported.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (whole > 0.0).then(|| quotient(part, whole)).filter(|share| share.is_finite())
}

fn machine_ns(record: &Record) -> f64 {
    record.cpu.span_ns as f64 * record.cpu.machine.len() as f64
}

fn steal_ns(record: &Record) -> Option<f64> {
    let of = |times: &CpuTimes| times.steal_ns as f64;
    // Results of other tools do not have it.
    (!record.cpu.machine.is_empty() && record.origin.is_none()).then(|| record.cpu.machine.iter().map(of).sum())
}

/// The processors' time of a cell's plain runs, summed, in nanoseconds; and the load of the idle machine.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Processors {
    pub span_ns: f64,
    pub charged_ns: f64,
    /// User and system time of the whole machine.
    pub own_kinds_ns: f64,
    pub irq_ns: f64,
    pub softirq_ns: f64,
    /// Processors that the idle machine keeps busy, from the soaker's pass.
    pub idle_cores: Option<f64>,
}

impl Processors {
    pub fn of(records: &[&Record]) -> Self {
        let mut sum = Self::default();
        let tells = |record: &&&Record| {
            let counted = !record.cpu.machine.is_empty() && record.knows(Unknown::ChargedTime);
            record.run.pass == Pass::Plain && counted
        };
        for Record { cpu, .. } in records.iter().filter(tells) {
            let all = |of: fn(&CpuTimes) -> u64| cpu.machine.iter().map(|times| of(times) as f64).sum::<f64>();
            sum.span_ns += cpu.span_ns as f64;
            sum.charged_ns += cpu.user_ns as f64 + cpu.system_ns as f64;
            sum.own_kinds_ns += all(|times| times.user_ns) + all(|times| times.system_ns);
            sum.irq_ns += all(|times| times.irq_ns);
            sum.softirq_ns += all(|times| times.softirq_ns);
        }
        let idle = |record: &&Record| {
            let soaker = record.cpu.soaker.as_ref()?;
            let busy_share = (1.0 - soaker.baseline_share).clamp(0.0, 1.0);
            (!record.cpu.machine.is_empty()).then_some(busy_share * record.cpu.machine.len() as f64)
        };
        sum.idle_cores = records.iter().find_map(idle).filter(|cores| cores.is_finite());
        sum
    }
}
