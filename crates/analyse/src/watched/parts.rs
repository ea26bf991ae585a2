//! Defines what the findings on a watched application consist of, but for the verdict.

use halfpower_record::{IssuedBy, OperationKind, ProbeStop, Wait};
use halfpower_spec::{Direction, JsonSchema, Pattern};
use serde::Serialize;

use crate::Interval;

/// Operations that an application waits for in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OperationGroup {
    /// Reads, page faults that read included.
    Reads,
    /// Writes that need not be durable when they return.
    Writes,
    /// Durable writes and syncs.
    Commits,
    /// All operations: nothing was traced.
    All,
}

/// One kind of operation on one place.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WatchActivity {
    /// Index into `places`; `null` if not known.
    pub place: Option<usize>,
    /// What it does.
    pub kind: OperationKind,
    /// How it is issued.
    pub by: IssuedBy,
    /// Whether it passes the page cache by; `null` if not known.
    pub direct: Option<bool>,
    /// Order of offsets; `null` if both orders are mixed, or for syncs.
    pub pattern: Option<Pattern>,
    /// Whether it makes files longer.
    pub appends: bool,
    /// The most frequent size in bytes, if at least half have it, else their mean; `null` if they move no bytes.
    pub size_bytes: Option<f64>,
    /// Whether at least half have that size.
    pub one_size: bool,
    /// Operations.
    pub count: u64,
    /// Operations a second.
    pub rate: f64,
    /// Mean number in progress while at least one was.
    pub depth_while_busy: f64,
    /// Most in progress at once.
    pub deepest: u32,
    /// Share that needed no disk.
    pub cached_share: f64,
    /// Median latency in nanoseconds.
    pub latency_ns_p50: u64,
    /// 99th percentile of latency in nanoseconds.
    pub latency_ns_p99: u64,
    /// Operations, the longest ones, of which only is known how long they took at least: a percentile that falls on them is a
    /// lower bound.
    pub unended: u64,
}

impl WatchActivity {
    /// Whether of a percentile, as a share from 0 to 1, only a lower bound is known.
    pub fn is_at_least(&self, quantile: f64) -> bool {
        self.unended as f64 > (1.0 - quantile) * self.count as f64
    }
}

/// A part of the time of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WaitPart {
    /// What it is spent on.
    pub wait: Wait,
    /// Share of the group's time.
    pub share: f64,
    /// Mean for each operation, in nanoseconds.
    pub mean_ns: f64,
}

/// What an application uses of what a study found that the path gives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WatchUse {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Size of the operations in bytes.
    pub size_bytes: f64,
    /// Operations a second that needed the disk.
    pub rate: Interval,
    /// Mean number in progress while at least one was.
    pub depth: f64,
    /// Operations of this size a second that the path gives at this depth.
    pub at_depth_iops: Interval,
    /// Share of that which is used.
    pub share_at_depth: Interval,
    /// Most operations of this size a second that the path gives.
    pub best_iops: Interval,
    /// The smallest depth that gives nearly all of them.
    pub best_iodepth: u32,
    /// Share of that which is used.
    pub share_of_best: Interval,
    /// Factor from what the path gives at this depth to the most that it gives.
    pub deeper_gain: Interval,
    /// A depth for a test: a power of two above this depth, at most the best.
    pub test_iodepth: u32,
    /// Factor that the study promises for it.
    pub test_gain: Interval,
}

/// Single requests that the watch sent itself, each while the disk had nothing else to do.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WatchProbe {
    /// Index into `places`.
    pub place: usize,
    /// Whether a file or a device was read that the application has open; otherwise it was the disk beneath.
    pub of_own_file: bool,
    /// Requests that were sent, with those that reached no disk.
    pub requests: u64,
    /// What those took that a disk answered, by size.
    pub sizes: Vec<WatchProbed>,
    /// Why it ended before all were sent; `null` if it did not.
    pub stopped: Option<ProbeStop>,
}

/// Requests of a probe of one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WatchProbed {
    /// Bytes of each.
    pub size_bytes: u64,
    /// Requests that a disk answered.
    pub count: u64,
    /// Their median latency in nanoseconds; 0 without any.
    pub latency_ns_p50: u64,
    /// Their 99th percentile in nanoseconds; 0 without any.
    pub latency_ns_p99: u64,
}

/// The application's reads against single requests of their size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WatchAlone {
    /// Size of both in bytes.
    pub size_bytes: u64,
    /// Single requests that a disk answered.
    pub requests: u64,
    /// Their median latency in nanoseconds.
    pub alone_ns_p50: u64,
    /// Median latency of the application's reads that needed the disk, in nanoseconds.
    pub own_ns_p50: u64,
    /// The second as a multiple of the first.
    pub times: Interval,
    /// What that tells.
    pub reading: AloneReading,
}

/// What the application's latency tells, held against that of one request alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AloneReading {
    /// Both are alike: the time is the device's own.
    Alike,
    /// The application's take much longer: they wait behind other requests, of others or of its own.
    Above,
    /// Neither is certain.
    Open,
}

/// Another process that used the same disks, or several of one name and control group.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WatchOther {
    /// Name of its program.
    pub name: String,
    /// Its process ID if it is one process; 0 for the kernel.
    pub pid: Option<u32>,
    /// Processes of this name and control group.
    pub processes: usize,
    /// Its control group.
    pub cgroup: String,
    /// Its share of the bytes that were read.
    pub read_share: f64,
    /// Its share of the bytes that were written.
    pub written_share: f64,
    /// Its share of all bytes.
    pub bytes_share: f64,
    /// Syncs that it asked for.
    pub syncs: u64,
    /// Its share of all syncs, the application's included.
    pub syncs_share: f64,
    /// How much longer the application's operations take if they overlap its requests: the ratio of the means; `null` if
    /// there are too few of either.
    pub slowdown: Option<f64>,
    /// The same of the medians.
    pub slowdown_p50: Option<f64>,
    /// The same of the 99th percentiles.
    pub slowdown_p99: Option<f64>,
    /// Share of the application's time in operations that would not have been spent without it, by these means.
    pub excess_share: Option<f64>,
    /// Mean latency of the application's operations that overlap none of its requests, in nanoseconds; `null` if there are
    /// too few.
    pub without_mean_ns: Option<f64>,
}

/// A disk as a whole, by the kernel's counters.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WatchDisk {
    /// Its kernel name.
    pub name: String,
    /// Share of the time with a request in progress.
    pub busy_share: f64,
    /// Mean number in progress while at least one was.
    pub depth_while_busy: f64,
    /// Requests a second.
    pub iops: f64,
    /// Decimal MB/s.
    pub mbps: f64,
}

/// What counters tell of the whole watch. Shares are of its time; `null` means that the kernel does not tell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WatchCounters {
    /// What the watch itself cost, and what it took from those who were watched, as a share of one processor.
    pub cost_share: f64,
    /// Share of the kernel's events that were lost.
    pub lost_share: f64,
    /// Processors that the application used.
    pub processors: f64,
    /// Share of the time that one of its threads was ready and waited for a processor; more than one count together.
    pub run_queue_share: Option<f64>,
    /// Share of the time that its threads waited for storage; more than one count together.
    pub block_io_share: Option<f64>,
    /// Share of the time that some task of its control group, or else of the machine, waited for I/O.
    pub pressure_io_share: Option<f64>,
    /// The same for a processor.
    pub pressure_cpu_share: Option<f64>,
    /// The same for memory.
    pub pressure_memory_share: Option<f64>,
    /// Share of the processors' time that a hypervisor takes.
    pub steal_share: f64,
    /// Decimal MB/s that the application's requests moved, with the interval over the seconds.
    pub own_mbps: Option<Interval>,
    /// Decimal MB/s that others moved on the same disks.
    pub other_mbps: Option<Interval>,
}
