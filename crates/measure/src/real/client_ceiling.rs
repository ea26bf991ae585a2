//! Measures the limit of our own file server clients, against a server in memory over loopback.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use halfpower_engine::{EngineError, EngineSettings, ShareLane, open_share};
use halfpower_share::{Purpose, Rehearsal};
use halfpower_spec::{Bytes, Direction, Nanos, Rw, Sealing, ShareProtocol, Workload};

use crate::offsets::Offsets;
use crate::target_backend::ClosingFlush;
use crate::window::{Pauses, Terms, Window};

/// Number of windows; the best one counts, since disturbances only make a window slower.
const WINDOWS: usize = 2;
/// Length of each window, and of the ramp before it.
const RUNTIME: Nanos = Nanos(20_000_000);
const RAMP: Nanos = Nanos(4_000_000);
/// Bytes that offsets are drawn from; the server stores none of them.
const SPAN_BYTES: u64 = 1 << 40;

/// Direction, block size, depth, connections and sealing.
type Key = (Direction, Bytes, u32, u32, Sealing);

/// Time that our client takes for each kind of request, measured once.
#[derive(Debug, Default)]
pub(super) struct ClientCeilings {
    ns_per_io: BTreeMap<Key, Option<f64>>,
}

impl ClientCeilings {
    /// Nanoseconds per request of one lane of `workload`, against the server that `rehearse` makes for its sealing.
    /// `None` if requests are not all of one kind or come at a given rate, or if the measurement fails.
    pub fn ns_per_io(
        &mut self,
        protocol: ShareProtocol,
        rehearse: impl FnOnce(Sealing) -> Rehearsal,
        workload: &Workload,
    ) -> Option<f64> {
        let Workload { rw, bs, iodepth, rate, options, .. } = *workload;
        let direction = rw.direction().filter(|_| rate.is_none() && options.bssplit.is_none())?;
        let connections = options.connections.clamp(1, iodepth);
        let key = (direction, bs, iodepth, connections, options.sealing);
        *self
            .ns_per_io
            .entry(key)
            .or_insert_with(|| measure(protocol, &rehearse(options.sealing), workload, connections).ok())
    }
}

/// Nanoseconds per request in the best of several windows.
fn measure(
    protocol: ShareProtocol,
    server: &Rehearsal,
    workload: &Workload,
    connections: u32,
) -> Result<f64, EngineError> {
    let Workload { rw, bs, iodepth: depth, issuing, options, .. } = *workload;
    let settings = EngineSettings { issuing, ..EngineSettings::new(protocol.engine(), depth, bs, 1) };
    let share = server;
    let sealing = options.sealing;
    let writes = rw.writes();
    let purpose = Purpose::Measure;
    let lane = ShareLane { share, protocol, connections, sealing, writes, durable: false, purpose, ledger: None };
    let mut opened = open_share(lane, settings)?;
    let plain = Workload { rw: Rw::of(halfpower_spec::Pattern::Sequential, direction(rw)), bs, ..Workload::default() };
    let mut best = f64::INFINITY;
    for _ in 0..WINDOWS {
        let offsets = Offsets::new(&plain, &(0..SPAN_BYTES), false, 1);
        let terms = Terms { runtime: RUNTIME, flush: ClosingFlush::None, pauses: Pauses::default(), ramp: RAMP };
        let tally = Window::new(opened.engine.as_mut(), offsets, depth, terms, &AtomicBool::new(false)).run()?;
        best = best.min((tally.end.0 - tally.start.0) as f64 / tally.ios.max(1) as f64);
    }
    Ok(best)
}

fn direction(rw: Rw) -> Direction {
    rw.direction().unwrap_or(Direction::Read)
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Arrival, Arrivals, WorkloadOptions};

    use super::*;

    #[test]
    fn each_kind_of_request_is_measured_once_and_larger_ones_take_longer() {
        for protocol in [ShareProtocol::Smb, ShareProtocol::Nfs, ShareProtocol::S3] {
            for rw in [Rw::Read, Rw::Randwrite] {
                let mut ceilings = ClientCeilings::default();
                let of = |bs, iodepth| Workload { rw, bs: Bytes(bs), iodepth, ..Workload::default() };
                let mut measured = 0;
                let mut ns = |workload: &Workload| {
                    let rehearse = |_| {
                        measured += 1;
                        Rehearsal::plain(protocol)
                    };
                    ceilings.ns_per_io(protocol, rehearse, workload).expect("a ceiling")
                };
                let small = ns(&of(4096, 8));
                let large = ns(&of(4 << 20, 8));
                assert!(small > 100.0 && large > 4.0 * small, "{protocol:?} {rw}: {small} {large}");
                assert_eq!((ns(&of(4096, 8)), measured), (small, 2));
            }
        }
    }

    #[test]
    fn each_sealing_is_measured_with_a_server_of_its_own() {
        let mut ceilings = ClientCeilings::default();
        let mut rehearsed = Vec::new();
        for sealing in Sealing::ALL.iter().chain(Sealing::ALL) {
            let options = WorkloadOptions { sealing: *sealing, ..WorkloadOptions::default() };
            let rehearse = |sealing| {
                rehearsed.push(sealing);
                Rehearsal::plain(ShareProtocol::Smb)
            };
            let workload = Workload { options, ..Workload::default() };
            assert!(ceilings.ns_per_io(ShareProtocol::Smb, rehearse, &workload).is_some());
        }
        assert_eq!(rehearsed, Sealing::ALL);
    }

    #[test]
    fn requests_of_several_kinds_or_at_a_rate_have_none() {
        let mut ceilings = ClientCeilings::default();
        let rate = Some(Arrival { iops: 10, arrivals: Arrivals::Fixed });
        for workload in [
            Workload { rw: Rw::Randmixed, ..Workload::default() },
            Workload { rw: Rw::Read, rate, ..Workload::default() },
        ] {
            let nobody = |_| unreachable!("nothing is measured");
            assert_eq!(ceilings.ns_per_io(ShareProtocol::Nfs, nobody, &workload), None);
        }
    }
}
