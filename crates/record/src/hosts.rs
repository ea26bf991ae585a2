//! Records what each host did in a run that several made together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Machine;

/// Share of its window that a host must have measured while all others did, from which on a run counts.
pub const LEAST_OVERLAP: f64 = 0.95;

/// A process that takes part in a study of many hosts: what does not change from run to run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostPlace {
    /// Its number, from 0, in the order of the launcher.
    pub rank: u32,
    /// Its computer; several processes of one computer have the same.
    pub machine: Machine,
    /// The device that it measures, by its kernel name; `None` where there is none to see, as of a share.
    pub device: Option<String>,
    /// The network interface on the way to the target, and its speed in bits a second; `None` where it is not known.
    pub link: Option<HostLink>,
}

/// The interface that a host's bytes go through.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostLink {
    /// Its name.
    pub interface: String,
    /// Its speed in bits a second, as the driver tells it; `None` where it does not.
    pub bits_per_second: Option<u64>,
}

/// What one process did in one run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostShare {
    /// Whose it is: [`HostPlace::rank`].
    pub rank: u32,
    /// When its window opened, after that of the first process that takes part, on one clock; negative where before it.
    pub opened_ns: i64,
    /// That is known to this, plus or minus: half of the shortest round trip that compared the clocks.
    pub opened_reach_ns: u64,
    /// Length of its window, with its closing flush.
    pub elapsed_ns: u64,
    /// Bytes moved by its requests that succeeded.
    pub bytes: u64,
    /// Its requests that succeeded.
    pub ios: u64,
    /// Its requests that failed.
    pub errors: u64,
    /// Mean of its latencies, in nanoseconds.
    pub latency_ns_mean: f64,
    /// Median of its latencies, likewise.
    pub latency_ns_p50: u64,
    /// The latency that 99 of 100 of its requests did not exceed, likewise.
    pub latency_ns_p99: u64,
    /// Its longest latency, likewise.
    pub latency_ns_max: u64,
    /// Processor time that it was charged.
    pub charged_ns: u64,
    /// Time that its computer's processors were busy, whoever asked.
    pub busy_ns: u64,
    /// Time that the hypervisor took from them.
    pub steal_ns: u64,
    /// Length of the account of these times.
    pub span_ns: u64,
}

impl HostShare {
    /// Throughput in MB/s over its own window, 0 for a window of no length.
    pub fn mbps(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.bytes as f64 * 1e3 / self.elapsed_ns as f64 }
    }

    /// The window on the common clock.
    fn window(&self) -> (i64, i64) {
        (self.opened_ns, self.opened_ns.saturating_add_unsigned(self.elapsed_ns))
    }
}

/// The least share of any host's window in which all of them measured, in 0 to 1; `None` without hosts.
pub fn overlap(hosts: &[HostShare]) -> Option<f64> {
    let opened = hosts.iter().map(|host| host.window().0).max()?;
    let closed = hosts.iter().map(|host| host.window().1).min()?;
    let longest = hosts.iter().map(|host| host.elapsed_ns).max().filter(|ns| *ns > 0)?;
    Some(closed.saturating_sub(opened).max(0) as f64 / longest as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_overlap_as_far_as_all_are_open() {
        let host = |opened_ns, elapsed_ns| HostShare { opened_ns, elapsed_ns, ..HostShare::default() };
        assert_eq!(overlap(&[host(0, 100), host(0, 100)]), Some(1.0));
        assert_eq!(overlap(&[host(0, 100), host(-10, 100)]), Some(0.9));
        assert_eq!(overlap(&[host(0, 100), host(200, 100)]), Some(0.0));
        assert_eq!(overlap(&[]), None);
    }
}
