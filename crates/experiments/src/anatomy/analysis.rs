//! `anatomy`: where does the time of a request go?

use halfpower_record::{Anatomy, Phase, Record};

use super::rows::{AnatomyRow, Rows};
use crate::data::ExperimentData;
use crate::section::{Axis, Line, Picture, PictureKind, Point, Told};
use halfpower_analyse::ExperimentCell;
use halfpower_analyse::Interval;
use halfpower_text::format;

/// Above this share of its requests, cuts and a full driver are worth a sentence.
const WORTH_SAYING: f64 = 0.01;
/// The phase that no tracepoint sees: what the latency has beyond the first and the last of them.
const OUTSIDE: &str = "outside";

/// A cell and what its traced runs saw.
struct Column<'a> {
    cell: &'a ExperimentCell<'a>,
    n: u32,
    /// The run's mean latency and its anatomy.
    runs: Vec<(f64, &'a Anatomy)>,
    rows: Vec<AnatomyRow>,
}

pub(super) fn tell(evidence: &ExperimentData, rows: &mut Rows) -> Told {
    let mut columns: Vec<Column> = evidence.sound().filter_map(|cell| column(evidence, cell)).collect();
    columns.sort_by_key(|column| (column.n, column.cell.workload.iodepth, column.cell.workload.bs));
    if columns.is_empty() {
        let trouble = evidence.cells.iter().flat_map(|cell| &cell.records).find_map(|record| trouble(record));
        let why = trouble.unwrap_or_else(|| "no traced run was finished".to_string());
        return Told { answer: format!("That is not known: {why}."), pictures: Vec::new() };
    }
    rows.anatomy.extend(columns.iter().flat_map(|column| column.rows.clone()));
    let several = columns.iter().any(|column| column.n != columns[0].n);
    Told { answer: answer(&columns), pictures: vec![shares(&columns, several), times(&columns, several)] }
}

fn trouble(record: &Record) -> Option<String> {
    let anatomy = record.anatomy.as_ref()?;
    let usual = "no request was seen on its whole way".to_string();
    Some(anatomy.trouble.clone().unwrap_or(usual))
}

fn column<'a>(evidence: &ExperimentData, cell: &'a ExperimentCell<'a>) -> Option<Column<'a>> {
    let seen = |record: &&'a Record| {
        let anatomy = record.anatomy.as_ref().filter(|anatomy| anatomy.requests > 0)?;
        (record.ios > 0).then(|| (record.latency.sum_ns() as f64 / record.latency.count() as f64, anatomy))
    };
    let runs: Vec<(f64, &Anatomy)> = cell.records.iter().filter_map(seen).collect();
    if runs.is_empty() {
        return None;
    }
    let n = match cell.workload.options.members {
        0 => evidence.environment.capabilities.members.max(1),
        members => members,
    };
    let mut rows = Vec::new();
    let mut add = |phase: &'static str, of: &dyn Fn(&(f64, &Anatomy)) -> f64| {
        let means: Vec<f64> = runs.iter().map(|run| of(run) / 1e3).collect();
        let us = Interval::of_means(&means);
        let (bs_bytes, iodepth) = (cell.workload.bs.0, cell.workload.iodepth);
        let (low, high) = (us.low.max(0.0), us.high);
        rows.push(AnatomyRow { phase, bs_bytes, iodepth, n, share: 0.0, us: us.value, low, high });
    };
    for phase in Phase::ALL {
        if runs.iter().any(|(_, anatomy)| anatomy.phases.iter().any(|time| time.phase == phase)) {
            add(phase.word(), &|(_, anatomy)| anatomy.mean_ns(phase));
        }
    }
    add(OUTSIDE, &|(latency_ns, anatomy)| (latency_ns - anatomy.total_ns()).max(0.0));
    let total_us: f64 = rows.iter().map(|row| row.us).sum();
    rows.iter_mut().for_each(|row| row.share = if total_us > 0.0 { row.us / total_us } else { 0.0 });
    Some(Column { cell, n, runs, rows })
}

impl Column<'_> {
    fn total_us(&self) -> f64 {
        self.rows.iter().map(|row| row.us).sum()
    }

    fn share(&self, phase: &str) -> f64 {
        self.rows.iter().find(|row| row.phase == phase).map_or(0.0, |row| row.share)
    }

    fn size(&self) -> String {
        format::size(self.cell.workload.bs.0 as f64)
    }

    /// Such as `4 KiB, 16 deep, 2 devices`.
    fn label(&self, several: bool) -> String {
        let devices = if self.n == 1 { "device" } else { "devices" };
        let on = if several { format!(", {} {devices}", self.n) } else { String::new() };
        format!("{}, {} deep{on}", self.size(), self.depth())
    }

    /// Such as `4 KiB takes 41 µs (72% in the device, 12% in completion)`.
    fn told(&self) -> String {
        let device = self.share(Phase::Device.word());
        let others = self.rows.iter().filter(|row| row.phase != Phase::Device.word());
        let next = others.max_by(|one, other| one.share.total_cmp(&other.share));
        let next = next.map_or(String::new(), |row| format!(", {} {}", format::percent(row.share), place(row.phase)));
        let time = format::time_us(self.total_us());
        format!("{} takes {time} ({} in the device{next})", self.size(), format::percent(device))
    }

    fn depth(&self) -> u32 {
        self.cell.workload.iodepth
    }

    /// Events of a kind for each request.
    fn each(&self, count: impl Fn(&Anatomy) -> u64) -> f64 {
        let all: f64 = self.runs.iter().map(|(_, anatomy)| anatomy.requests as f64).sum();
        self.runs.iter().map(|(_, anatomy)| count(anatomy) as f64).sum::<f64>() / all.max(1.0)
    }
}

/// Where a phase is spent, in words.
fn place(phase: &str) -> &'static str {
    match phase {
        "submit" => "on the way to the block layer",
        "queue" => "waiting for a tag",
        "plug" => "in the plug",
        "scheduler" => "with the scheduler",
        "device" => "in the device",
        "interrupt" => "in the interrupt",
        "completion" => "from the driver's report to the answer",
        _ => "outside of the tracepoints",
    }
}

fn answer(columns: &[Column]) -> String {
    let of = |depth: u32| columns.iter().filter(move |column| column.n == columns[0].n && column.depth() == depth);
    let mut depths: Vec<u32> = columns.iter().map(Column::depth).collect();
    depths.sort_unstable();
    depths.dedup();
    let mut sentences = Vec::new();
    for depth in depths {
        let told: Vec<String> = of(depth).map(|column| format!("a request of {}", column.told())).collect();
        if !told.is_empty() {
            sentences.push(format!("{}, {}.", deep(depth), told.join(", and ")));
        }
    }
    let parts = |column: &&Column| column.each(|anatomy| anatomy.splits) > WORTH_SAYING;
    if let Some(column) = columns.iter().find(parts) {
        let share = format::percent(column.each(|anatomy| anatomy.splits));
        sentences.push(format!("The device takes less than {} at once: {share} are cut.", column.size()));
    }
    let full = |column: &&Column| column.each(|anatomy| anatomy.requeues) > WORTH_SAYING;
    if let Some(column) = columns.iter().rev().find(full) {
        let count = format::two_digits(column.each(|anatomy| anatomy.requeues));
        let label = column.label(false);
        sentences
            .push(format!("At {label}, the driver is full: a request is handed back {count} times on the average."));
    }
    sentences.join(" ")
}

fn deep(depth: u32) -> String {
    if depth == 1 { "One at a time".to_string() } else { format!("{depth} deep") }
}

/// Every phase that some column has, in the order of the way.
fn phases(columns: &[Column]) -> Vec<&'static str> {
    let known = Phase::ALL.iter().map(|phase| phase.word()).chain([OUTSIDE]);
    known.filter(|phase| columns.iter().any(|column| column.rows.iter().any(|row| row.phase == *phase))).collect()
}

fn shares(columns: &[Column], several: bool) -> Picture {
    let line = |phase: &'static str| Line {
        name: phase.to_string(),
        points: columns
            .iter()
            .map(|column| Point::named(column.label(several), Interval::exact(column.share(phase) * 100.0)))
            .collect(),
    };
    Picture {
        title: "Where a request's time goes".to_string(),
        kind: PictureKind::Stack,
        x: Axis::even("Request"),
        y: Axis::even("Share of its latency, %"),
        lines: phases(columns).into_iter().map(line).collect(),
    }
}

fn times(columns: &[Column], several: bool) -> Picture {
    let point = |row: &AnatomyRow| Point::named(row.phase, Interval { value: row.us, low: row.low, high: row.high });
    let line = |column: &Column| Line {
        name: column.label(several),
        points: column.rows.iter().filter(|row| row.us > 0.0).map(point).collect(),
    };
    Picture {
        title: "Time in each phase".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Phase"),
        y: Axis::log("Time, µs"),
        lines: columns.iter().map(line).collect(),
    }
}
