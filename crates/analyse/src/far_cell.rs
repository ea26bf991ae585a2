//! Sums up what the far end did while a cell was measured.

use halfpower_record::{CpuTimes, DiskUse, FarEnd, Record};
use halfpower_spec::{JsonSchema, Pass};
use serde::Serialize;

use crate::busiest::ProcessorAccounts;
use crate::mean::quotient;

/// What the far end did while a cell was measured: from its plain runs, except the soaker's figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FarCell {
    /// Its processors.
    pub processors: usize,
    /// Share of their time that they were busy, for any process.
    pub busy_share: f64,
    /// Share of its time that the busiest one was busy or taken by a hypervisor.
    pub busiest_share: f64,
    /// Share of their time that a hypervisor took.
    pub steal_share: f64,
    /// Microseconds of processor time a request, for all processes.
    pub machine_us: f64,
    /// The same at this end; `None` if the kernel does not report it.
    pub near_machine_us: Option<f64>,
    /// Microseconds a request that the named processes were charged; `None` if none were named.
    pub processes_us: Option<f64>,
    /// Microseconds a request that the soaker lost there; `None` without a soaker pass.
    pub soaker_us: Option<f64>,
    /// Accounted time for each request, in microseconds.
    pub span_us: f64,
    /// The disk there that had requests in flight for the largest share of time.
    pub disk: Option<FarDisk>,
    /// The disk there that is nearest to its control group limit; `None` if none is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_limit: Option<FarDiskLimit>,
}

/// A disk at the far end, and the control group limit for it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FarDiskLimit {
    /// Its kernel name.
    pub name: String,
    /// Its rate in the limited direction, in MB/s.
    pub mbps: f64,
    /// The limit in MB/s.
    pub limit_mbps: f64,
    /// Share of it that was reached.
    pub share: f64,
    /// File and group that set the limit.
    pub group: String,
}

/// Share of a limit at which a disk counts as limited; above the range, the limit does not apply to its bytes.
const AT_LIMIT: std::ops::RangeInclusive<f64> = 0.9..=1.15;

impl FarDiskLimit {
    /// Whether the disk has reached its limit.
    pub fn is_reached(&self) -> bool {
        AT_LIMIT.contains(&self.share)
    }
}

/// A disk at the far end.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FarDisk {
    /// Its kernel name.
    pub name: String,
    /// Share of the time that it had a request in flight, 0 to 1.
    pub busy_share: f64,
}

impl FarCell {
    /// Sums up the records of one cell; `None` if no plain run has the far end's account.
    pub(crate) fn of(records: &[&Record]) -> Option<Self> {
        let is_plain = |record: &Record| matches!(record.run.pass, Pass::Plain | Pass::Confirm);
        let with_account = |record: &'_ &&Record| record.far_end.is_some() && record.cpu.ios > 0;
        let plain: Vec<&Record> =
            records.iter().filter(with_account).copied().filter(|record| is_plain(record)).collect();
        let sum = |of: &dyn Fn(&Record, &FarEnd) -> f64| -> f64 {
            plain.iter().filter_map(|record| Some(of(record, record.far_end.as_ref()?))).sum()
        };
        let bills = plain.iter().filter_map(|record| Some(&record.far_end.as_ref()?.bill));
        let accounts = ProcessorAccounts::of(bills.map(|bill| (bill.span_ns, bill.machine.as_slice())));
        let processors = accounts.processors()?;
        let ios = sum(&|record, _| record.cpu.ios as f64);
        let span_ns = sum(&|_, end| end.bill.span_ns as f64);
        let of_machine = |part: fn(&CpuTimes) -> u64| sum(&|_, end| end.bill.machine_ns(part) as f64);
        let busy_ns = of_machine(CpuTimes::busy_ns);
        let all_ns = span_ns * processors as f64;
        let us = |ns: f64| quotient(ns, ios) / 1e3;
        let is_named =
            plain.iter().any(|record| record.far_end.as_ref().is_some_and(|end| !end.bill.processes.is_empty()));
        let tells_here = plain.iter().all(|record| !record.cpu.machine.is_empty());
        let here_ns = |record: &Record| record.cpu.machine.iter().map(|cpu| cpu.busy_ns() as f64).sum::<f64>();
        let disk = plain.iter().filter_map(|record| record.far_end.as_ref()?.bill.busiest_disk());
        let disk = disk.reduce(|most, next| if next.1 > most.1 { next } else { most });
        Some(Self {
            processors,
            busy_share: quotient(busy_ns, all_ns).min(1.0),
            busiest_share: accounts.busiest_share(),
            steal_share: quotient(of_machine(|cpu| cpu.steal_ns), all_ns).min(1.0),
            machine_us: us(busy_ns),
            near_machine_us: tells_here.then(|| us(sum(&|record, _| here_ns(record)))),
            processes_us: is_named.then(|| us(sum(&|_, end| end.bill.processes_ns().unwrap_or(0) as f64))),
            soaker_us: soaker_us(records),
            span_us: us(span_ns),
            disk: disk.map(|(disk, _)| FarDisk { name: disk.name.clone(), busy_share: disk_share(&plain, &disk.name) }),
            disk_limit: disk_limit(&plain),
        })
    }
}

/// Bytes that a disk moved in one direction.
type Moved = fn(&DiskUse) -> u64;

/// The disk that is nearest to its limit, over all accounts together.
fn disk_limit(plain: &[&Record]) -> Option<FarDiskLimit> {
    let bills = || plain.iter().filter_map(|record| Some(&record.far_end.as_ref()?.bill));
    let span_ns: f64 = bills().map(|bill| bill.span_ns as f64).sum();
    let limited = bills().flat_map(|bill| &bill.disks).filter_map(|disk| Some((disk, disk.limit.as_ref()?)));
    let each = limited.flat_map(|(disk, limit)| {
        let ways: [(Moved, Option<u64>); 2] =
            [(|disk| disk.read_bytes, limit.read_bytes_per_s), (|disk| disk.written_bytes, limit.write_bytes_per_s)];
        ways.into_iter().filter_map(move |(moved, most)| Some((disk, limit, moved, most?)))
    });
    let found = each.map(|(disk, limit, moved, most)| {
        let same = bills().flat_map(|bill| &bill.disks).filter(|other| other.name == disk.name);
        let mbps = quotient(same.map(|disk| moved(disk) as f64).sum::<f64>() * 1e3, span_ns);
        let limit_mbps = most as f64 / 1e6;
        let group = limit.group.clone();
        FarDiskLimit { name: disk.name.clone(), mbps, limit_mbps, share: quotient(mbps, limit_mbps), group }
    });
    found.reduce(|most, next| if next.share > most.share { next } else { most })
}

/// The share of the runs' accounts that a disk was busy.
fn disk_share(plain: &[&Record], name: &str) -> f64 {
    let mut busy_ns = 0.0;
    let mut span_ns = 0.0;
    for end in plain.iter().filter_map(|record| record.far_end.as_ref()) {
        span_ns += end.bill.span_ns as f64;
        busy_ns += end.bill.disks.iter().filter(|disk| disk.name == name).map(|disk| disk.busy_ns as f64).sum::<f64>();
    }
    quotient(busy_ns, span_ns).min(1.0)
}

fn soaker_us(records: &[&Record]) -> Option<f64> {
    let mut lost_ns = 0.0;
    let mut ios = 0.0;
    for record in records.iter().filter(|record| record.run.pass == Pass::Soaker) {
        if let Some(soaker) = record.far_end.as_ref().and_then(|end| end.bill.soaker.as_ref()) {
            lost_ns += soaker.lost_ns as f64;
            ios += record.cpu.ios as f64;
        }
    }
    (ios > 0.0).then(|| lost_ns / ios / 1e3)
}
