//! Writes the figures of a watch as short text.

use halfpower_record::Latency;
use halfpower_spec::format::{percent, precise_time_us};

use crate::html::format::UNKNOWN;

/// The latency that this share of all does not exceed.
pub(super) fn latency_at(latency: &Latency, share: f64) -> String {
    if latency.is_empty() { UNKNOWN.to_string() } else { precise_time_us(latency.quantile_ns(share) as f64 / 1e3) }
}

/// Counts a second over a time in nanoseconds; 0 if the time is 0.
pub(super) fn per_second(count: u64, span_ns: u64) -> f64 {
    if span_ns == 0 { 0.0 } else { count as f64 / (span_ns as f64 / 1e9) }
}

/// A share of a count.
pub(super) fn share_of(part: u64, whole: u64) -> String {
    if whole == 0 { UNKNOWN.to_string() } else { percent(part as f64 / whole as f64) }
}

/// A time that may be unknown.
pub(super) fn time(ns: Option<u64>) -> String {
    ns.map_or(UNKNOWN.to_string(), |ns| precise_time_us(ns as f64 / 1e3))
}
