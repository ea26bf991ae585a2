//! Says what `network` asks, what it found and what the papers saw; draws rates and processor time by block size,
//! sealing and way.

use halfpower_analyse::{Interval, Requests};
use halfpower_spec::format;
use halfpower_spec::{Direction, Sealing, Way};

use super::analysis::{HalfPowerAt, MoreConnections, NetworkAnswer, NetworkRow, Rows, ShareRate, walked};
use super::sealed::{CostOfMb, Sealed, SealingCost};
use super::ways::WayRate;
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::ratio::is_undecided;
use crate::words::{decided, each_sentence, sentence, size, times, with_interval};

pub(crate) const QUESTION: &str = "What does a share give by block size, depth, connections, sealing and way, and what does a byte cost at both ends?";
pub(crate) const PAPERS: &str = "In 2000 (section 9) a client read 37.5 MB/s over gigabit Ethernet, where the server's PCI bus was \
    full, and wrote 15 MB/s with 16 KB requests, less with larger ones. Two requests in flight were enough. Reads of 128 KB \
    kept 23.4% of the client's processors busy and 14% of the server's. On one machine a write through a share cost \
    454 to 563 µs before its first byte, and a megabyte 27 ms, up to ten times a local disk's.";

pub(crate) fn answer(found: &NetworkAnswer) -> Told {
    Told::of(short(found), details(found), "No request to the share succeeded.")
}

/// The best rate of the first direction, from where half of it is reached, and what more connections bring.
fn short(found: &NetworkAnswer) -> Option<ShortAnswer> {
    let first = found.directions.first()?;
    let ShareRate { requests: Requests { rw, bs_bytes, iodepth }, half_power, .. } = first;
    let best = format!("{rw}s reach that over one connection ({}, {iodepth} deep)", size(*bs_bytes));
    let half =
        half_power.last().map(|half| format!("; half of it from {} on, {} deep", size(half.bs_bytes), half.iodepth));
    let other = found.directions.get(1).filter(|other| !is_undecided(&interval(other)));
    let other = other.map(|other| format!("; {}s reach {}", other.rw, format::mbps(other.mbps)));
    let brings = |more: &&MoreConnections| {
        let times = &more.times;
        more.rw == *rw && times.is_more() && !times.is_alike() && !times.is_undecided()
    };
    let more = found.connections.iter().find(brings).map(|more| {
        format!("; {} connections bring {} times as much", more.connections, format::factor(more.times.interval.value))
    });
    let rest = [half, other, more].into_iter().flatten().collect::<String>();
    Some(ShortAnswer::new(with_interval(interval(first), "MB/s"), sentence(&(best + &rest))))
}

fn interval(found: &ShareRate) -> Interval {
    Interval { value: found.mbps, low: found.low, high: found.high }
}

fn details(found: &NetworkAnswer) -> Vec<String> {
    let directions = found.directions.iter().map(|direction| Some(best_rate(direction)));
    let connections = found.connections.iter().map(|more| Some(connections(more)));
    let alike = |a: &SealingCost, b: &SealingCost| (a.rw, a.sealed) == (b.rw, b.sealed);
    let sealing = found.sealing.chunk_by(alike).map(|costs| Some(sealing(costs)));
    let ways = found.ways.chunk_by(|a, b| a.rw == b.rw).map(|rates| Some(ways(rates)));
    each_sentence(directions.chain(connections).chain(sealing).chain(ways))
}

fn best_rate(found: &ShareRate) -> String {
    let ShareRate { requests: Requests { rw, bs_bytes, iodepth }, .. } = found;
    let best = format!("{rw}s reach {} ({}, {iodepth} deep)", decided(interval(found), format::mbps), size(*bs_bytes));
    let at = |half: &HalfPowerAt| format!("{} at {} deep", size(half.bs_bytes), half.iodepth);
    let halves: Vec<String> = found.half_power.iter().map(at).collect();
    let half = if halves.is_empty() { String::new() } else { format!(", half of it from {}", halves.join(", ")) };
    let trips = found.round_trips.map(|trips| {
        let smallest = size(found.smallest_bs_bytes);
        format!("; a {rw} of {smallest} alone takes {} round trips", format::two_digits(trips))
    });
    let bill = found.ms_per_mb.map(|here| {
        let there = found.far_ms_per_mb.map_or(String::new(), |far| format!(", {} there", format::two_digits(far)));
        format!("; a MB costs {} ms of processor time here{there}", format::two_digits(here))
    });
    format!("{best}{half}{}{}", trips.unwrap_or_default(), bill.unwrap_or_default())
}

fn connections(found: &MoreConnections) -> String {
    let MoreConnections { rw, iodepth, connections, times: gain } = found;
    let what = format!("{iodepth} {rw}s in flight over {connections} connections");
    match () {
        () if gain.is_alike() => format!("{what} are as fast as over one"),
        () if gain.is_more() || !gain.is_known() => format!("{what} are {} as fast as over one", times(gain)),
        () => format!("{what} are no faster than over one, as far as these runs tell"),
    }
}

/// Describes the effect of one sealing in one direction at its block sizes.
fn sealing(costs: &[SealingCost]) -> String {
    let SealingCost { rw, sealed, than, .. } = costs[0];
    let at = |cost: &SealingCost| format!("with {} {} deep", size(cost.bs_bytes), cost.iodepth);
    let first = format!("{} the rate of {} ones {}", times(&costs[0].times), than.word(), at(&costs[0]));
    let others = costs[1..].iter().map(|cost| format!("{} {}", times(&cost.times), at(cost)));
    let rates: Vec<String> = std::iter::once(first).chain(others).collect();
    let bill = costs.iter().find_map(|cost| Some((cost.bs_bytes, cost.near?, cost.far)));
    let bill = bill.map_or(String::new(), |(bs_bytes, near, far)| {
        let of =
            |cost: CostOfMb| format!("{} instead of {}", format::two_digits(cost.ms), format::two_digits(cost.than_ms));
        let there = far.map_or(String::new(), |far| format!(", {} there", of(far)));
        format!("; a MB in {} costs {} ms of processor time here{there}", size(bs_bytes), of(near))
    });
    format!("{} {rw}s have {}{bill}", sealed.word(), rates.join(", "))
}

/// Describes the rate and the cost per byte of each way in one direction.
fn ways(rates: &[WayRate]) -> String {
    let by = |way: Way| match way {
        Way::Local => "locally at the server",
        Way::SameMachine => "through the share on the same machine",
        Way::Wire => "over the wire",
    };
    let rate = |of: &WayRate| format!("{} {}", format::mbps(of.mbps), by(of.way));
    let listed: Vec<String> = rates.iter().map(rate).collect();
    let cost = |of: &WayRate| {
        let bill = of.bill?;
        let here = format::two_digits(bill.ms_per_mb);
        let all = bill.far_ms_per_mb.map_or(here.clone(), |far| format!("{here} + {}", format::two_digits(far)));
        Some(format!("{all} {}", by(of.way)))
    };
    let costs: Vec<String> = rates.iter().filter_map(cost).collect();
    let bill = if costs.is_empty() {
        String::new()
    } else {
        format!("; a MB costs, in ms of processor time, {}", costs.join(", "))
    };
    format!("{}s reach {}{bill}", rates[0].rw, listed.join(", "))
}

/// Depth at which the ways are compared.
const DEPTH_OF_WAYS: u32 = 8;

type Figure = fn(&NetworkRow) -> Option<Interval>;

pub(crate) fn pictures(data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let walked: Vec<&NetworkRow> = walked(&rows.network, data.question.sealing).collect();
    let all = [
        by_size(&walked, "Throughput by block size", "MB/s", &[("", rate)]),
        by_size(&walked, "Processor time a request", "µs", &[(", here", charged), (", far end", far)]),
        by_way(rows, "Throughput by way, 8 deep"),
        by_sealing(data, rows, "Throughput by sealing", "MB/s", &[("", rate)]),
        by_sealing(data, rows, "Processor time a request by sealing", "µs", &[(", here", charged), (", far end", far)]),
    ];
    all.into_iter().flatten().collect()
}

fn rate(row: &NetworkRow) -> Option<Interval> {
    Some(Interval { value: row.mbps, low: row.low, high: row.high })
}

fn charged(row: &NetworkRow) -> Option<Interval> {
    row.soaker_us.or(row.charged_us).filter(|us| *us > 0.0).map(Interval::exact)
}

fn far(row: &NetworkRow) -> Option<Interval> {
    row.far_us.filter(|us| *us > 0.0).map(Interval::exact)
}

/// One line per direction, depth and figure, over one connection.
fn by_size(rows: &[&NetworkRow], title: &str, unit: &str, figures: &[(&str, Figure)]) -> Option<Picture> {
    let mut depths: Vec<u32> = rows.iter().map(|row| row.iodepth).collect();
    depths.sort_unstable();
    depths.dedup();
    let mut lines = Vec::new();
    for (rw, depth) in Direction::ALL.iter().flat_map(|rw| depths.iter().map(move |depth| (*rw, *depth))) {
        let same: Vec<&NetworkRow> =
            rows.iter().copied().filter(|row| (row.rw, row.iodepth, row.connections) == (rw, depth, 1)).collect();
        for (whose, figure) in figures {
            let point = |row: &&NetworkRow| {
                Some(Point::at(row.bs_bytes as f64, format::size(row.bs_bytes as f64), figure(row)?))
            };
            let points: Vec<Point> = same.iter().filter_map(point).collect();
            if points.len() > 1 {
                lines.push(Line { name: format!("{rw}, {depth} deep{whose}"), points });
            }
        }
    }
    let x = Axis::log("Block size");
    let y = Axis::log(unit);
    (!lines.is_empty()).then(|| Picture { title: title.to_string(), kind: PictureKind::Lines, x, y, lines })
}

/// One bar per sealing and figure; one group per kind of request that was measured with several sealings.
fn by_sealing(
    data: &ExperimentData,
    rows: &Rows,
    title: &str,
    unit: &str,
    figures: &[(&str, Figure)],
) -> Option<Picture> {
    let asked = Sealed::asked(&data.environment.capabilities);
    let kind = |row: &NetworkRow| (row.rw, row.way, row.bs_bytes, row.iodepth, row.connections);
    let is_compared = |row: &&NetworkRow| {
        row.way == Way::Wire
            && rows.network.iter().any(|other| kind(other) == kind(row) && other.sealing != row.sealing)
    };
    let mut lines = Vec::new();
    for (sealing, (whose, figure)) in
        Sealing::ALL.iter().flat_map(|sealing| figures.iter().map(move |of| (*sealing, of)))
    {
        let point = |row: &NetworkRow| {
            let label = format!("{}s of {}, {} deep", row.rw, format::size(row.bs_bytes as f64), row.iodepth);
            Some(Point::named(label, figure(row)?))
        };
        let same = rows.network.iter().filter(|row| row.sealing == sealing).filter(is_compared);
        let points: Vec<Point> = same.filter_map(point).collect();
        if !points.is_empty() {
            lines.push(Line { name: format!("{}{whose}", Sealed::of(sealing, asked).word()), points });
        }
    }
    let x = Axis::even("Requests");
    let y = Axis::log(unit);
    (lines.len() > 1).then(|| Picture { title: title.to_string(), kind: PictureKind::Bars, x, y, lines })
}

/// One line per direction and way, with the sealing that the server asks for; `None` if only the wire was measured.
fn by_way(rows: &Rows, title: &str) -> Option<Picture> {
    let is_compared =
        |row: &&NetworkRow| (row.iodepth, row.connections, row.sealing) == (DEPTH_OF_WAYS, 1, Sealing::AsAsked);
    if rows.network.iter().all(|row| row.way == Way::Wire) {
        return None;
    }
    let mut lines = Vec::new();
    for (rw, way) in Direction::ALL.iter().flat_map(|rw| Way::ALL.iter().map(move |way| (*rw, *way))) {
        let same = rows.network.iter().filter(is_compared).filter(|row| (row.rw, row.way) == (rw, way));
        let point =
            |row: &NetworkRow| Some(Point::at(row.bs_bytes as f64, format::size(row.bs_bytes as f64), rate(row)?));
        let points: Vec<Point> = same.filter_map(point).collect();
        if points.len() > 1 {
            lines.push(Line { name: format!("{rw}, {way}"), points });
        }
    }
    let x = Axis::log("Block size");
    let y = Axis::log("MB/s");
    (lines.len() > 1).then(|| Picture { title: title.to_string(), kind: PictureKind::Lines, x, y, lines })
}
