//! Reads all counters of a machine at one moment, and computes what the machine spent between two readings.

use std::time::Instant;

use halfpower_os::processor::{self, Times};
use halfpower_probe::{Root, process_limits};
use halfpower_record::{CpuTimes, FarBill};

use crate::disks::{self, Disks};
use crate::interfaces::{self, Interfaces};
use crate::noise::{NoiseProbe, NoiseSnapshot};
use crate::processes::{self, Processes};

/// The counters at one moment.
pub(crate) struct Counters {
    machine: Vec<Times>,
    at: Instant,
    others: Others,
}

/// All counters but the processors' time. Reading them takes time of a processor itself: that of processes looks at each that runs.
struct Others {
    disks: Disks,
    interfaces: Interfaces,
    processes: Processes,
    noise: NoiseSnapshot,
}

impl Others {
    fn read(names: &[String]) -> Self {
        Self {
            disks: disks::read(),
            interfaces: interfaces::read(),
            processes: processes::read(names),
            noise: NoiseProbe::of(&[]).look(),
        }
    }
}

impl Counters {
    /// Reads all counters as a window begins, including those of processes with these names.
    pub(crate) fn at_begin(names: &[String]) -> Self {
        Self::after(|| Others::read(names))
    }

    /// Reads all counters as a window ends, including those of processes with these names.
    pub(crate) fn at_end(names: &[String]) -> Self {
        Self::before(|| Others::read(names))
    }

    /// With the processors' time last: the window that begins must not contain the other readings.
    fn after(read: impl FnOnce() -> Others) -> Self {
        let others = read();
        Self { machine: processor::machine(), at: Instant::now(), others }
    }

    /// With the processors' time first: the window that ends must not contain the other readings.
    fn before(read: impl FnOnce() -> Others) -> Self {
        Self { machine: processor::machine(), at: Instant::now(), others: read() }
    }

    /// The machine's spending from this reading to `now`, without a soaker.
    pub(crate) fn bill(&self, names: &[String], now: &Self) -> FarBill {
        let (then, others) = (&self.others, &now.others);
        FarBill {
            span_ns: now.at.duration_since(self.at).as_nanos() as u64,
            machine: processors_since(&now.machine, &self.machine),
            soaker: None,
            processes: processes::between(names, &then.processes, &others.processes),
            disks: disks::between(
                &then.disks,
                &others.disks,
                &process_limits(&Root::live(), processes::numbers(names)),
            ),
            interfaces: interfaces::between(&then.interfaces, &others.interfaces),
            noise: NoiseProbe::of(&[]).between(&then.noise, &others.noise),
        }
    }
}

/// The time that each processor spent between two readings; one that came or went in between is left out.
pub fn processors_since(now: &[Times], then: &[Times]) -> Vec<CpuTimes> {
    let in_both = now.iter().filter_map(|now| Some((now, then.iter().find(|then| then.number == now.number)?)));
    let since = |(place, (now, then)): (usize, (&Times, &Times))| CpuTimes {
        number: Some(now.number).filter(|number| *number as usize != place),
        user_ns: now.user_ns.saturating_sub(then.user_ns),
        system_ns: now.system_ns.saturating_sub(then.system_ns),
        irq_ns: now.irq_ns.saturating_sub(then.irq_ns),
        softirq_ns: now.softirq_ns.saturating_sub(then.softirq_ns),
        steal_ns: now.steal_ns.saturating_sub(then.steal_ns),
        idle_ns: now.idle_ns.saturating_sub(then.idle_ns),
    };
    in_both.enumerate().map(since).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_told_by_their_numbers_where_some_are_offline() {
        let times = |number, user_ns| Times { number, user_ns, ..Times::default() };
        let then = [times(0, 10), times(1, 0), times(2, 20)];
        let spent = processors_since(&[times(0, 11), times(2, 23), times(4, 9)], &then);
        let told: Vec<(usize, u64)> =
            spent.iter().enumerate().map(|(place, times)| (times.number_at(place), times.user_ns)).collect();
        assert_eq!(told, [(0, 1), (2, 3)]);
        assert_eq!(spent[0].number, None, "its place tells it");
    }

    #[test]
    fn a_window_does_not_contain_the_other_readings() {
        let mut read_at = Vec::new();
        let mut read = || {
            read_at.push(Instant::now());
            Others::read(&[])
        };
        let began = Counters::after(&mut read);
        let ended = Counters::before(&mut read);
        assert!(read_at[0] <= began.at && ended.at <= read_at[1]);
    }
}
