//! Describes a computer.

use halfpower_spec::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The computer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu_model: String,
    /// Speed of the fastest processor when the place was looked at, in MHz; what puts costs of two machines on one
    /// scale.
    #[serde(default)]
    pub cpu_mhz: Option<f64>,
    /// Processors that this process may use.
    pub cpus: u32,
    /// Main memory.
    pub memory: Bytes,
    /// Processors whose time a control group allows at once, where it allows less than `cpus`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
    /// Memory that a control group allows, where that is less than `memory`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<Bytes>,
    /// The hypervisor or container it runs in, where that can be told.
    pub virtualised: Option<String>,
    /// Its name in the network; `None` where it is not known, and for studies of the first releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
}

impl Machine {
    /// What stands for the kernel's release where time is simulated.
    pub const VIRTUAL: &str = "virtual time";

    /// Processors whose time may be used at once: a control group may allow less than there are; 0 where neither is known.
    pub fn usable_cpus(&self) -> f64 {
        self.cpu_quota.map_or(f64::from(self.cpus), |quota| quota.min(f64::from(self.cpus.max(1))))
    }

    /// Memory that may be used: a control group may allow less than there is.
    pub fn usable_memory(&self) -> Bytes {
        self.memory_limit.map_or(self.memory, |limit| if self.memory.0 == 0 { limit } else { limit.min(self.memory) })
    }

    /// The system in words: `Linux 6.1`, or that time is virtual; `None` where it is not known.
    pub fn system(&self) -> Option<String> {
        match self.kernel.as_str() {
            "" => None,
            Self::VIRTUAL => Some(Self::VIRTUAL.to_string()),
            release => Some(format!("Linux {release}")),
        }
    }
}
