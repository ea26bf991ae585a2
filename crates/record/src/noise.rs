//! Records evidence of others at work.

use serde::{Deserialize, Serialize};

/// Evidence of others at work while a run was measured, over the span of its processor account. What the system
/// does not tell is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Noise {
    /// Time that some task waited for I/O (pressure stall information), in nanoseconds.
    pub pressure_io_ns: Option<u64>,
    /// Time that some task waited for a processor, likewise.
    pub pressure_cpu_ns: Option<u64>,
    /// Bytes that the device moved, whoever asked.
    pub device_bytes: Option<u64>,
    /// Mean frequency of the processors at the end, in MHz.
    pub cpu_mhz: Option<f64>,
}
