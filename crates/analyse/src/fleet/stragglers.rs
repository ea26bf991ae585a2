//! Finds hosts that are slower than their peers by more than chance.

use halfpower_record::{HostPlace, Record};
use halfpower_spec::{Direction, Workload, WorkloadOptions};
use schemars::JsonSchema;
use serde::Serialize;

use super::evidence::{HostEvidence, evidence};
use super::rank_sum;
use super::together::{Seen, Together};
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
    found.stragglers.sort_by(|one, other| one.of_peers.total_cmp(&other.of_peers));
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
