//! Defines the answer of `buffered`: what the page cache adds to requests, and what it saves.

use halfpower_spec::Direction;
use schemars::JsonSchema;
use serde::Serialize;

use super::cost::BufferedCostRow;
use crate::ratio_finding::RatioFinding;

/// The effect of the page cache on requests.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct BufferedAnswer {
    /// Buffered requests compared with direct ones, by direction.
    pub against_direct: Vec<AgainstDirect>,
    /// The terms of a buffered request's processor time; of writes if there are any.
    pub cost: Option<BufferedCostRow>,
    /// A random write of less than a page.
    pub small_write: Option<SmallWrite>,
    /// Sequential writes of less than a page.
    pub below_a_page: Option<BelowAPage>,
    /// The phases of a write.
    pub phases: Option<WritePhases>,
    /// Reads with the advice to expect random access, which turns read-ahead off.
    pub without_read_ahead: Option<WithoutReadAhead>,
}

/// How many times as fast buffered requests of one direction are as direct ones, at depth 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AgainstDirect {
    /// Which way the bytes go.
    pub rw: Direction,
    /// At the smallest block size of a page or more.
    pub smallest: RatioAtSize,
    /// At the largest block size, if that is another one.
    pub largest: Option<RatioAtSize>,
}

/// A ratio at one block size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RatioAtSize {
    /// Block size.
    pub bs_bytes: u64,
    /// The ratio.
    pub times: RatioFinding,
}

/// The time of a write of less than a page.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SmallWrite {
    /// Block size.
    pub bs_bytes: u64,
    /// Mean time into a page that is not in memory, in nanoseconds.
    pub absent_ns: f64,
    /// Mean time into a page that is in memory, in nanoseconds.
    pub present_ns: f64,
    /// `absent_ns` over `present_ns`, with its interval.
    pub times: RatioFinding,
}

/// How writes of less than a page compare with writes of whole pages.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BelowAPage {
    /// Block size.
    pub bs_bytes: u64,
    /// Size of a page.
    pub page_bytes: u64,
    /// Throughput as a share of that of whole pages.
    pub of_whole: RatioFinding,
}

/// The rates at which the page cache takes writes, and the share of time in the flush.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WritePhases {
    /// Block size.
    pub bs_bytes: u64,
    /// Throughput into the page cache in MB/s, before the closing flush.
    pub memory_mbps: f64,
    /// That throughput at first, if it changed.
    pub burst_mbps: Option<f64>,
    /// That throughput later, if it changed.
    pub sustained_mbps: Option<f64>,
    /// Share of the time that the closing flush took.
    pub flush_share: f64,
}

/// Throughput of reads without read-ahead.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WithoutReadAhead {
    /// Block size.
    pub bs_bytes: u64,
    /// Throughput as a share of that with read-ahead.
    pub of_usual: RatioFinding,
}
