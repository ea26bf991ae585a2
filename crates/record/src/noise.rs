//! Records evidence of other load on the machine.

use serde::{Deserialize, Serialize};

use crate::joined::{if_both_know, joined, least, of_known, sum};

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
