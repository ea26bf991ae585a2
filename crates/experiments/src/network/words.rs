//! Says what `network` asks, what it found and what the papers saw.

use halfpower_spec::{Way, format};

use super::answer::{HalfPowerAt, MoreConnections, NetworkAnswer, ShareRate};
use super::sealed::{CostOfMb, SealingCost};
use super::ways::WayRate;
use crate::words::{sentences, size, times};

pub(crate) const QUESTION: &str = "What does a share give by block size, depth, connections, sealing and way, and what does a byte cost at both ends?";
pub(crate) const PAPERS: &str = "In 2000 (section 9) a client read 37.5 MB/s over gigabit Ethernet, where the server's PCI bus was \
    full, and wrote 15 MB/s with 16 KB requests, less with larger ones. Two requests in flight were enough. Reads of 128 KB \
    kept 23.4% of the client's processors busy and 14% of the server's. On one machine a write through a share cost \
    454 to 563 µs before its first byte, and a megabyte 27 ms, up to ten times a local disk's.";

pub(crate) fn answer(found: &NetworkAnswer) -> String {
    let directions = found.directions.iter().map(|direction| Some(rate(direction)));
    let connections = found.connections.iter().map(|more| Some(connections(more)));
    let alike = |a: &SealingCost, b: &SealingCost| (a.rw, a.sealed) == (b.rw, b.sealed);
    let sealing = found.sealing.chunk_by(alike).map(|costs| Some(sealing(costs)));
    let ways = found.ways.chunk_by(|a, b| a.rw == b.rw).map(|rates| Some(ways(rates)));
    sentences(directions.chain(connections).chain(sealing).chain(ways), "No request to the share succeeded.")
}

fn rate(found: &ShareRate) -> String {
    let ShareRate { rw, mbps, bs_bytes, iodepth, .. } = found;
    let best = format!("{rw}s reach {} ({}, {iodepth} deep)", format::mbps(*mbps), size(*bs_bytes));
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
