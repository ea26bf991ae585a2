//! Adds TCP statistics to the account of a run on a share.
//!
//! Connections are sampled while the run goes on: at its end nothing fills their windows any more.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use halfpower_os::tcp::{self, TcpInfo};
use halfpower_record::Tcp;

use super::account::MachineAccount;
use crate::MeasureError;
use crate::target_backend::{Account, Spent};

/// Time between two samples.
const EVERY: Duration = Duration::from_millis(20);

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

/// A thread that samples connections until it is ended or dropped.
struct TcpWatch {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Held>>>,
}

/// Sums of the samples of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Held {
    looks: u64,
    round_trip_ns: u64,
    congestion_window_bytes: u64,
    peer_window_bytes: u64,
    own_window_bytes: u64,
}

impl TcpWatch {
    /// Starts sampling; `None` if the thread cannot be started.
    pub fn begin(connections: &Arc<Vec<OwnedFd>>) -> Option<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        let connections = Arc::clone(connections);
        let asked = Arc::clone(&ends);
        let watch = move || {
            let mut held = vec![Held::default(); connections.len()];
            loop {
                std::thread::park_timeout(EVERY);
                if asked.load(Ordering::Acquire) {
                    return held;
                }
                for (held, connection) in held.iter_mut().zip(connections.iter()) {
                    tcp::look(connection.as_fd()).into_iter().for_each(|info| held.add(&info));
                }
            }
        };
        let thread = Builder::new().name("hp-tcp-watch".to_string()).spawn(watch).ok()?;
        Some(Self { ends, thread: Some(thread) })
    }

    /// Stops sampling; returns the sums of each connection, in their order.
    pub fn end(mut self) -> Vec<Held> {
        self.stop()
    }

    fn stop(&mut self) -> Vec<Held> {
        let Some(thread) = self.thread.take() else { return Vec::new() };
        self.ends.store(true, Ordering::Release);
        thread.thread().unpark();
        thread.join().unwrap_or_default()
    }
}

/// A failed run does not call [`TcpWatch::end`]; its connections are released all the same.
impl Drop for TcpWatch {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Held {
    fn add(&mut self, info: &TcpInfo) {
        self.looks += 1;
        self.round_trip_ns += info.round_trip_ns;
        self.congestion_window_bytes += info.congestion_window_bytes;
        self.peer_window_bytes += info.peer_window_bytes.unwrap_or(0);
        self.own_window_bytes += info.own_window_bytes;
    }

    /// The final state of the connection, with means over the run in place of momentary values; unchanged without
    /// samples.
    pub fn within(&self, end: TcpInfo) -> TcpInfo {
        let mean = |sum: u64, end: u64| sum.checked_div(self.looks).unwrap_or(end);
        TcpInfo {
            round_trip_ns: mean(self.round_trip_ns, end.round_trip_ns),
            congestion_window_bytes: mean(self.congestion_window_bytes, end.congestion_window_bytes),
            peer_window_bytes: end.peer_window_bytes.map(|bytes| mean(self.peer_window_bytes, bytes)),
            own_window_bytes: mean(self.own_window_bytes, end.own_window_bytes),
            ..end
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

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

    #[test]
    fn what_holds_is_the_mean_over_the_run_and_counts_are_the_ends() {
        let end = TcpInfo {
            round_trip_ns: 50,
            congestion_window_bytes: 9000,
            peer_window_bytes: Some(70_000),
            own_window_bytes: 80_000,
            sent_bytes: 7,
            ..TcpInfo::default()
        };
        assert_eq!(Held::default().within(end), end, "without a look the end is all that is known");
        let mut held = Held::default();
        for (window, round_trip_ns) in [(1000, 20), (3000, 40)] {
            let peer_window_bytes = Some(window * 2);
            let congestion_window_bytes = window;
            let own_window_bytes = window * 3;
            held.add(&TcpInfo { round_trip_ns, congestion_window_bytes, peer_window_bytes, own_window_bytes, ..end });
        }
        let within = held.within(end);
        assert_eq!((within.round_trip_ns, within.congestion_window_bytes), (30, 2000));
        assert_eq!((within.peer_window_bytes, within.own_window_bytes), (Some(4000), 6000));
        assert_eq!(within.sent_bytes, 7);
        let silent = TcpInfo { peer_window_bytes: None, ..end };
        assert_eq!(held.within(silent).peer_window_bytes, None, "a kernel that does not tell");
    }

    #[test]
    fn a_watch_that_is_not_asked_lets_its_connections_go() {
        let connections = Arc::new(Vec::new());
        drop(TcpWatch::begin(&connections).unwrap());
        assert_eq!(Arc::strong_count(&connections), 1);
    }

    #[test]
    fn a_window_that_is_full_while_the_run_goes_on_is_seen_as_such() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let far = listener.accept().unwrap().0;
        let connections = Arc::new(vec![near.try_clone().unwrap().into()]);
        let before = tcp::look(near.as_fd()).unwrap().peer_window_bytes.unwrap();
        // The other side reads nothing, so its receive buffer fills up.
        near.set_nonblocking(true).unwrap();
        while near.write(&[7; 1 << 16]).is_ok() {}
        let filled = std::iter::repeat_with(|| {
            std::thread::sleep(EVERY);
            tcp::look(near.as_fd()).unwrap().peer_window_bytes.unwrap()
        });
        filled.take(3000).find(|bytes| *bytes < before / 4).unwrap();
        // On a busy machine the sampling thread may not run within that time.
        let is_seen = |_: u32| {
            let watch = TcpWatch::begin(&connections).unwrap();
            std::thread::sleep(20 * EVERY);
            let held = watch.end();
            let within = held[0].within(tcp::look(near.as_fd()).unwrap());
            held[0].looks > 0 && within.peer_window_bytes.unwrap() < before / 2
        };
        assert!((0..100).any(is_seen), "nobody sees that it is full");
        drop(far);
    }
}
