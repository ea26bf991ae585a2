//! Measures `hosts`: the throughput that each further host adds, and each host alone.
//!
//! The plan: one host, two and more at once, and each host alone.

mod analysis;
pub(crate) mod words;

use halfpower_spec::{Bytes, Direction, Hosts, Pattern, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::HostsAnswer as Answer;
pub use analysis::*;

/// Block size of a stream. Even at 100 Mbit/s, all outstanding blocks complete within a short window.
const SEQUENTIAL_BLOCK: Bytes = Bytes(256 << 10);
/// Block size of random requests.
const RANDOM_BLOCK: Bytes = Bytes(4 << 10);
/// Requests outstanding per host, enough to keep the host's own path busy nearly all the time.
const SEQUENTIAL_DEPTH: u32 = 16;
const RANDOM_DEPTH: u32 = 16;
/// Every count of hosts up to this one is measured; above it, powers of two, the counts halfway between, and all hosts.
const ONE_BY_ONE: u32 = 8;
/// Most hosts that are measured alone, evenly spread over all.
const ALONE: u32 = 16;

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    let hosts = ask.environment.hosts.len() as u32;
    if hosts < 2 {
        return Err("there is one host: start it on several, as in mpirun -n 4 halfpower study".to_string());
    }
    let sets: Vec<Hosts> = alone(hosts).chain(counts(hosts).map(Hosts::first)).collect();
    let cell = |(hosts, pattern, bs, depth, rw): (Hosts, Pattern, Bytes, u32, Direction)| {
        let of_all = ask.workload(pattern, rw, bs, depth);
        let options = WorkloadOptions { hosts: Some(hosts), ..of_all.options };
        PlannedCell::plain(Workload { options, ..of_all })
    };
    let streams = sets.iter().map(|set| (*set, Pattern::Sequential, SEQUENTIAL_BLOCK, SEQUENTIAL_DEPTH));
    let random = counts(hosts).map(Hosts::first).map(|set| (set, Pattern::Random, RANDOM_BLOCK, RANDOM_DEPTH));
    let first_alone = (Hosts::only(0), Pattern::Random, RANDOM_BLOCK, RANDOM_DEPTH);
    let kinds = streams.chain([first_alone]).chain(random);
    let cells =
        kinds.flat_map(|(set, pattern, bs, depth)| Direction::ALL.iter().map(move |rw| (set, pattern, bs, depth, *rw)));
    let missing = if hosts > ALONE {
        vec![format!("{ALONE} of {hosts} hosts are measured alone, evenly among all; the others only together")]
    } else {
        Vec::new()
    };
    Ok(Plan { cells: cells.map(cell).collect(), missing })
}

/// The counts of hosts at once, from two.
fn counts(hosts: u32) -> impl Iterator<Item = u32> {
    let is_told = move |n: &u32| {
        *n <= ONE_BY_ONE || n.is_power_of_two() || (n.is_multiple_of(3) && (n / 3).is_power_of_two()) || *n == hosts
    };
    (2..=hosts).filter(is_told)
}

/// Each host alone; of many hosts, the first, the last, and an even selection between them.
fn alone(hosts: u32) -> impl Iterator<Item = Hosts> {
    let reported = hosts.min(ALONE);
    (0..reported).map(move |place| {
        let rank = u64::from(place) * u64::from(hosts - 1) / u64::from((reported - 1).max(1));
        Hosts::only(rank as u32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_hosts_are_measured_one_by_one_and_many_by_doubling() {
        assert_eq!(counts(4).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(counts(40).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 40]);
        assert_eq!(alone(3).collect::<Vec<_>>(), [0, 1, 2].map(Hosts::only));
        let many: Vec<Hosts> = alone(1000).collect();
        assert_eq!((many.len(), many[0], many[15]), (16, Hosts::only(0), Hosts::only(999)));
    }
}
