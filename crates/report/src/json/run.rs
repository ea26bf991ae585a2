//! Writes the record of one run as one JSON object.

use std::collections::BTreeMap;
use std::io::{self, Write};

use halfpower_analyse::{Waves, cut_waves};
use halfpower_record::{Cpu, DepthSearch, Environment, FlatFigures, HostShare, Latency, Record, Series, Side, Tcp};
use halfpower_spec::{Direction, JsonSchema};
use serde::Serialize;

use super::far_end::{FarEndDocument, MachineTimeDocument, far_end};

/// Version of this object's layout; it rises when a key is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// The output of `halfpower run --json`: the record as one object. Keys that scripts ask for are flat; related keys are
/// nested.
///
/// Figures have the names and units of the study file's columns and of the findings: nanoseconds, bytes, decimal MB/s.
/// Unknown values are `null`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunDocument<'a> {
    /// Version of this layout.
    schema: u32,
    /// The flat keys.
    #[serde(flatten)]
    figures: FlatFigures<'a>,
    /// Latency from before submission to reaping; `null` if the window was too short for its queue (Little's law), and if no
    /// request succeeded.
    latency_ns: Option<LatencyDocument>,
    /// The flushes between requests (`--fdatasync`); `null` without any.
    sync: Option<SyncDocument>,
    /// How the depth was found (`--latency-target`); left out if it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    depth_search: Option<DepthSearchDocument<'a>>,
    /// Processor time during the window.
    cpu: CpuDocument,
    /// The account of the machine that serves the target; `null` without a witness there.
    far_end: Option<FarEndDocument<'a>>,
    /// The share of each process, if several made the run together; else empty.
    #[serde(skip_serializing_if = "<[HostShare]>::is_empty")]
    hosts: &'a [HostShare],
    /// Evidence of other activity.
    noise: NoiseDocument,
    /// Bytes over time.
    series: &'a Series,
    /// The waves in which requests completed, where the window cut them, so that their rate is not that of the window; else
    /// `null`.
    waves: Option<Waves>,
    /// TCP figures below the requests; `null` without a connection of halfpower's own client.
    tcp: Option<&'a Tcp>,
    /// The machine and the target.
    environment: &'a Environment,
    /// The reads; `null` if none were planned.
    read: Option<SideDocument>,
    /// The writes; `null` if none were planned.
    write: Option<SideDocument>,
    /// The trims; `null` if none were planned.
    trim: Option<SideDocument>,
}

/// One direction of a run.
#[derive(Debug, Serialize, JsonSchema)]
struct SideDocument {
    /// Requests that succeeded.
    ios: u64,
    /// Bytes moved by them.
    bytes: u64,
    /// Decimal MB/s over the whole window.
    mbps: f64,
    /// Requests a second over the whole window.
    iops: f64,
    /// Latency from before submission to reaping; `null` likewise.
    latency_ns: Option<LatencyDocument>,
}

/// The flushes between requests.
#[derive(Debug, Serialize, JsonSchema)]
struct SyncDocument {
    /// How many.
    count: u64,
    /// How many a second over the whole window.
    per_second: f64,
    /// What each took.
    latency_ns: LatencyDocument,
}

/// Latencies in nanoseconds.
#[derive(Debug, Serialize, JsonSchema)]
struct LatencyDocument {
    /// The shortest.
    min: u64,
    /// Half are shorter.
    p50: u64,
    /// 90% are shorter.
    p90: u64,
    /// 99% are shorter.
    p99: u64,
    /// 99.9% are shorter.
    p999: u64,
    /// The longest.
    max: u64,
    /// Their mean.
    mean: f64,
    /// The percentiles that `--percentiles` asked for, by number.
    #[serde(skip_serializing_if = "Option::is_none")]
    percentiles: Option<BTreeMap<String, u64>>,
}

/// How the depth of a run was found.
#[derive(Debug, Serialize, JsonSchema)]
struct DepthSearchDocument<'a> {
    #[serde(flatten)]
    search: &'a DepthSearch,
    /// The greatest depth that held, at which the run was measured; `null` if none did, and the run has depth 1.
    found: Option<u32>,
    /// The percentile of latency of this run, in nanoseconds; `null` if it is not known.
    latency_ns: Option<u64>,
    /// Whether it stayed within the bound.
    held: bool,
}

/// Processor time of a run.
#[derive(Debug, Serialize, JsonSchema)]
struct CpuDocument {
    /// User time of this process.
    user_ns: u64,
    /// System time of this process.
    system_ns: u64,
    /// User plus system time: the lower bound of the cost.
    charged_ns: u64,
    /// Charged time per request, in microseconds.
    charged_us: Option<f64>,
    /// Busy time of all processors, whoever used it.
    machine_busy_ns: u64,
    /// Processor time by kind.
    machine_ns: MachineTimeDocument,
    /// The busiest processor.
    busiest_cpu: Option<BusiestCpu>,
    /// Time that the soaker lost: the upper bound of the cost.
    soaker_lost_ns: Option<u64>,
    /// Time that the soaker lost per request, in microseconds.
    soaker_us: Option<f64>,
}

/// One processor and its busy share.
#[derive(Debug, Serialize, JsonSchema)]
struct BusiestCpu {
    /// Number of the processor.
    cpu: usize,
    /// Busy share of the window.
    share: f64,
}

/// Evidence of other activity on the machine.
#[derive(Debug, Serialize, JsonSchema)]
struct NoiseDocument {
    /// Time that some task waited for I/O.
    pressure_io_ns: Option<u64>,
    /// Time that some task waited for a processor.
    pressure_cpu_ns: Option<u64>,
    /// Bytes that the device moved, for anyone.
    device_bytes: Option<u64>,
    /// Bytes among them that this run did not ask for; negative if the device moved fewer than the run asked for.
    foreign_bytes: Option<i64>,
    /// Mean frequency of the processors at the end, in MHz.
    cpu_mhz: Option<f64>,
}

/// Writes the record, indented and with a final newline; `percentiles` of latency (in percent) come in addition to the
/// usual ones.
///
/// # Errors
/// Those of `out`.
pub fn run_json(
    record: &Record,
    environment: &Environment,
    percentiles: &[f64],
    out: &mut dyn Write,
) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &RunDocument::of(record, environment, percentiles))?;
    writeln!(out)
}

impl<'a> RunDocument<'a> {
    fn of(record: &'a Record, environment: &'a Environment, percentiles: &[f64]) -> Self {
        let of_side = |of: &Side<'_>| side(of, record.knows_latency());
        Self {
            schema: SCHEMA,
            figures: FlatFigures(record),
            latency_ns: record.known_latency().map(|latency| latency_at(latency, percentiles)),
            sync: record.flushes().map(|flushes| sync(record, flushes, percentiles)),
            depth_search: record.depth_search.as_deref().map(|search| depth_search(record, search)),
            cpu: cpu(&record.cpu),
            far_end: far_end(record),
            hosts: &record.hosts,
            noise: noise(record),
            series: &record.series,
            waves: cut_waves(record),
            tcp: record.tcp.as_deref(),
            environment,
            read: record.side(Direction::Read).as_ref().map(of_side),
            write: record.side(Direction::Write).as_ref().map(of_side),
            trim: record.trimmed().as_ref().map(of_side),
        }
    }
}

/// Latencies, with these percentiles in addition to the usual ones.
fn latency_at(of: &Latency, percentiles: &[f64]) -> LatencyDocument {
    let at = |percent: &f64| (percent.to_string(), of.quantile_ns(percent / 100.0));
    let asked = (!percentiles.is_empty()).then(|| percentiles.iter().map(at).collect());
    LatencyDocument { percentiles: asked, ..latency(of) }
}

fn sync(record: &Record, flushes: &Latency, percentiles: &[f64]) -> SyncDocument {
    let count = flushes.count();
    SyncDocument { count, per_second: record.per_second(count), latency_ns: latency_at(flushes, percentiles) }
}

fn depth_search<'a>(record: &Record, search: &'a DepthSearch) -> DepthSearchDocument<'a> {
    let latency_ns = record.sought_latency_ns(search);
    DepthSearchDocument { search, found: search.found(), latency_ns, held: search.holds(latency_ns) }
}

fn side(side: &Side<'_>, is_known: bool) -> SideDocument {
    SideDocument {
        ios: side.ios,
        bytes: side.bytes,
        mbps: side.mbps(),
        iops: side.iops(),
        latency_ns: side.latency.filter(|latency| is_known && !latency.is_empty()).map(latency),
    }
}

fn latency(latency: &Latency) -> LatencyDocument {
    LatencyDocument {
        min: latency.min_ns(),
        p50: latency.quantile_ns(0.5),
        p90: latency.quantile_ns(0.9),
        p99: latency.quantile_ns(0.99),
        p999: latency.quantile_ns(0.999),
        max: latency.max_ns(),
        mean: latency.mean_ns(),
        percentiles: None,
    }
}

fn noise(record: &Record) -> NoiseDocument {
    NoiseDocument {
        pressure_io_ns: record.noise.pressure_io_ns,
        pressure_cpu_ns: record.noise.pressure_cpu_ns,
        device_bytes: record.device_bytes(),
        foreign_bytes: record.foreign_bytes(),
        cpu_mhz: record.noise.cpu_mhz,
    }
}

fn cpu(cpu: &Cpu) -> CpuDocument {
    CpuDocument {
        user_ns: cpu.user_ns,
        system_ns: cpu.system_ns,
        charged_ns: cpu.charged_ns(),
        charged_us: cpu.us_per_io(cpu.charged_ns()),
        machine_busy_ns: cpu.machine_busy_ns(),
        machine_ns: MachineTimeDocument::of(|of| cpu.machine_ns(of), cpu.idle_baseline_ns()),
        busiest_cpu: cpu.busiest().map(|(cpu, share)| BusiestCpu { cpu, share }),
        soaker_lost_ns: cpu.soaker.as_ref().map(|soaker| soaker.lost_ns),
        soaker_us: cpu.soaker.as_ref().and_then(|soaker| cpu.us_per_io(soaker.lost_ns)),
    }
}
