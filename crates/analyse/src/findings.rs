//! Holds what the analysis finds of cells, curves and costs, as numbers and enums.
//!
//! Rates are decimal MB/s, sizes bytes, times as each name says. What is not known is `None`.

use halfpower_spec::{Cache, Direction, Pattern, Workload};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{CellSettings, FarCell, FastestCell, TcpCell, Unsteady};

/// A value with its 95% interval; `low` and `high` are the value itself where there is no telling.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Throughput against block size at one depth.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Curve {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// Depth asked for.
    pub iodepth: u32,
    /// Its highest throughput.
    pub peak_mbps: f64,
    /// Block size that reached it.
    pub peak_bs_bytes: u64,
    /// Smallest block size measured that reaches half of this curve's peak.
    pub half_power_bs_bytes: u64,
    /// Whether the next smaller block size of the axis was measured too and stays below half.
    pub half_power_bracketed: bool,
    /// Whether every larger block size measured reaches half of the peak too: without it there is no size *from which on*.
    pub half_power_holds: bool,
    /// n1/2 = a/b of the fit time = a + b x size: the block size at which half of a request's time is overhead.
    pub n_half_bytes: Option<f64>,
    /// Its interval's lower end.
    pub n_half_low_bytes: Option<f64>,
    /// Its interval's upper end.
    pub n_half_high_bytes: Option<f64>,
    /// Its peak over the narrowest peak advertised performance known.
    pub rap_over_pap: Option<f64>,
    /// Its interval's lower end.
    pub rap_over_pap_low: Option<f64>,
    /// Its interval's upper end.
    pub rap_over_pap_high: Option<f64>,
}

/// What a pattern, direction and cache setting is up against.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Limits {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// Time of a request whatever its size, from the cells at depth 1, in microseconds.
    pub fixed_us: Option<Interval>,
    /// Rate at which a single request's bytes move once it has begun (1/b), in MB/s.
    pub stream_mbps: Option<Interval>,
    /// Requests that make progress side by side, where depth stops helping before any ceiling.
    pub parallelism: Option<f64>,
    /// Throughput that neither larger blocks nor more depth get past, where one was seen, in MB/s.
    pub ceiling_mbps: Option<Interval>,
    /// Requests a second that smaller blocks and more depth do not get past, where such a limit was seen.
    pub ceiling_iops: Option<Interval>,
}

/// Which of the two bounds on processor cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// From below: what the process was charged.
    Charged,
    /// From above: what the soaker lost.
    Soaker,
}

/// Processor time a request = fixed + marginal x KiB.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// The depth that stands for the path, where the depth matters; `None` where all depths are in the fit.
    pub iodepth: Option<u32>,
    /// Which bound.
    pub bound: Bound,
    /// Microseconds a request whatever its size.
    pub fixed_us: Interval,
    /// Microseconds each KiB adds.
    pub marginal_us_per_kib: Interval,
    /// Throughput at which one core does nothing else, at the smallest and the largest block size measured, MB/s.
    pub core_saturates_mbps: [f64; 2],
    /// The same in requests a second, at the smallest block size.
    pub core_saturates_iops: f64,
    /// Milliseconds of processor time a decimal megabyte, at the smallest and the largest block size measured.
    pub ms_per_mb: [f64; 2],
    /// Cells that the fit rests on.
    pub cells: usize,
}

/// Where the processors' time went while a path was measured, in cores: 0.5 is half of one processor. What was
/// charged, `elsewhere`, `irq`, `softirq` and `unattributed` add up to what the soaker says, where it had a pass.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Attribution {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// Charged to this process and its kernel workers.
    pub charged_cores: f64,
    /// User and system time of the machine that this process was not charged for, beyond what the idle machine
    /// spends: kernel threads and other processes.
    pub elsewhere_cores: f64,
    /// Hardware interrupts, as ticks tell them.
    pub irq_cores: f64,
    /// Deferred interrupts, likewise.
    pub softirq_cores: f64,
    /// What the soaker lost beyond all that: interrupts between ticks, idle states, whatever the kernel's own
    /// account misses; `None` without a soaker's pass.
    pub unattributed_cores: Option<f64>,
    /// All that the soaker lost, brought to the rate of the plain runs; `None` without a soaker's pass.
    pub soaker_cores: Option<f64>,
    /// Cells that it rests on.
    pub cells: usize,
}

/// The cheapest settings within 5% of the peak.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Advice {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// What to set.
    pub settings: Workload,
    /// Throughput there.
    pub mbps: f64,
    /// Share of the best measured.
    pub share_of_peak: f64,
    /// Charged processor milliseconds a megabyte there; `None` where they are not known.
    pub cpu_ms_per_mb: Option<f64>,
    /// 99th percentile of latency there, in nanoseconds; `None` where it is not known.
    pub latency_ns_p99: Option<u64>,
    /// The best cell that may be advised, of this pattern and direction.
    pub best: FastestCell,
    /// Whether that cell is the advised one.
    pub is_best: bool,
}

/// Latencies of a cell, in nanoseconds; `None` is what another tool's results do not tell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LatencySummary {
    /// Shortest.
    pub min: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p999: Option<u64>,
    /// Longest.
    pub max: Option<u64>,
    /// Mean.
    pub mean: Option<f64>,
}

/// Evidence of others at work while a cell was measured, over all its plain runs. What no run could tell is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct NoiseFinding {
    /// Share of the processors' time that the hypervisor took.
    pub steal_share: Option<f64>,
    /// Share of the time that some task waited for I/O (pressure stall information); storage at work raises it too.
    pub pressure_io_share: Option<f64>,
    /// Share of the time that some task waited for a processor.
    pub pressure_cpu_share: Option<f64>,
    /// Bytes that the device moved and these runs did not, as a share of theirs; below 0 where it moved fewer.
    /// Known for direct I/O alone.
    pub foreign_share: Option<f64>,
    /// Mean frequency of the processors.
    pub cpu_mhz: Option<f64>,
}

/// One cell: all runs of one workload together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellFinding {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// Depth asked for.
    pub iodepth: u32,
    /// Submitting threads.
    pub threads: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Engine that carried it.
    pub engine: halfpower_spec::EngineName,
    /// How requests were handed to the kernel; `None` in virtual time and for runs of the first releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuing: Option<halfpower_spec::Issuing>,
    /// Plain runs.
    pub runs: usize,
    /// Throughput of the plain runs that chose this cell to be confirmed, in MB/s; then `mbps` and all that is told of
    /// its runs rest on the confirming runs alone. `None` of a cell that was not confirmed.
    pub chosen_mbps: Option<f64>,
    /// Throughput over run means, with its t interval.
    pub mbps: Interval,
    /// Requests a second, the mean over runs.
    pub iops: f64,
    /// Latencies of all runs together, in nanoseconds.
    pub latency_ns: LatencySummary,
    /// Mean number of requests in flight; `None` where no latency is known.
    pub achieved_depth: Option<f64>,
    /// Processor time a request charged to the process, in microseconds; `None` where it is not known.
    pub charged_us: Option<f64>,
    /// Processor time a request from the soaker's pass, in microseconds.
    pub soaker_us: Option<f64>,
    /// What the soaker lost beyond the time charged in the same pass, in microseconds a request: interrupts and
    /// kernel threads. Below 0 where the soaker's own error is larger.
    pub unseen_us: Option<f64>,
    /// Share of one core charged while it ran; `None` where it is not known.
    pub core_share: Option<f64>,
    /// Share of the same time that its threads could have run but waited for a processor that others had; of several
    /// threads, of all of them.
    pub waited_share: f64,
    /// What the far end did meanwhile; `None` where no witness told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub far_end: Option<FarCell>,
    /// What our own client gives against a server in memory, over loopback, in MB/s; `None` where no client of ours took part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_mbps: Option<f64>,
    /// In how many segments of the machine's memory the buffers of its runs lay, on the average; `None` where the kernel does
    /// not tell. A request of the same size is the faster the fewer they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_segments: Option<f64>,
    /// What TCP did below the requests; `None` where no connection of ours took part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpCell>,
    /// Share of the requests to a share that took about 40 ms, where these are a mode of their own, as delayed
    /// acknowledgements make it; `None` elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_share: Option<f64>,
    /// Requests that failed, over all runs.
    pub errors: u64,
    /// Requests that moved fewer bytes than asked, over all runs.
    pub short_transfers: u64,
    /// Whether it is faster than its level can be: a cache answered, and it is never advised.
    pub cached: bool,
    /// Throughput of each plain run that moved bytes, in MB/s and in the order of repeats; `mbps` is their mean.
    /// A slow start that was trimmed is not in it (`trimmed_share`).
    pub run_mbps: Vec<f64>,
    /// Charged processor time a request of each of these runs, in microseconds.
    pub run_charged_us: Vec<f64>,
    /// Whether it was steady within its runs. What was not is marked wherever it is shown, and never advised.
    pub steady: bool,
    /// Why it was not.
    pub unsteady: Option<Unsteady>,
    /// Mean share of the runs' time that was cut off as a start that is none of the steady state.
    pub trimmed_share: f64,
    /// Rate before it fell, where most runs began faster than they went on: a cache that filled up, a credit spent.
    pub burst_mbps: Option<f64>,
    /// Rate after it fell; there where `burst_mbps` is.
    pub sustained_mbps: Option<f64>,
    /// Whether the interval of `mbps` is within 5% of it to either side; not so where a single run has none. Where
    /// it is false, the budget ended before it was.
    pub within_5_percent: bool,
    /// Half width of the interval that five parts of one run give, as a share of its rate; the median over runs.
    /// It warns of restless runs and says nothing of how runs differ.
    pub within_run_reach: Option<f64>,
    /// Throughput into the page cache, without the closing flush, in MB/s: a buffered write alone has it. `mbps`
    /// is with the flush, so what reached the device.
    pub memory_mbps: Option<f64>,
    /// Share of the time of buffered writes that the closing flush took.
    pub flush_share: Option<f64>,
    /// What else went on while it was measured.
    pub noise: NoiseFinding,
    /// Bytes a second over time of its first run, in MB/s a step.
    pub series_mbps: Vec<f64>,
    /// Length of such a step in nanoseconds.
    pub series_step_ns: u64,
}

/// The rate that stands for one direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Headline {
    /// Which way the bytes go.
    pub rw: Direction,
    /// The cell that it is measured in.
    pub cell: CellSettings,
    /// Throughput in MB/s, with its 95% interval; without width where there is a single run.
    pub mbps: Interval,
    /// Runs that `mbps` rests on.
    pub runs: usize,
    /// Whether these runs had no part in choosing the cell. A rate that chose itself is too high.
    pub confirmed: bool,
    /// Of direct writes: throughput of the same writes when each is durable before it completes, in MB/s.
    pub durable_mbps: Option<Interval>,
    /// Further seconds of measuring that would bring the interval within 5%, as far as the runs so far tell; `None`
    /// where it is within, where nobody can tell, or where it would take more than 2,000 runs.
    pub more_seconds: Option<f64>,
    /// What may be wrong with it.
    pub doubts: Vec<HeadlineDoubt>,
}

/// Why a rate may not be the medium's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum HeadlineDoubt {
    /// No counter of a device tells where the bytes came from or went.
    NoWitness,
    /// The device is a guest's: its host may have answered from memory, and nothing here tells.
    GuestsHost,
    /// The device's own counter moved far fewer bytes than the requests did.
    Contradicted {
        /// Bytes that the device moved, as a share of those that the requests moved.
        device_share: f64,
    },
    /// Writes are faster than reads by more than the runs' noise: somebody's memory took them.
    FasterThanReads,
}
