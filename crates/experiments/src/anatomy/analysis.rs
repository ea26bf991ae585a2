//! Divides the time of requests into the phases between the kernel's tracepoints.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_record::{Anatomy, Phase, Record};

use super::answer::{AnatomyAnswer, CutRequests, PhaseShare, RequestTime, ReturnedRequests, Untraced};
use super::rows::{AnatomyRow, Rows};
use crate::data::ExperimentData;

/// Events are reported above this share of the requests: cut requests, and requests that a full driver returns.
const WORTH_SAYING: f64 = 0.01;
/// The phase that no tracepoint sees: latency before the first tracepoint and after the last.
pub(super) const OUTSIDE: &str = "outside";

/// A cell and the figures of its traced runs.
pub(super) struct Column<'a> {
    pub cell: &'a ExperimentCell<'a>,
    pub n: u32,
    /// Mean latency in nanoseconds and anatomy of each run.
    runs: Vec<(f64, &'a Anatomy)>,
    pub rows: Vec<AnatomyRow>,
}

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, AnatomyAnswer) {
    let columns = columns(data);
    if columns.is_empty() {
        let untraced = data.cells.iter().flat_map(|cell| &cell.records).find_map(|record| untraced(record));
        let answer = AnatomyAnswer { untraced: Some(untraced.unwrap_or(Untraced::NoRun)), ..AnatomyAnswer::default() };
        return (Rows::default(), answer);
    }
    (Rows { anatomy: columns.iter().flat_map(|column| column.rows.clone()).collect() }, answer(&columns))
}

/// The traced cells, sorted by members, depth and block size.
pub(super) fn columns<'a>(data: &'a ExperimentData) -> Vec<Column<'a>> {
    let mut columns: Vec<Column> = data.sound().filter_map(|cell| column(data, cell)).collect();
    columns.sort_by_key(|column| (column.n, column.cell.workload.iodepth, column.cell.workload.bs));
    columns
}

fn untraced(record: &Record) -> Option<Untraced> {
    let trouble = record.anatomy.as_ref()?.trouble.clone();
    Some(trouble.map_or(Untraced::NoWholeRequest, |why| Untraced::Failed { why }))
}

fn column<'a>(data: &ExperimentData, cell: &'a ExperimentCell<'a>) -> Option<Column<'a>> {
    let seen = |record: &&'a Record| {
        let anatomy = record.anatomy.as_ref().filter(|anatomy| anatomy.requests > 0)?;
        (record.ios > 0).then(|| (record.latency.sum_ns() as f64 / record.latency.count() as f64, anatomy))
    };
    let runs: Vec<(f64, &Anatomy)> = cell.records.iter().filter_map(seen).collect();
    if runs.is_empty() {
        return None;
    }
    let n = match cell.workload.options.members {
        0 => data.environment.capabilities.members.max(1),
        members => members,
    };
    let mut rows = Vec::new();
    let mut add = |phase: &'static str, of: &dyn Fn(&(f64, &Anatomy)) -> f64| {
        let means: Vec<f64> = runs.iter().map(of).collect();
        let ns = Interval::of_means(&means);
        let (bs_bytes, iodepth) = (cell.workload.bs.0, cell.workload.iodepth);
        let (low, high) = (ns.low.max(0.0), ns.high);
        rows.push(AnatomyRow { phase, bs_bytes, iodepth, n, share: 0.0, ns: ns.value, low, high });
    };
    for phase in Phase::ALL {
        if runs.iter().any(|(_, anatomy)| anatomy.phases.iter().any(|time| time.phase == phase)) {
            add(phase.word(), &|(_, anatomy)| anatomy.mean_ns(phase));
        }
    }
    add(OUTSIDE, &|(latency_ns, anatomy)| (latency_ns - anatomy.total_ns()).max(0.0));
    let total_ns: f64 = rows.iter().map(|row| row.ns).sum();
    rows.iter_mut().for_each(|row| row.share = if total_ns > 0.0 { row.ns / total_ns } else { 0.0 });
    Some(Column { cell, n, runs, rows })
}

impl Column<'_> {
    fn total_ns(&self) -> f64 {
        self.rows.iter().map(|row| row.ns).sum()
    }

    pub fn share(&self, phase: &str) -> f64 {
        self.rows.iter().find(|row| row.phase == phase).map_or(0.0, |row| row.share)
    }

    fn request(&self) -> RequestTime {
        let others = self.rows.iter().filter(|row| row.phase != Phase::Device.word());
        let next = others.max_by(|one, other| one.share.total_cmp(&other.share));
        RequestTime {
            iodepth: self.cell.workload.iodepth,
            bs_bytes: self.cell.workload.bs.0,
            latency_ns_mean: self.total_ns(),
            device_share: self.share(Phase::Device.word()),
            next: next.map(|row| PhaseShare { phase: row.phase, share: row.share }),
        }
    }

    /// Mean number of events per request.
    fn each(&self, count: impl Fn(&Anatomy) -> u64) -> f64 {
        let all: f64 = self.runs.iter().map(|(_, anatomy)| anatomy.requests as f64).sum();
        self.runs.iter().map(|(_, anatomy)| count(anatomy) as f64).sum::<f64>() / all.max(1.0)
    }

    fn cut(&self) -> Option<CutRequests> {
        let share = self.each(|anatomy| anatomy.splits);
        (share > WORTH_SAYING).then_some(CutRequests { bs_bytes: self.cell.workload.bs.0, share })
    }

    fn full(&self) -> Option<ReturnedRequests> {
        let times = self.each(|anatomy| anatomy.requeues);
        let (iodepth, bs_bytes) = (self.cell.workload.iodepth, self.cell.workload.bs.0);
        (times > WORTH_SAYING).then_some(ReturnedRequests { iodepth, bs_bytes, times })
    }
}

fn answer(columns: &[Column]) -> AnatomyAnswer {
    let on_fewest = columns.iter().filter(|column| column.n == columns[0].n);
    AnatomyAnswer {
        untraced: None,
        requests: on_fewest.map(Column::request).collect(),
        cut: columns.iter().find_map(Column::cut),
        full: columns.iter().rev().find_map(Column::full),
    }
}
