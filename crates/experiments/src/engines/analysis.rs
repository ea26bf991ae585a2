//! Compares engines at equal work by throughput, cost and latency.

use std::ops::Deref;

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{EngineName, Issuing};

use super::answer::{BestEngines, BusyEngines, EngineSpeed, EnginesAnswer, PollingCost};
use super::issuing::changes;
use super::rows::{EngineRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::Scale;

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
    found.sort_by_key(|measured| (work(measured), measured.engine));
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
    let scale = Scale::of(data.sound());
    (rows, EnginesAnswer { issuing: changes(data), ..answer(&groups, &scale) })
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
        latency_ns_p50: finding.latency_ns.p50.unwrap_or_default(),
        latency_ns_p99: finding.latency_ns.p99.unwrap_or_default(),
        charged_us: finding.charged_us.unwrap_or_default(),
        soaker_us: finding.soaker_us,
    }
}

fn answer(groups: &[Group], scale: &Scale) -> EnginesAnswer {
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
        busy: busiest.map(|(work, rows)| busy(work, rows, scale)),
        polling: busiest.map_or(Vec::new(), |(_, rows)| polling(rows)),
        soonest: idlest.map(|(_, rows)| best(rows, |row| -(row.latency_ns_p50 as f64), |_, _| false)),
        buffered: buffered.map_or(Vec::new(), |(_, rows)| rows.iter().map(|measured| measured.row).collect()),
        issuing: Vec::new(),
        only: only.map(|measured| measured.row),
    }
}

fn busy(work: &Work, rows: &[Measured], scale: &Scale) -> BusyEngines {
    // Engines tie with the best unless the runs show them to be slower.
    let ties =
        |row: &Measured, best: &Measured| scale.times(&[best.cell], &[row.cell]).is_none_or(|times| !times.is_more());
    let fastest = best(rows, |row| row.iops, ties);
    let slowest_iops = rows.iter().map(|row| row.iops).fold(f64::INFINITY, f64::min);
    let speed = match fastest.engines.len() == rows.len() {
        true if slowest_iops >= fastest.best.iops * (1.0 - ALIKE) => EngineSpeed::Alike,
        true => EngineSpeed::Unclear,
        false => EngineSpeed::SomeFaster,
    };
    let cheapest = best(rows, |row| -cost_us(row), |_, _| false);
    BusyEngines { iodepth: work.iodepth, bs_bytes: work.bs_bytes, speed, fastest, slowest_iops, cheapest }
}

/// Processor cost of polling engines compared with io_uring waiting for interrupts.
fn polling(rows: &[Measured]) -> Vec<PollingCost> {
    let usual = rows.iter().find(|row| row.engine == EngineName::IoUring).filter(|row| cost_us(row) > 0.0);
    let is_polled = |row: &&Measured| matches!(row.engine, EngineName::Sqpoll | EngineName::Iopoll);
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
    let wins = |row: &&Measured| measure(row) >= limit || ties(row, best);
    let engines: Vec<EngineName> = rows.iter().filter(wins).map(|row| row.engine).collect();
    BestEngines { is_all: engines.len() == rows.len() && rows.len() > 2, engines, best: best.row }
}

/// The upper cost bound if it was measured: everything the machine spent, whoever was charged.
fn cost_us(row: &EngineRow) -> f64 {
    row.soaker_us.map_or(row.charged_us, |soaker_us| soaker_us.max(row.charged_us))
}
