//! Writes what one run gave as one JSON object.

use std::collections::BTreeMap;
use std::io::{self, Write};

use halfpower_record::{Cpu, Environment, HostShare, Latency, Record, Series, Side, Tcp};
use halfpower_spec::{Arrivals, BlockSizes, Cache, Direction, EngineName, IoMem, Pass, Pattern, Rw};
use schemars::JsonSchema;
use serde::Serialize;

use super::far_end::{FarEndDocument, far_end};
use super::machine_time::MachineTimeDocument;

/// Version of the layout of this object; it rises where a key goes away or changes its meaning.
const SCHEMA: u32 = 1;

/// What `halfpower run --json` prints: the record as one object, flat where a script asks and nested where things
/// belong together.
///
/// Figures have the names and units of the study file's columns and of the findings: nanoseconds, bytes, decimal MB/s;
/// what is not known is `null`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunDocument<'a> {
    /// Version of this layout.
    schema: u32,
    /// The workload as it was asked for.
    rw: Rw,
    /// Sequential or random.
    pattern: Pattern,
    /// Read or write; `null` for a mix, and where blocks are given back.
    direction: Option<Direction>,
    /// Share of reads in percent; `null` where nothing is mixed.
    rwmixread: Option<u8>,
    /// Bytes a request; the largest, where sizes are drawn.
    bs_bytes: u64,
    /// Sizes that are drawn, each with its share in percent; `null` where all requests have one size.
    bssplit: Option<BlockSizes>,
    /// Requests kept outstanding by each thread.
    iodepth: u32,
    /// Submitting threads.
    threads: u32,
    /// Which caches take part.
    cache: Cache,
    /// How requests were issued.
    engine: EngineName,
    /// Memory of the buffers.
    iomem: Option<IoMem>,
    /// Most requests that one system call submits; 0 is all that can go out.
    iodepth_batch: Option<u32>,
    /// Requests a second that come to each thread; `null` in a closed loop.
    rate_iops: Option<u64>,
    /// At which distances they come; `null` in a closed loop.
    arrivals: Option<Arrivals>,
    /// Open loop: requests that should have come before the window closed and were not completed by then.
    overdue_ios: u64,
    /// Requests that the kernel gave back unserved (EAGAIN) and that were sent again, once each.
    resubmitted_ios: u64,
    /// What kind of pass it was.
    pass: Pass,
    /// The seed of its offsets and payload.
    seed: u64,
    /// Length of the window that was asked for.
    runtime_ns: u64,
    /// When it began, in milliseconds of Unix time; 0 in virtual time.
    started_unix_ms: u64,
    /// Bytes of the target that offsets were drawn from.
    span_bytes: u64,
    /// Bytes of the target over which these lie in pieces; `null` where they are one part.
    spread_bytes: Option<u64>,
    /// Bytes of the span in the page cache when the window opened.
    cached_bytes: Option<u64>,
    /// In how many segments of the machine's memory the buffer of a direct request lay, on the average; `null` where the
    /// kernel does not tell.
    buffer_segments: Option<f64>,
    /// Bytes moved by requests that succeeded.
    bytes: u64,
    /// Requests that succeeded.
    ios: u64,
    /// Of `ios`, those that were reads.
    read_ios: u64,
    /// Requests that moved fewer bytes than asked.
    short_transfers: u64,
    /// Requests that failed.
    errors: u64,
    /// The same by the name of the error.
    errors_by_kind: &'a BTreeMap<String, u64>,
    /// Length of the window, with the closing flush.
    elapsed_ns: u64,
    /// The closing flush; 0 where there was none.
    flush_ns: u64,
    /// Decimal MB/s into memory, without the closing flush; `null` where there was none.
    memory_mbps: Option<f64>,
    /// Decimal MB/s over the whole window.
    mbps: f64,
    /// Requests a second over the whole window.
    iops: f64,
    /// From before submission to reaping.
    latency_ns: LatencyDocument,
    /// Mean number of requests in flight.
    achieved_depth: f64,
    /// Processor time during the window.
    cpu: CpuDocument,
    /// What the machine that serves the target spent; `null` without a witness there.
    far_end: Option<FarEndDocument<'a>>,
    /// What each process did, where several made the run together; empty where one did.
    #[serde(skip_serializing_if = "<[HostShare]>::is_empty")]
    hosts: &'a [HostShare],
    /// Who else was there.
    noise: NoiseDocument,
    /// Bytes over time.
    series: &'a Series,
    /// What the null engine takes a request on this machine.
    harness_ns_per_io: f64,
    /// What one lane takes between two such requests of a server in memory, over loopback: our own client's ceiling; `null`
    /// where no client of ours took part.
    client_ns_per_io: Option<f64>,
    /// The same as decimal MB/s of all lanes together.
    client_mbps: Option<f64>,
    /// What TCP did below the requests; `null` where no connection of ours took part.
    tcp: Option<&'a Tcp>,
    /// The computer and the target.
    environment: &'a Environment,
    /// The reads; `null` where there were none to be.
    read: Option<SideDocument>,
    /// The writes; `null` where there were none to be.
    write: Option<SideDocument>,
    /// What was given back; `null` where nothing was to be.
    trim: Option<SideDocument>,
}

/// One direction of a run.
#[derive(Debug, Serialize, JsonSchema)]
struct SideDocument {
    /// Requests that succeeded.
    ios: u64,
    /// Bytes that they moved.
    bytes: u64,
    /// Decimal MB/s over the whole window.
    mbps: f64,
    /// Requests a second over the whole window.
    iops: f64,
    /// From before submission to reaping.
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
    /// Those that `--percentiles` asked for, by their number.
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
    /// Their sum: the bound of the cost from below.
    charged_ns: u64,
    /// The same a request, in microseconds.
    charged_us: Option<f64>,
    /// What everyone spent, over all processors.
    machine_busy_ns: u64,
    /// The same by kind.
    machine_ns: MachineTimeDocument,
    /// The processor that was busiest.
    busiest_cpu: Option<BusiestCpu>,
    /// What the soaker lost: the bound of the cost from above.
    soaker_lost_ns: Option<u64>,
    /// The same a request, in microseconds.
    soaker_us: Option<f64>,
}

/// A processor, and how busy it was.
#[derive(Debug, Serialize, JsonSchema)]
struct BusiestCpu {
    /// Its number.
    cpu: usize,
    /// Share of the span that it was busy.
    share: f64,
}

/// Evidence of others at work.
#[derive(Debug, Serialize, JsonSchema)]
struct NoiseDocument {
    /// Time that some task waited for I/O.
    pressure_io_ns: Option<u64>,
    /// Time that some task waited for a processor.
    pressure_cpu_ns: Option<u64>,
    /// Bytes that the device moved, whoever asked.
    device_bytes: Option<u64>,
    /// Of these, what was not ours; negative where the device moved fewer than we asked for.
    foreign_bytes: Option<i64>,
    /// Mean frequency of the processors at the end, in MHz.
    cpu_mhz: Option<f64>,
}

/// Writes the record, indented, with a line end after the last brace, and these percentiles of latency (in percent)
/// beside the usual ones.
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

/// Latencies, with these percentiles beside the usual ones.
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
