//! Holds the rows of `price`, as `halfpower report --json` gives them.

use halfpower_analyse::PriceRow;
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// The price-performance figures; one row or none.
    pub price: Vec<PriceRow>,
}
