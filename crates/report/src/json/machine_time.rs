//! Writes the time of a machine's processors by kind.

use halfpower_record::CpuTimes;
use schemars::JsonSchema;
use serde::Serialize;

/// Time of all processors by kind, in nanoseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MachineTimeDocument {
    /// User mode, nice included.
    user: u64,
    /// Kernel mode.
    system: u64,
    /// Hardware interrupts.
    irq: u64,
    /// Deferred interrupts.
    softirq: u64,
    /// Taken by the hypervisor.
    steal: u64,
    /// Idle, waiting for I/O included.
    idle: u64,
    /// What the idle machine would have spent in the same time, from the soaker's baseline.
    idle_baseline: Option<u64>,
}

impl MachineTimeDocument {
    /// Takes the time of each kind from `machine`.
    pub(crate) fn of(machine: impl Fn(fn(&CpuTimes) -> u64) -> u64, idle_baseline: Option<u64>) -> Self {
        Self {
            user: machine(|times| times.user_ns),
            system: machine(|times| times.system_ns),
            irq: machine(|times| times.irq_ns),
            softirq: machine(|times| times.softirq_ns),
            steal: machine(|times| times.steal_ns),
            idle: machine(|times| times.idle_ns),
            idle_baseline,
        }
    }
}
