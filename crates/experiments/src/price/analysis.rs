//! `price`: what does the money buy? The price of the question and random reads enter, the price-performance figures of
//! the study of 2000 leave, the same as in a comparison of two studies.

use super::rows::Rows;
use crate::data::ExperimentData;
use crate::section::{Axis, Line, Picture, PictureKind, Point, Told};
use halfpower_analyse::ExperimentCell;
use halfpower_analyse::{Accesses, CellFinding, Interval, PriceRow};
use halfpower_analyse::{KILOBYTES, MEGABYTES, price_row};
use halfpower_text::format;

/// Factor above which it is worth saying that several requests at once bring more.
const WORTH: f64 = 1.01;

pub(super) fn tell(evidence: &ExperimentData, rows: &mut Rows) -> Told {
    let Some(price) = evidence.question.price else {
        return Told { answer: "No price was given.".to_string(), pictures: Vec::new() };
    };
    let cells: Vec<&CellFinding> = evidence.sound().map(|cell| &cell.finding).collect();
    let gb = evidence.environment.device.as_ref().map(|device| device.size.0 as f64 / 1e9).filter(|gb| *gb > 0.0);
    let row = price_row(&cells, price, gb);
    let pictures = [picture(evidence, price, KILOBYTES, "KAPS"), picture(evidence, price, MEGABYTES, "MAPS")];
    let told = Told { answer: answer(&row), pictures: pictures.into_iter().flatten().collect() };
    rows.price.push(row);
    told
}

fn answer(row: &PriceRow) -> String {
    let each = |count: Option<f64>, what: &str| {
        count.map(|count| format!("{} {what} ({} each)", format::number(count), money(row.price / count)))
    };
    let joined = |accesses: &Accesses, deep: fn(Option<u32>) -> String| {
        let kaps = each(accesses.kaps, &format!("KAPS{}", deep(accesses.kaps_iodepth)));
        let maps = each(accesses.maps, &format!("MAPS{}", deep(accesses.maps_iodepth)));
        [kaps, maps].into_iter().flatten().collect::<Vec<_>>().join(" and ")
    };
    let one = joined(&row.one_deep, |_| String::new());
    let best = joined(&deeper(row), |depth| depth.map_or(String::new(), |depth| format!(" {depth} deep")));
    let clauses = [
        (!one.is_empty()).then(|| format!("{one} one request at a time")),
        (!best.is_empty()).then(|| format!("at best {best}")),
        row.gb.map(|gb| format!("{} GB ({} each)", format::number(gb), money(row.price / gb))),
    ];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    match clauses.as_slice() {
        [] => "No random read could be measured.".to_string(),
        clauses => format!("A price of {} buys {}.", money(row.price), clauses.join("; ")),
    }
}

/// The accesses of which several requests at once bring more.
fn deeper(row: &PriceRow) -> Accesses {
    let (best, one) = (&row.best, &row.one_deep);
    let more = |best: Option<f64>, one: Option<f64>| best.filter(|best| one.is_none_or(|one| *best > one * WORTH));
    Accesses { kaps: more(best.kaps, one.kaps), maps: more(best.maps, one.maps), ..*best }
}

/// A sum in whatever money the price is in.
fn money(sum: f64) -> String {
    if sum >= 0.995 { format::number(sum) } else { format::two_digits(sum) }
}

/// Accesses of one size for a unit of money, by depth.
fn picture(evidence: &ExperimentData, price: f64, bytes: u64, what: &str) -> Option<Picture> {
    let mut cells: Vec<&ExperimentCell> = evidence.sound().filter(|cell| cell.finding.bs_bytes == bytes).collect();
    cells.sort_by_key(|cell| cell.finding.iodepth);
    let point = |cell: &&ExperimentCell| {
        let Interval { value, low, high } = cell.finding.mbps;
        let bought = |mbps: f64| mbps * 1e6 / bytes as f64 / price;
        let bought = Interval { value: bought(value), low: bought(low), high: bought(high) };
        Point::named(format!("{} deep", cell.finding.iodepth), bought)
    };
    let size = format::size(bytes as f64);
    (!cells.is_empty()).then(|| Picture {
        title: format!("{what}: random reads of {size}"),
        kind: PictureKind::Bars,
        x: Axis::even("Requests at once"),
        y: Axis::even(format!("{what} for each 1 of the price")),
        lines: vec![Line { name: what.to_string(), points: cells.iter().map(point).collect() }],
    })
}
