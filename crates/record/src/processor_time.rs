//! Records processor time by kind, the time that the soaker lost, and evidence of other load on the machine.

use serde::{Deserialize, Serialize};

use crate::joined::{first, if_both_know, joined, least, mean, of_known, sum};
use crate::total;

joined! {
    /// One processor's time by kind, in nanoseconds.
    #[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
    pub struct CpuTimes {
        /// User mode, nice included.
        pub user_ns: u64 => sum,
        /// Kernel mode.
        pub system_ns: u64 => sum,
        /// Hardware interrupts.
        pub irq_ns: u64 => sum,
        /// Deferred interrupts.
        pub softirq_ns: u64 => sum,
        /// Taken by the hypervisor.
        pub steal_ns: u64 => sum,
        /// Idle, waiting for I/O included.
        pub idle_ns: u64 => sum,
        /// Its number, if it is not its place in the list, because processors before it are offline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub number: Option<u32> => of_known(first),
    }
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

impl Soaker {
    /// Two soakers' accounts, of spans of these lengths.
    pub(crate) fn joined(self, other: Self, spans_ns: [u64; 2]) -> Self {
        let Self { lost_ns, baseline_share } = self;
        Self { lost_ns: lost_ns + other.lost_ns, baseline_share: mean(baseline_share, other.baseline_share, spans_ns) }
    }
}

impl CpuTimes {
    /// The number of the processor whose times have this place in their list.
    pub fn number_at(&self, place: usize) -> usize {
        self.number.map_or(place, |number| number as usize)
    }

    /// All but idle time and steal.
    pub fn busy_ns(&self) -> u64 {
        total([self.user_ns, self.system_ns, self.irq_ns, self.softirq_ns])
    }
}

joined! {
    /// Evidence of other load during a run, over the span of its processor account. Values that the system does not
    /// report are `None`.
    #[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
    pub struct Noise {
        /// Time that some task waited for I/O (pressure stall information), in nanoseconds.
        pub pressure_io_ns: Option<u64> => if_both_know(sum),
        /// Time that some task waited for a processor (pressure stall information), in nanoseconds.
        pub pressure_cpu_ns: Option<u64> => if_both_know(sum),
        /// Bytes that the device moved for any process.
        pub device_bytes: Option<u64> => if_both_know(sum),
        /// Mean frequency of the processors at the end, in MHz.
        pub cpu_mhz: Option<f64> => of_known(least),
    }
}
