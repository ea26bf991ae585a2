//! Holds the thresholds of the verdict on a watched application; docs/method/watch.md explains each.

/// Operations of a group from which it is judged: what their time was spent on is told by few.
pub(super) const FEWEST_JUDGED: u64 = 10;
/// Operations, or requests, from which medians and other quantiles of them are judged.
pub(super) const FEWEST_OPERATIONS: u64 = 30;
/// Traced time from which anything is judged, in nanoseconds.
pub(super) const SHORTEST_TRACE_NS: u64 = 1_000_000_000;
/// The same of slices that are spread over a watch of this length.
pub(super) const FEWEST_SLICES: u64 = 4;
/// Share of a group's operations that one kind must have for it to stand for all.
pub(super) const STANDS_FOR_ALL: f64 = 0.7;
/// Share of the operations' time from which a group is judged.
pub(super) const DOMINANT: f64 = 0.1;
/// Share of the kernel's events that may be lost.
pub(super) const MOST_LOST: f64 = 0.1;
/// Share of the time with an operation in progress below which storage does not limit the application.
pub(super) const ASKS_ENOUGH: f64 = 0.5;
/// The same for its own depth, which is no fault of storage.
pub(super) const ASKS_ALWAYS: f64 = 0.75;
/// Share of a group's time from which one kind of wait is its cause.
pub(super) const CAUSE: f64 = 0.35;
/// Share of a commit's time that its flush and journal have at least, where it is its write and these together that count.
pub(super) const A_PART: f64 = 0.2;
/// Share of its time that several kinds of wait must have together.
pub(super) const MOSTLY: f64 = 0.5;
/// Share of a group's limit from which it holds the group up.
pub(super) const AT_LIMIT: f64 = 0.93;
/// Share of the time for which a processor quota must have held a group up.
pub(super) const HELD: f64 = 0.1;
/// Share of the time from which one thread fills a processor.
pub(super) const FULL_THREAD: f64 = 0.9;
/// Share of the time from which a processor of the machine is full.
pub(super) const FULL_PROCESSOR: f64 = 0.95;
/// Share of the time that threads which were ready had to wait for a processor.
pub(super) const WAITED: f64 = 0.2;
/// Share of the processors' time that a hypervisor takes.
pub(super) const STOLEN: f64 = 0.1;
/// Share of the time that tasks waited for memory.
pub(super) const MEMORY_PRESSURE: f64 = 0.1;
/// The same where pages that were taken from processes are read again.
pub(super) const MEMORY_PRESSURE_PAGING: f64 = 0.02;
/// Share of the application's bytes that such reads must have.
pub(super) const PAGING: f64 = 0.2;
/// Share of the bytes read that a full memory had taken away, from which it is the cause; and share of reads that it must answer.
pub(super) const READ_AGAIN: f64 = 0.5;
pub(super) const ANSWERED: f64 = 0.1;
/// Share of operations from which the page cache answers.
pub(super) const CACHED: f64 = 0.95;
/// Share of a group's time that may be spent on storage where the page cache answers.
pub(super) const LITTLE: f64 = 0.3;
/// Share of the time from which a disk is always busy.
pub(super) const BUSY: f64 = 0.9;
/// Share of the time of requests that they wait in the block layer before the device gets them.
pub(super) const QUEUED: f64 = 0.3;
/// Operations in progress up to which an application waits for nearly each.
pub(super) const FEW_IN_PROGRESS: f64 = 4.5;
/// Multiple of its quickest requests that a device takes when they wait within it.
pub(super) const SLOWER_INSIDE: f64 = 3.0;
/// Share of what the path gives from which the application has all of it.
pub(super) const AT_CEILING: f64 = 0.8;
/// Factor that more depth must bring for the application's own depth to limit it.
pub(super) const DEEPER_GAIN: f64 = 1.2;
/// Share of all bytes from which another process is a neighbour that may disturb.
pub(super) const HEAVY: f64 = 0.2;
/// Share of all syncs likewise.
pub(super) const HEAVY_SYNCS: f64 = 0.3;
/// Share of all syncs from which a neighbour that never pauses is the cause.
pub(super) const MOST_SYNCS: f64 = 0.5;
/// Flushes beyond its own for which a commit then waits at least.
pub(super) const HALF_A_FLUSH: f64 = 0.5;
/// Share of the flushes' time that the journal must have to take part.
pub(super) const OF_THE_JOURNAL: f64 = 0.03;
/// Factor by which operations take longer beside a neighbour's requests: their mean, and their median; and than one request
/// alone.
pub(super) const SLOWED: f64 = 1.5;
/// The median likewise: long operations meet a neighbour's requests more often, which raises the mean by itself.
pub(super) const SLOWED_MEDIAN: f64 = 1.2;
/// Share of a group's time that would not have been spent without the neighbour.
pub(super) const EXCESS: f64 = 0.3;
/// Operations on each side of a comparison.
pub(super) const FEWEST_COMPARED: u64 = 30;
/// Seconds on each side of a comparison.
pub(super) const FEWEST_SECONDS: usize = 3;
