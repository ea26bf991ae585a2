//! Describes a computer.

use halfpower_spec::{Bytes, JsonSchema};
use serde::{Deserialize, Serialize};

/// The computer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu_model: String,
    /// Frequency of the fastest processor at the start, in MHz; makes costs on two machines comparable.
    #[serde(default)]
    pub cpu_mhz: Option<f64>,
    /// Processors that this process may use.
    pub cpus: u32,
    /// Main memory.
    pub memory: Bytes,
    /// Processors' worth of time that a control group allows, if less than `cpus`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
    /// Memory that a control group allows, if less than `memory`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<Bytes>,
    /// The hypervisor or container it runs in, if known.
    pub virtualised: Option<String>,
    /// Its host name; `None` if unknown, and for studies of the first releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
}

impl Machine {
    /// Kernel release of a simulated machine.
    pub const VIRTUAL: &str = "virtual time";

    /// Processors' worth of time that may be used: the smaller of `cpus` and `cpu_quota`; 0 if unknown.
    pub fn usable_cpus(&self) -> f64 {
        self.cpu_quota.map_or(f64::from(self.cpus), |quota| quota.min(f64::from(self.cpus.max(1))))
    }

    /// Memory that may be used: the smaller of `memory` and `memory_limit`.
    pub fn usable_memory(&self) -> Bytes {
        self.memory_limit.map_or(self.memory, |limit| if self.memory.0 == 0 { limit } else { limit.min(self.memory) })
    }

    /// The system in words: `Linux 6.1`, or `virtual time`; `None` if unknown.
    pub fn system(&self) -> Option<String> {
        match self.kernel.as_str() {
            "" => None,
            Self::VIRTUAL => Some(Self::VIRTUAL.to_string()),
            release => Some(format!("Linux {release}")),
        }
    }
}
