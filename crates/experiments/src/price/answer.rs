//! Defines what `price` finds: what the money buys.

use halfpower_analyse::{Accesses, PriceRow};
use schemars::JsonSchema;
use serde::Serialize;

/// What the money buys.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct PriceAnswer {
    /// Everything that it buys; `null` where no price was given.
    pub bought: Option<PriceRow>,
    /// Of the best accesses those that several requests at once surely make more than one at a time.
    pub deeper: Accesses,
}
