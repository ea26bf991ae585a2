//! Defines what stops a watched application, with the measurements that show it.

use halfpower_spec::JsonSchema;
use serde::Serialize;

use crate::Interval;

/// What stops a group of operations, with the evidence. Shares are from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum WatchStop {
    /// Its own depth: it waits for what it asked for before it asks for more, and the device would do more at once.
    OwnDepth {
        /// Mean number in progress while at least one was.
        depth: f64,
        /// Share of its time that the device works on it; `null` if not traced.
        device_share: Option<f64>,
        /// Share of the time that the disk has nothing to do; `null` if its counters are not known.
        idle_share: Option<f64>,
        /// Share of the time that the application asks for nothing.
        think_share: f64,
        /// Depth that gives nearly all that the path can; `null` without a study.
        best_iodepth: Option<u32>,
        /// Factor that it brings; `null` without a study.
        gain: Option<Interval>,
    },
    /// The device at this size and depth: more in flight would only wait.
    Device {
        /// Its kernel name; empty if not known.
        disk: String,
        /// Share of the time that it is busy; `null` if not known.
        busy_share: Option<f64>,
        /// Mean number in progress while at least one was.
        depth: f64,
        /// Share of the time of requests that they wait before the device gets them.
        queue_share: f64,
        /// How many times as long as its quickest requests they take at the device; `null` if not known.
        slower_inside: Option<f64>,
        /// Share of the most that a study found; `null` without a study.
        share_of_best: Option<Interval>,
    },
    /// A limit that a control group sets on a disk.
    GroupLimit {
        /// File that sets it.
        file: String,
        /// What it limits: `read_bps`, `write_bps`, `read_iops` or `write_iops`.
        limits: String,
        /// The disk; empty if it is for none.
        disk: String,
        /// The limit, a second.
        limit: f64,
        /// What was used of it, a second.
        used: f64,
        /// Share of it that was used.
        share: f64,
    },
    /// A control group's quota of processor time.
    ProcessorQuota {
        /// File that sets it.
        file: String,
        /// Processors that it allows.
        limit: f64,
        /// Processors that were used.
        used: f64,
        /// Share of the time that it held the group up; `null` if not known.
        held_share: Option<f64>,
    },
    /// One of its threads fills a processor.
    OneProcessor {
        /// Share of the time that this thread was on a processor.
        busy_share: f64,
    },
    /// Processors are full, and its threads wait for one.
    Processors {
        /// Full processors.
        full: usize,
        /// Processors of the machine.
        of: usize,
        /// Share of the operations' time, or of the watch if nothing was traced, that its threads were ready and waited.
        waited_share: f64,
    },
    /// The device's flush.
    Flush {
        /// Share of the group's time.
        share: f64,
        /// Mean for each operation, in nanoseconds.
        mean_ns: f64,
        /// Mean time of an operation, in nanoseconds.
        of_ns: f64,
        /// Mean time that the operation's own write takes before it, in nanoseconds.
        write_ns: f64,
        /// Operations that are made durable together, on average.
        together: f64,
        /// Factor that four commits in each flush would bring at most.
        gain_of_four: f64,
    },
    /// The file system's journal.
    Journal {
        /// Share of the group's time.
        share: f64,
        /// Mean for each operation, in nanoseconds.
        mean_ns: f64,
        /// Mean time of an operation, in nanoseconds.
        of_ns: f64,
    },
    /// Data that the kernel writes back meanwhile.
    Writeback {
        /// Share of the group's time.
        share: f64,
        /// Mean for each operation, in nanoseconds.
        mean_ns: f64,
        /// Mean time of an operation, in nanoseconds.
        of_ns: f64,
    },
    /// The kernel makes writers wait, because too many pages are dirty.
    DirtyPages {
        /// Share of the group's time.
        share: f64,
        /// Mean for each operation, in nanoseconds.
        mean_ns: f64,
        /// Rate of the application's writes into the page cache, in decimal MB/s.
        mbps: f64,
    },
    /// Another process on the same disks.
    Neighbour {
        /// Name of its program.
        name: String,
        /// Its control group.
        cgroup: String,
        /// Its share of all bytes.
        bytes_share: f64,
        /// Its share of all syncs.
        syncs_share: f64,
        /// Factor by which operations take longer beside it; `null` if it was always there.
        slowdown: Option<Interval>,
        /// Share of the group's time that would not have been spent without it; `null` if it was always there.
        excess_share: Option<f64>,
    },
    /// The device is shared: one request alone takes much less than the application's, which has few in progress, and another
    /// process uses the disk much.
    SharedDevice {
        /// Its kernel name; empty if not known.
        disk: String,
        /// What one request alone takes in the median, in nanoseconds.
        alone_ns: f64,
        /// What the application's take in the median, in nanoseconds.
        own_ns: f64,
        /// The second as a multiple of the first.
        times: Interval,
        /// Name of the program that moves most bytes beside it.
        name: String,
        /// Its control group.
        cgroup: String,
        /// Its share of all bytes.
        bytes_share: f64,
    },
    /// Too little memory: pages that were taken away are read again.
    Memory {
        /// Share of the time that tasks waited for memory.
        pressure_share: f64,
        /// Share of the application's bytes that are such reads; `null` if not known.
        paging_share: Option<f64>,
        /// Share of the bytes that it reads from disks which a full limit on its memory had taken from it; `null` if not known.
        read_again_share: Option<f64>,
        /// File of the control group that limits its memory, if it does.
        file: Option<String>,
    },
    /// The hypervisor takes the processors away.
    Steal {
        /// Share of the processors' time.
        share: f64,
    },
    /// The application itself: most of the time it asks for nothing. Storage does not limit it.
    Itself {
        /// Share of the time with an operation in progress, at most.
        busy_share: f64,
        /// Factor that storage without any latency would bring at most.
        most_gain: f64,
    },
    /// The page cache answers. Storage does not limit it.
    PageCache {
        /// Share of operations that needed no disk.
        share: f64,
    },
    /// Not known.
    NotKnown {
        /// Why.
        why: WatchUnknown,
    },
}

impl WatchStop {
    /// Whether it names something that limits the application, other than the application itself.
    pub fn is_limit(&self) -> bool {
        !matches!(self, Self::Itself { .. } | Self::PageCache { .. } | Self::NotKnown { .. })
    }
}

/// Why it is not known what stops a group.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum WatchUnknown {
    /// Nothing was seen of it.
    Nothing,
    /// Too few operations, or too little time.
    TooFew {
        /// Operations that were seen.
        count: u64,
        /// Traced time in nanoseconds.
        traced_ns: u64,
    },
    /// The kernel lost too many events.
    LostEvents {
        /// Share of them.
        share: f64,
    },
    /// Operations were not traced, and counters alone do not tell.
    NotTraced {
        /// Share of the time that the busiest disk is busy; `null` if not known.
        busy_share: Option<f64>,
    },
    /// No kind of wait dominates.
    NoOneCause {
        /// Share of the most frequent.
        share: f64,
    },
    /// It waits for a lock, or for something that was not seen.
    Unseen {
        /// Share of its time.
        share: f64,
    },
    /// The device works on many requests at once: only a study tells whether more would help.
    NeedsStudy {
        /// Mean number in progress while at least one was.
        depth: f64,
        /// Share of the time that the disk is busy; `null` if not known.
        busy_share: Option<f64>,
    },
    /// The path gives less than its study says.
    SlowerThanStudy {
        /// Share of what the study found at this depth, while it asks.
        share: f64,
    },
    /// The study does not tell whether more depth would bring more: its runs differ too much.
    StudyTooWide {
        /// Lower end of what the best depth gives over what this depth gives.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// Few requests wait long before the device gets them.
    Queue {
        /// Share of the requests' time.
        share: f64,
    },
    /// Something throttles it that was not found.
    Throttle {
        /// Share of its time.
        share: f64,
    },
    /// Its threads wait for a processor although the machine has idle ones.
    RunQueue {
        /// Share of its time.
        share: f64,
    },
}
