//! Compares the hosts that measured together, and finds those slower than their peers by more than chance.
//!
//! Within a run, each host is compared with the median of the others, so what the runs share (block size, depth, a
//! shared path) drops out. A host is a straggler if it comes last too often to be chance ([`rank_sum`]) and is slower
//! by enough to matter. The error level is divided over all hosts and directions (Bonferroni), so a study of equal
//! hosts names none of them in at least 95 of 100 cases, however many hosts there are.

mod rank_sum;
mod stragglers;

use std::collections::{BTreeMap, BTreeSet};

use halfpower_record::{Environment, HostPlace, Record};
use halfpower_spec::{Experiment, JsonSchema};
use serde::Serialize;

pub use stragglers::{HostEvidence, Straggler};

use crate::mean::median;
use stragglers::Together;

/// Most runs on the map of hosts and runs, and most hosts times runs: the map of a thousand hosts has 40 runs.
const MAPPED_RUNS: usize = 128;
const MAPPED: usize = 40_000;

/// Findings on hosts that measured together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FleetFinding {
    /// The hosts, in the order of their ranks.
    pub hosts: Vec<FleetHost>,
    /// Their computers; each process without a name counts as one.
    pub computers: usize,
    /// Runs that several of them made together.
    pub runs: usize,
    /// Runs on the map: all, or every n-th of them, at most 128 and at most 40,000 / hosts.
    pub map: Vec<FleetRun>,
    /// Hosts slower than their peers by more than chance, the slowest first.
    pub stragglers: Vec<Straggler>,
    /// Whether there were enough runs to name any host.
    pub can_tell: bool,
}

/// A host of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FleetHost {
    /// Its rank.
    pub rank: u32,
    /// Its name, with its rank if several processes are on one computer.
    pub name: String,
    /// Its rate as a share of the median of the others in the same run: the median over its runs; `None` if it never
    /// measured with others.
    pub of_peers: Option<f64>,
}

/// A run of several hosts: a column of the map.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FleetRun {
    /// The plan that it belongs to.
    pub experiment: Option<Experiment>,
    /// The workload asked for, as flags.
    pub workload: String,
    /// Each host's rate in percent of the median of the others, by rank; null if it took no part.
    pub percent_of_peers: Vec<Option<u32>>,
}

impl FleetFinding {
    /// Hosts that are slower than their peers in either direction.
    pub fn slow_hosts(&self) -> usize {
        self.stragglers.iter().map(|straggler| straggler.rank).collect::<BTreeSet<_>>().len()
    }
}

/// Findings on the hosts; `None` if one process measured.
pub(crate) fn fleet(environment: &Environment, records: &[Record]) -> Option<FleetFinding> {
    let places = &environment.hosts;
    if places.len() < 2 {
        return None;
    }
    let together: Vec<Together<'_>> = records.iter().filter_map(Together::of).collect();
    let names = names(places);
    let of_peers = |rank: u32| {
        let shares: Vec<f64> = together.iter().filter_map(|run| run.host(rank)).map(|seen| seen.of_peers).collect();
        (!shares.is_empty()).then(|| median(shares))
    };
    let host = |(place, name): (&HostPlace, &String)| FleetHost {
        rank: place.rank,
        name: name.clone(),
        of_peers: of_peers(place.rank),
    };
    let stragglers::Found { stragglers, can_tell } = stragglers::find(places, &names, &together, records);
    Some(FleetFinding {
        hosts: places.iter().zip(&names).map(host).collect(),
        computers: computers(places),
        runs: together.len(),
        map: map(&together, places),
        stragglers,
        can_tell,
    })
}

fn computers(places: &[HostPlace]) -> usize {
    let name = |place: &HostPlace| place.machine.hostname.clone().unwrap_or_else(|| format!("rank {}", place.rank));
    places.iter().map(name).collect::<BTreeSet<_>>().len()
}

/// Such as `node7`, or `node7 (rank 3)` if several processes run there; `rank 3` without a name.
fn names(places: &[HostPlace]) -> Vec<String> {
    let mut processes = BTreeMap::new();
    for name in places.iter().filter_map(|place| place.machine.hostname.as_deref()) {
        *processes.entry(name).or_insert(0) += 1;
    }
    let name = |place: &HostPlace| match place.machine.hostname.as_deref() {
        None => format!("rank {}", place.rank),
        Some(name) if processes[name] > 1 => format!("{name} (rank {})", place.rank),
        Some(name) => name.to_string(),
    };
    places.iter().map(name).collect()
}

fn map(together: &[Together<'_>], places: &[HostPlace]) -> Vec<FleetRun> {
    let most = (MAPPED / places.len().max(1)).clamp(1, MAPPED_RUNS);
    let step = together.len().div_ceil(most).max(1);
    let column = |run: &Together<'_>| {
        let percent = |place: &HostPlace| {
            let of_peers = run.host(place.rank)?.of_peers;
            Some((of_peers * 100.0).round().clamp(0.0, 9999.0) as u32)
        };
        let of = &run.record.run;
        FleetRun {
            experiment: of.experiment,
            workload: of.workload.to_string(),
            percent_of_peers: places.iter().map(percent).collect(),
        }
    };
    together.iter().step_by(step).map(column).collect()
}
