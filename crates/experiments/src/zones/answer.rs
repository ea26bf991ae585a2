//! Defines what `zones` finds: whether every part of the target is as fast as every other.

use schemars::JsonSchema;
use serde::Serialize;

/// How even the target is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum ZonesAnswer {
    /// No part of it could be read.
    Unread,
    /// It is equally fast everywhere.
    Even {
        /// Throughput in MB/s.
        mbps: f64,
    },
    /// It falls into bands that hardly differ.
    Nearly {
        /// The least throughput of a band in MB/s.
        least_mbps: f64,
        /// The largest.
        most_mbps: f64,
    },
    /// It falls into bands.
    Bands {
        /// How many.
        bands: usize,
        /// Throughput at the beginning in MB/s.
        first_mbps: f64,
        /// Throughput at the end in MB/s.
        last_mbps: f64,
    },
}
