//! Computes a rate with its interval for each memory kernel and thread count.
//!
//! As in memspeed, the time of the empty loop is measured and subtracted, but only from this program's own loops. The
//! loops inside memcpy and the file system stay in, because they are part of the operation.

use std::collections::BTreeMap;

use halfpower_analyse::{Interval, MemoryCopy};
use halfpower_record::Record;
use halfpower_spec::{Bytes, Kernel, Pass};

use super::answer::MemoryAnswer;
use super::rows::{MemoryRow, Rows};
use crate::data::ExperimentData;

const READS: [Kernel; 2] = [Kernel::Read, Kernel::ReadVector];
const WRITES: [Kernel; 3] = [Kernel::Write, Kernel::WriteVector, Kernel::WriteStream];
const COPIES: [Kernel; 3] = [Kernel::Copy, Kernel::CopyVector, Kernel::CopyStream];
/// Kernels that move bytes from one place in memory to another, including the file system's copies.
const MOVES: [Kernel; 5] = [Kernel::Copy, Kernel::CopyVector, Kernel::CopyStream, Kernel::FileRead, Kernel::FileWrite];

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, MemoryAnswer) {
    let records: Vec<&Record> = data.sound().flat_map(|cell| cell.records.iter().copied()).collect();
    let rows = rates(&records);
    let best = |kernels: &[Kernel]| fastest(&rows, kernels, |_| true).copied();
    let answer = MemoryAnswer {
        read: best(&READS),
        write: best(&WRITES),
        copy: best(&COPIES),
        one_thread_share: one_thread_share(&rows),
        file_read: best(&[Kernel::FileRead]),
        file_write: best(&[Kernel::FileWrite]),
    };
    (Rows { memory: rows }, answer)
}

/// The rate of every kernel that was run, sorted by kernel and thread count. The empty loop is left out: it moves
/// nothing.
pub fn memory(records: &[Record]) -> Vec<MemoryRow> {
    rates(&records.iter().collect::<Vec<_>>())
}

/// Time of the empty loop on one thread, in nanoseconds per KiB; `None` if it was not run.
pub fn loop_ns_per_kib(records: &[Record]) -> Option<f64> {
    let overheads = Overheads::of(&records.iter().collect::<Vec<_>>()).0;
    let ((bs, _), request_ns) = overheads.iter().find(|((_, threads), _)| *threads == 1)?;
    Some(request_ns / (bs.0 as f64 / 1024.0))
}

/// The fastest copy with the most threads.
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

/// Plain runs of kernels that moved data.
fn runs<'a>(records: &[&'a Record]) -> impl Iterator<Item = (Kernel, &'a Record)> {
    let plain = records.iter().filter(|record| record.run.pass == Pass::Plain);
    let moved = plain.filter(|record| record.bytes > 0 && record.elapsed_ns > 0);
    moved.filter_map(|record| Some((record.run.workload.options.kernel?, *record)))
}

/// Whether the kernel's loop is this program's own, so that the null kernel is the same loop.
fn is_own_loop(kernel: Kernel) -> bool {
    !matches!(kernel, Kernel::Copy | Kernel::FileRead | Kernel::FileWrite)
}

/// Time of the empty loop per request in nanoseconds, by block size and thread count.
struct Overheads(BTreeMap<(Bytes, u32), f64>);

impl Overheads {
    fn of(records: &[&Record]) -> Self {
        let mut sums: BTreeMap<(Bytes, u32), (f64, u64)> = BTreeMap::new();
        for (_, record) in runs(records).filter(|(kernel, _)| *kernel == Kernel::Null) {
            let workload = &record.run.workload;
            let sum = sums.entry((workload.bs, workload.threads)).or_default();
            // Threads run in parallel, each for the whole window.
            sum.0 += record.elapsed_ns as f64 * f64::from(workload.threads);
            sum.1 += record.ios;
        }
        Self(sums.into_iter().map(|(key, (ns, requests))| (key, ns / requests.max(1) as f64)).collect())
    }

    /// The loop's share of a run's window, at most half. A longer loop time was measured in another machine state.
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

/// One thread's share of the fastest copy, if several thread counts were measured.
fn one_thread_share(rows: &[MemoryRow]) -> Option<f64> {
    let one = fastest(rows, &COPIES, |row| row.threads == 1)?.mbps;
    let all = fastest(rows, &COPIES, |row| row.threads > 1)?.mbps;
    Some(one / all)
}
