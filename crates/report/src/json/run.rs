//! Writes the record of one run as one JSON object.

use std::collections::BTreeMap;
use std::io::{self, Write};

use halfpower_record::{Cpu, Environment, HostShare, Latency, Record, Series, Side, Tcp};
use halfpower_spec::{Arrivals, BlockSizes, Cache, Direction, EngineName, IoMem, Pass, Pattern, Rw};
use schemars::JsonSchema;
use serde::Serialize;

use super::far_end::{FarEndDocument, far_end};
use super::machine_time::MachineTimeDocument;

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
    /// The access pattern and direction as asked for.
    rw: Rw,
    /// Sequential or random.
    pattern: Pattern,
    /// Read or write; `null` for a mix, and for trims.
    direction: Option<Direction>,
    /// Share of reads in percent; `null` without a mix.
    rwmixread: Option<u8>,
    /// Bytes per request; the largest size if sizes are drawn.
    bs_bytes: u64,
    /// Drawn block sizes, each with its share in percent; `null` if all requests have one size.
    bssplit: Option<BlockSizes>,
    /// Requests kept outstanding by each thread.
    iodepth: u32,
    /// Submitting threads.
    threads: u32,
    /// Caches that take part.
    cache: Cache,
    /// How requests were issued.
    engine: EngineName,
    /// Memory of the buffers.
    iomem: Option<IoMem>,
    /// Most requests that one system call submits; 0 means all that can be submitted.
    iodepth_batch: Option<u32>,
    /// Requests that arrive per second for each thread; `null` in a closed loop.
    rate_iops: Option<u64>,
    /// Distribution of arrivals; `null` in a closed loop.
    arrivals: Option<Arrivals>,
    /// Open loop: requests that were due before the window closed but had not completed by then.
    overdue_ios: u64,
    /// Requests that the kernel returned unserved (EAGAIN) and that were submitted again, counted once each.
    resubmitted_ios: u64,
    /// The kind of pass.
    pass: Pass,
    /// Seed of the offsets and the payload.
    seed: u64,
    /// Requested length of the window.
    runtime_ns: u64,
    /// Start in milliseconds of Unix time; 0 in virtual time.
    started_unix_ms: u64,
    /// Bytes of the target from which offsets were drawn.
    span_bytes: u64,
    /// Bytes of the target over which the pieces of the span are spread; `null` if the span is one part.
    spread_bytes: Option<u64>,
    /// Bytes of the span in the page cache when the window opened.
    cached_bytes: Option<u64>,
    /// Mean number of physical memory segments per buffer of a direct request; `null` if the kernel does not tell.
    buffer_segments: Option<f64>,
    /// Bytes moved by requests that succeeded.
    bytes: u64,
    /// Requests that succeeded.
    ios: u64,
    /// Reads among `ios`.
    read_ios: u64,
    /// Requests that moved fewer bytes than asked.
    short_transfers: u64,
    /// Requests that failed.
    errors: u64,
    /// Failed requests by name of the error.
    errors_by_kind: &'a BTreeMap<String, u64>,
    /// Length of the window, including the closing flush.
    elapsed_ns: u64,
    /// Length of the closing flush; 0 without one.
    flush_ns: u64,
    /// Decimal MB/s into memory, without the closing flush; `null` without one.
    memory_mbps: Option<f64>,
    /// Decimal MB/s over the whole window.
    mbps: f64,
    /// Requests a second over the whole window.
    iops: f64,
    /// Latency from before submission to reaping.
    latency_ns: LatencyDocument,
    /// Mean number of requests in flight.
    achieved_depth: f64,
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
    /// Time per request of the null engine on this machine, in nanoseconds.
    harness_ns_per_io: f64,
    /// Time per request of one lane against a server in memory over loopback, in nanoseconds: the ceiling of
    /// halfpower's own client; `null` if that client took no part.
    client_ns_per_io: Option<f64>,
    /// That ceiling as decimal MB/s of all lanes together.
    client_mbps: Option<f64>,
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
    /// Latency from before submission to reaping.
    latency_ns: Option<LatencyDocument>,
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
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &RunDocument::of(record, environment, percentiles))?;
    writeln!(out)
}

impl<'a> RunDocument<'a> {
    fn of(record: &'a Record, environment: &'a Environment, percentiles: &[f64]) -> Self {
        let (run, workload) = (&record.run, &record.run.workload);
        let (is_mixed, trims) = (workload.rw.direction().is_none(), workload.rw.trims());
        let direction = workload.rw.direction().filter(|_| !trims);
        Self {
            schema: SCHEMA,
            rw: workload.rw,
            pattern: workload.rw.pattern(),
            direction,
            rwmixread: is_mixed.then_some(workload.rwmixread),
            bs_bytes: workload.bs.0,
            bssplit: workload.options.bssplit,
            iodepth: workload.iodepth,
            threads: workload.threads,
            cache: workload.cache,
            engine: record.engine,
            iomem: workload.issuing.map(|issuing| issuing.iomem),
            iodepth_batch: workload.issuing.map(|issuing| issuing.iodepth_batch),
            rate_iops: workload.rate.map(|arrival| arrival.iops),
            arrivals: workload.rate.map(|arrival| arrival.arrivals),
            overdue_ios: record.overdue_ios,
            resubmitted_ios: record.resubmitted_ios,
            pass: run.pass,
            seed: run.seed,
            runtime_ns: run.runtime.0,
            started_unix_ms: record.started_unix_ms,
            span_bytes: record.span_bytes,
            spread_bytes: record.spread_bytes,
            cached_bytes: record.cached_bytes,
            buffer_segments: record.buffer_segments,
            bytes: record.bytes,
            ios: record.ios,
            read_ios: record.read_ios,
            short_transfers: record.short_transfers,
            errors: record.error_count(),
            errors_by_kind: &record.errors,
            elapsed_ns: record.elapsed_ns,
            flush_ns: record.flush_ns,
            memory_mbps: record.memory_mbps(),
            mbps: record.mbps(),
            iops: record.iops(),
            latency_ns: latency_at(&record.latency, percentiles),
            achieved_depth: record.achieved_depth,
            cpu: cpu(&record.cpu),
            far_end: far_end(record),
            hosts: &record.hosts,
            noise: noise(record),
            series: &record.series,
            harness_ns_per_io: record.harness_ns_per_io,
            client_ns_per_io: record.client_ns_per_io,
            client_mbps: record.client_mbps(),
            tcp: record.tcp.as_deref(),
            environment,
            read: record.side(Direction::Read).as_ref().map(side),
            write: record.side(Direction::Write).as_ref().map(side),
            trim: record.trimmed().as_ref().map(side),
        }
    }
}

/// Latencies, with these percentiles in addition to the usual ones.
fn latency_at(of: &Latency, percentiles: &[f64]) -> LatencyDocument {
    let at = |percent: &f64| (percent.to_string(), of.quantile_ns(percent / 100.0));
    let asked = (!percentiles.is_empty()).then(|| percentiles.iter().map(at).collect());
    LatencyDocument { percentiles: asked, ..latency(of) }
}

fn side(side: &Side<'_>) -> SideDocument {
    SideDocument {
        ios: side.ios,
        bytes: side.bytes,
        mbps: side.mbps(),
        iops: side.iops(),
        latency_ns: side.latency.map(latency),
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
        device_bytes: record.noise.device_bytes,
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
