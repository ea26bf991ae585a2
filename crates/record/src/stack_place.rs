//! Describes what a target's bytes lie on: the block devices beneath it that can be read, and full stripes.

use halfpower_spec::{Bytes, JsonSchema, Region};
use serde::{Deserialize, Serialize};

/// A block device beneath a target, on which the target's bytes lie.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LayerPlace {
    /// Its kernel name, such as `dm-0`.
    pub name: String,
    /// What it is, such as `encrypted volume home`, `partition` or `disk`.
    pub what: String,
    /// Devices side by side at this place of the stack, of which this is the first.
    pub side_by_side: u32,
    /// Why it cannot be read by itself, a sentence without full stop; `None` if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl LayerPlace {
    /// Such as `encrypted volume home (dm-0)`.
    pub fn full_name(&self) -> String {
        format!("{} ({})", self.what, self.name)
    }
}

/// Full stripes of an array with parity, on which a target's bytes lie.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StripePlace {
    /// What the array is, such as `md raid5`.
    pub what: String,
    /// Bytes on one disk before the next.
    pub chunk: Bytes,
    /// Bytes of data in a full stripe.
    pub full: Bytes,
    /// The largest part of the target that begins where a full stripe does and holds whole ones; `None` if it is not known
    /// where the target's bytes lie, or if they lie in pieces too small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Region>,
}
