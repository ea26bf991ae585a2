//! Says what `price` asks, what it found and what the papers saw; draws accesses per unit of money, by depth.

use halfpower_analyse::{Accesses, ExperimentCell, Interval, KILOBYTES, MEGABYTES};
use halfpower_spec::{InOrder, format};

use super::analysis::{PriceAnswer, Rows};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::ratio::is_undecided;
use crate::words::with_interval;

pub(crate) const QUESTION: &str =
    "What does the money buy: how many bytes, and how many accesses a second to kilobytes and to megabytes?";
pub(crate) const PAPERS: &str = "In 2000 a Quantum Atlas 10K of $534 read 105 blocks of 8 KB a second at random, $5.09 each, and a Quantum \
    Fireball of $209 read 66, $3.17 each (Table 9); in MB/$ they had 34 and 124, in MAPS/$ 0.04 and 0.07 \
    (Table 10). Two and a half Fireballs cost as much as one Atlas and did 57% more. What is the same: the \
    fast device has to be worth its price by the access or by the byte. What is not: without an arm a device \
    gives many times more to many requests at once than to one, so that one deep is only half of it.";

pub(crate) fn answer(found: &PriceAnswer) -> Told {
    if found.bought.is_none() {
        return Told::unknown("No price was given.");
    }
    Told::of(short(found), details(found).into_iter().collect(), "No random read could be measured.")
}

/// How many small reads a second the price buys, or how many bytes if none was measured.
fn short(found: &PriceAnswer) -> Option<ShortAnswer> {
    let row = found.bought.as_ref()?;
    let price = money(row.price);
    let each = |count: f64| money(row.price / count);
    let Some(kaps) = found.kaps.filter(|kaps| kaps.value > 0.0) else {
        let gb = row.gb?;
        let text = format!("A price of {price} buys so much, {} each.", each(gb));
        return Some(ShortAnswer::new(format!("{} GB", format::number(gb)), text));
    };
    let of_one = if is_undecided(&kaps) { String::new() } else { format!(", {} each", each(kaps.value)) };
    let deeper = found.deeper.kaps.zip(found.deeper.kaps_iodepth);
    let deeper = deeper.map_or(String::new(), |(kaps, depth)| {
        format!("; {depth} deep it buys {}, {} each", format::number(kaps), each(kaps))
    });
    let bs = format::size(KILOBYTES as f64);
    let text = format!("A price of {price} buys so many random reads of {bs}, one at a time{of_one}{deeper}.");
    Some(ShortAnswer::new(with_interval(kaps, "reads a second"), text))
}

/// `None` if nothing was measured.
fn details(found: &PriceAnswer) -> Option<String> {
    let row = found.bought.as_ref()?;
    let each = |count: Option<f64>, what: &str| {
        count.map(|count| format!("{} {what} ({} each)", format::number(count), money(row.price / count)))
    };
    let joined = |accesses: &Accesses, deep: fn(Option<u32>) -> String| {
        let kaps = each(accesses.kaps, &format!("KAPS{}", deep(accesses.kaps_iodepth)));
        let maps = each(accesses.maps, &format!("MAPS{}", deep(accesses.maps_iodepth)));
        [kaps, maps].into_iter().flatten().collect::<Vec<_>>().join(" and ")
    };
    let mut one = joined(&row.one_deep, |_| String::new());
    if let Some(kaps) = found.kaps.filter(is_undecided) {
        let maps = each(row.one_deep.maps, "MAPS");
        let kaps = with_interval(kaps, "KAPS");
        one = std::iter::once(kaps).chain(maps).collect::<Vec<_>>().join(" and ");
    }
    let best = joined(&found.deeper, |depth| depth.map_or(String::new(), |depth| format!(" {depth} deep")));
    let clauses = [
        (!one.is_empty()).then(|| format!("{one} one request at a time")),
        (!best.is_empty()).then(|| format!("at best {best}")),
        row.gb.map(|gb| format!("{} GB ({} each)", format::number(gb), money(row.price / gb))),
    ];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    match clauses.as_slice() {
        [] => None,
        clauses => Some(format!("A price of {} buys {}.", money(row.price), clauses.join("; "))),
    }
}

/// A sum in the currency of the price.
fn money(sum: f64) -> String {
    if sum >= 0.995 { format::number(sum) } else { format::two_digits(sum) }
}

pub(crate) fn pictures(data: &ExperimentData, _: &Rows) -> Vec<Picture> {
    let Some(price) = data.question.price else { return Vec::new() };
    let pictures = [picture(data, price, KILOBYTES, "KAPS"), picture(data, price, MEGABYTES, "MAPS")];
    pictures.into_iter().flatten().collect()
}

/// Accesses of one size per unit of money, by depth.
fn picture(data: &ExperimentData, price: f64, bytes: u64, what: &str) -> Option<Picture> {
    let mut cells: Vec<&ExperimentCell> = data.sound().filter(|cell| cell.finding.bs_bytes == bytes).collect();
    cells.order_by_key(|cell| cell.finding.iodepth);
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
