//! Sums up what the far end did while a cell was measured.

use halfpower_record::{CpuTimes, FarEnd, Record};
use halfpower_spec::Pass;
use schemars::JsonSchema;
use serde::Serialize;

use crate::mean::quotient;

/// What the far end did while a cell was measured: of its plain runs, but for the soaker's figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FarCell {
    /// Its processors.
    pub processors: usize,
    /// Share of their time that was busy, whoever it was.
    pub busy_share: f64,
    /// Share of their time that a hypervisor took.
    pub steal_share: f64,
    /// Microseconds of processor time a request, whoever spent them.
    pub machine_us: f64,
    /// The same at this end; `None` where the kernel does not tell.
    pub near_machine_us: Option<f64>,
    /// Microseconds a request that the named processes were charged; `None` where none were named.
    pub processes_us: Option<f64>,
    /// Microseconds a request that the soaker lost there; `None` without a pass beside it.
    pub soaker_us: Option<f64>,
    /// Length of the account for each request, in microseconds.
    pub span_us: f64,
    /// The disk there that had requests in flight for the longest.
    pub disk: Option<FarDisk>,
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
    /// Of the records of one cell; `None` where no plain run has the far end's account.
    pub(crate) fn of(records: &[&Record]) -> Option<Self> {
        let is_plain = |record: &Record| matches!(record.run.pass, Pass::Plain | Pass::Confirm);
        let with_account = |record: &'_ &&Record| record.far_end.is_some() && record.cpu.ios > 0;
        let plain: Vec<&Record> =
            records.iter().filter(with_account).copied().filter(|record| is_plain(record)).collect();
        let sum = |of: &dyn Fn(&Record, &FarEnd) -> f64| -> f64 {
            plain.iter().filter_map(|record| Some(of(record, record.far_end.as_ref()?))).sum()
        };
        let processors = plain.iter().filter_map(|record| Some(record.far_end.as_ref()?.bill.machine.len())).max()?;
        let (ios, span_ns) = (sum(&|record, _| record.cpu.ios as f64), sum(&|_, end| end.bill.span_ns as f64));
        let of_machine = |part: fn(&CpuTimes) -> u64| sum(&|_, end| end.bill.machine_ns(part) as f64);
        let (busy_ns, all_ns) = (of_machine(CpuTimes::busy_ns), span_ns * processors as f64);
        let us = |ns: f64| quotient(ns, ios) / 1e3;
        let is_named = plain.iter().any(|record| record.far_end.as_ref().is_some_and(|end| !end.bill.processes.is_empty()));
        let tells_here = plain.iter().all(|record| !record.cpu.machine.is_empty());
        let here_ns = |record: &Record| record.cpu.machine.iter().map(|cpu| cpu.busy_ns() as f64).sum::<f64>();
        let disk = plain.iter().filter_map(|record| record.far_end.as_ref()?.bill.busiest_disk());
        let disk = disk.reduce(|most, next| if next.1 > most.1 { next } else { most });
        Some(Self {
            processors,
            busy_share: quotient(busy_ns, all_ns).min(1.0),
            steal_share: quotient(of_machine(|cpu| cpu.steal_ns), all_ns).min(1.0),
            machine_us: us(busy_ns),
            near_machine_us: tells_here.then(|| us(sum(&|record, _| here_ns(record)))),
            processes_us: is_named.then(|| us(sum(&|_, end| end.bill.processes_ns().unwrap_or(0) as f64))),
            soaker_us: soaker_us(records),
            span_us: us(span_ns),
            disk: disk.map(|(disk, _)| FarDisk { name: disk.name.clone(), busy_share: disk_share(&plain, &disk.name) }),
        })
    }
}

/// The share of the runs' accounts that a disk was busy.
fn disk_share(plain: &[&Record], name: &str) -> f64 {
    let (mut busy_ns, mut span_ns) = (0.0, 0.0);
    for end in plain.iter().filter_map(|record| record.far_end.as_ref()) {
        span_ns += end.bill.span_ns as f64;
        busy_ns += end.bill.disks.iter().filter(|disk| disk.name == name).map(|disk| disk.busy_ns as f64).sum::<f64>();
    }
    quotient(busy_ns, span_ns).min(1.0)
}

fn soaker_us(records: &[&Record]) -> Option<f64> {
    let (mut lost_ns, mut ios) = (0.0, 0.0);
    for record in records.iter().filter(|record| record.run.pass == Pass::Soaker) {
        if let Some(soaker) = record.far_end.as_ref().and_then(|end| end.bill.soaker.as_ref()) {
            lost_ns += soaker.lost_ns as f64;
            ios += record.cpu.ios as f64;
        }
    }
    (ios > 0.0).then(|| lost_ns / ios / 1e3)
}
