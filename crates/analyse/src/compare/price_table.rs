//! Defines what two systems give for their price.

use schemars::JsonSchema;
use serde::Serialize;

use super::reservations::InStudy;

/// What each system gives for its price (Chung, Gray, Worthington, Horst 2000, Table 10).
#[derive(Debug, Clone, PartialEq)]
pub struct PriceTable {
    /// A's row.
    pub a: PriceRow,
    /// B's row.
    pub b: PriceRow,
    /// What is missing in the rows.
    pub missing: Vec<(InStudy, MissingFigure)>,
}

/// What a study lacks for the price table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum MissingFigure {
    /// The capacity of its device.
    Capacity,
    /// Random direct reads of this size.
    RandomReads {
        /// Block size.
        bs_bytes: u64,
    },
    /// Random direct reads of this size at depth 1; it has deeper ones.
    RandomReadsOneDeep {
        /// Block size.
        bs_bytes: u64,
    },
}

/// One system's price and what it buys.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PriceRow {
    /// Its price; both prices are in the same currency.
    pub price: f64,
    /// Capacity of the device in decimal gigabytes.
    pub gb: Option<f64>,
    /// Gigabytes per unit of money.
    pub gb_per_price: Option<f64>,
    /// One request at a time, as the paper counted.
    pub one_deep: Accesses,
    /// At the depth with the highest rate.
    pub best: Accesses,
}

/// Random direct reads a second, small and large.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct Accesses {
    /// Accesses to kilobytes a second: random direct reads of 8 KiB.
    pub kaps: Option<f64>,
    /// Depth at which they were measured.
    pub kaps_iodepth: Option<u32>,
    /// Accesses to megabytes a second: random direct reads of 1 MiB.
    pub maps: Option<f64>,
    /// Depth at which they were measured.
    pub maps_iodepth: Option<u32>,
    /// KAPS per unit of money.
    pub kaps_per_price: Option<f64>,
    /// MAPS per unit of money.
    pub maps_per_price: Option<f64>,
}
