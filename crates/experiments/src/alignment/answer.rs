//! Defines the answer of `alignment`: which requests lose throughput when they begin off a boundary.

use halfpower_spec::{Cache, Direction, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ratio_finding::RatioFinding;

/// The share of the aligned rate that shifted requests keep, by kind of request. For each kind, the worst shift counts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct AlignmentAnswer {
    /// Kinds of requests that could be compared with aligned ones.
    pub kinds: usize,
    /// Kinds that lose more than 10% beyond chance, worst first.
    pub lose: Vec<ShiftedKind>,
    /// Kinds within 10% of aligned ones.
    pub alike: usize,
    /// Kinds that are faster than aligned ones.
    pub faster: usize,
    /// Kinds for which the runs cannot tell.
    pub unclear: usize,
}

/// A kind of request at its worst shift.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ShiftedKind {
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// Which way the bytes go.
    pub rw: Direction,
    /// Block size.
    pub bs_bytes: u64,
    /// Depth asked for.
    pub iodepth: u32,
    /// Bytes by which each request begins later than a multiple of its size.
    pub shift_bytes: u64,
    /// Throughput as a share of the same requests without a shift.
    pub of_aligned: RatioFinding,
}
