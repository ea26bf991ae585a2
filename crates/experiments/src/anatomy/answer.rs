//! Defines what `anatomy` finds: which phases a request's time goes to.

use schemars::JsonSchema;
use serde::Serialize;

/// Where requests spend their time below the system call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct AnatomyAnswer {
    /// Why no request was traced; `null` where some were.
    pub untraced: Option<Untraced>,
    /// Each kind of request on the fewest members, by depth and block size.
    pub requests: Vec<RequestTime>,
    /// The first kind of which the device cuts some requests.
    pub cut: Option<CutRequests>,
    /// The deepest kind of which the driver hands some requests back.
    pub full: Option<ReturnedRequests>,
}

/// Why no request was traced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Untraced {
    /// No traced run was finished.
    NoRun,
    /// No request was seen on its whole way.
    NoWholeRequest,
    /// The kernel's tracing failed.
    Failed {
        /// With which message.
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
    /// Mean latency in nanoseconds.
    pub latency_ns_mean: f64,
    /// The share of it that is spent in the device.
    pub device_share: f64,
    /// The longest of the other phases, by the word of its row, and its share.
    pub next: Option<PhaseShare>,
}

/// A phase and its share of the latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PhaseShare {
    /// The word of the phase.
    pub phase: &'static str,
    /// Its share.
    pub share: f64,
}

/// Requests that the device takes in parts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CutRequests {
    /// Block size.
    pub bs_bytes: u64,
    /// Cuts for each request.
    pub share: f64,
}

/// Requests that a full driver hands back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ReturnedRequests {
    /// Depth.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// How many times each request is handed back on the average.
    pub times: f64,
}
