//! Defines the answer of `zones`: whether all parts of the target are equally fast.

use schemars::JsonSchema;
use serde::Serialize;

/// How evenly fast the target is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum ZonesAnswer {
    /// No part could be read.
    Unread,
    /// All parts are equally fast.
    Even {
        /// Throughput in MB/s.
        mbps: f64,
    },
    /// The target has bands whose rates differ little.
    Nearly {
        /// Lowest throughput of a band in MB/s.
        least_mbps: f64,
        /// Highest throughput of a band in MB/s.
        most_mbps: f64,
    },
    /// The target has bands with different rates.
    Bands {
        /// Number of bands.
        bands: usize,
        /// Throughput at the beginning in MB/s.
        first_mbps: f64,
        /// Throughput at the end in MB/s.
        last_mbps: f64,
    },
}
