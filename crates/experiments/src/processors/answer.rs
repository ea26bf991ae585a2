//! Defines the answer of `processors`: the gain from several processors, and the effect of the processor that takes
//! interrupts.

use halfpower_spec::{Cache, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ratio_finding::RatioFinding;

/// The same work on different processors.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ProcessorsAnswer {
    /// Each kind of work on one processor, compared with all.
    pub one: Vec<AffinityComparison>,
    /// Work on the processor that takes the interrupts, compared with another.
    pub interrupt: Option<AffinityComparison>,
}

/// The same reads on two sets of processors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AffinityComparison {
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// Block size.
    pub bs_bytes: u64,
    /// Submitting threads.
    pub threads: u32,
    /// Requests a second on the first set.
    pub iops: f64,
    /// Requests a second on the other set.
    pub other_iops: f64,
    /// Rate on the first set over that on the other.
    pub rate: RatioFinding,
    /// Charged processor time per request over that on the other set; `null` if not known.
    pub charge: Option<RatioFinding>,
}
