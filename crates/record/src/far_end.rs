//! Records the resources that the far end used, the machine that serves the target, as its witness reports.

use halfpower_spec::{JsonSchema, Way};
use serde::{Deserialize, Serialize};

use crate::{CpuTimes, Machine, Noise, Soaker, total};

/// The far end's account of one run, from right before the first submission to right after the last completion, on its
/// own clock.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FarEnd {
    /// Resources that its machine used.
    #[serde(flatten)]
    pub bill: FarBill,
    /// Its Unix clock minus ours, in nanoseconds.
    pub clock_offset_ns: i64,
    /// Uncertainty of the offset (±), in nanoseconds: half of the shortest round trip.
    pub clock_offset_reach_ns: u64,
}

/// Resources that the machine at the far end used over a window, as its witness reports.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FarBill {
    /// Length of this account: the run's account plus the travel time of the messages that begin and end it.
    pub span_ns: u64,
    /// Time of each processor by kind; coarse, because counted in whole ticks.
    pub machine: Vec<CpuTimes>,
    /// Time that its soaker lost; only in the soaker's pass.
    pub soaker: Option<Soaker>,
    /// Processor time of the named processes, in the order of the names; empty if no names were given.
    pub processes: Vec<ProcessTime>,
    /// Whole block devices that were active, sorted by name.
    pub disks: Vec<DiskUse>,
    /// Network interfaces with traffic, sorted by name.
    pub interfaces: Vec<InterfaceUse>,
    /// Evidence of other load.
    pub noise: Noise,
}

/// Processor time charged to all processes of one name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProcessTime {
    /// The name in the kernel.
    pub name: String,
    /// Processes of that name when the account ended.
    pub processes: u64,
    /// User and system time of all their threads.
    pub charged_ns: u64,
}

/// Activity of a block device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DiskUse {
    /// Its kernel name.
    pub name: String,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time with at least one request in flight, which the kernel counts in milliseconds.
    pub busy_ns: u64,
    /// Limits of control groups on the server's processes; `None` without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Box<DiskLimit>>,
}

/// Limits of control groups on a block device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DiskLimit {
    /// Limit on bytes read a second; `None` without a limit.
    pub read_bytes_per_s: Option<u64>,
    /// Limit on bytes written a second; `None` without a limit.
    pub write_bytes_per_s: Option<u64>,
    /// The group's file that sets the limit; the tighter one if there are two.
    pub group: String,
}

/// Traffic of a network interface, with all headers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct InterfaceUse {
    /// Its name.
    pub name: String,
    /// Bytes that came in.
    pub received_bytes: u64,
    /// Bytes that went out.
    pub sent_bytes: u64,
}

/// The machine at the far end of the path.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FarEndMachine {
    /// The computer.
    pub machine: Machine,
    /// Release of halfpower that is the witness there.
    pub program: String,
    /// Whether it is also the machine that sends the requests, so that one account holds both ends' time.
    pub is_this_machine: bool,
    /// Names of processes whose time it reports.
    pub processes: Vec<String>,
    /// Busy processors there while no request was made; `None` if unknown.
    pub idle_cores: Option<f64>,
    /// Busy processors at this end in the same second.
    #[serde(default)]
    pub idle_cores_here: Option<f64>,
    /// Ways other than the wire by which the witness can measure there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Way>,
}

impl FarBill {
    /// Time of all its processors of one kind.
    pub fn machine_ns(&self, of: fn(&CpuTimes) -> u64) -> u64 {
        total(self.machine.iter().map(of))
    }

    /// Time charged to the named processes; `None` if no names were given.
    pub fn processes_ns(&self) -> Option<u64> {
        self.processes.iter().map(|of| of.charged_ns).reduce(u64::saturating_add)
    }

    /// The disk with requests in flight for the longest, and that time as a share of the account, 0 to 1.
    pub fn busiest_disk(&self) -> Option<(&DiskUse, f64)> {
        let busiest = self.disks.iter().max_by_key(|disk| disk.busy_ns)?;
        (self.span_ns > 0).then(|| (busiest, (busiest.busy_ns as f64 / self.span_ns as f64).min(1.0)))
    }
}
