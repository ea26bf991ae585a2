//! Computes the price-performance figures of the study of 2000 from random reads, as a comparison of two studies does.

use halfpower_analyse::{Accesses, CellFinding, Interval, KILOBYTES, PriceRow, price_row};
use halfpower_record::Device;
use halfpower_spec::JsonSchema;
use serde::Serialize;

use crate::data::ExperimentData;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// The price-performance figures; one row or none.
    pub price: Vec<PriceRow>,
}

/// Accesses and bytes for the money.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct PriceAnswer {
    /// The whole price-performance row; `null` if no price was given.
    pub bought: Option<PriceRow>,
    /// The best accesses of those kinds that gain from several requests at once.
    pub deeper: Accesses,
    /// Accesses to kilobytes a second, one at a time, with their interval.
    pub kaps: Option<Interval>,
}

/// Smallest gain from several requests at once that is reported.
const WORTH: f64 = 1.01;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, PriceAnswer) {
    let Some(price) = data.question.price else { return (Rows::default(), PriceAnswer::default()) };
    let cells: Vec<&CellFinding> = data.sound().map(|cell| &cell.finding).collect();
    let gb = data.environment.device.as_ref().and_then(Device::capacity_gb);
    let row = price_row(&cells, price, gb);
    let alone = cells.iter().find(|cell| (cell.bs_bytes, cell.iodepth) == (KILOBYTES, 1));
    let kaps = alone.map(|cell| a_second(cell.mbps));
    let answer = PriceAnswer { deeper: deeper(&row), bought: Some(row.clone()), kaps };
    (Rows { price: vec![row] }, answer)
}

/// Accesses to kilobytes a second at this throughput in MB/s.
fn a_second(Interval { value, low, high }: Interval) -> Interval {
    let [value, low, high] = [value, low, high].map(|mbps| mbps * 1e6 / KILOBYTES as f64);
    Interval { value, low, high }
}

/// The best accesses, of those kinds that gain from several requests at once.
fn deeper(row: &PriceRow) -> Accesses {
    let best = &row.best;
    let one = &row.one_deep;
    let more = |best: Option<f64>, one: Option<f64>| best.filter(|best| one.is_none_or(|one| *best > one * WORTH));
    Accesses { kaps: more(best.kaps, one.kaps), maps: more(best.maps, one.maps), ..*best }
}
