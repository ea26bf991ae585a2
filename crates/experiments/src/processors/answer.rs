//! Defines what `processors` finds: what several processors bring, and what the interrupts' processor takes.

use halfpower_spec::{Cache, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ratio_finding::RatioFinding;

/// How the same work compares on different processors.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ProcessorsAnswer {
    /// Each kind of work held to one processor, against all.
    pub one: Vec<AffinityComparison>,
    /// Work on the processor that takes the interrupts, against another.
    pub interrupt: Option<AffinityComparison>,
}

/// The same reads on one set of processors and on another.
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
    /// Requests a second.
    pub iops: f64,
    /// Requests a second on the other.
    pub other_iops: f64,
    /// The rate over that on the other.
    pub rate: RatioFinding,
    /// The processor time charged a request over that on the other, where it is known.
    pub charge: Option<RatioFinding>,
}
