//! Computes a rate with its interval for each memory kernel and thread count.
//!
//! As in memspeed, the time of the empty loop is measured and subtracted, but only from this program's own loops. The
//! loops inside memcpy and the file system stay in, because they are part of the operation.

use std::collections::BTreeMap;

use halfpower_analyse::{Interval, MemoryCopy};
use halfpower_record::Record;
use halfpower_spec::{Bytes, JsonSchema, Kernel, Pass};
use serde::Serialize;

use crate::data::ExperimentData;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// The speed of memory, kernel by kernel.
    pub memory: Vec<MemoryRow>,
}

/// The rate of one memory kernel with one thread count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MemoryRow {
    /// The kernel.
    pub kernel: Kernel,
    /// Concurrent threads, each on memory of its own.
    pub threads: u32,
    /// Rate of all threads in MB/s: bytes read, written or copied, without the loop's own time. A copied byte counts
    /// once, as in memspeed; STREAM counts it twice, as read and as written.
    pub mbps: f64,
    /// Lower end of the 95% t interval over run means.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The fastest ways to move memory; `null` if no kernel of a kind was run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct MemoryAnswer {
    /// Reading memory.
    pub read: Option<MemoryRow>,
    /// Writing memory.
    pub write: Option<MemoryRow>,
    /// Copying memory.
    pub copy: Option<MemoryRow>,
    /// Copy rate of one thread as a share of that of several threads.
    pub one_thread_share: Option<f64>,
    /// Reading a file that is in the page cache.
    pub file_read: Option<MemoryRow>,
    /// Writing a file that is in the page cache.
    pub file_write: Option<MemoryRow>,
}

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

#[cfg(test)]
mod tests {
    use halfpower_record::Record;
    use halfpower_spec::{Bytes, Cache, EngineName, Kernel, Pass, Rw, Workload, WorkloadOptions};
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::{MemoryRow, loop_ns_per_kib, memory};
    use crate::built::{disk, normal, record_at, workload};

    const BLOCK: f64 = (8 << 20) as f64;
    /// Loop time per block in nanoseconds, large enough that subtracting it matters.
    const LOOP_NS: f64 = 100_000.0;

    /// A run of `kernel` whose memory takes `memory_ns` per block, plus the loop's time, on parallel threads.
    fn run(kernel: Kernel, threads: u32, memory_ns: f64, has_loop: bool) -> Record {
        let block_ns = memory_ns + if has_loop { LOOP_NS } else { 0.0 };
        let options = WorkloadOptions { kernel: Some(kernel), ..WorkloadOptions::default() };
        let engine = EngineName::Memory;
        let workload =
            Workload { bs: Bytes(8 << 20), threads, engine, options, ..workload(Rw::Read, Cache::Both, 8, 1) };
        record_at(&disk("fixed=1us,rate=1GB/s"), workload, 0, Pass::Plain, BLOCK * f64::from(threads) / block_ns * 1e9)
    }

    #[track_caller]
    fn found(findings: &[MemoryRow], kernel: Kernel, threads: u32) -> MemoryRow {
        *findings.iter().find(|row| (row.kernel, row.threads) == (kernel, threads)).expect("it was run")
    }

    #[test]
    fn the_loop_is_taken_off_our_own_loops_alone() {
        let null = |threads| run(Kernel::Null, threads, 0.0, true);
        let records = [
            run(Kernel::Read, 1, 1e6, true),
            run(Kernel::CopyStream, 4, 4e6, true),
            run(Kernel::Copy, 1, 2e6, false),
            run(Kernel::FileWrite, 1, 3e6, false),
            null(1),
            null(4),
        ];
        let findings = memory(&records);
        assert!(findings.iter().all(|row| row.kernel != Kernel::Null), "the loop alone moves nothing");
        for (kernel, threads, memory_ns) in
            [(Kernel::Read, 1, 1e6), (Kernel::CopyStream, 4, 4e6), (Kernel::Copy, 1, 2e6), (Kernel::FileWrite, 1, 3e6)]
        {
            let truth = BLOCK * f64::from(threads) / memory_ns * 1e3;
            let row = found(&findings, kernel, threads);
            assert!((row.mbps / truth - 1.0).abs() < 1e-3, "{kernel}: {} instead of {truth}", row.mbps);
            assert_eq!((row.low, row.high), (row.mbps, row.mbps), "one run has no interval");
        }
        let per_kib = loop_ns_per_kib(&records).unwrap();
        assert!((per_kib - LOOP_NS / 8192.0).abs() < 1e-2, "{per_kib}");
    }

    #[test]
    fn without_the_null_kernel_rates_stand_as_they_were() {
        let records = [run(Kernel::Write, 2, 1e6, true)];
        let row = found(&memory(&records), Kernel::Write, 2);
        assert!((row.mbps - records[0].mbps()).abs() < 1e-6);
        assert_eq!(loop_ns_per_kib(&records), None);
    }

    /// 1,000 trials of five runs with 3% between runs; the binomial margin at 95% is ±1.4%.
    #[test]
    fn the_interval_holds_the_true_rate_as_often_as_it_says() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let trials = 1000;
        let covered = (0..trials).filter(|_| {
            let truth = 8000.0;
            let mut records = vec![run(Kernel::Null, 1, 0.0, true)];
            let block_ns = |factor: f64| BLOCK / (truth * factor) * 1e3;
            records
                .extend((0..5).map(|_| run(Kernel::ReadVector, 1, block_ns(1.0 + 0.03 * normal(&mut random)), true)));
            let row = found(&memory(&records), Kernel::ReadVector, 1);
            row.low <= truth && truth <= row.high
        });
        let share = covered.count() as f64 / f64::from(trials);
        assert!((0.93..=0.97).contains(&share), "{share}");
    }

    #[test]
    fn runs_that_moved_nothing_and_other_records_say_nothing() {
        let failed = Record { bytes: 0, ios: 0, ..run(Kernel::FileRead, 1, 1e6, false) };
        let beside_soaker = {
            let mut record = run(Kernel::Read, 1, 1e6, true);
            record.run.pass = Pass::Soaker;
            record
        };
        let of_a_disk = record_at(&disk("fixed=1us,rate=1GB/s"), Workload::default(), 0, Pass::Plain, 1e9);
        assert_eq!(memory(&[failed, beside_soaker, of_a_disk]), []);
        // A null kernel slower than the run itself was measured in another machine state; no rate may become infinite.
        let slow = Record { elapsed_ns: u64::MAX / 1024, ..run(Kernel::Null, 1, 0.0, true) };
        let row = found(&memory(&[run(Kernel::Read, 1, 1e6, true), slow]), Kernel::Read, 1);
        assert!(row.mbps.is_finite() && row.mbps > 0.0);
    }
}
