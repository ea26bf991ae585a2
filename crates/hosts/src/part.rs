//! Holds the parts of a run that processes made, and merges them into one record.

use halfpower_measure::MeasureError;
use halfpower_record::{CpuTimes, HostShare, Join, Latency, Record, Samples};
use halfpower_spec::{InOrder, Run};
use serde::{Deserialize, Serialize};

use crate::crew::Opened;
use crate::failures::Failures;
use crate::notes::Notes;

/// The part of a run that one or several processes made.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Their merged record, except for the length of the window; `None` if none of them took part.
    record: Option<Record>,
    /// The share of each process, with its opening in Unix time.
    hosts: Vec<HostShare>,
    /// Bytes per nanosecond, each process over its own window, added.
    rate: f64,
    /// The same, without the closing flush.
    rate_before_flush: f64,
    /// Processes that could not go on.
    pub failures: Failures,
    /// Whether one of the processes was interrupted.
    pub interrupted: bool,
    /// Notes about their hosts that are new since the last run.
    pub notes: Notes,
}

impl Part {
    /// The part of process `rank`. Only the first process of each computer `tells_of_computer`: it alone reports what
    /// the whole computer spent.
    pub fn of(rank: u32, record: Record, opened: Opened, tells_of_computer: bool) -> Self {
        let share = share(rank, &record, opened);
        let before_flush = record.elapsed_ns - record.flush_ns.min(record.elapsed_ns);
        let rate = |ns: u64| if ns == 0 { 0.0 } else { record.bytes as f64 / ns as f64 };
        let rate_before_flush = rate(before_flush);
        let rate = rate(record.elapsed_ns);
        let record = if tells_of_computer { record } else { without_computer(record) };
        // Samples grow with the length of a run, and windows of processes are not in step to a tenth of a second.
        // Latencies of each lane would be of lanes of this process alone.
        let record = Some(Record { samples: Samples::default(), lane_latencies: Vec::new(), ..record });
        Self { record, hosts: vec![share], rate, rate_before_flush, ..Self::default() }
    }

    /// The part of a process that failed.
    pub fn failed(rank: u32, host: &str, error: &MeasureError) -> Self {
        Self { failures: Failures::of(rank, host, error), ..Self::default() }
    }

    /// The same, with whether the process was interrupted.
    pub fn interrupted(self, interrupted: bool) -> Self {
        Self { interrupted, ..self }
    }

    /// The same, with these notes.
    pub fn noted(self, notes: Notes) -> Self {
        Self { notes, ..self }
    }

    /// Merges both.
    pub fn with(self, other: Self) -> Self {
        let record = match (self.record, other.record) {
            (Some(own), Some(other)) => Some(own.joined(other)),
            (own, other) => own.or(other),
        };
        let mut hosts = self.hosts;
        hosts.extend(other.hosts);
        Self {
            record,
            hosts,
            rate: self.rate + other.rate,
            rate_before_flush: self.rate_before_flush + other.rate_before_flush,
            failures: self.failures.with(other.failures),
            interrupted: self.interrupted || other.interrupted,
            notes: self.notes.with(other.notes),
        }
    }

    /// The record of the whole run, once all parts are merged.
    ///
    /// # Errors
    /// If a process failed, or none took part.
    pub fn whole(self, run: &Run) -> Result<Record, MeasureError> {
        self.failures.outcome()?;
        let Some(mut record) = self.record else {
            return Err(MeasureError::Elsewhere { what: "no process took part in the run".to_string() });
        };
        let mut hosts = self.hosts;
        hosts.order_by_key(|host| host.rank);
        let opened_ns = hosts[0].opened_ns;
        hosts.iter_mut().for_each(|host| host.opened_ns -= opened_ns);
        // The window of the merged record: the time in which all bytes move at the sum of the rates.
        let longest_ns = hosts.iter().map(|host| host.elapsed_ns).max().unwrap_or(0);
        let over = |rate: f64| if rate > 0.0 { (record.bytes as f64 / rate).round() as u64 } else { longest_ns };
        let elapsed_ns = over(self.rate);
        let before_flush_ns = over(self.rate_before_flush);
        record.flush_ns = if record.flush_ns > 0 { elapsed_ns.saturating_sub(before_flush_ns) } else { 0 };
        record.elapsed_ns = elapsed_ns;
        Ok(Record { run: *run, hosts, ..record })
    }
}

/// The share of one process.
fn share(rank: u32, record: &Record, opened: Opened) -> HostShare {
    let machine = |of: fn(&CpuTimes) -> u64| record.cpu.machine.iter().map(of).sum();
    let latency = Some(&record.latency).filter(|latency| !latency.is_empty());
    HostShare {
        rank,
        opened_ns: opened.unix_ns,
        opened_reach_ns: opened.reach_ns,
        elapsed_ns: record.elapsed_ns,
        bytes: record.bytes,
        ios: record.ios,
        errors: record.error_count(),
        latency_ns_mean: latency.map(Latency::mean_ns),
        latency_ns_p50: latency.map(|latency| latency.quantile_ns(0.5)),
        latency_ns_p99: latency.map(|latency| latency.quantile_ns(0.99)),
        latency_ns_max: latency.map(Latency::max_ns),
        charged_ns: record.cpu.charged_ns(),
        busy_ns: machine(CpuTimes::busy_ns),
        steal_ns: machine(|times| times.steal_ns),
        span_ns: record.cpu.span_ns,
    }
}

/// Removes what concerns the whole computer, because another process of that computer reports it.
fn without_computer(mut record: Record) -> Record {
    record.cpu.machine.clear();
    record.cpu.span_ns = 0;
    record.cpu.soaker = None;
    let noise = &mut record.noise;
    (noise.pressure_io_ns, noise.pressure_cpu_ns, noise.device_bytes) = (Some(0), Some(0), Some(0));
    record.devices.clear();
    record
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use halfpower_measure::{SimulatedTarget, measure};
    use halfpower_record::DeviceUse;
    use halfpower_spec::{Nanos, Pass, SimulatedDisk, Workload};

    use super::*;

    #[test]
    fn a_disk_of_two_processes_of_one_computer_is_told_once() {
        let workload = Workload::default();
        let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(1_000_000), seed: 1 };
        let disk = SimulatedDisk::from_constants("").unwrap();
        let mut record = measure(&mut SimulatedTarget::new(disk), &run, &AtomicBool::new(false)).unwrap();
        record.devices = vec![DeviceUse { name: "vda".to_string(), busy_ms: 7, ..DeviceUse::default() }];
        let of = |rank| Part::of(rank, record.clone(), Opened::default(), rank == 0);
        let whole = of(0).with(of(1)).whole(&run).unwrap();
        assert_eq!((whole.hosts.len(), &whole.devices), (2, &record.devices));
    }
}
