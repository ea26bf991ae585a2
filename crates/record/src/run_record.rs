//! Defines the record of one run: everything that was observed, its faults over all windows, and what is unknown.

use std::collections::BTreeMap;

use halfpower_spec::{EngineName, JsonSchema, Run};
use serde::{Deserialize, Serialize};

use crate::joined::{
    chained, counts, first, given, greatest, if_both_know, joined, least, of_known, one_by_one, parts, rates_added, sum,
};
use crate::{
    Anatomy, CpuTimes, DepthSearch, DeviceUse, FarEnd, HostShare, Join, LaneLatencies, LaneRecord, LaneRole, Latency,
    Noise, Origin, Samples, Soaker, Tcp, Unknown, total,
};

joined! {
    /// One run: its settings and its results.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Record(run: Run, engine: EngineName) {
        /// The settings.
        pub run: Run => given,
        /// The engine in use (the choice that `auto` made).
        pub engine: EngineName => given,
        /// Bytes of the target that the offsets were drawn from.
        pub span_bytes: u64 => sum,
        /// Bytes of the target over which the span is spread in pieces; `None` if the span is contiguous.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub spread_bytes: Option<u64> => of_known(greatest),
        /// The session of the study in which it was made: 0 for the first, which is all of an ordinary study.
        #[serde(default, skip_serializing_if = "is_first")]
        pub session: u32 => greatest,
        /// When it began, in milliseconds of Unix time; 0 in virtual time.
        pub started_unix_ms: u64 => least,
        /// Time of the run with its preparation, on the engine's clock: its share of the budget.
        pub spent_ns: u64 => greatest,
        /// Time of the study before this run that belongs to no run, such as laying out the target and storing records.
        /// It counts towards the budget too.
        #[serde(default, skip_serializing_if = "is_nothing")]
        pub between_ns: u64 => greatest,
        /// Length of the window, from the first submission to the last counted completion, with the closing flush.
        pub elapsed_ns: u64 => greatest,
        /// The closing flush of buffered writes, a part of `elapsed_ns`; 0 without a flush.
        pub flush_ns: u64 => greatest,
        /// Bytes moved by successful requests of the workload. This and all following counts of requests, bytes and
        /// latencies exclude additional random readers, which are in `lanes`.
        pub bytes: u64 => sum,
        /// Requests that succeeded.
        pub ios: u64 => sum,
        /// Of `ios`, those that were reads.
        pub read_ios: u64 => sum,
        /// Requests that moved fewer bytes than asked. They are in `ios`, with the bytes they moved, unless they were
        /// in flight when the window closed or belong to an additional random reader.
        pub short_transfers: u64 => sum,
        /// Failed requests, by the name of the error; they are not in `ios`. This includes requests in flight when the
        /// window closed, and those of additional random readers.
        pub errors: BTreeMap<String, u64> => counts,
        /// Open loop: requests that were due before the window closed but not completed by then. If this exceeds the
        /// depth, the target does not keep up with the rate.
        #[serde(default)]
        pub overdue_ios: u64 => sum,
        /// Requests that the kernel returned unserved (EAGAIN), as with a cgroup's `io.max`, and that were submitted
        /// again, including those outside the window. Each still counts as one request; its latency counts from its
        /// first submission.
        #[serde(default, skip_serializing_if = "is_nothing")]
        pub resubmitted_ios: u64 => sum,
        /// Time within the run in which this process did not run at all, because it or the machine was stopped.
        #[serde(default, skip_serializing_if = "is_nothing")]
        pub stopped_ns: u64 => greatest,
        /// Reads that were to be checked (`--verify`) and could not be judged, because their blocks were written
        /// meanwhile, including those outside the window.
        #[serde(default, skip_serializing_if = "is_nothing")]
        pub unjudged_reads: u64 => sum,
        /// Latency of successful requests, from before submission to reaping; in an open loop, from the time when the
        /// request was due.
        pub latency: Latency => parts,
        /// Reads and writes separately, if the workload mixes them; `None` otherwise and for runs of the first
        /// releases.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub by_direction: Option<ByDirection> => of_known(parts),
        /// Trimmed blocks, if the workload trims; they are in `ios` and `bytes`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub trims: Option<Trims> => of_known(parts),
        /// Mean number of requests in flight: the sum of latencies divided by the window.
        pub achieved_depth: f64 => sum,
        /// Processor time.
        pub cpu: Cpu => parts,
        /// Latency of flushes between requests (`--fdatasync`), without the closing flush.
        #[serde(default)]
        pub syncs: Latency => parts,
        /// Time from the submission of the first write since the last flush to the end of the flush that makes it
        /// durable (`--fdatasync`): what a commit waits. Empty without such flushes, and for runs of earlier releases.
        #[serde(default, skip_serializing_if = "Latency::is_empty")]
        pub commits: Latency => parts,
        /// The lanes: first the workload's, then additional random readers.
        #[serde(default)]
        pub lanes: Vec<LaneRecord> => one_by_one,
        /// The latencies of each of the workload's lanes, in the order of `lanes`; empty unless they were asked for, and
        /// for a run of several processes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub lane_latencies: Vec<LaneLatencies> => one_by_one,
        /// Bytes over time.
        pub series: Series => parts,
        /// Requests, bytes and latencies over time; empty for windows that are shorter than a stretch of it, and for runs
        /// of earlier releases.
        #[serde(default, skip_serializing_if = "Samples::is_empty")]
        pub samples: Samples => parts,
        /// Time per request of the null engine on this machine: the harness's share of each latency and cost.
        pub harness_ns_per_io: f64 => greatest,
        /// Time per request of one lane against a server in this process that answers from memory over loopback, with
        /// the same number of connections: the ceiling of halfpower's own client. `None` without such a client.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub client_ns_per_io: Option<f64> => of_known(rates_added),
        /// Bytes of the span in the page cache when the window opened; `None` if unknown.
        pub cached_bytes: Option<u64> => if_both_know(sum),
        /// Bytes of the span in the page cache after a buffered run and its closing flush; `None` if unknown, for direct
        /// runs, and for runs of earlier releases.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cached_after_bytes: Option<u64> => if_both_know(sum),
        /// Mean number of physical memory segments of a direct request's buffer: contiguous pages are one segment, and
        /// the device receives the request in that many. `None` if the kernel does not report it, for requests through
        /// the page cache, and for runs of the first releases.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub buffer_segments: Option<f64> => of_known(greatest),
        /// How far the rate may be from the truth, if it was predicted from a calibration; `None` for what was measured,
        /// and if nothing is known of the error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub predicted: Option<Predicted> => of_known(first),
        /// Evidence of other load.
        #[serde(default)]
        pub noise: Noise => parts,
        /// What the block devices under the target did for any process, over the span of the processor account; empty if
        /// there is none, and for runs of earlier releases.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub devices: Vec<DeviceUse> => chained,
        /// TCP's figures below the requests; `None` without connections of our own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub tcp: Option<Box<Tcp>> => of_known(parts),
        /// Resources that the far end used; `None` without a witness there, or if it did not report.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub far_end: Option<Box<FarEnd>> => of_known(first),
        /// Each process's part, if several made this run together; empty for one process. The figures above then cover
        /// all: bytes and requests are sums, and `elapsed_ns` is such that the rate is the sum of the processes' rates.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub hosts: Vec<HostShare> => chained,
        /// Where the requests spent their time; only in the traced pass.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub anatomy: Option<Anatomy> => of_known(first),
        /// How its depth was found, if it was looked for (`--latency-target`); `None` if it was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub depth_search: Option<Box<DepthSearch>> => of_known(first),
        /// Discarded windows that were measured again, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub discarded: Vec<DiscardedWindow> => chained,
        /// The origin of an imported record; `None` if halfpower measured it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub origin: Option<Box<Origin>> => of_known(first),
    }
}

joined! {
    /// Processor time, from before the first submission until nothing was in flight any more.
    #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
    pub struct Cpu {
        /// Length of this account: the window, and the draining of requests left in flight.
        pub span_ns: u64 => sum,
        /// Requests whose cost is in this account: all that were submitted, including those that no longer count and
        /// those of additional random readers.
        pub ios: u64 => sum,
        /// User time charged to this process, over all its threads.
        pub user_ns: u64 => sum,
        /// System time charged to this process, including its kernel workers.
        pub system_ns: u64 => sum,
        /// Total time that the workload's threads were ready to run but waited for a processor.
        #[serde(default, skip_serializing_if = "is_nothing")]
        pub waited_ns: u64 => sum,
        /// Context switches of this process; `None` in virtual time and for runs of earlier releases.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub switches: Option<u64> => if_both_know(sum),
        /// Its page faults that had to wait for a device, likewise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub major_faults: Option<u64> => if_both_know(sum),
        /// Its other page faults, likewise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub minor_faults: Option<u64> => if_both_know(sum),
        /// Time of each processor by kind; coarse, because counted in whole ticks.
        pub machine: Vec<CpuTimes> => one_by_one,
        /// Time that the soaker lost; only in the soaker's pass.
        pub soaker: Option<Soaker> => soakers by span_ns,
    }
}

/// Where the true rate is, if a rate was predicted, as factors of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Predicted {
    /// At least this, with 97.5% certainty; at most 1.
    pub low: f64,
    /// At most this, likewise; at least 1.
    pub high: f64,
    /// Whether the block size or the depth lies beyond what the calibration saw, where a limit may stand that no cell could
    /// show.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beyond: bool,
}

/// Bytes moved in each step of the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of a step: at most 10 ms in windows of up to 40 s, above that 1/4,000 of the window. In a run that ends by its
    /// bytes, 10 ms, doubled as often as 8,192 steps are full.
    pub step_ns: u64,
    /// Bytes completed in each step; an incomplete last step is left out.
    pub bytes: Vec<u64>,
}

impl Join for Series {
    /// Adds step by step; the series ends with the shorter of the two. Nothing is left of steps of different lengths.
    fn joined(self, other: Self) -> Self {
        let Self { step_ns, bytes } = self;
        if step_ns != other.step_ns {
            return Self::default();
        }
        let bytes = bytes.iter().zip(&other.bytes).map(|(own, other)| own + other).collect();
        Self { step_ns, bytes }
    }
}

/// The accounts of soakers over spans of these lengths.
fn soakers(own: Option<Soaker>, other: Option<Soaker>, spans_ns: [u64; 2]) -> Option<Soaker> {
    of_known(own, other, |own, other| own.joined(other, spans_ns))
}

/// Largest difference of [`Record::latency_share`] from 1 of a run whose latencies are those of its load.
const LITTLE: f64 = 0.2;

fn is_nothing(figure: &u64) -> bool {
    *figure == 0
}

fn is_first(session: &u32) -> bool {
    *session == 0
}

impl Cpu {
    /// The number of the busiest processor, and the share of the span in which it was busy.
    pub fn busiest(&self) -> Option<(usize, f64)> {
        let (place, busiest) = self.machine.iter().enumerate().max_by_key(|(_, times)| times.busy_ns())?;
        (self.span_ns > 0).then(|| (busiest.number_at(place), busiest.busy_ns() as f64 / self.span_ns as f64))
    }

    /// The soaker's account of this pass, scaled to `ios` requests; `None` without an account.
    pub fn soaker_for(&self, ios: u64) -> Option<Soaker> {
        let soaker = self.soaker.as_ref().filter(|_| self.ios > 0)?;
        let lost_ns = soaker.lost_ns as f64 / self.ios as f64 * ios as f64;
        Some(Soaker { lost_ns: lost_ns as u64, ..soaker.clone() })
    }

    /// Time that the idle machine would have spent in the same span, by the soaker's baseline.
    pub fn idle_baseline_ns(&self) -> Option<u64> {
        let soaker = self.soaker.as_ref()?;
        let machine_ns = self.span_ns as f64 * self.machine.len() as f64;
        Some(((1.0 - soaker.baseline_share).max(0.0) * machine_ns) as u64)
    }

    /// Time that the workload's threads ran or were ready to run; if it fills the span, they always had work.
    pub fn wanted_ns(&self) -> u64 {
        total([self.user_ns, self.system_ns, self.waited_ns])
    }

    /// Time charged to this process.
    pub fn charged_ns(&self) -> u64 {
        total([self.user_ns, self.system_ns])
    }

    /// A time of this account per request, in microseconds; `None` without requests.
    pub fn us_per_io(&self, spent_ns: u64) -> Option<f64> {
        (self.ios > 0).then(|| spent_ns as f64 / 1e3 / self.ios as f64)
    }

    /// Time of one kind over all processors.
    pub fn machine_ns(&self, of: fn(&CpuTimes) -> u64) -> u64 {
        total(self.machine.iter().map(of))
    }

    /// Time the machine was busy, over all processors.
    pub fn machine_busy_ns(&self) -> u64 {
        self.machine_ns(CpuTimes::busy_ns)
    }
}

impl Record {
    /// Processes that made this run together, each with the workload's threads.
    pub fn processes(&self) -> u64 {
        self.hosts.len().max(1) as u64
    }

    /// Length of the account of charged time, in nanoseconds, summed over all processes, so that charged time divided
    /// by it is the mean use of a processor by one process.
    pub fn charged_span_ns(&self) -> u64 {
        if self.hosts.is_empty() { self.cpu.span_ns } else { total(self.hosts.iter().map(|host| host.span_ns)) }
    }

    /// What the run took of the study's budget, with what came before it.
    pub fn of_budget_ns(&self) -> u64 {
        self.spent_ns.saturating_add(self.between_ns)
    }

    /// Length of the window in seconds.
    pub fn seconds(&self) -> f64 {
        self.elapsed_ns as f64 / 1e9
    }

    /// Throughput in decimal MB/s, 0 for a window of no length.
    pub fn mbps(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.bytes as f64 * 1e3 / self.elapsed_ns as f64 }
    }

    /// Ceiling of our own client over all its lanes, in decimal MB/s; `None` if unknown.
    pub fn client_mbps(&self) -> Option<f64> {
        let ns = self.client_ns_per_io.filter(|ns| *ns > 0.0)?;
        Some(f64::from(self.run.workload.threads) * self.request_bytes() * 1e3 / ns)
    }

    /// Requests a second, 0 for a window of no length.
    pub fn iops(&self) -> f64 {
        self.per_second(self.ios)
    }

    /// So many in the window as a rate a second, 0 for a window of no length.
    pub fn per_second(&self, count: u64) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { count as f64 * 1e9 / self.elapsed_ns as f64 }
    }

    /// Mean bytes that a request asked for; with several sizes, the mean of those drawn.
    pub fn request_bytes(&self) -> f64 {
        let workload = &self.run.workload;
        match workload.options.bssplit {
            Some(_) if self.ios > 0 => self.bytes as f64 / self.ios as f64,
            _ => workload.mean_bytes(),
        }
    }

    /// Bytes that the device moved beyond this run's; negative if it moved fewer, because of a cache. Known only for
    /// direct I/O without anything beside: read-ahead and writeback of the page cache would count as foreign.
    pub fn foreign_bytes(&self) -> Option<i64> {
        let workload = &self.run.workload;
        let is_alone = workload.options.background_depth() == 0;
        let known = workload.cache.direct() && self.error_count() == 0 && is_alone;
        let device = self.device_bytes().filter(|_| known)?;
        Some(i64::try_from(device).ok()? - i64::try_from(self.submitted_bytes() as u64).ok()?)
    }

    /// Bytes that the device moved during the run, divided by the bytes that the run's requests asked for, buffered
    /// ones included; `None` without the device's counter. Far below 1, a cache answered. Other load is included.
    pub fn device_share(&self) -> Option<f64> {
        let asked = Some(self.submitted_bytes()).filter(|bytes| *bytes > 0.0)?;
        Some(self.device_bytes()? as f64 / asked)
    }

    /// Bytes that the device moved during the run, by its own counter. A counter that stood still is no evidence, since
    /// it may be switched off (`queue/iostats`): `None`, unless the page cache held blocks that it may have served.
    pub fn device_bytes(&self) -> Option<u64> {
        let is_cached = self.cached_bytes.is_some_and(|bytes| bytes > 0);
        self.noise.device_bytes.filter(|bytes| *bytes > 0 || is_cached || self.ios == 0)
    }

    /// Bytes of all submitted requests: the device also moved those that the window no longer counted. Those beside
    /// the workload have sizes of their own.
    pub fn submitted_bytes(&self) -> f64 {
        let beside = || self.lanes.iter().filter(|lane| lane.role != LaneRole::Own);
        let ios = self.cpu.ios.saturating_sub(total(beside().map(|lane| lane.ios)));
        ios as f64 * self.request_bytes() + total(beside().map(|lane| lane.bytes)) as f64
    }

    /// The account of the far end's soaker in this pass, scaled to `ios` requests; `None` without one.
    pub fn far_soaker_for(&self, ios: u64) -> Option<Soaker> {
        let soaker = self.far_end.as_ref()?.bill.soaker.clone();
        Cpu { soaker, ios: self.cpu.ios, ..Cpu::default() }.soaker_for(ios)
    }

    /// Requests a second of all lanes beside the workload: random readers, or another load; `None` without any.
    pub fn beside_iops(&self) -> Option<f64> {
        let beside = self.lanes.iter().filter(|lane| lane.role != LaneRole::Own && lane.elapsed_ns > 0);
        beside.map(|lane| lane.ios as f64 * 1e9 / lane.elapsed_ns as f64).reduce(|sum, iops| sum + iops)
    }

    /// Throughput into the page cache, before the closing flush, in MB/s; `None` without a flush.
    pub fn memory_mbps(&self) -> Option<f64> {
        let flushed = self.flush_ns > 0 && !self.run.workload.cache.direct();
        let window_ns = self.elapsed_ns.checked_sub(self.flush_ns).filter(|ns| *ns > 0 && flushed)?;
        Some(self.bytes as f64 * 1e3 / window_ns as f64)
    }

    /// Requests that failed.
    pub fn error_count(&self) -> u64 {
        total(self.errors.values().copied())
    }
}

joined! {
    /// Reads and writes of a mixed workload, separately.
    #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
    pub struct ByDirection {
        /// Bytes read, out of the record's bytes.
        pub read_bytes: u64 => sum,
        /// Latencies of the reads that succeeded.
        pub read_latency: Latency => parts,
        /// Latencies of the writes that succeeded.
        pub write_latency: Latency => parts,
    }
}

joined! {
    /// Trims of a run, and the latencies of its writes.
    #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
    pub struct Trims {
        /// Trims that succeeded.
        pub ios: u64 => sum,
        /// Bytes trimmed.
        pub bytes: u64 => sum,
        /// Latencies of these trims.
        pub latency: Latency => parts,
        /// Latencies of the writes that succeeded; empty if the run only trims.
        pub write_latency: Latency => parts,
    }
}

/// Why a window was discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscardReason {
    /// Its rate was not steady; the run was measured again in a longer window.
    NotSteady,
    /// The processes did not measure at the same time for long enough.
    NotTogether,
    /// The kernel returned requests (EAGAIN); the run was measured again with workers that may wait.
    GivenBack,
    /// The process or the machine was stopped for a part of it.
    Stopped,
}

/// A window that was measured again: its rates are dropped, its faults are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardedWindow {
    /// Why it was discarded.
    pub reason: DiscardReason,
    /// Its length.
    pub elapsed_ns: u64,
    /// Requests that failed in it, by the name of the error.
    pub errors: BTreeMap<String, u64>,
    /// Requests that moved fewer bytes than asked.
    pub short_transfers: u64,
}

impl Record {
    /// Whether the record has this value. Records that halfpower measured have all.
    pub fn knows(&self, what: Unknown) -> bool {
        self.origin.as_ref().is_none_or(|origin| !origin.unknown.contains(&what))
    }

    /// Whether reads and writes of a mixed workload are known separately.
    pub fn knows_mix(&self) -> bool {
        self.knows(Unknown::Mix) && (self.origin.is_none() || self.by_direction.is_some())
    }

    /// Whether a result with equal settings is a repeat of this one. Without size, depth or caches, nothing tells that they
    /// are equal.
    pub fn may_repeat(&self) -> bool {
        [Unknown::BlockSize, Unknown::Depth, Unknown::Cache].into_iter().all(|setting| self.knows(setting))
    }

    /// Whether it belongs to the walks of block size and depth and all its settings are known.
    pub fn walks(&self) -> bool {
        self.run.walks() && self.knows(Unknown::Settings)
    }

    /// The latencies counted, divided by the time that requests were in flight within the window: 1 in a steady state
    /// (J. D. C. Little, A proof for the queuing formula L = λW, 1961). Far below 1, the window was too short for its
    /// queue: the requests that it counts are those that waited least. `None` where nothing can be said: without a
    /// request, with failed ones, in an open loop, and in the results of other tools.
    pub fn latency_share(&self) -> Option<f64> {
        let is_closed_loop = self.run.workload.rate.is_none() && self.origin.is_none();
        let window_ns = self.elapsed_ns.saturating_sub(self.flush_ns) as f64;
        let in_flight_ns = self.achieved_depth * window_ns;
        let tells = is_closed_loop && self.ios > 0 && self.errors.is_empty() && in_flight_ns > 0.0;
        tells.then(|| self.latency.mean_ns() * self.ios as f64 / in_flight_ns)
    }

    /// Whether the latencies counted are those of the load: known, and in keeping with Little's law.
    pub fn knows_latency(&self) -> bool {
        // The request that is cut by either end of the window is half of one on average.
        let most_off = LITTLE + 0.5 / self.ios.max(1) as f64;
        self.knows(Unknown::Latency) && self.latency_share().is_none_or(|share| (share - 1.0).abs() <= most_off)
    }

    /// The latencies of all requests; `None` if they are not known, and if no request succeeded.
    pub fn known_latency(&self) -> Option<&Latency> {
        Some(&self.latency).filter(|latency| self.knows_latency() && !latency.is_empty())
    }

    /// Whether the latency of all requests is known at this quantile, from 0 to 1.
    pub fn knows_latency_at(&self, quantile: f64) -> bool {
        let of_sides = self.origin.as_ref().is_some_and(|origin| origin.percentiles_of_sides);
        self.knows_side_latency_at(quantile) && !of_sides
    }

    /// Whether the latencies of reads and of writes are known separately at this quantile, from 0 to 1.
    pub fn knows_side_latency_at(&self, quantile: f64) -> bool {
        let listed = self.origin.as_ref().and_then(|origin| origin.percentiles.as_ref());
        let is_it = |percent: &f64| (percent / 100.0 - quantile).abs() < 1e-9;
        self.knows_latency() && listed.is_none_or(|listed| listed.iter().any(is_it))
    }

    /// The latency that a share `quantile` (0 to 1) of the requests does not exceed; `None` if unknown, and if no request
    /// succeeded.
    pub fn latency_ns_at(&self, quantile: f64) -> Option<u64> {
        let known = self.known_latency().filter(|_| self.knows_latency_at(quantile));
        known.map(|latency| latency.quantile_ns(quantile))
    }

    /// The percentile of latency that the search for a depth goes by, in nanoseconds; `None` if unknown.
    pub fn sought_latency_ns(&self, search: &DepthSearch) -> Option<u64> {
        search.latency_ns(&self.latency).filter(|_| self.knows_latency())
    }

    /// Times of the flushes between requests; `None` without any.
    pub fn flushes(&self) -> Option<&Latency> {
        Some(&self.syncs).filter(|flushes| flushes.count() > 0)
    }

    /// Mean number of requests in flight; `None` if latency is unknown.
    pub fn known_depth(&self) -> Option<f64> {
        self.knows(Unknown::Latency).then_some(self.achieved_depth)
    }

    /// Processor time charged, user plus system; `None` if unknown.
    pub fn charged_ns(&self) -> Option<u64> {
        self.knows(Unknown::ChargedTime).then(|| self.cpu.charged_ns())
    }
}

/// Names in a record of the errors that mean wrong data.
const WRONG_DATA: [&str; 4] = ["corrupt", "torn", "lost", "misdirected"];

/// Whether the error of this name means wrong data.
pub fn is_wrong_data(error: &str) -> bool {
    WRONG_DATA.contains(&error)
}

impl Record {
    /// What remains of this window if it is discarded and measured again.
    pub fn discarded_for(&self, reason: DiscardReason) -> DiscardedWindow {
        let Self { elapsed_ns, short_transfers, .. } = *self;
        DiscardedWindow { reason, elapsed_ns, errors: self.errors.clone(), short_transfers }
    }

    /// Requests that failed, by the name of the error, in all windows of the run.
    pub fn all_errors(&self) -> BTreeMap<&str, u64> {
        let mut all = BTreeMap::new();
        let discarded = self.discarded.iter().map(|window| &window.errors);
        for (name, count) in discarded.chain([&self.errors]).flatten() {
            let sum = all.entry(name.as_str()).or_default();
            *sum = total([*sum, *count]);
        }
        all
    }

    /// Short transfers in all windows of the run.
    pub fn all_short_transfers(&self) -> u64 {
        total(self.discarded.iter().map(|window| window.short_transfers).chain([self.short_transfers]))
    }

    /// Requests that found wrong data.
    pub fn wrong_data(&self) -> u64 {
        total(self.all_errors().into_iter().filter(|(name, _)| is_wrong_data(name)).map(|(_, count)| count))
    }

    /// Whether some requests failed and none succeeded.
    pub fn failed_whole(&self) -> bool {
        self.ios == 0 && !self.errors.is_empty()
    }
}
