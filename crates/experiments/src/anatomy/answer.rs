//! Defines the answer of `anatomy`: how a request's time divides into phases.

use schemars::JsonSchema;
use serde::Serialize;

/// Where requests spend their time below the system call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct AnatomyAnswer {
    /// Why no request was traced; `null` if some were.
    pub untraced: Option<Untraced>,
    /// Each kind of request on the fewest members, by depth and block size.
    pub requests: Vec<RequestTime>,
    /// The first kind of request that the device cuts.
    pub cut: Option<CutRequests>,
    /// The deepest kind of request that a full driver returns.
    pub full: Option<ReturnedRequests>,
}

/// Why no request was traced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Untraced {
    /// No traced run was finished.
    NoRun,
    /// No request was traced on its whole way.
    NoWholeRequest,
    /// The kernel's tracing failed.
    Failed {
        /// The error message.
        why: String,
    },
}

/// The time of requests of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RequestTime {
    /// Depth.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Mean latency in nanoseconds, as the sum of the phases.
    pub latency_ns_mean: f64,
    /// Share of it spent in the device.
    pub device_share: f64,
    /// The longest of the other phases, and its share.
    pub next: Option<PhaseShare>,
}

/// A phase and its share of the latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PhaseShare {
    /// Name of the phase, as in the rows.
    pub phase: &'static str,
    /// Its share.
    pub share: f64,
}

/// Requests that the device takes in several parts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CutRequests {
    /// Block size.
    pub bs_bytes: u64,
    /// Cuts per request.
    pub share: f64,
}

/// Requests that a full driver returns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ReturnedRequests {
    /// Depth.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// How many times a request is returned, on average.
    pub times: f64,
}
