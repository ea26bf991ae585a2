//! Adds TCP statistics to the account of a run on a share.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use halfpower_os::tcp::{self, TcpInfo};
use halfpower_record::Tcp;

use super::account::MachineAccount;
use super::tcp_watch::TcpWatch;
use crate::MeasureError;
use crate::target_backend::{Account, Spent};

/// The machine's account, and the kernel's statistics of the run's connections.
pub(super) struct ShareAccount {
    machine: MachineAccount,
    connections: Arc<Vec<OwnedFd>>,
    begun: Vec<Option<TcpInfo>>,
    watch: Option<TcpWatch>,
}

impl ShareAccount {
    pub fn new(machine: MachineAccount, connections: Vec<OwnedFd>) -> Self {
        let begun = Vec::with_capacity(connections.len());
        Self { machine, connections: Arc::new(connections), begun, watch: None }
    }
}

impl Account for ShareAccount {
    fn begin(&mut self) -> Result<(), MeasureError> {
        self.begun = look(&self.connections);
        self.watch = TcpWatch::begin(&self.connections);
        self.machine.begin()
    }

    fn end(&mut self) -> Spent {
        let spent = self.machine.end();
        let held = self.watch.take().map(TcpWatch::end).unwrap_or_default();
        let now = look(&self.connections).into_iter().enumerate();
        let over_the_run =
            |(at, now): (usize, Option<TcpInfo>)| now.map(|now| held.get(at).map_or(now, |held| held.within(now)));
        let both = self.begun.iter().zip(now.map(over_the_run));
        let each: Vec<(TcpInfo, TcpInfo)> = both.filter_map(|(then, now)| Some(((*then)?, now?))).collect();
        Spent { tcp: (!each.is_empty()).then(|| Box::new(between(&each))), ..spent }
    }
}

fn look(connections: &[OwnedFd]) -> Vec<Option<TcpInfo>> {
    connections.iter().map(|connection| tcp::look(connection.as_fd())).collect()
}

/// Combines all connections, each from its first reading to its second.
fn between(each: &[(TcpInfo, TcpInfo)]) -> Tcp {
    let sum = |of: fn(&TcpInfo) -> u64| each.iter().map(|(_, now)| of(now)).fold(0, u64::saturating_add);
    let since = |of: fn(&TcpInfo) -> u64| each.iter().map(|(then, now)| of(now).saturating_sub(of(then))).sum::<u64>();
    let count = each.len() as u64;
    let least = each.iter().map(|(_, now)| now.least_round_trip_ns).filter(|ns| *ns > 0).min();
    Tcp {
        connections: count,
        round_trip_ns: sum(|now| now.round_trip_ns) / count,
        least_round_trip_ns: least.unwrap_or(0),
        congestion_window_bytes: sum(|now| now.congestion_window_bytes),
        peer_window_bytes: each.iter().map(|(_, now)| now.peer_window_bytes).sum(),
        own_window_bytes: sum(|now| now.own_window_bytes),
        sent_bytes: since(|info| info.sent_bytes),
        received_bytes: since(|info| info.received_bytes),
        sent_segments: since(|info| info.sent_segments),
        retransmitted_segments: since(|info| info.retransmitted_segments),
        delivery_bytes_per_s: sum(|now| now.delivery_bytes_per_s),
        window_limited_ns: since(|info| info.window_limited_ns) / count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_differences_and_windows_are_sums() {
        let then = TcpInfo { sent_bytes: 100, sent_segments: 5, retransmitted_segments: 1, ..TcpInfo::default() };
        let now = TcpInfo {
            round_trip_ns: 30_000,
            least_round_trip_ns: 20_000,
            congestion_window_bytes: 14_480,
            peer_window_bytes: Some(65_536),
            sent_bytes: 1100,
            sent_segments: 15,
            retransmitted_segments: 3,
            window_limited_ns: 800,
            ..then
        };
        let slower = TcpInfo { round_trip_ns: 50_000, least_round_trip_ns: 40_000, window_limited_ns: 0, ..now };
        let tcp = between(&[(then, now), (then, slower)]);
        assert_eq!((tcp.round_trip_ns, tcp.least_round_trip_ns, tcp.window_limited_ns), (40_000, 20_000, 400));
        assert_eq!((tcp.congestion_window_bytes, tcp.peer_window_bytes), (28_960, Some(131_072)));
        assert_eq!((tcp.sent_bytes, tcp.sent_segments, tcp.retransmitted_segments), (2000, 20, 4));
        assert_eq!(tcp.retransmitted_share(), 0.2);
        let silent = TcpInfo { peer_window_bytes: None, ..now };
        assert_eq!(between(&[(then, now), (then, silent)]).peer_window_bytes, None, "not of all of them");
    }
}
