//! Lists the columns of the study file and of the CSV: their names, units and values.
//!
//! `docs/study-file.md` describes each of them.

use rusqlite::types::Value;

use halfpower_spec::Direction;

use crate::{CpuTimes, FarEnd, Record, Side, Unknown, total};

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

/// A figure of a record that has its own column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name; the unit comes last.
    pub name: &'static str,
    /// Its type in the study file: TEXT, INTEGER or REAL.
    pub kind: &'static str,
    /// The value in a record; null if unknown or meaningless for the run.
    pub(crate) value: fn(&Record) -> Value,
}

/// The columns, in the order of the study file and of the CSV.
pub const COLUMNS: &[Column] = &[
    text("experiment", |r| r.run.experiment.map_or(Value::Null, word)),
    text("workload", |r| word(r.run.workload.identity())),
    text("rw", |r| word(r.run.workload.rw)),
    text("pattern", |r| word(r.run.workload.rw.pattern())),
    text("direction", |r| r.run.workload.rw.direction().map_or(Value::Null, word)),
    integer("rwmixread", |r| match r.run.workload.rw.direction() {
        None if r.knows(Unknown::Mix) => whole(r.run.workload.rwmixread.into()),
        _ => Value::Null,
    }),
    integer("bs_bytes", |r| whole(r.run.workload.bs.0)),
    integer("iodepth", |r| whole(r.run.workload.iodepth.into())),
    integer("threads", |r| whole(r.run.workload.threads.into())),
    text("cache", |r| word(r.run.workload.cache)),
    text("engine", |r| word(r.engine)),
    text("iomem", |r| r.run.workload.issuing.map_or(Value::Null, |issuing| word(issuing.iomem))),
    integer("iodepth_batch", |r| {
        r.run.workload.issuing.map_or(Value::Null, |issuing| whole(issuing.iodepth_batch.into()))
    }),
    text("pass", |r| word(r.run.pass)),
    integer("repeat", |r| whole(r.run.repeat.into())),
    // SQLite's integers are signed; a seed uses all 64 bits, so it is kept as its digits.
    text("seed", |r| of_ours(r, || word(r.run.seed))),
    integer("runtime_ns", |r| known(r, Unknown::Runtime, || whole(r.run.runtime.0))),
    integer("started_unix_ms", |r| known(r, Unknown::Start, || whole(r.started_unix_ms))),
    integer("spent_ns", |r| known(r, Unknown::Preparation, || whole(r.spent_ns))),
    integer("elapsed_ns", |r| whole(r.elapsed_ns)),
    integer("flush_ns", |r| of_ours(r, || whole(r.flush_ns))),
    integer("span_bytes", |r| known(r, Unknown::Span, || whole(r.span_bytes))),
    integer("spread_bytes", |r| r.spread_bytes.map_or(Value::Null, whole)),
    integer("cached_bytes", |r| r.cached_bytes.map_or(Value::Null, whole)),
    integer("bytes", |r| whole(r.bytes)),
    integer("ios", |r| whole(r.ios)),
    integer("read_ios", |r| known(r, Unknown::Mix, || whole(r.read_ios))),
    integer("short_transfers", |r| known(r, Unknown::Errors, || whole(r.short_transfers))),
    integer("errors", |r| known(r, Unknown::Errors, || whole(r.error_count()))),
    text("errors_by_kind", |r| known(r, Unknown::Errors, || Value::Text(errors_by_kind(r)))),
    real("mbps", |r| Value::Real(r.mbps())),
    real("iops", |r| Value::Real(r.iops())),
    integer("latency_ns_min", |r| known(r, Unknown::Latency, || whole(r.latency.min_ns()))),
    integer("latency_ns_p50", |r| r.latency_ns_at(0.5).map_or(Value::Null, whole)),
    integer("latency_ns_p90", |r| r.latency_ns_at(0.9).map_or(Value::Null, whole)),
    integer("latency_ns_p99", |r| r.latency_ns_at(0.99).map_or(Value::Null, whole)),
    integer("latency_ns_p999", |r| r.latency_ns_at(0.999).map_or(Value::Null, whole)),
    integer("latency_ns_max", |r| known(r, Unknown::Latency, || whole(r.latency.max_ns()))),
    real("latency_ns_mean", |r| known(r, Unknown::Latency, || Value::Real(r.latency.mean_ns()))),
    real("read_mbps", |r| side(r, Direction::Read, |side| Value::Real(side.mbps()))),
    real("write_mbps", |r| side(r, Direction::Write, |side| Value::Real(side.mbps()))),
    real("read_iops", |r| side(r, Direction::Read, |side| Value::Real(side.iops()))),
    real("write_iops", |r| side(r, Direction::Write, |side| Value::Real(side.iops()))),
    integer("read_latency_ns_p50", |r| latency_of(r, Direction::Read, 0.5)),
    integer("read_latency_ns_p99", |r| latency_of(r, Direction::Read, 0.99)),
    integer("write_latency_ns_p50", |r| latency_of(r, Direction::Write, 0.5)),
    integer("write_latency_ns_p99", |r| latency_of(r, Direction::Write, 0.99)),
    real("achieved_depth", |r| r.known_depth().map_or(Value::Null, Value::Real)),
    integer("submitted", |r| charged(r, |r| r.cpu.ios)),
    integer("cpu_span_ns", |r| if tells_of_processors(r) { whole(r.cpu.span_ns) } else { Value::Null }),
    integer("user_ns", |r| charged(r, |r| r.cpu.user_ns)),
    integer("system_ns", |r| charged(r, |r| r.cpu.system_ns)),
    integer("waited_ns", |r| charged(r, |r| r.cpu.waited_ns)),
    integer("machine_busy_ns", |r| machine(r, CpuTimes::busy_ns)),
    integer("machine_user_ns", |r| machine(r, |cpu| cpu.user_ns)),
    integer("machine_system_ns", |r| machine(r, |cpu| cpu.system_ns)),
    integer("machine_irq_ns", |r| of_ours(r, || machine(r, |cpu| cpu.irq_ns))),
    integer("machine_softirq_ns", |r| of_ours(r, || machine(r, |cpu| cpu.softirq_ns))),
    integer("machine_steal_ns", |r| of_ours(r, || machine(r, |cpu| cpu.steal_ns))),
    integer("machine_idle_ns", |r| machine(r, |cpu| cpu.idle_ns)),
    integer("soaker_lost_ns", |r| r.cpu.soaker.as_ref().map_or(Value::Null, |soaker| whole(soaker.lost_ns))),
    real("soaker_baseline_share", |r| {
        r.cpu.soaker.as_ref().map_or(Value::Null, |soaker| Value::Real(soaker.baseline_share))
    }),
    integer("far_end_span_ns", |r| far_end(r, |end| whole(end.bill.span_ns))),
    integer("far_end_busy_ns", |r| far_machine(r, CpuTimes::busy_ns)),
    integer("far_end_user_ns", |r| far_machine(r, |cpu| cpu.user_ns)),
    integer("far_end_system_ns", |r| far_machine(r, |cpu| cpu.system_ns)),
    integer("far_end_irq_ns", |r| far_machine(r, |cpu| cpu.irq_ns)),
    integer("far_end_softirq_ns", |r| far_machine(r, |cpu| cpu.softirq_ns)),
    integer("far_end_steal_ns", |r| far_machine(r, |cpu| cpu.steal_ns)),
    integer("far_end_idle_ns", |r| far_machine(r, |cpu| cpu.idle_ns)),
    integer("far_end_soaker_lost_ns", |r| {
        far_end(r, |end| end.bill.soaker.as_ref().map_or(Value::Null, |soaker| whole(soaker.lost_ns)))
    }),
    integer("far_end_processes_ns", |r| far_end(r, |end| end.bill.processes_ns().map_or(Value::Null, whole))),
    integer("far_end_read_bytes", |r| far_sum(r, |end| end.bill.disks.iter().map(|disk| disk.read_bytes).collect())),
    integer("far_end_written_bytes", |r| {
        far_sum(r, |end| end.bill.disks.iter().map(|disk| disk.written_bytes).collect())
    }),
    text("far_end_busiest_disk", |r| {
        far_end(r, |end| end.bill.busiest_disk().map_or(Value::Null, |(disk, _)| word(&disk.name)))
    }),
    real("far_end_busiest_disk_share", |r| {
        far_end(r, |end| end.bill.busiest_disk().map_or(Value::Null, |(_, share)| Value::Real(share)))
    }),
    integer("far_end_received_bytes", |r| {
        far_sum(r, |end| end.bill.interfaces.iter().map(|interface| interface.received_bytes).collect())
    }),
    integer("far_end_sent_bytes", |r| {
        far_sum(r, |end| end.bill.interfaces.iter().map(|interface| interface.sent_bytes).collect())
    }),
    integer("far_end_clock_offset_ns", |r| far_end(r, |end| Value::Integer(end.clock_offset_ns))),
    integer("far_end_clock_offset_reach_ns", |r| far_end(r, |end| whole(end.clock_offset_reach_ns))),
    real("harness_ns_per_io", |r| of_ours(r, || Value::Real(r.harness_ns_per_io))),
    real("buffer_segments", |r| r.buffer_segments.map_or(Value::Null, Value::Real)),
    real("client_ns_per_io", |r| r.client_ns_per_io.map_or(Value::Null, Value::Real)),
];

/// The column that a study file of any layout calls `name`; `None` if this release does not know it.
pub(crate) fn column_named(name: &str) -> Option<&'static Column> {
    let renamed = NAMES_OF_LAYOUT_1.iter().find(|(earlier, _)| *earlier == name);
    let name = renamed.map_or(name, |(_, now)| now);
    COLUMNS.iter().find(|column| column.name == name)
}

const fn text(name: &'static str, value: fn(&Record) -> Value) -> Column {
    Column { name, kind: "TEXT", value }
}

const fn integer(name: &'static str, value: fn(&Record) -> Value) -> Column {
    Column { name, kind: "INTEGER", value }
}

const fn real(name: &'static str, value: fn(&Record) -> Value) -> Column {
    Column { name, kind: "REAL", value }
}

fn word(value: impl ToString) -> Value {
    Value::Text(value.to_string())
}

/// SQLite's integers end at 2^63 - 1; counts and times stay far below.
fn whole(value: u64) -> Value {
    Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

/// A figure that another tool may not report.
fn known(record: &Record, what: Unknown, figure: impl FnOnce() -> Value) -> Value {
    if record.knows(what) { figure() } else { Value::Null }
}

/// A figure that no other tool reports.
fn of_ours(record: &Record, figure: impl FnOnce() -> Value) -> Value {
    if record.origin.is_none() { figure() } else { Value::Null }
}

fn charged(record: &Record, figure: fn(&Record) -> u64) -> Value {
    known(record, Unknown::ChargedTime, || whole(figure(record)))
}

/// Whether the record has any account of the processors.
fn tells_of_processors(record: &Record) -> bool {
    record.knows(Unknown::ChargedTime) || !record.cpu.machine.is_empty()
}

fn machine(record: &Record, part: fn(&CpuTimes) -> u64) -> Value {
    match record.cpu.machine.is_empty() && record.origin.is_some() {
        true => Value::Null,
        false => whole(record.cpu.machine_ns(part)),
    }
}

/// A figure of the far end; null if the far end did not report.
fn far_end(record: &Record, figure: fn(&FarEnd) -> Value) -> Value {
    record.far_end.as_ref().map_or(Value::Null, |end| figure(end))
}

fn far_machine(record: &Record, part: fn(&CpuTimes) -> u64) -> Value {
    record.far_end.as_ref().map_or(Value::Null, |end| whole(end.bill.machine_ns(part)))
}

fn far_sum(record: &Record, parts: fn(&FarEnd) -> Vec<u64>) -> Value {
    record.far_end.as_ref().map_or(Value::Null, |end| whole(total(parts(end))))
}

/// A figure of one direction; null if the workload lacks that direction.
fn side(record: &Record, direction: Direction, figure: fn(&Side<'_>) -> Value) -> Value {
    let side = record.side(direction).filter(|_| record.knows(Unknown::Mix));
    side.map_or(Value::Null, |side| figure(&side))
}

fn latency_of(record: &Record, direction: Direction, quantile: f64) -> Value {
    let latency = record.side(direction).and_then(|side| side.latency);
    let latency = latency.filter(|_| record.knows_side_latency_at(quantile));
    latency.map_or(Value::Null, |latency| whole(latency.quantile_ns(quantile)))
}

/// Such as `EIO=3 ENOSPC=1`; empty if nothing failed.
fn errors_by_kind(record: &Record) -> String {
    let kinds: Vec<String> = record.errors.iter().map(|(kind, count)| format!("{kind}={count}")).collect();
    kinds.join(" ")
}
