//! Defines what `buffered` finds: what the page cache adds to requests, and what it takes from them.

use halfpower_spec::Direction;
use schemars::JsonSchema;
use serde::Serialize;

use super::cost::BufferedCostRow;
use crate::ratio_finding::RatioFinding;

/// What the page cache does to requests.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct BufferedAnswer {
    /// Buffered requests against direct ones, by direction.
    pub against_direct: Vec<AgainstDirect>,
    /// The terms of a buffered request's processor time, of writes where there are any.
    pub cost: Option<BufferedCostRow>,
    /// A write of less than a page anywhere.
    pub small_write: Option<SmallWrite>,
    /// Writes of less than a page, one after the other.
    pub below_a_page: Option<BelowAPage>,
    /// The phases of a write.
    pub phases: Option<WritePhases>,
    /// Reads of which the kernel was told to expect no order.
    pub without_read_ahead: Option<WithoutReadAhead>,
}

/// How many times as fast buffered requests of one direction are as direct ones, one request at a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AgainstDirect {
    /// Which way the bytes go.
    pub rw: Direction,
    /// At the smallest size of a page or more.
    pub smallest: RatioAtSize,
    /// At the largest size, where that is another.
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

/// What a write of less than a page takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SmallWrite {
    /// Block size.
    pub bs_bytes: u64,
    /// Mean time into a page that is not in memory, in nanoseconds.
    pub absent_ns: f64,
    /// Mean time into a page that is in memory, in nanoseconds.
    pub present_ns: f64,
    /// The first over the second.
    pub times: RatioFinding,
}

/// What writes of less than a page get of what writes of whole pages get.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BelowAPage {
    /// Block size.
    pub bs_bytes: u64,
    /// A page.
    pub page_bytes: u64,
    /// Their throughput as a share of that of whole pages.
    pub of_whole: RatioFinding,
}

/// At which rate writes come in, and what of the time goes to the flush.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WritePhases {
    /// Block size.
    pub bs_bytes: u64,
    /// Throughput into the page cache in MB/s, before the closing flush.
    pub memory_mbps: f64,
    /// The same at first, where it changed.
    pub burst_mbps: Option<f64>,
    /// The same later, where it changed.
    pub sustained_mbps: Option<f64>,
    /// Share of the time that the closing flush took.
    pub flush_share: f64,
}

/// What reads keep without read-ahead.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WithoutReadAhead {
    /// Block size.
    pub bs_bytes: u64,
    /// Throughput as a share of that with read-ahead.
    pub of_usual: RatioFinding,
}
