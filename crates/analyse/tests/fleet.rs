//! Checks that slow hosts are found, that equal hosts are not named, and how often one is named by chance.

use std::collections::BTreeMap;

use crate::built::{disk, normal, question, record_at, study, workload};
use halfpower_analyse::{FleetFinding, HostEvidence, MeasuredCeilings, StoppedBy, analyse};
use halfpower_record::{Environment, HostLink, HostPlace, HostShare, Machine, Record, Soaker};
use halfpower_spec::{Cache, Direction, Hosts, Pass, Rw, WorkloadOptions};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Factor by which a host's rate differs from run to run.
type Noise = fn(&mut Xoshiro256PlusPlus) -> f64;

const NOISES: [(&str, Noise); 3] = [
    ("normal, 10%", |random| (1.0 + 0.1 * normal(random)).max(0.05)),
    (
        "now and then half the rate",
        |random| if random.random::<f64>() < 0.05 { 0.5 } else { 1.0 + 0.02 * normal(random) },
    ),
    ("long tails", |random| (0.2 * normal(random)).exp() / (1.0 + random.random::<f64>().powi(8))),
];

fn places(hosts: u32) -> Vec<HostPlace> {
    let machine = |rank| Machine { hostname: Some(format!("node{rank}")), cpus: 2, ..Machine::default() };
    (0..hosts).map(|rank| HostPlace { rank, machine: machine(rank), ..HostPlace::default() }).collect()
}

/// Runs in which host `rank` has `factors[rank]` times the rate of the others (1 if absent); half of them are reads.
fn records(hosts: u32, runs: u32, factors: &BTreeMap<u32, f64>, noise: Noise, seed: u64) -> Vec<Record> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let disk = disk("");
    let of_run = |run: u32, random: &mut Xoshiro256PlusPlus| {
        let rw = if run.is_multiple_of(2) { Rw::Read } else { Rw::Write };
        let bs_kib = [4, 64, 1024][run as usize / 2 % 3];
        let record = record_at(&disk, workload(rw, Cache::Device, bs_kib, 8), run, Pass::Plain, 100e6);
        let share = |rank: u32, random: &mut Xoshiro256PlusPlus| {
            let bytes = 1e8 * factors.get(&rank).copied().unwrap_or(1.0) * noise(random);
            HostShare {
                rank,
                elapsed_ns: 1_000_000_000,
                bytes: bytes as u64,
                ios: 100,
                span_ns: 1_000_000_000,
                ..HostShare::default()
            }
        };
        Record { hosts: (0..hosts).map(|rank| share(rank, random)).collect(), ..record }
    };
    (0..runs).map(|run| of_run(run, &mut random)).collect()
}

fn fleet(hosts: Vec<HostPlace>, records: &[Record]) -> FleetFinding {
    let environment = Environment { hosts, ..Environment::default() };
    analyse(&question(), &environment, records, &MeasuredCeilings::default()).fleet.expect("there are hosts")
}

fn named(found: &FleetFinding) -> Vec<u32> {
    let mut ranks: Vec<u32> = found.stragglers.iter().map(|straggler| straggler.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

#[test]
fn a_host_at_half_its_rate_is_named_in_every_trial() {
    for (hosts, runs) in [(4, 16), (64, 8), (1024, 8)] {
        for (what, noise) in NOISES {
            for seed in 0..if hosts > 64 { 2 } else { 20 } {
                let found = fleet(places(hosts), &records(hosts, runs, &BTreeMap::from([(2, 0.5)]), noise, seed));
                assert_eq!(named(&found), [2], "{hosts} hosts, {what}, seed {seed}: {:?}", found.stragglers);
                assert_eq!(found.stragglers[0].name, "node2");
            }
        }
    }
}

/// Studies of equal hosts, among `trials`, that name any of them.
fn false_alarms(hosts: u32, runs: u32, noise: Noise, trials: u64) -> usize {
    let names_any =
        |seed: &u64| !named(&fleet(places(hosts), &records(hosts, runs, &BTreeMap::new(), noise, *seed))).is_empty();
    (0..trials).filter(names_any).count()
}

/// Upper bound for false alarms: the nominal probability plus three standard errors of this many trials.
fn most(trials: u64) -> usize {
    let trials = trials as f64;
    (0.05 * trials + 3.0 * (0.05 * 0.95 * trials).sqrt()) as usize
}

#[test]
fn alike_hosts_are_seldom_named() {
    for (hosts, runs, trials) in [(2, 24, 60), (4, 16, 60), (64, 12, 30), (1024, 10, 4)] {
        for (what, noise) in NOISES {
            let alarms = false_alarms(hosts, runs, noise, trials);
            assert!(alarms <= most(trials), "{hosts} hosts, {what}: {alarms} of {trials}");
        }
    }
}

#[test]
fn few_runs_name_nobody_and_say_so() {
    let found = fleet(places(4), &records(4, 4, &BTreeMap::from([(1, 0.3)]), NOISES[0].1, 1));
    assert_eq!((named(&found), found.can_tell), (vec![], false));
    let found = fleet(places(4), &records(4, 8, &BTreeMap::from([(1, 0.3)]), NOISES[0].1, 1));
    assert_eq!((named(&found), found.can_tell), (vec![1], true));
}

#[test]
fn a_host_that_is_always_a_little_slower_is_not_worth_a_name() {
    let exact: Noise = |_| 1.0;
    let found = fleet(places(4), &records(4, 24, &BTreeMap::from([(3, 0.97)]), exact, 1));
    assert_eq!((named(&found), found.can_tell), (vec![], true));
    assert_eq!(found.hosts[3].of_peers.map(|share| (share * 100.0).round()), Some(97.0));
    assert_eq!(named(&fleet(places(4), &records(4, 24, &BTreeMap::new(), exact, 1))), [] as [u32; 0], "all are equal");
}

#[test]
fn what_is_different_about_a_slow_host_stands_beside_it() {
    let mut places = places(4);
    for (rank, place) in places.iter_mut().enumerate() {
        let bits_per_second = Some(if rank == 1 { 100_000_000 } else { 1_000_000_000 });
        place.link = Some(HostLink { interface: "eth0".to_string(), bits_per_second });
    }
    let mut records = records(4, 16, &BTreeMap::from([(1, 0.5)]), NOISES[0].1, 3);
    for share in records.iter_mut().flat_map(|record| &mut record.hosts) {
        let slow = share.rank == 1;
        share.steal_ns = if slow { 100_000_000 } else { 0 };
        (share.busy_ns, share.charged_ns) = (if slow { 1_500_000_000 } else { 100_000_000 }, 50_000_000);
        (share.latency_ns_p50, share.latency_ns_p99) =
            (Some(1_000_000), Some(if slow { 20_000_000 } else { 2_000_000 }));
    }
    let found = fleet(places, &records);
    let evidence = &found.stragglers[0].evidence;
    assert!(
        evidence.contains(&HostEvidence::Link { bits_per_second: 100_000_000, peers: 1_000_000_000 }),
        "{evidence:?}"
    );
    assert!(evidence.contains(&HostEvidence::Steal { share: 0.1, peers: 0.0 }), "{evidence:?}");
    assert!(evidence.contains(&HostEvidence::OtherWork { processors: 1.45, peers: 0.05 }), "{evidence:?}");
    assert!(evidence.contains(&HostEvidence::Tail { times_median: 20.0, peers: 2.0 }), "{evidence:?}");
}

#[test]
fn another_process_of_the_run_on_the_same_computer_is_no_other_work() {
    let mut places = places(4);
    places[1].machine.hostname = places[0].machine.hostname.clone();
    let mut records = records(4, 16, &BTreeMap::from([(0, 0.5)]), NOISES[0].1, 3);
    for share in records.iter_mut().flat_map(|record| &mut record.hosts) {
        share.charged_ns = 600_000_000;
        share.busy_ns = if share.rank < 2 { 1_250_000_000 } else { 650_000_000 };
    }
    let is_other_work = |evidence: &HostEvidence| matches!(evidence, HostEvidence::OtherWork { .. });
    let found = fleet(places, &records);
    assert_eq!(named(&found), [0]);
    assert!(!found.stragglers[0].evidence.iter().any(is_other_work), "{:?}", found.stragglers);
    for share in records.iter_mut().flat_map(|record| &mut record.hosts).filter(|share| share.rank < 2) {
        share.busy_ns += 500_000_000;
    }
    let mut places = self::places(4);
    places[1].machine.hostname = places[0].machine.hostname.clone();
    assert!(fleet(places, &records).stragglers[0].evidence.iter().any(is_other_work));
}

#[test]
fn what_each_host_gives_alone_tells_a_slow_host_from_a_shared_path() {
    let mut all = records(3, 24, &BTreeMap::from([(0, 0.6)]), NOISES[0].1, 5);
    for (rank, mbps) in [(0, 100e6), (1, 100e6), (2, 98e6)] {
        let mut record = records(1, 1, &BTreeMap::new(), |_| 1.0, 1).remove(0);
        record.hosts = vec![HostShare { rank, elapsed_ns: 1_000_000_000, bytes: mbps as u64, ..HostShare::default() }];
        record.run.workload.options = WorkloadOptions { hosts: Some(Hosts::only(rank)), ..WorkloadOptions::default() };
        all.push(record);
    }
    let found = fleet(places(3), &all);
    let reads = found.stragglers.iter().find(|slow| slow.rw == Direction::Read).expect("host 0 is slow");
    assert_eq!((reads.rank, reads.alone_of_peers.map(|share| (share * 100.0).round())), (0, Some(101.0)));
}

/// What the soakers of several computers lost is added up, and so are their processors.
#[test]
fn computers_at_a_third_of_their_processors_are_not_full() {
    let question = question();
    let mut records = study(&disk("fixed=80us,rate=1GB/s,disks=8,shared=1050MB/s"), &question);
    for record in records.iter_mut().filter(|record| record.run.pass == Pass::Soaker) {
        // Four computers of two processors, each of which loses 0.6 of one.
        record.cpu.soaker = Some(Soaker { lost_ns: record.elapsed_ns * 24 / 10, baseline_share: 1.0 });
    }
    let stopped = |hosts: Vec<HostPlace>| {
        let machine = Machine { hostname: Some("node0".to_string()), cpus: 2, ..Machine::default() };
        let environment = Environment { machine, hosts, ..Environment::default() };
        analyse(&question, &environment, &records, &MeasuredCeilings::default()).bottleneck.stopped_by
    };
    let is_full = |stop: &StoppedBy| matches!(stop, StoppedBy::FullProcessor { .. });
    assert!(is_full(&stopped(places(1))), "one computer would be full");
    let of_four = stopped(places(4));
    assert!(!is_full(&of_four), "{of_four:?}");
}

#[test]
fn the_map_of_many_runs_stays_small() {
    let found = fleet(places(8), &records(8, 400, &BTreeMap::new(), NOISES[0].1, 1));
    assert!(found.map.len() <= 128 && found.map.len() >= 64, "{}", found.map.len());
    assert_eq!((found.runs, found.map[0].percent_of_peers.len()), (400, 8));
}

/// What the laboratory runs.
mod lab {
    use super::*;

    #[test]
    #[ignore = "lab: a thousand studies of each size"]
    fn alike_hosts_are_seldom_named() {
        for (hosts, runs, trials) in [(4, 16, 1000), (64, 12, 1000), (1024, 10, 300)] {
            for (what, noise) in NOISES {
                let alarms = false_alarms(hosts, runs, noise, trials);
                println!("| {hosts} | {what} | {alarms} of {trials} |");
                assert!(alarms <= most(trials), "{hosts} hosts, {what}: {alarms} of {trials}");
            }
        }
    }
}
