//! `memory`: how fast is memory itself? Runs of the kernels enter, a rate with its interval for each kernel and number
//! of threads leaves.
//!
//! As memspeed did, the loop alone is measured too and its time taken off: off the loops that are this program's own.
//! memcpy and the file system bring loops of their own, which are a part of what they are.

use std::collections::BTreeMap;

use halfpower_record::Record;
use halfpower_spec::{Bytes, Kernel, Pass};

use super::rows::{MemoryRow, Rows};
use crate::data::ExperimentData;
use crate::section::{Axis, Line, Picture, PictureKind, Point, Told};
use halfpower_analyse::{Interval, MemoryCopy};
use halfpower_text::format;

const READS: [Kernel; 2] = [Kernel::Read, Kernel::ReadVector];
const WRITES: [Kernel; 3] = [Kernel::Write, Kernel::WriteVector, Kernel::WriteStream];
const COPIES: [Kernel; 3] = [Kernel::Copy, Kernel::CopyVector, Kernel::CopyStream];
/// What moves bytes from one place in memory to another, the file system's copies among them.
const MOVES: [Kernel; 5] = [Kernel::Copy, Kernel::CopyVector, Kernel::CopyStream, Kernel::FileRead, Kernel::FileWrite];

pub(super) fn tell(evidence: &ExperimentData, rows: &mut Rows) -> Told {
    let records: Vec<&Record> = evidence.sound().flat_map(|cell| cell.records.iter().copied()).collect();
    rows.memory = rates(&records);
    Told { answer: answer(&rows.memory), pictures: vec![picture(&rows.memory)] }
}

/// Every kernel that was run, in the kernels' order, the fewest threads first. The loop alone is not among them: it
/// moves nothing.
pub fn memory(records: &[Record]) -> Vec<MemoryRow> {
    rates(&records.iter().collect::<Vec<_>>())
}

/// What the loop alone takes one thread, in nanoseconds a KiB; `None` where it was not run.
pub fn loop_ns_per_kib(records: &[Record]) -> Option<f64> {
    let overheads = Overheads::of(&records.iter().collect::<Vec<_>>()).0;
    let ((bs, _), request_ns) = overheads.iter().find(|((_, threads), _)| *threads == 1)?;
    Some(request_ns / (bs.0 as f64 / 1024.0))
}

/// The fastest copy by the most threads.
pub(crate) fn measured_copy(rows: &[MemoryRow]) -> Option<MemoryCopy> {
    let most = rows.iter().map(|row| row.threads).max();
    let best = fastest(rows, &MOVES, |row| Some(row.threads) == most)?;
    Some(MemoryCopy { kernel: best.kernel, threads: best.threads, mbps: best.mbps })
}

fn rates(records: &[&Record]) -> Vec<MemoryRow> {
    let mut rates: BTreeMap<(Kernel, u32), Vec<f64>> = BTreeMap::new();
    let overheads = Overheads::of(records);
    for (kernel, record) in runs(records).filter(|(kernel, _)| *kernel != Kernel::Null) {
        let overhead_ns = if is_own_loop(kernel) { overheads.of_run(record) } else { 0.0 };
        let mbps = record.bytes as f64 * 1e3 / (record.elapsed_ns as f64 - overhead_ns);
        rates.entry((kernel, record.run.workload.threads)).or_default().push(mbps);
    }
    let row = |((kernel, threads), mbps): ((Kernel, u32), Vec<f64>)| {
        let Interval { value, low, high } = Interval::of_means(&mbps);
        MemoryRow { kernel, threads, mbps: value, low, high }
    };
    rates.into_iter().map(row).collect()
}

/// Plain runs of kernels that moved something.
fn runs<'a>(records: &[&'a Record]) -> impl Iterator<Item = (Kernel, &'a Record)> {
    let plain = records.iter().filter(|record| record.run.pass == Pass::Plain);
    let moved = plain.filter(|record| record.bytes > 0 && record.elapsed_ns > 0);
    moved.filter_map(|record| Some((record.run.workload.options.kernel?, *record)))
}

/// Whether the loop is this program's, so that the null kernel is the same loop.
fn is_own_loop(kernel: Kernel) -> bool {
    !matches!(kernel, Kernel::Copy | Kernel::FileRead | Kernel::FileWrite)
}

/// What the loop alone takes a request, in nanoseconds, by block size and threads.
struct Overheads(BTreeMap<(Bytes, u32), f64>);

impl Overheads {
    fn of(records: &[&Record]) -> Self {
        let mut sums: BTreeMap<(Bytes, u32), (f64, u64)> = BTreeMap::new();
        for (_, record) in runs(records).filter(|(kernel, _)| *kernel == Kernel::Null) {
            let workload = &record.run.workload;
            let sum = sums.entry((workload.bs, workload.threads)).or_default();
            // All threads go through their requests side by side, each for the whole window.
            sum.0 += record.elapsed_ns as f64 * f64::from(workload.threads);
            sum.1 += record.ios;
        }
        Self(sums.into_iter().map(|(key, (ns, requests))| (key, ns / requests.max(1) as f64)).collect())
    }

    /// The loop's part of a run's window, at most half of it: what takes longer was not measured in the same state.
    fn of_run(&self, record: &Record) -> f64 {
        let workload = &record.run.workload;
        let request_ns = self.0.get(&(workload.bs, workload.threads)).copied().unwrap_or(0.0);
        let each_thread = record.ios as f64 / f64::from(workload.threads.max(1));
        (each_thread * request_ns).min(record.elapsed_ns as f64 / 2.0)
    }
}

fn fastest<'a>(rows: &'a [MemoryRow], kernels: &[Kernel], of: impl Fn(&MemoryRow) -> bool) -> Option<&'a MemoryRow> {
    let rows = rows.iter().filter(|row| kernels.contains(&row.kernel) && of(row));
    rows.max_by(|one, other| one.mbps.total_cmp(&other.mbps))
}

fn answer(rows: &[MemoryRow]) -> String {
    let best = |verb: &str, kernels: &[Kernel]| {
        let row = fastest(rows, kernels, |_| true)?;
        let (rate, kernel) = (format::mbps(row.mbps), row.kernel);
        Some(format!("{verb} at {rate} ({kernel}, {})", threads(row.threads)))
    };
    let sentence = |subject: &str, parts: [Option<String>; 3]| {
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let (last, others) = parts.split_last()?;
        let others = if others.is_empty() { String::new() } else { format!("{} and ", others.join(", ")) };
        Some(format!("{subject} is {others}{last}."))
    };
    let memory = sentence("Memory", [best("read", &READS), best("written", &WRITES), best("copied", &COPIES)]);
    let file = [best("read", &[Kernel::FileRead]), best("written", &[Kernel::FileWrite]), None];
    let told: Vec<String> = [memory, alone(rows), sentence("A cached file", file)].into_iter().flatten().collect();
    if told.is_empty() { "No kernel moved anything.".to_string() } else { told.join(" ") }
}

/// What one thread gets of the fastest copy, where several were tried.
fn alone(rows: &[MemoryRow]) -> Option<String> {
    let one = fastest(rows, &COPIES, |row| row.threads == 1)?.mbps;
    let all = fastest(rows, &COPIES, |row| row.threads > 1)?.mbps;
    Some(match one < 0.9 * all {
        true => format!("One thread alone copies {} of what all do together.", format::percent(one / all)),
        false => "One thread alone copies as much as all together.".to_string(),
    })
}

fn threads(count: u32) -> String {
    if count == 1 { "1 thread".to_string() } else { format!("{count} threads") }
}

fn picture(rows: &[MemoryRow]) -> Picture {
    let mut counts: Vec<u32> = rows.iter().map(|row| row.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    let line = |count: &u32| {
        let of = rows.iter().filter(|row| row.threads == *count);
        let point = |row: &MemoryRow| {
            let MemoryRow { mbps: value, low, high, .. } = *row;
            Point::named(row.kernel.word(), Interval { value, low, high })
        };
        Line { name: threads(*count), points: of.map(point).collect() }
    };
    Picture {
        title: "Rate of each kernel".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Kernel"),
        y: Axis::even("MB/s"),
        lines: counts.iter().map(line).collect(),
    }
}
