//! Defines the answer of `price`: accesses and bytes for the money.

use halfpower_analyse::{Accesses, PriceRow};
use schemars::JsonSchema;
use serde::Serialize;

/// Accesses and bytes for the money.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct PriceAnswer {
    /// The whole price-performance row; `null` if no price was given.
    pub bought: Option<PriceRow>,
    /// The best accesses of those kinds that gain from several requests at once.
    pub deeper: Accesses,
}
