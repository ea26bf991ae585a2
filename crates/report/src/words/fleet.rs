//! Writes which hosts are slower than their peers, and what differs about them.

use halfpower_analyse::{FleetFinding, HostEvidence, Straggler};
use halfpower_spec::format::{self, percent};

use super::settings::count;

/// Share of its peers' rate from which a host alone counts as fast as they are.
const AS_FAST: f64 = 0.95;

/// The result of comparing the hosts, in a sentence or two.
pub(crate) fn gist(fleet: &FleetFinding) -> String {
    let hosts = match fleet.computers {
        computers if computers == fleet.hosts.len() => count(computers, "host"),
        computers => {
            format!("{} processes on {}", format::thousands(fleet.hosts.len() as f64), count(computers, "host"))
        }
    };
    let runs = format!("{} of several at once", count(fleet.runs, "run"));
    match fleet.slow_hosts() {
        0 if fleet.runs == 0 => format!("{hosts}, and no run of several at once."),
        0 if !fleet.can_tell => format!("{hosts}: {runs} are too few to tell a slow host from chance."),
        0 => format!("{hosts}: none is slower than its peers by more than chance, in {runs}."),
        1 => format!("{hosts}: {} is slower than its peers, in {runs}.", fleet.stragglers[0].name),
        slow => format!("{hosts}: {slow} are slower than their peers, in {runs}."),
    }
}

/// A slow host: how slow, how certain, and what differs about it.
pub(crate) fn straggler(slow: &Straggler) -> String {
    let Straggler { name, rw, of_peers, runs, alone_of_peers, .. } = slow;
    let rate = format!("{name}: {rw}s at {} of its peers' rate, in {}", percent(*of_peers), count(*runs, "run"));
    let alone = match alone_of_peers {
        None => String::new(),
        Some(share) if *share > AS_FAST => "; alone it is as fast as they are".to_string(),
        Some(share) => format!("; alone {} of theirs", percent(*share)),
    };
    let evidence: Vec<String> = slow.evidence.iter().map(different).collect();
    let evidence = match evidence.as_slice() {
        [] => "Its link, its processors and its latencies' tail show no cause".to_string(),
        evidence => evidence.join("; "),
    };
    format!("{rate}{alone}. {evidence}.")
}

fn different(evidence: &HostEvidence) -> String {
    match evidence {
        HostEvidence::Link { bits_per_second, peers } => {
            format!("Its link has {}, theirs {}", bits(*bits_per_second), bits(*peers))
        }
        HostEvidence::Steal { share, peers } => {
            format!("Its hypervisor takes {} of a processor, theirs {}", percent(*share), percent(*peers))
        }
        HostEvidence::OtherWork { processors, peers } => format!(
            "Others keep {} of its processors busy, {} of theirs",
            format::two_digits(*processors),
            format::two_digits(*peers)
        ),
        HostEvidence::Tail { times_median, peers } => format!(
            "1 of 100 requests takes {} times the median, {} times at theirs",
            format::two_digits(*times_median),
            format::two_digits(*peers)
        ),
    }
}

/// A link's speed: `100 Mbit/s`.
pub(crate) fn bits(bits_per_second: u64) -> String {
    let mbit = bits_per_second as f64 / 1e6;
    if mbit >= 1e3 {
        format!("{} Gbit/s", format::number(mbit / 1e3))
    } else {
        format!("{} Mbit/s", format::number(mbit))
    }
}
