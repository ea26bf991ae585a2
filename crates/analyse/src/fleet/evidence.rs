//! Looks for causes of a slow host: its link, its hypervisor, other activity, its latency tail.

use halfpower_record::{HostPlace, HostShare};
use schemars::JsonSchema;
use serde::Serialize;

use super::together::Together;
use crate::mean::median;

/// Extra share of processor time taken by a hypervisor, compared with the peers, from which it is reported.
const STEAL: f64 = 0.02;
/// Extra processors kept busy by others, compared with the peers, from which they are reported.
const OTHERS: f64 = 0.25;
/// Ratio of a host's tail to its peers' tail (each over its median latency) from which it is reported.
const TAIL: f64 = 2.0;
/// Share of the peers' link speed below which a link counts as slower.
const LINK: f64 = 0.9;

/// What is different about a host.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum HostEvidence {
    /// Its interface is slower than the others', in bits a second.
    Link {
        /// Its speed.
        bits_per_second: u64,
        /// The median of the others.
        peers: u64,
    },
    /// Its hypervisor takes more of its processors' time, as a share of one processor's.
    Steal {
        /// Its share.
        share: f64,
        /// The median of the others.
        peers: f64,
    },
    /// Others are active there: busy processors beyond the charge of its own process.
    OtherWork {
        /// Number of processors.
        processors: f64,
        /// The median of the others.
        peers: f64,
    },
    /// Its slow requests are slower: the 99th percentile over the median latency.
    Tail {
        /// The ratio.
        times_median: f64,
        /// The median of the others.
        peers: f64,
    },
}

/// What is different about `host` in these runs.
pub(super) fn evidence(hosts: &[HostPlace], host: &HostPlace, runs: &[&Together<'_>]) -> Vec<HostEvidence> {
    let peers = |of: fn(&HostShare) -> Option<f64>| -> Option<(f64, f64)> {
        let pairs = runs.iter().filter_map(|run| {
            let record = run.record;
            let own = record.hosts.iter().find(|share| share.rank == host.rank).and_then(of)?;
            let others = record.hosts.iter().filter(|share| share.rank != host.rank).filter_map(of).collect::<Vec<_>>();
            (!others.is_empty()).then(|| (own, median(others)))
        });
        let (own, others): (Vec<f64>, Vec<f64>) = pairs.unzip();
        (!own.is_empty()).then(|| (median(own), median(others)))
    };
    let link = link(hosts, host);
    let steal = peers(|share| over(share.steal_ns, share.span_ns)).filter(|(own, peers)| own - peers >= STEAL);
    let other_work = peers(|share| over(share.busy_ns.saturating_sub(share.charged_ns), share.span_ns));
    let other_work = other_work.filter(|(own, peers)| own - peers >= OTHERS);
    let tail =
        peers(|share| over(share.latency_ns_p99, share.latency_ns_p50)).filter(|(own, peers)| *own >= peers * TAIL);
    let found = [
        link,
        steal.map(|(share, peers)| HostEvidence::Steal { share, peers }),
        other_work.map(|(processors, peers)| HostEvidence::OtherWork { processors, peers }),
        tail.map(|(times_median, peers)| HostEvidence::Tail { times_median, peers }),
    ];
    found.into_iter().flatten().collect()
}

fn over(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn link(hosts: &[HostPlace], host: &HostPlace) -> Option<HostEvidence> {
    let speed = |host: &HostPlace| host.link.as_ref()?.bits_per_second;
    let bits_per_second = speed(host)?;
    let others = hosts.iter().filter(|other| other.rank != host.rank).filter_map(speed);
    let peers = median(others.map(|bits| bits as f64).collect()) as u64;
    ((bits_per_second as f64) < peers as f64 * LINK).then_some(HostEvidence::Link { bits_per_second, peers })
}
