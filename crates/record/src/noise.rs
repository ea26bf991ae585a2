//! Records evidence of other load on the machine.

use serde::{Deserialize, Serialize};

/// Evidence of other load during a run, over the span of its processor account. Values that the system does not report
/// are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Noise {
    /// Time that some task waited for I/O (pressure stall information), in nanoseconds.
    pub pressure_io_ns: Option<u64>,
    /// Time that some task waited for a processor (pressure stall information), in nanoseconds.
    pub pressure_cpu_ns: Option<u64>,
    /// Bytes that the device moved for any process.
    pub device_bytes: Option<u64>,
    /// Mean frequency of the processors at the end, in MHz.
    pub cpu_mhz: Option<f64>,
}
