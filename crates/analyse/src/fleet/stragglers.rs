//! Finds hosts that are slower than their peers by more than chance, and looks for causes.
//!
//! Causes are its link, its hypervisor, other activity, its latency tail.

use std::collections::BTreeMap;

use halfpower_record::{HostPlace, HostShare, Record};
use halfpower_spec::{Direction, InOrder, JsonSchema, Workload, WorkloadOptions};
use serde::Serialize;

use super::rank_sum;
use crate::mean::median;

/// Probability that a study of equal hosts names any of them.
const FALSE_ALARM: f64 = 0.05;
/// Share of its peers' rate above which a host is not slow enough to be named.
const SLOW: f64 = 0.95;

/// A host that is slower than its peers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Straggler {
    /// Its rank.
    pub rank: u32,
    /// Its name.
    pub name: String,
    /// Which way the bytes go.
    pub rw: Direction,
    /// Its rate as a share of its peers': the median over the runs.
    pub of_peers: f64,
    /// Runs behind this.
    pub runs: usize,
    /// The probability that an equal host comes last this often, times the number of tested hosts and directions; at
    /// most 0.05.
    pub chance: f64,
    /// The same as `of_peers` with each host measured alone; `None` if they were not.
    pub alone_of_peers: Option<f64>,
    /// What else is different about it.
    pub evidence: Vec<HostEvidence>,
}

/// Stragglers, the slowest first, and whether the runs are enough to name any host.
pub(super) struct Found {
    pub stragglers: Vec<Straggler>,
    pub can_tell: bool,
}

/// Finds stragglers among `hosts`, with their names, in `together`; `records` has the runs that each host made alone.
pub(super) fn find(hosts: &[HostPlace], names: &[String], together: &[Together<'_>], records: &[Record]) -> Found {
    let tests = (hosts.len() * Direction::ALL.len()) as f64;
    let mut found = Found { stragglers: Vec::new(), can_tell: false };
    for rw in Direction::ALL.iter().copied() {
        let runs: Vec<&Together<'_>> = together.iter().filter(|run| run.is(rw)).collect();
        for (host, name) in hosts.iter().zip(names) {
            let seen: Vec<Seen> = runs.iter().filter_map(|run| run.host(host.rank)).collect();
            let counts: Vec<u32> = seen.iter().map(|seen| seen.hosts).collect();
            found.can_tell |= rank_sum::can_tell(&counts, FALSE_ALARM / tests);
            let of_peers = median(seen.iter().map(|seen| seen.of_peers).collect());
            if seen.is_empty() || of_peers > SLOW {
                continue;
            }
            let chance = rank_sum::probability(&counts, seen.iter().map(|seen| u64::from(seen.place)).sum()) * tests;
            if chance > FALSE_ALARM {
                continue;
            }
            found.stragglers.push(Straggler {
                rank: host.rank,
                name: name.clone(),
                rw,
                of_peers,
                runs: seen.len(),
                chance,
                alone_of_peers: alone_of_peers(records, host.rank, rw),
                evidence: evidence(hosts, host, &runs),
            });
        }
    }
    found.stragglers.order_by(|one, other| one.of_peers.total_cmp(&other.of_peers));
    found
}

/// A host's rate alone as a share of the median of the others' rates alone, at the same settings: the median over
/// settings.
fn alone_of_peers(records: &[Record], rank: u32, rw: Direction) -> Option<f64> {
    let of_rw = |record: &&Record| record.hosts.len() == 1 && record.run.workload.rw.direction() == Some(rw);
    let alone: Vec<&Record> = records.iter().filter(of_rw).collect();
    let (own, others): (Vec<&Record>, Vec<&Record>) = alone.iter().partition(|record| record.hosts[0].rank == rank);
    let rate = |record: &&Record| record.hosts[0].mbps();
    let share = |record: &&Record| {
        let alike = others.iter().filter(|other| settings(other) == settings(record));
        let peers = median(alike.map(rate).collect());
        (peers > 0.0).then(|| rate(record) / peers)
    };
    let shares: Vec<f64> = own.iter().filter_map(share).collect();
    (!shares.is_empty()).then(|| median(shares))
}

/// The workload without the host that it was meant for.
fn settings(record: &Record) -> Workload {
    let workload = record.run.workload;
    Workload { options: WorkloadOptions { hosts: None, ..workload.options }, ..workload }
}

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
    /// Others are active there: busy processors of its computer beyond the charge of all processes of the run there.
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
    let peers = |of: &dyn Fn(&[HostShare]) -> Vec<Option<f64>>| -> Option<(f64, f64)> {
        let pairs = runs.iter().filter_map(|run| {
            let shares = &run.record.hosts;
            let figures = of(shares);
            let (own, others): (Vec<_>, Vec<_>) =
                shares.iter().zip(figures).partition(|(share, _)| share.rank == host.rank);
            let own = own.into_iter().find_map(|(_, figure)| figure)?;
            let others: Vec<f64> = others.into_iter().filter_map(|(_, figure)| figure).collect();
            (!others.is_empty()).then(|| (own, median(others)))
        });
        let (own, others): (Vec<f64>, Vec<f64>) = pairs.unzip();
        (!own.is_empty()).then(|| (median(own), median(others)))
    };
    let link = link(hosts, host);
    let steal = peers(&|shares| shares.iter().map(|share| over(share.steal_ns, share.span_ns)).collect());
    let steal = steal.filter(|(own, peers)| own - peers >= STEAL);
    let other_work = peers(&|shares| other_work(hosts, shares)).filter(|(own, peers)| own - peers >= OTHERS);
    let tails = |shares: &[HostShare]| -> Vec<Option<f64>> {
        shares.iter().map(|share| over(share.latency_ns_p99?, share.latency_ns_p50?)).collect()
    };
    let tail = peers(&tails).filter(|(own, peers)| *own >= peers * TAIL);
    let found = [
        link,
        steal.map(|(share, peers)| HostEvidence::Steal { share, peers }),
        other_work.map(|(processors, peers)| HostEvidence::OtherWork { processors, peers }),
        tail.map(|(times_median, peers)| HostEvidence::Tail { times_median, peers }),
    ];
    found.into_iter().flatten().collect()
}

/// Processors that others keep busy on the computer of each of these processes: what is busy beyond the charge of all processes
/// of the run there.
fn other_work(hosts: &[HostPlace], shares: &[HostShare]) -> Vec<Option<f64>> {
    let named = hosts.iter().filter_map(|place| Some((place.rank, place.machine.hostname.as_deref()?)));
    let computers: BTreeMap<u32, &str> = named.collect();
    let mut charged_ns: BTreeMap<&str, u64> = BTreeMap::new();
    for (share, computer) in shares.iter().filter_map(|share| Some((share, computers.get(&share.rank)?))) {
        *charged_ns.entry(*computer).or_default() += share.charged_ns;
    }
    let of = |share: &HostShare| {
        let together_ns = computers.get(&share.rank).and_then(|computer| charged_ns.get(computer));
        over(share.busy_ns.saturating_sub(*together_ns.unwrap_or(&share.charged_ns)), share.span_ns)
    };
    shares.iter().map(of).collect()
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

/// A run that several hosts made, each compared with the others.
pub(super) struct Together<'a> {
    pub record: &'a Record,
    /// By rank; `None` for hosts that took no part.
    seen: Vec<Option<Seen>>,
}

/// One host among the others of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// Its rate as a share of the median of the others.
    pub of_peers: f64,
    /// Its place, from 1, the slowest; equally fast hosts all get the highest of their places.
    pub place: u32,
    /// Hosts of the run.
    pub hosts: u32,
}

impl<'a> Together<'a> {
    /// `None` if only one host made the run, if it is paced, or if a host moved nothing or had an error.
    pub fn of(record: &'a Record) -> Option<Self> {
        let shares = &record.hosts;
        let is_whole = shares.iter().all(|share| share.errors == 0 && share.mbps() > 0.0);
        if shares.len() < 2 || !is_whole || record.run.workload.rate.is_some() {
            return None;
        }
        let mut rates: Vec<f64> = shares.iter().map(HostShare::mbps).collect();
        rates.sort_by(f64::total_cmp);
        let ranks = shares.iter().map(|share| share.rank as usize + 1).max().unwrap_or(0);
        let mut seen = vec![None; ranks];
        for share in shares {
            let place = rates.partition_point(|rate| *rate <= share.mbps());
            let of_peers = share.mbps() / median_but_for(&rates, place - 1);
            let place = place as u32;
            let hosts = rates.len() as u32;
            seen[share.rank as usize] = Some(Seen { of_peers, place, hosts });
        }
        Some(Self { record, seen })
    }

    /// A host of the run; `None` if it took no part.
    pub fn host(&self, rank: u32) -> Option<Seen> {
        self.seen.get(rank as usize).copied().flatten()
    }

    pub fn is(&self, direction: Direction) -> bool {
        self.record.run.workload.rw.direction() == Some(direction)
    }
}

/// The median of sorted values without the one at this index; there are at least two.
fn median_but_for(sorted: &[f64], left_out: usize) -> f64 {
    let at = |place: usize| sorted[if place >= left_out { place + 1 } else { place }];
    let others = sorted.len() - 1;
    if others % 2 == 1 { at(others / 2) } else { (at(others / 2 - 1) + at(others / 2)) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_others_leaves_one_out() {
        assert_eq!(median_but_for(&[1.0, 2.0, 3.0], 0), 2.5);
        assert_eq!(median_but_for(&[1.0, 2.0, 3.0], 2), 1.5);
        assert_eq!(median_but_for(&[1.0, 2.0, 3.0, 9.0], 3), 2.0);
        assert_eq!(median_but_for(&[1.0, 2.0], 0), 2.0);
    }
}
