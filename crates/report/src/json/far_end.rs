//! Writes what a run cost at the far end, and the time of a machine's processors by kind.

use halfpower_record::{CpuTimes, DiskUse, FarEnd, InterfaceUse, ProcessTime, Record};
use halfpower_spec::JsonSchema;
use serde::Serialize;

/// Time and traffic of the machine that serves the target, from just before the first submission to just after the last
/// completion was reaped.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FarEndDocument<'a> {
    /// Length of the account, by the far end's clock.
    span_ns: u64,
    /// Busy time of all processors, whoever used it.
    machine_busy_ns: u64,
    /// Busy time per request, in microseconds.
    machine_us: Option<f64>,
    /// Processor time by kind.
    machine_ns: MachineTimeDocument,
    /// Number of processors.
    processors: usize,
    /// Time that the soaker lost there.
    soaker_lost_ns: Option<u64>,
    /// Time that the soaker lost per request, in microseconds.
    soaker_us: Option<f64>,
    /// Time charged to the processes whose names the witness was given.
    processes: Vec<ProcessDocument<'a>>,
    /// Time charged to all of them per request, in microseconds; `null` if no names were given.
    processes_us: Option<f64>,
    /// Block devices that were active.
    disks: Vec<DiskDocument<'a>>,
    /// Network interfaces with traffic.
    interfaces: Vec<InterfaceDocument<'a>>,
    /// Time that some task there waited for I/O.
    pressure_io_ns: Option<u64>,
    /// Time that some task there waited for a processor.
    pressure_cpu_ns: Option<u64>,
    /// The far end's Unix clock minus this machine's.
    clock_offset_ns: i64,
    /// Error bound of `clock_offset_ns`, plus or minus.
    clock_offset_reach_ns: u64,
}

/// All processes of one name.
#[derive(Debug, Serialize, JsonSchema)]
struct ProcessDocument<'a> {
    /// Their name.
    name: &'a str,
    /// Number of processes at the end.
    processes: u64,
    /// User and system time of all their threads.
    charged_ns: u64,
}

/// A block device.
#[derive(Debug, Serialize, JsonSchema)]
struct DiskDocument<'a> {
    /// Its kernel name.
    name: &'a str,
    /// Bytes read.
    read_bytes: u64,
    /// Bytes written.
    written_bytes: u64,
    /// Time with at least one request in flight.
    busy_ns: u64,
    /// Bytes a second that control groups let the server's processes read; `null` if unlimited.
    read_limit_bytes_per_s: Option<u64>,
    /// Bytes a second that control groups let them write; `null` if unlimited.
    write_limit_bytes_per_s: Option<u64>,
}

/// A network interface.
#[derive(Debug, Serialize, JsonSchema)]
struct InterfaceDocument<'a> {
    /// Its name.
    name: &'a str,
    /// Bytes received, with all headers.
    received_bytes: u64,
    /// Bytes sent, with all headers.
    sent_bytes: u64,
}

/// The far end's account of this run; `None` without one.
pub(crate) fn far_end(record: &Record) -> Option<FarEndDocument<'_>> {
    let end: &FarEnd = record.far_end.as_ref()?;
    let us = |spent_ns| record.cpu.us_per_io(spent_ns);
    let busy_ns = end.bill.machine_ns(CpuTimes::busy_ns);
    let soaker_lost_ns = end.bill.soaker.as_ref().map(|soaker| soaker.lost_ns);
    Some(FarEndDocument {
        span_ns: end.bill.span_ns,
        machine_busy_ns: busy_ns,
        machine_us: us(busy_ns),
        machine_ns: MachineTimeDocument::of(|part| end.bill.machine_ns(part), None),
        processors: end.bill.machine.len(),
        soaker_lost_ns,
        soaker_us: soaker_lost_ns.and_then(us),
        processes: end.bill.processes.iter().map(process).collect(),
        processes_us: end.bill.processes_ns().and_then(us),
        disks: end.bill.disks.iter().map(disk).collect(),
        interfaces: end.bill.interfaces.iter().map(interface).collect(),
        pressure_io_ns: end.bill.noise.pressure_io_ns,
        pressure_cpu_ns: end.bill.noise.pressure_cpu_ns,
        clock_offset_ns: end.clock_offset_ns,
        clock_offset_reach_ns: end.clock_offset_reach_ns,
    })
}

fn process(of: &ProcessTime) -> ProcessDocument<'_> {
    ProcessDocument { name: &of.name, processes: of.processes, charged_ns: of.charged_ns }
}

fn disk(of: &DiskUse) -> DiskDocument<'_> {
    let limit = of.limit.as_deref();
    DiskDocument {
        name: &of.name,
        read_bytes: of.read_bytes,
        written_bytes: of.written_bytes,
        busy_ns: of.busy_ns,
        read_limit_bytes_per_s: limit.and_then(|limit| limit.read_bytes_per_s),
        write_limit_bytes_per_s: limit.and_then(|limit| limit.write_bytes_per_s),
    }
}

fn interface(of: &InterfaceUse) -> InterfaceDocument<'_> {
    InterfaceDocument { name: &of.name, received_bytes: of.received_bytes, sent_bytes: of.sent_bytes }
}

/// Time of all processors by kind, in nanoseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MachineTimeDocument {
    /// User mode, nice included.
    user: u64,
    /// Kernel mode.
    system: u64,
    /// Hardware interrupts.
    irq: u64,
    /// Deferred interrupts.
    softirq: u64,
    /// Taken by the hypervisor.
    steal: u64,
    /// Idle, waiting for I/O included.
    idle: u64,
    /// What the idle machine would have spent in the same time, from the soaker's baseline.
    idle_baseline: Option<u64>,
}

impl MachineTimeDocument {
    /// Takes the time of each kind from `machine`.
    pub(crate) fn of(machine: impl Fn(fn(&CpuTimes) -> u64) -> u64, idle_baseline: Option<u64>) -> Self {
        Self {
            user: machine(|times| times.user_ns),
            system: machine(|times| times.system_ns),
            irq: machine(|times| times.irq_ns),
            softirq: machine(|times| times.softirq_ns),
            steal: machine(|times| times.steal_ns),
            idle: machine(|times| times.idle_ns),
            idle_baseline,
        }
    }
}
