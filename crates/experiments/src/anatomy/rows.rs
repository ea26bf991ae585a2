//! Holds the rows of `anatomy`, as `halfpower report --json` gives them.

use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// The phases of a request's time, one row each.
    pub anatomy: Vec<AnatomyRow>,
}

/// Time that requests of one kind spend in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AnatomyRow {
    /// The phase, by the word of [`halfpower_record::Phase`]; `outside` is time that no tracepoint sees.
    pub phase: &'static str,
    /// Block size.
    pub bs_bytes: u64,
    /// Depth.
    pub iodepth: u32,
    /// Members of the target that take part.
    pub n: u32,
    /// Share of the mean latency.
    pub share: f64,
    /// Mean time in the phase, in nanoseconds.
    pub ns: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}
