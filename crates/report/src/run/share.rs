//! Prints the way of a run, TCP's figures below it, and its share of what halfpower's own client can do.

use halfpower_record::{Record, Tcp};
use halfpower_spec::format::{number, percent, size, time_us};
use halfpower_spec::{Sealing, Way};

/// Rows with their names; empty without a far end and without a connection of halfpower's own client.
pub(super) fn rows(record: &Record) -> Vec<(&'static str, String)> {
    let sealing = Some(record.run.workload.options.sealing).filter(|sealing| *sealing != Sealing::AsAsked);
    let rows = [
        ("way", way(record.run.workload.options.way).map(str::to_string)),
        ("messages", sealing.map(|sealing| sealing.to_string())),
        ("network", record.tcp.as_deref().map(|tcp| network(record, tcp))),
        ("our client", client(record)),
    ];
    let reported = |(name, words): (&'static str, Option<String>)| Some((name, words?));
    rows.into_iter().filter_map(reported).collect()
}

/// Which machine measured, and by which way.
fn way(way: Way) -> Option<&'static str> {
    match way {
        Way::Wire => None,
        Way::SameMachine => Some("through the share from the far end itself, whose machine all figures are of"),
        Way::Local => Some("past the share at the far end, whose machine all figures are of"),
    }
}

/// The connections, such as `1 connection, round trip 120 µs (least 45 µs), window 2.1 MiB, none sent again`.
fn network(record: &Record, tcp: &Tcp) -> String {
    let connections = if tcp.connections == 1 { "connection" } else { "connections" };
    let us = |ns: u64| time_us(ns as f64 / 1e3);
    let least =
        if tcp.least_round_trip_ns > 0 { format!(" (least {})", us(tcp.least_round_trip_ns)) } else { String::new() };
    let window = size(tcp.window_bytes(record.run.workload.rw.writes()) as f64);
    let again = match tcp.retransmitted_segments {
        0 => "nothing sent again".to_string(),
        _ => format!("{} of the segments sent again", percent(tcp.retransmitted_share())),
    };
    format!("{} {connections}, round trip {}{least}, window {window}, {again}", tcp.connections, us(tcp.round_trip_ns))
}

/// The share of the client's ceiling, such as `34% of the 3,200 MB/s that it does against a server in memory, over
/// loopback`. If the run exceeded the ceiling, other processes held the ceiling down when it was measured.
fn client(record: &Record) -> Option<String> {
    let mbps = record.client_mbps().filter(|mbps| *mbps > 0.0)?;
    if record.mbps() > mbps {
        return Some(format!("more than the {} MB/s that it did against a server in memory before", number(mbps)));
    }
    let share = percent(record.mbps() / mbps);
    Some(format!("{share} of the {} MB/s that it does against a server in memory, over loopback", number(mbps)))
}
