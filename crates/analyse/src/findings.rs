//! Defines the findings on cells, curves and costs, as numbers and enums.
//!
//! Rates are decimal MB/s, sizes are bytes, times have the unit in their name. `None` means not known.

use halfpower_spec::{Direction, JsonSchema, Pattern, Workload};
use serde::Serialize;

use crate::settings::has_settings;
use crate::{BusiestProcessor, CellSettings, FarCell, FastestCell, PathSettings, TcpCell};

/// A value with its 95% interval; without an interval, `low` and `high` equal the value.
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
    /// The path.
    #[serde(flatten)]
    pub path: PathSettings,
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
    /// Whether every larger measured block size reaches half of the peak too; if not, some larger sizes stay
    /// below it.
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

/// What limits one pattern, direction and cache setting.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Limits {
    /// The path.
    #[serde(flatten)]
    pub path: PathSettings,
    /// Fixed time of a request, independent of its size, from the cells at depth 1, in microseconds.
    pub fixed_us: Option<Interval>,
    /// Rate at which one request's bytes move once it has begun (1/b), in MB/s.
    pub stream_mbps: Option<Interval>,
    /// Requests that make progress in parallel, if depth stops helping before any ceiling.
    pub parallelism: Option<f64>,
    /// Throughput that neither larger blocks nor more depth exceed, if such a ceiling was seen, in MB/s.
    pub ceiling_mbps: Option<Interval>,
    /// Requests a second that neither smaller blocks nor more depth exceed, if such a ceiling was seen.
    pub ceiling_iops: Option<Interval>,
}

/// Which of the two bounds on processor cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// Lower bound: what the process was charged.
    Charged,
    /// Upper bound: what the soaker lost.
    Soaker,
}

/// Processor time a request = fixed + marginal x KiB.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// The path.
    #[serde(flatten)]
    pub path: PathSettings,
    /// Depth that represents the path if depth matters; `None` if the fit uses all depths.
    pub iodepth: Option<u32>,
    /// Which bound.
    pub bound: Bound,
    /// Microseconds a request, independent of its size.
    pub fixed_us: Interval,
    /// Microseconds each KiB adds.
    pub marginal_us_per_kib: Interval,
    /// Throughput at which this load fills one core, at the smallest and the largest measured block size, MB/s.
    pub core_saturates_mbps: [f64; 2],
    /// The same in requests a second, at the smallest block size.
    pub core_saturates_iops: f64,
    /// Milliseconds of processor time a decimal megabyte, at the smallest and the largest measured block size.
    pub ms_per_mb: [f64; 2],
    /// Cells that the fit rests on.
    pub cells: usize,
}

/// Where the processors' time went while a path was measured, in cores: 0.5 is half of one processor. `charged_cores`,
/// `elsewhere_cores`, `irq_cores`, `softirq_cores` and `unattributed_cores` add up to `soaker_cores`, if the soaker had
/// a pass.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Attribution {
    /// The path.
    #[serde(flatten)]
    pub path: PathSettings,
    /// Charged to this process and its kernel workers.
    pub charged_cores: f64,
    /// User and system time of the machine that this process was not charged for, beyond what the idle machine
    /// spends: kernel threads and other processes.
    pub elsewhere_cores: f64,
    /// Hardware interrupts, counted in ticks.
    pub irq_cores: f64,
    /// Deferred interrupts, counted in ticks.
    pub softirq_cores: f64,
    /// What the soaker lost beyond all that: interrupts between ticks, idle states and whatever the kernel's accounting
    /// misses; `None` without a soaker pass.
    pub unattributed_cores: Option<f64>,
    /// All that the soaker lost, scaled to the rate of the plain runs; `None` without a soaker pass.
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
    /// Share of the best, at most 1.
    pub share_of_peak: f64,
    /// Charged processor milliseconds a megabyte there; `None` if not known.
    pub cpu_ms_per_mb: Option<f64>,
    /// 99th percentile of latency there, in nanoseconds; `None` if not known.
    pub latency_ns_p99: Option<u64>,
    /// The best cell of this pattern and direction that advice may use.
    pub best: FastestCell,
    /// Whether that cell is the advised one.
    pub is_best: bool,
}

/// Latencies of a cell, in nanoseconds; `None` if another tool's results lack them, or if the windows of most runs were
/// too short for their queue, so that the latencies counted contradict rate and depth (Little's law).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
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
    /// The median with its interval over runs; `None` of fewer than two runs.
    pub p50_interval: Option<Interval>,
    /// The 99th percentile likewise.
    pub p99_interval: Option<Interval>,
}

/// Signs of other activity while a cell was measured, over all its plain runs; `None` if no run could measure it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct NoiseFinding {
    /// Share of the processors' time that the hypervisor took.
    pub steal_share: Option<f64>,
    /// Share of the time that some task waited for I/O (pressure stall information); storage at work raises it too.
    pub pressure_io_share: Option<f64>,
    /// Share of the time that some task waited for a processor.
    pub pressure_cpu_share: Option<f64>,
    /// Bytes that the device moved beyond those of these runs, as a share of theirs; below 0 if it moved fewer. Known
    /// for direct I/O only.
    pub foreign_share: Option<f64>,
    /// Mean frequency of the processors.
    pub cpu_mhz: Option<f64>,
}

/// One cell: all runs of one workload together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellFinding {
    /// Its settings.
    #[serde(flatten)]
    pub settings: CellSettings,
    /// Engine that ran it.
    pub engine: halfpower_spec::EngineName,
    /// How requests were handed to the kernel; `None` in virtual time and for runs of the first releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuing: Option<halfpower_spec::Issuing>,
    /// Plain runs.
    pub runs: usize,
    /// Throughput in MB/s of the plain runs that chose this cell for confirmation. `mbps` and all other figures then
    /// rest on the confirming runs only. `None` for a cell that was not confirmed.
    pub chosen_mbps: Option<f64>,
    /// Throughput over run means, with its t interval.
    pub mbps: Interval,
    /// The throughput with the error of its prediction, if a calibration predicted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Prediction>,
    /// Requests a second, the mean over runs.
    pub iops: f64,
    /// Latencies of all runs together, in nanoseconds.
    pub latency_ns: LatencySummary,
    /// Mean number of requests in flight; `None` if no latency is known.
    pub achieved_depth: Option<f64>,
    /// Processor time a request charged to the process, in microseconds; `None` if not known.
    pub charged_us: Option<f64>,
    /// Processor time a request from the soaker's pass, in microseconds.
    pub soaker_us: Option<f64>,
    /// What the soaker lost beyond the time charged in the same pass, in microseconds a request: interrupts and
    /// kernel threads. Below 0 if the soaker's own error is larger.
    pub unseen_us: Option<f64>,
    /// Share of one core charged during the runs; `None` if not known.
    pub core_share: Option<f64>,
    /// Share of one core for which threads were ready to run but waited for a processor that others used; the sum over
    /// all threads.
    pub waited_share: f64,
    /// The processor that had least time left, with what filled it; `None` if not known.
    #[serde(skip)]
    pub busiest: Option<BusiestProcessor>,
    /// What the far end did meanwhile; `None` without a witness there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub far_end: Option<FarCell>,
    /// Throughput of our own client against a server in memory, over loopback, in MB/s; `None` if no client of ours was
    /// used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_mbps: Option<f64>,
    /// Mean number of memory segments that hold a request buffer of its runs; `None` if the kernel does not report it.
    /// Fewer segments make a request of the same size faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_segments: Option<f64>,
    /// What TCP did below the requests; `None` if no connection of ours was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpCell>,
    /// Share of the requests to a file share that took about 40 ms, if they form a separate mode as delayed
    /// acknowledgements do; otherwise `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_share: Option<f64>,
    /// Requests that failed, over all runs.
    pub errors: u64,
    /// Requests that moved fewer bytes than asked, over all runs.
    pub short_transfers: u64,
    /// Whether it is faster than its level allows: a cache answered, and it is never advised.
    pub cached: bool,
    /// Throughput of each plain run that moved bytes, in MB/s, in the order of repeats; `mbps` is their mean. A trimmed
    /// slow start is excluded (`trimmed_share`). Of a cell that was measured in several sessions, the mean of each session.
    pub run_mbps: Vec<f64>,
    /// Charged processor time a request of each of these runs, in microseconds.
    pub run_charged_us: Vec<f64>,
    /// Whether it was steady within its runs. An unsteady cell is marked everywhere and never advised.
    pub steady: bool,
    /// Why it was not.
    pub unsteady: Option<Unsteady>,
    /// Mean share of the runs' time that was trimmed as an unsteady start.
    pub trimmed_share: f64,
    /// Rate before it fell, if most runs began faster than they continued: a cache filled up, or a credit was spent.
    pub burst_mbps: Option<f64>,
    /// Rate after it fell; known together with `burst_mbps`.
    pub sustained_mbps: Option<f64>,
    /// Whether the interval of `mbps` is within 5% of it to either side; false for a single run. If false, the budget
    /// ended first.
    pub within_5_percent: bool,
    /// Half width of the interval from five parts of one run, as a share of its rate; the median over runs. It warns of
    /// restless runs and says nothing about differences between runs.
    pub within_run_reach: Option<f64>,
    /// Throughput into the page cache, without the closing flush, in MB/s; buffered writes only. `mbps` includes the
    /// flush, so it is what reached the device.
    pub memory_mbps: Option<f64>,
    /// Share of the time of buffered writes spent in the closing flush.
    pub flush_share: Option<f64>,
    /// Other activity while it was measured.
    pub noise: NoiseFinding,
    /// Throughput of each time step of its first run, in MB/s.
    pub series_mbps: Vec<f64>,
    /// Length of one time step in nanoseconds.
    pub series_step_ns: u64,
}

/// A predicted throughput, with all that is known of its error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Prediction {
    /// In MB/s: the interval holds the error of the calibration and of the runs.
    pub mbps: Interval,
    /// Whether the block size or the depth lies beyond what the calibration saw, where a limit may stand that no cell could
    /// show. The interval then reaches as far as physics allows.
    pub beyond: bool,
}

/// The rate that represents one direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Headline {
    /// Which way the bytes go.
    pub rw: Direction,
    /// The cell that gives the rate.
    pub cell: CellSettings,
    /// Throughput in MB/s, with its 95% interval; a single run has no width.
    pub mbps: Interval,
    /// Runs behind `mbps`.
    pub runs: usize,
    /// Whether these runs had no part in choosing the cell. A rate that also chose its cell is too high.
    pub confirmed: bool,
    /// Direct writes only: throughput of the same writes if each is durable before it completes, in MB/s.
    pub durable_mbps: Option<Interval>,
    /// Further seconds of measuring that would bring the interval within 5%, extrapolated from the runs so far; `None`
    /// if it is within 5%, if the runs cannot tell, or if it would take more than 2,000 runs.
    pub more_seconds: Option<f64>,
    /// What may be wrong with it.
    pub doubts: Vec<HeadlineDoubt>,
}

/// Why a rate may not be the medium's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum HeadlineDoubt {
    /// No device counter shows where the bytes came from or went.
    NoWitness,
    /// The device belongs to a virtual machine: its host may have answered from memory, and nothing here shows it.
    GuestsHost,
    /// The device's own counter moved far fewer bytes than the requests did.
    Contradicted {
        /// Bytes that the device moved, as a share of those that the requests moved.
        device_share: f64,
    },
    /// Writes are faster than reads by more than the runs' noise: some memory absorbed them.
    FasterThanReads,
}

/// Why a cell was not steady, from its runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Unsteady {
    /// The objection to the first of them.
    #[serde(flatten)]
    pub objection: UnsteadyReason,
    /// Runs that were not steady.
    pub unsteady_runs: usize,
    /// All plain runs that moved bytes.
    pub runs: usize,
}

/// How a run's series differs from a steady one. Rates are MB/s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum UnsteadyReason {
    /// The rate changed from one level to another.
    LevelChanged {
        /// Mean before.
        from_mbps: f64,
        /// Mean after.
        to_mbps: f64,
        /// Time of the change, in seconds of the window.
        after_s: f64,
    },
    /// The rate rose or fell over the window.
    Slope {
        /// Gain of the fitted line over the window, as a share of the mean; below 0 if it fell.
        gain: f64,
    },
    /// The last third differs from the middle third.
    LastThird {
        /// Gain from the middle third to the last, as a share; below 0 if the last was slower.
        gain: f64,
    },
    /// Fifths of the window differ.
    Spread {
        /// Mean of the slowest fifth.
        low_mbps: f64,
        /// Mean of the fastest.
        high_mbps: f64,
    },
    /// Requests complete in waves, and the cell's windows contain too few of them.
    CutsWaves {
        /// Time from one wave to the next, in seconds.
        period_s: f64,
    },
}

has_settings!(Curve, path: PathSettings);
has_settings!(Limits, path: PathSettings);
has_settings!(Cost, path: PathSettings);
has_settings!(Attribution, path: PathSettings);
has_settings!(CellFinding, settings: CellSettings);
