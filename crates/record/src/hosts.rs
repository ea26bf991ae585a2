//! Records each host's part in a run that several hosts made together.

use halfpower_spec::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Machine;

/// Least share of each host's window in which all hosts measured; below it, a run does not count.
pub const LEAST_OVERLAP: f64 = 0.95;

/// A process that takes part in a study on many hosts: the facts that do not change from run to run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostPlace {
    /// Its rank, from 0, as assigned by the launcher.
    pub rank: u32,
    /// Its machine; several processes may share one.
    pub machine: Machine,
    /// Kernel name of the device that it measures; `None` if there is none, as for a share.
    pub device: Option<String>,
    /// The network interface on the path to the target; `None` if unknown.
    pub link: Option<HostLink>,
}

/// The network interface that a host uses.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostLink {
    /// Its name.
    pub interface: String,
    /// Its speed in bits a second, from the driver; `None` if unknown.
    pub bits_per_second: Option<u64>,
}

/// One process's part in one run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostShare {
    /// The process: [`HostPlace::rank`].
    pub rank: u32,
    /// When its window opened, relative to the first participating process, on a common clock; negative if earlier.
    pub opened_ns: i64,
    /// Uncertainty of `opened_ns` (±): half of the shortest round trip that compared the clocks.
    pub opened_reach_ns: u64,
    /// Length of its window, with its closing flush.
    pub elapsed_ns: u64,
    /// Bytes moved by its requests that succeeded.
    pub bytes: u64,
    /// Its requests that succeeded.
    pub ios: u64,
    /// Its requests that failed.
    pub errors: u64,
    /// Mean of its latencies, in nanoseconds; `None`, as those that follow, if none of its requests succeeded.
    pub latency_ns_mean: Option<f64>,
    /// Median of its latencies, in nanoseconds.
    pub latency_ns_p50: Option<u64>,
    /// 99th percentile of its latencies, in nanoseconds.
    pub latency_ns_p99: Option<u64>,
    /// Its longest latency, in nanoseconds.
    pub latency_ns_max: Option<u64>,
    /// Processor time charged to it.
    pub charged_ns: u64,
    /// Time that its machine's processors were busy, for any process.
    pub busy_ns: u64,
    /// Time that the hypervisor took from these processors.
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

/// The least share (0 to 1) of any host's window in which all hosts measured; `None` without hosts.
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
