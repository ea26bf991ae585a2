//! Holds the rows of `anatomy`, as `halfpower report --json` gives them.

use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Where a request's time goes, a row a phase.
    pub anatomy: Vec<AnatomyRow>,
}

/// What one phase takes of requests of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AnatomyRow {
    /// The stretch of the way, by the word of [`halfpower_record::Phase`]; `outside` is what no tracepoint sees.
    pub phase: &'static str,
    /// Block size.
    pub bs_bytes: u64,
    /// Depth.
    pub iodepth: u32,
    /// Members of the target that take part.
    pub n: u32,
    /// Its share of the mean latency.
    pub share: f64,
    /// Mean time in it, in nanoseconds.
    pub ns: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}
