//! Compares engines at equal work by throughput, cost and latency.

use std::ops::Deref;

use halfpower_analyse::{Bound, ExperimentCell, Interval};
use halfpower_record::Record;
use halfpower_spec::{Cache, EngineName, InOrder, IoMem, Issuing, JsonSchema, Pass, Pattern};
use serde::Serialize;

use super::issuing::{IssuingChange, changes};
use crate::data::ExperimentData;
use crate::ratio::Scale;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Results of each engine at equal work.
    pub engines: Vec<EngineRow>,
}

/// One engine at one kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct EngineRow {
    /// The engine that was asked for.
    pub engine: EngineName,
    /// Memory of the buffers; `null` if there are none, as in virtual time.
    pub iomem: Option<IoMem>,
    /// Most requests that one call submits, 0 for all that can be submitted; `null` if there are no buffers.
    pub iodepth_batch: Option<u32>,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// Block size.
    pub bs_bytes: u64,
    /// Depth asked for.
    pub iodepth: u32,
    /// Mean throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Requests a second.
    pub iops: f64,
    /// Median latency in nanoseconds; `None` if not known.
    pub latency_ns_p50: Option<u64>,
    /// 99th percentile of the latency, in nanoseconds; `None` if not known.
    pub latency_ns_p99: Option<u64>,
    /// Processor time per request charged to the process, in microseconds.
    pub charged_us: f64,
    /// Processor time per request by the soaker, which includes interrupts and kernel threads; `null` without a soaker
    /// pass.
    pub soaker_us: Option<f64>,
}

/// How the engines compare at equal work.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct EnginesAnswer {
    /// The smallest direct requests at the largest depth, which decide throughput and cost.
    pub busy: Option<BusyEngines>,
    /// Polling engines compared with io_uring on the same requests.
    pub polling: Vec<PollingCost>,
    /// The same requests at depth 1: the engines with the lowest latency.
    pub soonest: Option<BestEngines>,
    /// Requests through the page cache.
    pub buffered: Vec<EngineRow>,
    /// Effect and cost of batches, huge pages and registered buffers.
    pub issuing: Vec<IssuingChange>,
    /// The only engine that was measured, if there was nothing to compare it with.
    pub only: Option<EngineRow>,
}

/// Engines at a large depth.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BusyEngines {
    /// Depth.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// The comparison of their rates.
    pub speed: EngineSpeed,
    /// The fastest engines.
    pub fastest: BestEngines,
    /// The lowest rate of any engine, in requests a second.
    pub slowest_iops: f64,
    /// The engines with the lowest processor cost per request.
    pub cheapest: BestEngines,
    /// The bound on processor time by which all of them are compared.
    pub cost_by: Bound,
}

/// The comparison of engine rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineSpeed {
    /// All are equally fast.
    Alike,
    /// No engine is faster than another beyond chance.
    Unclear,
    /// Some are faster.
    SomeFaster,
}

/// The engines that tie for the best.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BestEngines {
    /// Their names.
    pub engines: Vec<EngineName>,
    /// Whether these are all engines, of three or more.
    pub is_all: bool,
    /// Whether the runs tell them from another engine, or no engine differs from the best by 5%. Otherwise all tie by
    /// chance, and none of them is known to be the best.
    pub is_decided: bool,
    /// The best of them.
    pub best: EngineRow,
}

/// The processor cost of a polling engine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PollingCost {
    /// The engine.
    pub engine: EngineName,
    /// Processor time per request, over that of io_uring waiting for interrupts.
    pub of_io_uring: f64,
}

/// Relative difference too small to choose an engine by.
const ALIKE: f64 = 0.05;

/// The work at which engines are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Work {
    pub is_buffered: bool,
    pub iodepth: u32,
    pub bs_bytes: u64,
}

pub(super) fn work(row: &EngineRow) -> Work {
    Work { is_buffered: !row.cache.direct(), iodepth: row.iodepth, bs_bytes: row.bs_bytes }
}

/// A row and its cell.
#[derive(Clone, Copy)]
struct Measured<'a> {
    row: EngineRow,
    cell: &'a ExperimentCell<'a>,
}

impl Deref for Measured<'_> {
    type Target = EngineRow;

    fn deref(&self) -> &EngineRow {
        &self.row
    }
}

/// All engines at one kind of work.
type Group<'a> = (Work, Vec<Measured<'a>>);

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, EnginesAnswer) {
    let mut found: Vec<Measured> = data.sound().map(|cell| Measured { row: row(cell), cell }).collect();
    found.order_by_key(|measured| (work(measured), measured.engine));
    let rows = Rows { engines: found.iter().map(|measured| measured.row).collect() };
    let mut works: Vec<Work> = found.iter().map(|measured| work(measured)).collect();
    works.dedup();
    let usual = data.question.issuing;
    let at = |wanted: Work| {
        let is_usual = |measured: &Measured| is_issued(measured, usual.map(|usual| usual.by(measured.engine)));
        let of_work = found.iter().copied().filter(|measured| work(measured) == wanted);
        (wanted, of_work.filter(|measured| is_usual(measured)).collect())
    };
    let groups: Vec<Group> = works.into_iter().map(at).collect();
    (rows, EnginesAnswer { issuing: changes(data), ..answer(&groups, &Scatters::of(data)) })
}

/// How the figures scatter by which engines are ranked.
struct Scatters {
    rates: Scale,
    medians: Scatter,
    charged: Scatter,
    soaker: Scatter,
}

impl Scatters {
    fn of(data: &ExperimentData) -> Self {
        Self {
            rates: Scale::of(data.sound()),
            medians: Scatter::of(data, median_ns_of_runs),
            charged: Scatter::of(data, |cell| cell.finding.run_charged_us.clone()),
            soaker: Scatter::of(data, soaker_us_of_runs),
        }
    }

    fn costs(&self, by: Bound) -> &Scatter {
        match by {
            Bound::Charged => &self.charged,
            Bound::Soaker => &self.soaker,
        }
    }
}

/// A figure that each run has, and how it scatters.
struct Scatter {
    of_runs: fn(&ExperimentCell) -> Vec<f64>,
    scale: Scale,
}

impl Scatter {
    fn of(data: &ExperimentData, of_runs: fn(&ExperimentCell) -> Vec<f64>) -> Self {
        let runs: Vec<Vec<f64>> = data.sound().map(of_runs).collect();
        Self { of_runs, scale: Scale::of_means(runs.iter().map(Vec::as_slice)) }
    }

    /// Whether the runs of both leave open that the figure is larger in `row` than in `best`.
    fn ties(&self, row: &Measured, best: &Measured) -> bool {
        let [row, best] = [row, best].map(|measured| (self.of_runs)(measured.cell));
        self.scale.times_means(&row, &best).is_some_and(|times| !times.is_more())
    }
}

/// Median latency of each plain run, in nanoseconds.
fn median_ns_of_runs(cell: &ExperimentCell) -> Vec<f64> {
    let is_counted = |record: &&&Record| record.run.pass == Pass::Plain && !record.latency.is_empty();
    cell.records.iter().filter(is_counted).map(|record| record.latency.quantile_ns(0.5) as f64).collect()
}

/// Processor time a request of each run beside the soaker, in microseconds: what the soaker lost.
fn soaker_us_of_runs(cell: &ExperimentCell) -> Vec<f64> {
    let lost_us = |record: &&Record| {
        let soaker = record.cpu.soaker.as_ref().filter(|_| record.cpu.ios > 0)?;
        Some(soaker.lost_ns as f64 / record.cpu.ios as f64 / 1e3)
    };
    cell.records.iter().filter_map(lost_us).collect()
}

fn is_issued(row: &EngineRow, issuing: Option<Issuing>) -> bool {
    (row.iomem, row.iodepth_batch)
        == (issuing.map(|issuing| issuing.iomem), issuing.map(|issuing| issuing.iodepth_batch))
}

fn row(cell: &ExperimentCell) -> EngineRow {
    let finding = &cell.finding;
    let Interval { value: mbps, low, high } = finding.mbps;
    EngineRow {
        // The requested engine, not the engine that ran: on a simulated disk, that is the same one for every cell.
        engine: cell.workload.engine,
        iomem: cell.workload.issuing.map(|issuing| issuing.iomem),
        iodepth_batch: cell.workload.issuing.map(|issuing| issuing.iodepth_batch),
        pattern: cell.workload.rw.pattern(),
        cache: cell.workload.cache,
        bs_bytes: cell.workload.bs.0,
        iodepth: cell.workload.iodepth,
        mbps,
        low,
        high,
        iops: finding.iops,
        latency_ns_p50: finding.latency_ns.p50,
        latency_ns_p99: finding.latency_ns.p99,
        charged_us: finding.charged_us.unwrap_or_default(),
        soaker_us: finding.soaker_us,
    }
}

fn answer(groups: &[Group], scatters: &Scatters) -> EnginesAnswer {
    // The deepest direct work decides throughput and cost, the shallowest decides latency.
    let is_direct = |(work, rows): &&Group| !work.is_buffered && rows.len() > 1;
    let smallest = groups.iter().filter(is_direct).map(|(work, _)| work.bs_bytes).min();
    let of_size = || groups.iter().filter(is_direct).filter(|(work, _)| Some(work.bs_bytes) == smallest);
    let busiest = of_size().max_by_key(|(work, _)| work.iodepth).filter(|(work, _)| work.iodepth > 1);
    let idlest = of_size().find(|(work, _)| work.iodepth == 1);
    let buffered = groups.iter().find(|(work, rows)| work.is_buffered && rows.len() > 1);
    let is_alone = busiest.is_none() && idlest.is_none() && buffered.is_none();
    let only = groups.iter().find_map(|(_, rows)| rows.first()).filter(|_| is_alone);
    EnginesAnswer {
        busy: busiest.map(|(work, rows)| busy(work, rows, scatters)),
        polling: busiest.map_or(Vec::new(), |(_, rows)| polling(rows)),
        soonest: idlest.map(|(_, rows)| soonest(rows, &scatters.medians)),
        buffered: buffered.map_or(Vec::new(), |(_, rows)| rows.iter().map(|measured| measured.row).collect()),
        issuing: Vec::new(),
        only: only.map(|measured| measured.row),
    }
}

fn busy(work: &Work, rows: &[Measured], scatters: &Scatters) -> BusyEngines {
    let is_slower = |row: &Measured, best: &Measured| {
        scatters.rates.times(&[best.cell], &[row.cell]).is_some_and(|times| times.is_more())
    };
    let fastest = best(rows, |row| row.iops, |row, best| !is_slower(row, best));
    let slowest_iops = rows.iter().map(|row| row.iops).fold(f64::INFINITY, f64::min);
    let speed = match fastest.engines.len() == rows.len() {
        true if fastest.is_decided => EngineSpeed::Alike,
        true => EngineSpeed::Unclear,
        false => EngineSpeed::SomeFaster,
    };
    let cost_by = cost_by(rows);
    let cheapest = best(rows, |row| -cost_us(row, cost_by), |row, best| scatters.costs(cost_by).ties(row, best));
    BusyEngines { iodepth: work.iodepth, bs_bytes: work.bs_bytes, speed, fastest, slowest_iops, cheapest, cost_by }
}

/// The engines with the lowest median latency.
fn soonest(rows: &[Measured], medians: &Scatter) -> BestEngines {
    let is_early = |row: &EngineRow| row.latency_ns_p50.map_or(f64::NEG_INFINITY, |ns| -(ns as f64));
    best(rows, is_early, |row, best| medians.ties(row, best))
}

/// Processor cost of polling engines compared with io_uring waiting for interrupts.
fn polling(rows: &[Measured]) -> Vec<PollingCost> {
    let cost_us = |row: &Measured| cost_us(row, cost_by(rows));
    let usual = rows.iter().find(|row| row.engine == EngineName::IoUring).filter(|row| cost_us(row) > 0.0);
    let is_polled = |row: &&Measured| row.engine == EngineName::Sqpoll || row.engine.polls_device();
    let cost = |row: &Measured| Some(PollingCost { engine: row.engine, of_io_uring: cost_us(row) / cost_us(usual?) });
    rows.iter().filter(is_polled).filter_map(cost).collect()
}

/// The best engine by `measure`, all within a share of it, and those that tie with it by `ties`.
fn best(
    rows: &[Measured],
    measure: impl Fn(&EngineRow) -> f64,
    ties: impl Fn(&Measured, &Measured) -> bool,
) -> BestEngines {
    let best = rows.iter().max_by(|one, other| measure(one).total_cmp(&measure(other))).expect("there is a row");
    let limit = measure(best) - measure(best).abs() * ALIKE;
    let is_near = |row: &Measured| measure(row) >= limit;
    let wins = |row: &&Measured| is_near(row) || ties(row, best);
    let engines: Vec<EngineName> = rows.iter().filter(wins).map(|row| row.engine).collect();
    BestEngines {
        is_all: engines.len() == rows.len() && rows.len() > 2,
        is_decided: engines.len() < rows.len() || rows.iter().all(is_near),
        engines,
        best: best.row,
    }
}

/// The bound by which all of these engines can be compared: the upper one, everything the machine spent, where each has it.
fn cost_by(rows: &[Measured]) -> Bound {
    if rows.iter().all(|row| row.soaker_us.is_some()) { Bound::Soaker } else { Bound::Charged }
}

/// Processor time a request by one bound, in microseconds. The upper bound is no less than the lower one.
fn cost_us(row: &EngineRow, by: Bound) -> f64 {
    row.soaker_us.filter(|_| by == Bound::Soaker).map_or(row.charged_us, |soaker_us| soaker_us.max(row.charged_us))
}

#[cfg(test)]
mod tests {
    use halfpower_analyse::Bound;
    use halfpower_record::{Environment, Latency, Record, Soaker};
    use halfpower_spec::{
        Bytes, Cache, Direction, EngineName, Experiment, Issuing, Pass, Pattern, Question, Rw, Workload,
    };

    use super::EngineRow;
    use crate::built::{disk, record};
    use crate::engines::issuing::IssuingPart;
    use crate::study_findings::{StudyFindings, analyse};
    use crate::table::ExperimentAnswer;

    /// An engine and its simulated disk, which includes the engine's costs.
    const ENGINES: [(EngineName, &str); 4] = [
        (EngineName::Sync, "fixed=80us,rate=500MB/s,cpu_fixed=8us,cpu_per_kib=0ns,unseen=0.25"),
        (EngineName::IoUring, "fixed=80us,rate=500MB/s,disks=8,cpu_fixed=4us,cpu_per_kib=0ns,unseen=0.25"),
        (EngineName::Libaio, "fixed=80us,rate=500MB/s,disks=8,cpu_fixed=5us,cpu_per_kib=0ns,unseen=0.2"),
        (EngineName::Sqpoll, "fixed=70us,rate=500MB/s,disks=8,cpu_fixed=12us,cpu_per_kib=0ns,unseen=0"),
    ];
    const WORK: [(u64, u32); 3] = [(4096, 1), (4096, 32), (65536, 32)];

    fn records() -> Vec<Record> {
        let mut records = Vec::new();
        for (engine, constants) in ENGINES {
            let disk = disk(constants);
            for (bs, iodepth) in WORK.into_iter().filter(|(_, iodepth)| *iodepth == 1 || !engine.is_in_turn()) {
                let rw = Rw::Randread;
                let cache = Cache::Device;
                let workload = Workload { rw, bs: Bytes(bs), iodepth, cache, engine, ..Workload::default() };
                for repeat in 0..3 {
                    records.push(record(&disk, workload, repeat, Pass::Plain, 1.0));
                }
                for repeat in 0..2 {
                    records.push(record(&disk, workload, repeat, Pass::Soaker, 1.0));
                }
            }
        }
        for record in &mut records {
            record.run.experiment = Some(Experiment::Engines);
            record.engine = record.run.workload.engine;
        }
        records
    }

    fn findings(records: &[Record]) -> StudyFindings {
        let question = Question { experiments: vec![Experiment::Engines], ..Question::about("sim:") };
        analyse(&question, &Environment::default(), records)
    }

    fn row(findings: &StudyFindings, engine: EngineName, work: (u64, u32)) -> EngineRow {
        let alike = |row: &&EngineRow| row.engine == engine && (row.bs_bytes, row.iodepth) == work;
        *findings.rows.engines.engines.iter().find(alike).unwrap_or_else(|| panic!("no row of {engine} at {work:?}"))
    }

    fn near(found: f64, truth: f64) -> bool {
        (found / truth - 1.0).abs() < 0.01
    }

    #[test]
    fn what_issuing_brings_and_costs_is_told_part_by_part() {
        let question = Question {
            experiments: vec![Experiment::Engines],
            issuing: Some(Issuing::default()),
            ..Question::about("d")
        };
        let usual = Issuing::default();
        let ways = [
            (EngineName::IoUring, usual, "fixed=80us,rate=500MB/s,disks=8,cpu_fixed=6us,cpu_per_kib=0ns,unseen=0.25"),
            (EngineName::Plain, usual, "fixed=80us,rate=500MB/s,disks=8,cpu_fixed=8us,cpu_per_kib=0ns,unseen=0.25"),
            (
                EngineName::IoUring,
                Issuing { iodepth_batch: 0, ..usual },
                "fixed=100us,rate=500MB/s,disks=8,cpu_fixed=4us,cpu_per_kib=0ns,unseen=0.25",
            ),
            (EngineName::Commands, usual, "fixed=80us,rate=500MB/s,disks=8,cpu_fixed=5us,cpu_per_kib=0ns,unseen=0.25"),
        ];
        let mut records = Vec::new();
        for (engine, issuing, constants) in ways {
            let workload = Workload {
                rw: Rw::Randread,
                bs: Bytes(4096),
                iodepth: 32,
                engine,
                issuing: Some(issuing),
                ..Workload::default()
            };
            for (repeat, pass) in [(0, Pass::Plain), (1, Pass::Plain), (2, Pass::Plain), (0, Pass::Soaker)] {
                let mut record = record(&disk(constants), workload, repeat, pass, 1.0);
                record.run.experiment = Some(Experiment::Engines);
                record.engine = engine;
                records.push(record);
            }
        }
        let found = analyse(&question, &Environment::default(), &records);
        let Some(ExperimentAnswer::Engines(answer)) = &found.experiments[0].found else { panic!() };
        let of = |part| answer.issuing.iter().find(|change| change.change == part).unwrap();
        let registered = of(IssuingPart::Registration);
        let all = of(IssuingPart::Batch(0));
        assert!(near(all.times.unwrap().interval.value, 88.192 / 108.192), "{all:?}");
        assert!(near(all.with_us.0, 3.0) && near(all.without_us.1.unwrap(), 6.0), "{all:?}");
        let past = of(IssuingPart::Passthrough);
        assert!(near(past.with_us.0, 3.75) && near(past.without_us.0, 6.0), "beside io_uring_plain: {past:?}");
        assert!(near(registered.with_us.0, 4.5) && near(registered.without_us.0, 6.0), "{registered:?}");
        let busy = answer.busy.as_ref().unwrap();
        assert!(
            near(busy.slowest_iops, busy.fastest.best.iops),
            "engines are compared as most applications issue: {busy:?}"
        );
        assert_eq!(found.issuing, answer.issuing, "the table of a study is the same");
        assert_eq!((all.rw, all.pattern, all.engine), (Direction::Read, Pattern::Random, EngineName::IoUring));
        assert!(near(all.without_iops.value, all.without_mbps.value * 1e6 / 4096.0), "{all:?}");
        let walks = Question { experiments: vec![Experiment::Random], ..question };
        let found_beside = analyse(&walks, &Environment::default(), &records);
        assert!(
            found_beside.experiments.is_empty() && found_beside.issuing == answer.issuing,
            "also beside the walks alone"
        );
        assert!(
            found.experiments[0].answer.contains("one call for all that can go out brings "),
            "{}",
            found.experiments[0].answer
        );
    }

    #[test]
    fn rows_are_what_each_engine_was_made_with() {
        let findings = findings(&records());
        assert_eq!(findings.rows.engines.engines.len(), 1 + 3 * 3);
        for (engine, constants) in ENGINES {
            let disk = disk(constants);
            for work in WORK.into_iter().filter(|(_, iodepth)| *iodepth == 1 || !engine.is_in_turn()) {
                let row = row(&findings, engine, work);
                let truth = halfpower_model::throughput(&disk, Bytes(work.0), work.1).mbps();
                assert!(near(row.mbps, truth) && near(row.iops, truth * 1e6 / work.0 as f64), "{row:?}, {truth}");
                let cost = halfpower_model::processor_time(&disk, 1_000, 1_000 * work.0);
                assert!(near(row.charged_us, cost.charged_ns as f64 / 1e6), "{row:?}, {cost:?}");
                assert!(
                    near(row.soaker_us.unwrap(), (cost.charged_ns + cost.unseen_ns) as f64 / 1e6),
                    "{row:?}, {cost:?}"
                );
                assert!(row.latency_ns_p50 <= row.latency_ns_p99 && row.low <= row.mbps && row.mbps <= row.high);
            }
        }
    }

    #[test]
    fn the_answer_names_the_fastest_the_cheapest_and_the_soonest() {
        let reported = findings(&records());
        let section = &reported.experiments[0];
        assert!(section.ran);
        let answer = &section.answer;
        assert!(answer.contains("32 requests of 4 KiB at a time io_uring_sqpoll is fastest"), "{answer}");
        assert!(answer.contains("io_uring costs least, 3.0 µs to 4.0 µs of a processor a request"), "{answer}");
        assert!(answer.contains("interrupts: io_uring_sqpoll 3.0 times"), "{answer}");
        assert!(answer.contains("One at a time, io_uring_sqpoll answers soonest: 78 µs"), "{answer}");
        let short = section.short.as_ref().unwrap();
        assert!(short.figure.starts_with("io_uring_sqpoll, ") && short.figure.ends_with(" IOPS"), "{short:?}");
        assert_eq!(short.sentence, "At 32 × 4 KiB, io_uring costs least: 3.0 µs to 4.0 µs of a processor a request.");
        assert_eq!(section.details.join(" "), *answer, "nothing is lost");
        assert_eq!(section.pictures.len(), 4);
        assert_eq!(section.pictures[0].lines.len(), 3, "a group of bars for each kind of work");
    }

    #[test]
    fn costs_are_compared_by_a_bound_that_every_engine_has() {
        // io_uring costs least by the soaker as by the charge, but without its soaker libaio's charge is below its upper bound.
        let is_left_out = |record: &Record| record.engine == EngineName::Libaio && record.run.pass == Pass::Soaker;
        let records: Vec<Record> = records().into_iter().filter(|record| !is_left_out(record)).collect();
        let reported = findings(&records);
        let Some(ExperimentAnswer::Engines(found)) = &reported.experiments[0].found else { panic!() };
        let busy = found.busy.as_ref().unwrap();
        assert_eq!((busy.cost_by, busy.cheapest.engines.as_slice()), (Bound::Charged, &[EngineName::IoUring][..]));
        let answer = &reported.experiments[0].answer;
        assert!(answer.contains("io_uring costs least, 3.0 µs of a processor a request"), "{answer}");
        assert!(answer.contains("interrupts: io_uring_sqpoll 4.0 times"), "{answer}");
    }

    #[test]
    fn a_difference_that_runs_have_by_chance_names_neither_the_cheapest_nor_the_soonest() {
        let mut records = records();
        records.retain(|record| matches!(record.engine, EngineName::IoUring | EngineName::Libaio));
        for record in &mut records {
            // The engines differ by 10% and by 25%, and the first run of each cell from its others by half.
            let is_first = u64::from(record.run.repeat == 0);
            let longer = |ns: u64| ns + ns / 2 * is_first;
            let median_ns = if record.engine == EngineName::IoUring { 80_000 } else { 88_000 };
            record.latency = Latency::default();
            record.latency.add(longer(median_ns));
            let soaker = record.cpu.soaker.take();
            record.cpu.soaker = soaker.map(|soaker| Soaker { lost_ns: longer(soaker.lost_ns), ..soaker });
        }
        let answer = findings(&records).experiments[0].answer.clone();
        assert!(answer.contains("no engine surely costs least (io_uring: "), "{answer}");
        assert!(answer.contains("no engine surely answers soonest (io_uring: 8"), "{answer}");
    }

    #[test]
    fn what_is_alike_is_said_to_be_alike() {
        let mut records = records();
        records.retain(|record| matches!(record.engine, EngineName::IoUring | EngineName::Libaio));
        let answer = findings(&records).experiments[0].answer.clone();
        assert!(answer.contains("all engines are equally fast"), "{answer}");
        assert!(answer.contains("io_uring and libaio answer soonest"), "{answer}");
        assert!(!answer.contains("Polling"), "{answer}");
    }

    #[test]
    fn what_single_runs_say_names_no_fastest() {
        let plain = |records: Vec<Record>, runs: u32| -> Vec<Record> {
            let kept = |record: &Record| record.run.pass == Pass::Plain && record.run.repeat < runs;
            records.into_iter().filter(kept).collect()
        };
        let answer = |records: &[Record]| findings(records).experiments[0].answer.clone();
        let reported = answer(&plain(records(), 1));
        assert!(reported.contains("no engine is surely faster than another"), "{reported}");
        let short = findings(&plain(records(), 1)).experiments[0].short.clone().unwrap();
        assert!(short.figure.starts_with("not decided, "), "{short:?}");
        // With two runs each, one engine has a stall in one of its runs.
        let mut stalled = plain(records(), 2);
        let is_first = |record: &Record| record.run.repeat == 0 && record.engine == EngineName::IoUring;
        stalled.iter_mut().filter(|record| is_first(record)).for_each(|record| record.elapsed_ns *= 2);
        let reported = answer(&stalled);
        assert!(reported.contains("io_uring and io_uring_sqpoll are fastest"), "{reported}");
    }

    #[test]
    fn an_engine_whose_requests_failed_has_no_row() {
        let mut records = records();
        for record in records.iter_mut().filter(|record| record.engine == EngineName::Libaio) {
            record.errors.insert("EIO".to_string(), 3);
        }
        let rows = findings(&records).rows.engines.engines;
        assert!(!rows.is_empty() && rows.iter().all(|row| row.engine != EngineName::Libaio));
        let alone = findings(&records[..4]).experiments[0].answer.clone();
        assert!(alone.starts_with("Only sync could be measured"), "{alone}");
    }
}
