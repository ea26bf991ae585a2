//! Lists the figures of a record: the columns of the study file and of the CSV, and the flat keys of `run --json`.

use std::collections::BTreeMap;

use halfpower_spec::{
    Arrivals, BlockSizes, Cache, Direction, EngineName, Experiment, IoMem, Pass, Pattern, Rw, Workload,
};
use rusqlite::types::Value;
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};

use crate::figure_row::{Cell, Column, Figure, FlatKey, figures};
use crate::{CpuTimes, DiskUse, FarEnd, InterfaceUse, Latency, Record, Side, Unknown, total};

/// Column names of layout 1, each with its present name.
const NAMES_OF_LAYOUT_1: &[(&str, &str)] = &[
    ("min_ns", "latency_ns_min"),
    ("p50_ns", "latency_ns_p50"),
    ("p90_ns", "latency_ns_p90"),
    ("p99_ns", "latency_ns_p99"),
    ("p999_ns", "latency_ns_p999"),
    ("max_ns", "latency_ns_max"),
    ("mean_ns", "latency_ns_mean"),
    ("paid_ios", "submitted"),
];

/// The columns, in the order of the study file and of the CSV.
pub fn columns() -> impl Iterator<Item = &'static Column> {
    FIGURES.iter().filter_map(|figure| figure.column.as_ref())
}

/// The flat keys of `run --json`, in order.
pub(crate) fn flat_keys() -> impl Iterator<Item = &'static FlatKey> {
    FIGURES.iter().filter_map(|figure| figure.key.as_ref())
}

/// The column that a study file of any layout calls `name`; `None` if this release does not know it.
pub(crate) fn column_named(name: &str) -> Option<&'static Column> {
    let renamed = NAMES_OF_LAYOUT_1.iter().find(|(earlier, _)| *earlier == name);
    let name = renamed.map_or(name, |(_, now)| now);
    columns().find(|column| column.name == name)
}

figures! {
    /// Experiment that the run belongs to; `null` for a single run.
    experiment: Option<Experiment> = |r| r.run.experiment => in file;
    /// Identity of the workload ([below](#identity)); runs with equal text make a cell.
    workload: String = |r| r.run.workload.identity().to_string() => in file;
    /// Access pattern and direction, as asked for, such as `randread` or `rw`.
    rw: Rw = |r| r.run.workload.rw => everywhere;
    /// Order of the offsets: `sequential`, `random`; `unknown` for some imported results.
    pattern: Pattern = |r| r.run.workload.rw.pattern() => everywhere;
    /// `read` or `write`; `null` if bytes go both ways.
    direction: Option<Direction> = |r| r.run.workload.rw.direction() => in file;
    /// `read` or `write`; `null` for a mix, and for trims.
    direction: Option<Direction> = |r| direction_without_trims(&r.run.workload) => in run;
    /// Share of reads in percent; `null` without a mix.
    rwmixread: Option<u8> = |r| share_of_reads(&r.run.workload), if r.knows(Unknown::Mix) => everywhere;
    /// Bytes per request; the largest size if sizes are drawn (`bssplit`).
    bs_bytes: u64 = |r| r.run.workload.bs.0, if r.knows(Unknown::BlockSize) => everywhere;
    /// Drawn block sizes, each with its share in percent; `null` if all requests have one size.
    bssplit: Option<BlockSizes> = |r| r.run.workload.options.bssplit => in run;
    /// Requests kept outstanding by each thread, as asked for.
    iodepth: u32 = |r| r.run.workload.iodepth, if r.knows(Unknown::Depth) => everywhere;
    /// Submitting threads.
    threads: u32 = |r| r.run.workload.threads, if r.knows(Unknown::Depth) => everywhere;
    /// Caches that take part: `both`, `os`, `device`, `none`.
    cache: Cache = |r| r.run.workload.cache, if r.knows(Unknown::Cache) => everywhere;
    /// Engine that issued the requests (the choice that `auto` made).
    engine: EngineName = |r| r.engine => everywhere;
    /// Pages of the buffers: `pages`, `huge`; `null` in virtual time and for runs of the first releases.
    iomem: Option<IoMem> = |r| r.run.workload.issuing.map(|issuing| issuing.iomem) => everywhere;
    /// Most requests that one system call submits; 0 means all that can be submitted; `null` as `iomem`.
    iodepth_batch: Option<u32> = |r| r.run.workload.issuing.map(|issuing| issuing.iodepth_batch) => everywhere;
    /// Requests that arrive per second for each thread; `null` in a closed loop.
    rate_iops: Option<u64> = |r| r.run.workload.rate.map(|arrival| arrival.iops) => in run;
    /// Distribution of arrivals; `null` in a closed loop.
    arrivals: Option<Arrivals> = |r| r.run.workload.rate.map(|arrival| arrival.arrivals) => in run;
    /// Open loop: requests that were due before the window closed but had not completed by then.
    overdue_ios: u64 = |r| r.overdue_ios => in run;
    /// Requests that the kernel returned unserved (EAGAIN) and that were submitted again, counted once each.
    resubmitted_ios: u64 = |r| r.resubmitted_ios => in run;
    /// Time within the run in which halfpower did not run at all, because it or the machine was stopped.
    stopped_ns: u64 = |r| r.stopped_ns => in run;
    /// Reads that were to be checked (`--verify`) and could not be judged, because their blocks were written meanwhile.
    unjudged_reads: u64 = |r| r.unjudged_reads => in run;
    /// Kind of pass: `plain`; `soaker`: beside the soaker; `traced`: with tracepoints on; `confirm`: a chosen cell again;
    /// the reported figures of a confirmed cell are of these runs alone.
    pass: Pass = |r| r.run.pass => everywhere;
    /// Number of the repetition of its cell and pass, from 0.
    repeat: u32 = |r| r.run.repeat => in file;
    /// Seed of the offsets and the payload, as digits: all 64 bits are used, and SQLite's integers are signed.
    seed: String = |r| r.run.seed.to_string(), if is_ours(r) => in file;
    /// Seed of the offsets and the payload.
    seed: u64 = |r| r.run.seed => in run;
    /// Requested length of the window.
    runtime_ns: u64 = |r| r.run.runtime.0, if r.knows(Unknown::Runtime) => everywhere;
    /// Start in milliseconds of Unix time; 0 in virtual time.
    started_unix_ms: u64 = |r| r.started_unix_ms, if r.knows(Unknown::Start) => everywhere;
    /// Time of the run with its preparation: its share of the budget.
    spent_ns: u64 = |r| r.spent_ns, if r.knows(Unknown::Preparation) => in file;
    /// Time of the study before this run that belongs to no run, such as laying out the target: in the budget too.
    between_ns: u64 = |r| r.between_ns, if is_ours(r) => in file;
    /// Length of the window, including the closing flush.
    elapsed_ns: u64 = |r| r.elapsed_ns => everywhere;
    /// Length of the closing flush of a buffered write, or of a write to a share (there beyond a flush with nothing to
    /// write), a part of `elapsed_ns`; 0 without one.
    flush_ns: u64 = |r| r.flush_ns, if is_ours(r) => everywhere;
    /// Bytes of the target from which offsets were drawn.
    span_bytes: u64 = |r| r.span_bytes, if r.knows(Unknown::Span) => everywhere;
    /// Bytes of the target over which the pieces of the span are spread (`--spread`); `null` if the span is one part.
    spread_bytes: Option<u64> = |r| r.spread_bytes => everywhere;
    /// Bytes of the span in the page cache when the window opened.
    cached_bytes: Option<u64> = |r| r.cached_bytes => everywhere;
    /// Bytes of the span in the page cache after a buffered run and its closing flush; `null` if unknown or direct.
    cached_after_bytes: Option<u64> = |r| r.cached_after_bytes => in run;
    /// Bytes moved by requests that succeeded.
    bytes: u64 = |r| r.bytes => everywhere;
    /// Requests that succeeded.
    ios: u64 = |r| r.ios => everywhere;
    /// Reads among `ios`.
    read_ios: u64 = |r| r.read_ios, if r.knows(Unknown::Mix) => everywhere;
    /// Requests that moved fewer bytes than asked, in discarded windows too.
    short_transfers: u64 = |r| r.all_short_transfers(), if r.knows(Unknown::Errors) => everywhere;
    /// Requests that failed, in discarded windows too; they are not in `ios`.
    errors: u64 = |r| total(r.all_errors().into_values()), if r.knows(Unknown::Errors) => everywhere;
    /// Failed requests by name of the error, such as `EIO=3 ENOSPC=1`; `EOF` is a request that moved nothing, because
    /// the target ended before it.
    errors_by_kind: String = |r| errors_by_kind(r), if r.knows(Unknown::Errors) => in file;
    /// Failed requests by name of the error.
    errors_by_kind: BTreeMap<String, u64> = |r| all_errors(r) => in run;
    /// Decimal MB/s into memory, without the closing flush; `null` without one.
    memory_mbps: Option<f64> = |r| r.memory_mbps() => in run;
    /// Decimal MB/s over the whole window: `bytes` / `elapsed_ns` x 1000.
    mbps: f64 = |r| r.mbps() => everywhere;
    /// Requests a second over the whole window: `ios` / `elapsed_ns` x 10^9.
    iops: f64 = |r| r.iops() => everywhere;
    /// Shortest latency, from before submission to reaping; `null`, as all latencies, if the window was too short for its
    /// queue (Little's law), and if no request succeeded.
    latency_ns_min: Option<u64> = |r| r.known_latency().map(Latency::min_ns) => in file;
    /// Median latency; quantiles are exact to 1 part in 128.
    latency_ns_p50: Option<u64> = |r| r.latency_ns_at(0.5) => in file;
    /// 90th percentile of latency.
    latency_ns_p90: Option<u64> = |r| r.latency_ns_at(0.9) => in file;
    /// 99th percentile of latency.
    latency_ns_p99: Option<u64> = |r| r.latency_ns_at(0.99) => in file;
    /// 99.9th percentile of latency.
    latency_ns_p999: Option<u64> = |r| r.latency_ns_at(0.999) => in file;
    /// Longest latency.
    latency_ns_max: Option<u64> = |r| r.known_latency().map(Latency::max_ns) => in file;
    /// Mean latency.
    latency_ns_mean: Option<f64> = |r| r.known_latency().map(Latency::mean_ns) => in file;
    /// Decimal MB/s of the reads over the whole window; `null` if none were planned.
    read_mbps: Option<f64> = |r| side(r, Direction::Read, |side| side.mbps()) => in file;
    /// Decimal MB/s of the writes over the whole window; `null` if none were planned.
    write_mbps: Option<f64> = |r| side(r, Direction::Write, |side| side.mbps()) => in file;
    /// Reads a second, likewise.
    read_iops: Option<f64> = |r| side(r, Direction::Read, |side| side.iops()) => in file;
    /// Writes a second, likewise.
    write_iops: Option<f64> = |r| side(r, Direction::Write, |side| side.iops()) => in file;
    /// Median latency of reads; `null` also if none succeeded, and for mixed runs of the first releases.
    read_latency_ns_p50: Option<u64> = |r| latency_of(r, Direction::Read, 0.5) => in file;
    /// 99th percentile of the latency of reads, likewise.
    read_latency_ns_p99: Option<u64> = |r| latency_of(r, Direction::Read, 0.99) => in file;
    /// Median latency of writes, likewise.
    write_latency_ns_p50: Option<u64> = |r| latency_of(r, Direction::Write, 0.5) => in file;
    /// 99th percentile of the latency of writes, likewise.
    write_latency_ns_p99: Option<u64> = |r| latency_of(r, Direction::Write, 0.99) => in file;
    /// Flushes between requests (`--fdatasync`); `null` without any.
    syncs: Option<u64> = |r| r.flushes().map(Latency::count) => in file;
    /// Median time of these flushes.
    sync_ns_p50: Option<u64> = |r| flush_ns(r, 0.5) => in file;
    /// 99th percentile of their time.
    sync_ns_p99: Option<u64> = |r| flush_ns(r, 0.99) => in file;
    /// 99.9th percentile of their time.
    sync_ns_p999: Option<u64> = |r| flush_ns(r, 0.999) => in file;
    /// Mean number of requests in flight.
    achieved_depth: f64 = |r| r.achieved_depth, if r.knows(Unknown::Latency) => everywhere;
    /// Requests that the processor time below was spent on: all that were submitted, including those in flight when the
    /// window closed.
    submitted: u64 = |r| r.cpu.ios, if r.knows(Unknown::ChargedTime) => in file;
    /// Length of the processor account: the window, and the wait for requests in flight after it.
    cpu_span_ns: u64 = |r| r.cpu.span_ns, if tells_of_processors(r) => in file;
    /// User time charged to halfpower in that span.
    user_ns: u64 = |r| r.cpu.user_ns, if r.knows(Unknown::ChargedTime) => in file;
    /// System time charged to halfpower in that span.
    system_ns: u64 = |r| r.cpu.system_ns, if r.knows(Unknown::ChargedTime) => in file;
    /// Time that its threads could have run but waited for a processor, in that span.
    waited_ns: u64 = |r| r.cpu.waited_ns, if r.knows(Unknown::ChargedTime) => in file;
    /// Time of the machine except idle and stolen time, summed over the processors, in whole ticks.
    machine_busy_ns: u64 = |r| r.cpu.machine_busy_ns(), if counts_ticks(r) => in file;
    /// Its part in user mode.
    machine_user_ns: u64 = |r| r.cpu.machine_ns(|cpu| cpu.user_ns), if counts_ticks(r) => in file;
    /// Its part in kernel mode.
    machine_system_ns: u64 = |r| r.cpu.machine_ns(|cpu| cpu.system_ns), if counts_ticks(r) => in file;
    /// Its part in hardware interrupts.
    machine_irq_ns: u64 = |r| r.cpu.machine_ns(|cpu| cpu.irq_ns), if is_ours(r) => in file;
    /// Its part in deferred interrupts.
    machine_softirq_ns: u64 = |r| r.cpu.machine_ns(|cpu| cpu.softirq_ns), if is_ours(r) => in file;
    /// Time that the hypervisor took.
    machine_steal_ns: u64 = |r| r.cpu.machine_ns(|cpu| cpu.steal_ns), if is_ours(r) => in file;
    /// Idle time, waiting for I/O included.
    machine_idle_ns: u64 = |r| r.cpu.machine_ns(|cpu| cpu.idle_ns), if counts_ticks(r) => in file;
    /// Processor time that the soaker lost, compared with its idle baseline; `null` in other passes.
    soaker_lost_ns: Option<u64> = |r| r.cpu.soaker.as_ref().map(|soaker| soaker.lost_ns) => in file;
    /// Share of the processors that the soaker gets on the idle machine; `null` in other passes.
    soaker_baseline_share: Option<f64> = |r| r.cpu.soaker.as_ref().map(|soaker| soaker.baseline_share) => in file;
    /// Length of the far end's account, on its own clock; this column and those that follow are `null` without a
    /// [witness](witness.md) there, and if it did not report.
    far_end_span_ns: Option<u64> = |r| far_end(r).map(|end| end.bill.span_ns) => in file;
    /// All processors there, all but idle time and steal.
    far_end_busy_ns: Option<u64> = |r| far_machine(r, CpuTimes::busy_ns) => in file;
    /// All processors there, user mode, nice included.
    far_end_user_ns: Option<u64> = |r| far_machine(r, |cpu| cpu.user_ns) => in file;
    /// All processors there, kernel mode.
    far_end_system_ns: Option<u64> = |r| far_machine(r, |cpu| cpu.system_ns) => in file;
    /// All processors there, hardware interrupts.
    far_end_irq_ns: Option<u64> = |r| far_machine(r, |cpu| cpu.irq_ns) => in file;
    /// All processors there, deferred interrupts.
    far_end_softirq_ns: Option<u64> = |r| far_machine(r, |cpu| cpu.softirq_ns) => in file;
    /// All processors there, taken by the hypervisor.
    far_end_steal_ns: Option<u64> = |r| far_machine(r, |cpu| cpu.steal_ns) => in file;
    /// All processors there, idle, waiting for I/O included.
    far_end_idle_ns: Option<u64> = |r| far_machine(r, |cpu| cpu.idle_ns) => in file;
    /// Processor time that the soaker lost there; `null` in other passes.
    far_end_soaker_lost_ns: Option<u64> = |r| far_end(r)?.bill.soaker.as_ref().map(|soaker| soaker.lost_ns) => in file;
    /// Charged to the processes whose names the witness was given; `null` if none were.
    far_end_processes_ns: Option<u64> = |r| far_end(r)?.bill.processes_ns() => in file;
    /// Bytes read from all whole block devices there; a volume's and its disks' bytes both count.
    far_end_read_bytes: Option<u64> = |r| far_disks(r, |disk| disk.read_bytes) => in file;
    /// Bytes written to them.
    far_end_written_bytes: Option<u64> = |r| far_disks(r, |disk| disk.written_bytes) => in file;
    /// The device there that had requests in flight for the longest.
    far_end_busiest_disk: Option<String> = |r| far_end(r)?.bill.busiest_disk().map(|it| it.0.name.clone()) => in file;
    /// Share of the account that it had, 0 to 1.
    far_end_busiest_disk_share: Option<f64> = |r| far_end(r)?.bill.busiest_disk().map(|it| it.1) => in file;
    /// Bytes that came in by all interfaces there, with all headers.
    far_end_received_bytes: Option<u64> = |r| far_interfaces(r, |it| it.received_bytes) => in file;
    /// Bytes that went out by them.
    far_end_sent_bytes: Option<u64> = |r| far_interfaces(r, |it| it.sent_bytes) => in file;
    /// The far end's Unix clock minus ours.
    far_end_clock_offset_ns: Option<i64> = |r| far_end(r).map(|end| end.clock_offset_ns) => in file;
    /// How well that is known, plus or minus.
    far_end_clock_offset_reach_ns: Option<u64> = |r| far_end(r).map(|end| end.clock_offset_reach_ns) => in file;
    /// Time per request of the null engine on this machine, in nanoseconds: halfpower's own share.
    harness_ns_per_io: f64 = |r| r.harness_ns_per_io, if is_ours(r) => everywhere;
    /// Mean number of physical memory segments per buffer of a direct request; `null` if the kernel does not tell.
    buffer_segments: Option<f64> = |r| r.buffer_segments => everywhere;
    /// Time per request of one lane against a server in memory over loopback, in nanoseconds: the ceiling of
    /// halfpower's own client; `null` if that client took no part.
    client_ns_per_io: Option<f64> = |r| r.client_ns_per_io => everywhere;
    /// That ceiling as decimal MB/s of all lanes together.
    client_mbps: Option<f64> = |r| r.client_mbps() => in run;
}

/// Requests that failed, by the name of the error, in all windows of the run.
fn all_errors(record: &Record) -> BTreeMap<String, u64> {
    record.all_errors().into_iter().map(|(name, count)| (name.to_string(), count)).collect()
}

/// The time that a share `quantile` (0 to 1) of the flushes between requests does not exceed.
fn flush_ns(record: &Record, quantile: f64) -> Option<u64> {
    record.flushes().map(|flushes| flushes.quantile_ns(quantile))
}

fn direction_without_trims(workload: &Workload) -> Option<Direction> {
    workload.rw.direction().filter(|_| !workload.rw.trims())
}

fn share_of_reads(workload: &Workload) -> Option<u8> {
    workload.rw.direction().is_none().then_some(workload.rwmixread)
}

/// Whether halfpower measured it: no other tool reports such a figure.
fn is_ours(record: &Record) -> bool {
    record.origin.is_none()
}

/// Whether the record has any account of the processors.
fn tells_of_processors(record: &Record) -> bool {
    record.knows(Unknown::ChargedTime) || !record.cpu.machine.is_empty()
}

/// Whether the record has the time of each processor by kind; of our own, one without has zeros.
fn counts_ticks(record: &Record) -> bool {
    is_ours(record) || !record.cpu.machine.is_empty()
}

/// The far end's account, if it reported.
fn far_end(record: &Record) -> Option<&FarEnd> {
    record.far_end.as_deref()
}

fn far_machine(record: &Record, kind: fn(&CpuTimes) -> u64) -> Option<u64> {
    far_end(record).map(|end| end.bill.machine_ns(kind))
}

fn far_disks(record: &Record, part: fn(&DiskUse) -> u64) -> Option<u64> {
    far_end(record).map(|end| total(end.bill.disks.iter().map(part)))
}

fn far_interfaces(record: &Record, part: fn(&InterfaceUse) -> u64) -> Option<u64> {
    far_end(record).map(|end| total(end.bill.interfaces.iter().map(part)))
}

/// A figure of one direction; `None` if the workload lacks that direction.
fn side(record: &Record, direction: Direction, figure: fn(&Side<'_>) -> f64) -> Option<f64> {
    record.side(direction).filter(|_| record.knows(Unknown::Mix)).as_ref().map(figure)
}

fn latency_of(record: &Record, direction: Direction, quantile: f64) -> Option<u64> {
    let latency = record.side(direction).and_then(|side| side.latency);
    let latency = latency.filter(|latency| !latency.is_empty() && record.knows_side_latency_at(quantile));
    latency.map(|latency| latency.quantile_ns(quantile))
}

/// Such as `EIO=3 ENOSPC=1`; empty if nothing failed.
fn errors_by_kind(record: &Record) -> String {
    let kinds: Vec<String> = record.all_errors().into_iter().map(|(kind, count)| format!("{kind}={count}")).collect();
    kinds.join(" ")
}

/// The flat keys of a record that halfpower measured.
#[derive(Debug, Clone, Copy)]
pub struct FlatFigures<'a>(pub &'a Record);

impl Serialize for FlatFigures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for key in flat_keys() {
            map.serialize_entry(key.name, &(key.value)(self.0).map_err(S::Error::custom)?)?;
        }
        map.end()
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for FlatFigures<'_> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FlatFigures".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut properties = serde_json::Map::new();
        let mut required = Vec::new();
        for key in flat_keys() {
            let mut schema = (key.schema)(generator);
            schema.insert("description".to_string(), key.doc.into());
            properties.insert(key.name.to_string(), schema.to_value());
            required.push(key.name);
        }
        schemars::json_schema!({ "type": "object", "properties": properties, "required": required })
    }
}
