//! Records what the far end of the path spent: the machine that serves the target, as a witness there tells.

use halfpower_spec::Way;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CpuTimes, Machine, Noise, Soaker, total};

/// The far end's account of one run, from right before the first submission to right after the last reaping, on its
/// own clock.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FarEnd {
    /// What its machine spent.
    #[serde(flatten)]
    pub bill: FarBill,
    /// Its Unix clock less ours, in nanoseconds.
    pub clock_offset_ns: i64,
    /// The offset is known to this, plus or minus: half of the shortest round trip.
    pub clock_offset_reach_ns: u64,
}

/// What the machine at the far end spent over a window, as a witness there tells it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FarBill {
    /// Length of this account: the run's own, and the ways of the messages that begin and end it.
    pub span_ns: u64,
    /// What its machine spent, for each processor; whole ticks, so coarse.
    pub machine: Vec<CpuTimes>,
    /// What its soaker lost, in a pass of its own.
    pub soaker: Option<Soaker>,
    /// What processes of the names that were asked for were charged, in that order; empty where none were.
    pub processes: Vec<ProcessTime>,
    /// Block devices that were at work, whole ones, in the order of their names.
    pub disks: Vec<DiskUse>,
    /// Network interfaces that moved anything, in the order of their names.
    pub interfaces: Vec<InterfaceUse>,
    /// Who else was there.
    pub noise: Noise,
}

/// Processor time that all processes of one name were charged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProcessTime {
    /// The name, as the kernel has it.
    pub name: String,
    /// Processes of that name when the account ended.
    pub processes: u64,
    /// User and system time of all their threads.
    pub charged_ns: u64,
}

/// What a block device did.
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
    /// What control groups let the server's processes move on it; `None` where nothing is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Box<DiskLimit>>,
}

/// What control groups let processes move on a block device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DiskLimit {
    /// Bytes a second read; `None` where that is not limited.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes a second written, likewise.
    pub write_bytes_per_s: Option<u64>,
    /// Which file of which group says so; of the tighter one where there are both.
    pub group: String,
}

/// What a network interface moved, with all headers.
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
    /// The halfpower that is the witness there.
    pub program: String,
    /// Whether it is the machine that the requests come from, so that both ends' time is in one account.
    pub is_this_machine: bool,
    /// Names of processes whose time it tells.
    pub processes: Vec<String>,
    /// Processors that it kept busy while nothing was asked of it; `None` where that is not known.
    pub idle_cores: Option<f64>,
    /// Processors that this end kept busy in the same second.
    #[serde(default)]
    pub idle_cores_here: Option<f64>,
    /// Ways beside the wire by which the witness measures there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Way>,
}

impl FarBill {
    /// Time of all its processors of one kind.
    pub fn machine_ns(&self, of: fn(&CpuTimes) -> u64) -> u64 {
        total(self.machine.iter().map(of))
    }

    /// Time charged to the processes that were asked for; `None` where none were.
    pub fn processes_ns(&self) -> Option<u64> {
        self.processes.iter().map(|of| of.charged_ns).reduce(u64::saturating_add)
    }

    /// The disk that had requests in flight for the longest, and the share of the account that it did, 0 to 1.
    pub fn busiest_disk(&self) -> Option<(&DiskUse, f64)> {
        let busiest = self.disks.iter().max_by_key(|disk| disk.busy_ns)?;
        (self.span_ns > 0).then(|| (busiest, (busiest.busy_ns as f64 / self.span_ns as f64).min(1.0)))
    }
}
