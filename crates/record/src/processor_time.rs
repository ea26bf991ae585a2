//! Records processor time by kind, and the time that the soaker lost.

use serde::{Deserialize, Serialize};

use crate::total;

/// One processor's time by kind, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CpuTimes {
    /// User mode, nice included.
    pub user_ns: u64,
    /// Kernel mode.
    pub system_ns: u64,
    /// Hardware interrupts.
    pub irq_ns: u64,
    /// Deferred interrupts.
    pub softirq_ns: u64,
    /// Taken by the hypervisor.
    pub steal_ns: u64,
    /// Idle, waiting for I/O included.
    pub idle_ns: u64,
}

/// The soaker's account. The soaker is one idle-priority thread per processor; the time it loses is the time that the
/// machine spent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Soaker {
    /// Processor time that the soaker lost during the window, compared with the idle baseline.
    pub lost_ns: u64,
    /// Share of the processors that the soaker got on the idle machine.
    pub baseline_share: f64,
}

impl CpuTimes {
    /// All but idle time and steal.
    pub fn busy_ns(&self) -> u64 {
        total([self.user_ns, self.system_ns, self.irq_ns, self.softirq_ns])
    }
}
