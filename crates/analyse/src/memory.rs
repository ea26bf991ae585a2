//! How fast is memory, kernel by kernel? Runs of the engine `memory` enter, a rate with its interval for each kernel and
//! number of threads leaves.
//!
//! As memspeed did, the loop alone is measured too and its time taken off: off the loops that are this program's own.
//! memcpy and the file system bring loops of their own, which are a part of what they are.

use std::collections::BTreeMap;

use record::Record;
use serde::Serialize;
use spec::{Bytes, Kernel, Pass};

use crate::Interval;

/// The rate of one kernel by so many threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MemoryFinding {
    /// Which loop.
    pub kernel: Kernel,
    /// Threads that ran it at once, each over memory of its own.
    pub threads: u32,
    /// Bytes that all threads read, wrote or copied in a second, in MB/s, the loop's own time taken off. A byte copied
    /// counts once, as in memspeed; STREAM counts it twice, as read and as written.
    pub mbps: f64,
    /// Lower end of the 95% t interval over run means.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Every kernel that was run, in the kernels' order, the fewest threads first. The loop alone is not among them: it
/// moves nothing.
pub fn memory(records: &[Record]) -> Vec<MemoryFinding> {
    let mut rates: BTreeMap<(Kernel, u32), Vec<f64>> = BTreeMap::new();
    let overheads = Overheads::of(records);
    for (kernel, record) in runs(records).filter(|(kernel, _)| *kernel != Kernel::Null) {
        let overhead_ns = if is_own_loop(kernel) { overheads.of_run(record) } else { 0.0 };
        let mbps = record.bytes as f64 * 1e3 / (record.elapsed_ns as f64 - overhead_ns);
        rates.entry((kernel, record.run.workload.threads)).or_default().push(mbps);
    }
    let finding = |((kernel, threads), mbps): ((Kernel, u32), Vec<f64>)| {
        let Interval { value, low, high } = Interval::of_means(&mbps);
        MemoryFinding { kernel, threads, mbps: value, low, high }
    };
    rates.into_iter().map(finding).collect()
}

/// What the loop alone takes one thread, in nanoseconds a KiB; `None` where it was not run.
pub fn loop_ns_per_kib(records: &[Record]) -> Option<f64> {
    let overheads = Overheads::of(records).0;
    let ((bs, _), request_ns) = overheads.iter().find(|((_, threads), _)| *threads == 1)?;
    Some(request_ns / (bs.0 as f64 / 1024.0))
}

/// Plain runs of kernels that moved something.
fn runs(records: &[Record]) -> impl Iterator<Item = (Kernel, &Record)> {
    let plain =
        records.iter().filter(|record| record.run.pass == Pass::Plain && record.bytes > 0 && record.elapsed_ns > 0);
    plain.filter_map(|record| Some((record.run.workload.twist.kernel?, record)))
}

/// Whether the loop is this program's, so that the null kernel is the same loop.
fn is_own_loop(kernel: Kernel) -> bool {
    !matches!(kernel, Kernel::Copy | Kernel::FileRead | Kernel::FileWrite)
}

/// What the loop alone takes a request, in nanoseconds, by block size and threads.
struct Overheads(BTreeMap<(Bytes, u32), f64>);

impl Overheads {
    fn of(records: &[Record]) -> Self {
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
