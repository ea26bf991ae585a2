//! Judges whether our own client limits a cell on a file share, or the bytes in flight over the round trip.

use halfpower_spec::EngineName;

use crate::stopped_by::{InFlight, StoppedBy};
use crate::{CellFinding, LevelId, LevelKind};

/// Relative distance from the client's own ceiling within which a rate counts as at that ceiling.
const NEAR_CLIENT: f64 = 0.2;
/// Relative distance from bytes in flight over round trip within which a rate counts as explained by them.
const NEAR_WINDOW: f64 = 0.1;
/// Relative distance below TCP's window over the round trip within which a rate counts as explained: the window is a
/// mean of samples, and busy processors make round trips longer than the shortest.
const BELOW_TCP_WINDOW: f64 = 0.15;

/// Whether the cell reaches about our client's rate against a server in memory, over loopback: server and network could
/// then add little.
pub(crate) fn at_client(cell: &CellFinding) -> Option<(LevelId, StoppedBy)> {
    let limit_mbps = cell.client_mbps.filter(|mbps| *mbps > 0.0)?;
    let share = cell.mbps.value / limit_mbps;
    let protocol = match cell.engine {
        EngineName::Smb => "SMB",
        EngineName::Nfs => "NFS",
        EngineName::S3 => "S3",
        _ => return None,
    };
    let level = LevelId { name: Some(protocol.to_string()), ..LevelId::of(LevelKind::OurClient) };
    let stopped_by = StoppedBy::OwnClient { limit_mbps, share };
    ((1.0 - NEAR_CLIENT..=1.0 + NEAR_CLIENT).contains(&share)).then_some((level, stopped_by))
}

/// Whether the rate equals the bytes in flight (the requests, or the part that TCP admits) over the shortest round
/// trip: each byte then waits for the network's round trip only. A queue before a full wire lengthens the mean round
/// trip but not the shortest, so a full wire never looks like a window.
pub(crate) fn at_window(cell: &CellFinding) -> Option<(LevelId, StoppedBy)> {
    let tcp = cell.tcp.as_ref()?;
    let round_trip_us = tcp.least_round_trip_us?;
    let asked = f64::from(cell.total_depth()) * cell.bs_bytes as f64;
    let (in_flight, bytes) =
        if tcp.window_bytes < asked { (InFlight::TcpWindow, tcp.window_bytes) } else { (InFlight::Requests, asked) };
    // A byte a microsecond is a decimal MB/s.
    let limit_mbps = bytes / round_trip_us;
    let share = cell.mbps.value / limit_mbps;
    let stopped_by = StoppedBy::Window { in_flight, bytes, round_trip_us, limit_mbps, share };
    let below = if in_flight == InFlight::TcpWindow { BELOW_TCP_WINDOW } else { NEAR_WINDOW };
    let is_explained = (1.0 - below..=1.0 + NEAR_WINDOW).contains(&share);
    is_explained.then_some((LevelId::of(LevelKind::RoundTrip), stopped_by))
}
