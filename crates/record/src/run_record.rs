//! Defines the record of one run: everything that was seen of it.

use std::collections::BTreeMap;

use halfpower_spec::{EngineName, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Anatomy, ByDirection, CpuTimes, DiscardedWindow, FarEnd, HostShare, LaneRecord, LaneRole, Latency, Noise, Origin,
    Soaker, Tcp, Trims, total,
};

/// One run: what was asked, and what it gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What was asked.
    pub run: Run,
    /// The engine that carried it (what `auto` became).
    pub engine: EngineName,
    /// Bytes of the target that the offsets were drawn from.
    pub span_bytes: u64,
    /// Bytes of the target over which these lie in pieces; `None` where they are one part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_bytes: Option<u64>,
    /// When it began, in milliseconds of Unix time; 0 in virtual time.
    pub started_unix_ms: u64,
    /// Time the run took with its preparation, on the engine's clock: what it used of the budget.
    pub spent_ns: u64,
    /// Length of the window, from the first submission to the last reaping counted, with the closing flush.
    pub elapsed_ns: u64,
    /// The closing flush of a buffered write, a part of `elapsed_ns`; 0 where there was none.
    pub flush_ns: u64,
    /// Bytes moved by requests of the workload that succeeded. Like all counts of requests, bytes and latencies that
    /// follow, without what random readers beside the workload did: `lanes` has that.
    pub bytes: u64,
    /// Requests that succeeded.
    pub ios: u64,
    /// Of `ios`, those that were reads.
    pub read_ios: u64,
    /// Requests that moved fewer bytes than asked; they are in `ios`, with the bytes they moved, unless they were in
    /// flight when the window closed or of a random reader beside the workload.
    pub short_transfers: u64,
    /// Requests that failed, by the name of the error; they are not in `ios`. Those in flight when the window closed
    /// and those of random readers beside the workload are among them.
    pub errors: BTreeMap<String, u64>,
    /// Open loop: requests that should have come before the window closed and were not completed by then. More than
    /// the depth says that the target does not keep up with the rate.
    #[serde(default)]
    pub overdue_ios: u64,
    /// Requests that the kernel gave back unserved (EAGAIN), as behind a cgroup's `io.max`, and that were sent again, those
    /// outside of the window among them. Each is one request all the same, whose latency counts from its first submission.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub resubmitted_ios: u64,
    /// From before submission to reaping, of the requests that succeeded; in an open loop from when it should have
    /// been submitted.
    pub latency: Latency,
    /// Reads and writes apart, where the workload mixes them; `None` elsewhere and for runs of the first releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_direction: Option<ByDirection>,
    /// Blocks that were given back, where the workload does that; they are in `ios` and `bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trims: Option<Trims>,
    /// Mean number of requests in flight: the sum of latencies over the window.
    pub achieved_depth: f64,
    /// What it cost the processors.
    pub cpu: Cpu,
    /// What flushes between requests took (`--fdatasync`), the closing one not among them.
    #[serde(default)]
    pub syncs: Latency,
    /// Who submitted: the workload's lanes first, then random readers beside them.
    #[serde(default)]
    pub lanes: Vec<LaneRecord>,
    /// Bytes over time.
    pub series: Series,
    /// What the null engine takes a request on this machine: the harness's own share of each latency and cost.
    pub harness_ns_per_io: f64,
    /// What one lane takes between two requests like these of a server in this process that answers from memory, over
    /// loopback, with as many connections: our client's own ceiling. `None` where no client of ours took part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ns_per_io: Option<f64>,
    /// Bytes of the span in the page cache when the window opened; `None` where that cannot be told.
    pub cached_bytes: Option<u64>,
    /// In how many segments of the machine's memory the buffer of a direct request lay, on the average: pages that follow each
    /// other are one, and a device takes a request in as many. `None` where the kernel does not tell, for requests by way
    /// of the page cache, and for runs of the first releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_segments: Option<f64>,
    /// Who else was there.
    #[serde(default)]
    pub noise: Noise,
    /// What TCP did below the requests; `None` where none of our connections took part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Box<Tcp>>,
    /// What the far end spent; `None` without a witness there, and where it did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_end: Option<Box<FarEnd>>,
    /// What each process did, where several made this run together; empty where one did. The figures above are then of
    /// all: bytes and requests are sums, and `elapsed_ns` is such that the rate is the sum of the processes' rates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostShare>,
    /// Where the requests' time went, in a pass of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anatomy: Option<Anatomy>,
    /// Windows that were measured again for a reason, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discarded: Vec<DiscardedWindow>,
    /// Where it comes from; `None` for what halfpower measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
}

/// Processor time, from before the first submission until nothing was in flight any more.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Cpu {
    /// Length of this account: the window, and the draining of what it left in flight.
    pub span_ns: u64,
    /// Requests that were paid for in it: all that were submitted, also those that no longer count, and those of random
    /// readers beside the workload.
    pub ios: u64,
    /// User time charged to this process, all its threads.
    pub user_ns: u64,
    /// System time charged to this process, its kernel workers included.
    pub system_ns: u64,
    /// Time that the workload's threads could have run but waited for a processor that somebody else had, all together.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub waited_ns: u64,
    /// What the machine spent, for each processor; whole ticks, so coarse.
    pub machine: Vec<CpuTimes>,
    /// What the soaker lost, in a pass of its own.
    pub soaker: Option<Soaker>,
}

/// Bytes moved in each step of the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of a step, at most 100 ms.
    pub step_ns: u64,
    /// Bytes completed in each step; a last step that is not whole is left out.
    pub bytes: Vec<u64>,
}

fn is_nothing(figure: &u64) -> bool {
    *figure == 0
}

impl Cpu {
    /// The processor that was busiest, and the share of the span that it was busy.
    pub fn busiest(&self) -> Option<(usize, f64)> {
        let busy = self.machine.iter().map(CpuTimes::busy_ns).enumerate().max_by_key(|(_, busy_ns)| *busy_ns)?;
        (self.span_ns > 0).then(|| (busy.0, busy.1 as f64 / self.span_ns as f64))
    }

    /// The soaker's account of this pass, brought to `ios` requests of the same kind; `None` without an account.
    pub fn soaker_for(&self, ios: u64) -> Option<Soaker> {
        let soaker = self.soaker.as_ref().filter(|_| self.ios > 0)?;
        let lost_ns = soaker.lost_ns as f64 / self.ios as f64 * ios as f64;
        Some(Soaker { lost_ns: lost_ns as u64, ..soaker.clone() })
    }

    /// Time that the idle machine would have spent in the same span, from the soaker's baseline.
    pub fn idle_baseline_ns(&self) -> Option<u64> {
        let soaker = self.soaker.as_ref()?;
        let machine_ns = self.span_ns as f64 * self.machine.len() as f64;
        Some(((1.0 - soaker.baseline_share).max(0.0) * machine_ns) as u64)
    }

    /// Time that the workload's threads ran or could have run: where it fills the span they were never without work.
    pub fn wanted_ns(&self) -> u64 {
        total([self.user_ns, self.system_ns, self.waited_ns])
    }

    /// Time charged to this process.
    pub fn charged_ns(&self) -> u64 {
        total([self.user_ns, self.system_ns])
    }

    /// A time of this account over its requests, in microseconds; `None` where there was no request.
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
    /// Length of the account of charged time, in nanoseconds: of many processes of all of them, so that charged time over it
    /// is what one of them used of a processor.
    pub fn charged_span_ns(&self) -> u64 {
        if self.hosts.is_empty() { self.cpu.span_ns } else { total(self.hosts.iter().map(|host| host.span_ns)) }
    }

    /// Length of the window in seconds.
    pub fn seconds(&self) -> f64 {
        self.elapsed_ns as f64 / 1e9
    }

    /// Throughput in decimal MB/s, 0 for a window of no length.
    pub fn mbps(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.bytes as f64 * 1e3 / self.elapsed_ns as f64 }
    }

    /// What our own client could reach at best, all its lanes together, in decimal MB/s; `None` where that is not known.
    pub fn client_mbps(&self) -> Option<f64> {
        let ns = self.client_ns_per_io.filter(|ns| *ns > 0.0)?;
        Some(f64::from(self.run.workload.threads) * self.request_bytes() * 1e3 / ns)
    }

    /// Requests a second, 0 for a window of no length.
    pub fn iops(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.ios as f64 * 1e9 / self.elapsed_ns as f64 }
    }

    /// Bytes that a request asked for, on the average: of several sizes as they were drawn.
    pub fn request_bytes(&self) -> f64 {
        let workload = &self.run.workload;
        match workload.options.bssplit {
            Some(_) if self.ios > 0 => self.bytes as f64 / self.ios as f64,
            _ => workload.mean_bytes(),
        }
    }

    /// Bytes that the device moved and this run did not; negative where it moved fewer, as a cache lets it. Known
    /// for direct I/O without random readers beside it alone: what the page cache reads ahead and writes behind is ours
    /// too.
    pub fn foreign_bytes(&self) -> Option<i64> {
        let workload = &self.run.workload;
        let known = workload.cache.direct() && self.error_count() == 0 && workload.options.random_readers == 0;
        let device = self.noise.device_bytes.filter(|_| known)?;
        Some(i64::try_from(device).ok()? - i64::try_from(self.submitted_bytes() as u64).ok()?)
    }

    /// What the device moved meanwhile over what this run's requests asked for, of buffered ones too; `None` where its counter
    /// is not known. Far below 1, a cache answered; what others moved is in it.
    pub fn device_share(&self) -> Option<f64> {
        let asked = Some(self.submitted_bytes()).filter(|bytes| *bytes > 0.0)?;
        Some(self.noise.device_bytes? as f64 / asked)
    }

    /// Bytes of all requests that were submitted: the device moved those too that the window no longer counted.
    pub fn submitted_bytes(&self) -> f64 {
        self.cpu.ios as f64 * self.request_bytes()
    }

    /// The far end's soaker's account of this pass, brought to `ios` requests of the same kind; `None` without one.
    pub fn far_soaker_for(&self, ios: u64) -> Option<Soaker> {
        let soaker = self.far_end.as_ref()?.bill.soaker.clone();
        Cpu { soaker, ios: self.cpu.ios, ..Cpu::default() }.soaker_for(ios)
    }

    /// Random readers beside the workload, together: requests a second of all of them; `None` where there are none.
    pub fn beside_iops(&self) -> Option<f64> {
        let beside = self.lanes.iter().filter(|lane| lane.role == LaneRole::Random && lane.elapsed_ns > 0);
        beside.map(|lane| lane.ios as f64 * 1e9 / lane.elapsed_ns as f64).reduce(|sum, iops| sum + iops)
    }

    /// Throughput into the page cache, before the closing flush, in MB/s; `None` where nothing was flushed.
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
