//! Checks that `hosts` finds the number of hosts from which a shared path is the limit, and which part of the path it
//! is.

use halfpower_analyse::LevelKind;
use halfpower_record::{CpuTimes, DiskUse, Environment, FarBill, FarEnd, HostPlace, Machine, Record};
use halfpower_spec::{Cache, Experiment, Hosts, Pass, Question, Run, Rw, Workload, WorkloadOptions};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::answer::{HostsVerdict, SharedPart};
use crate::built::{disk, normal, record_at};
use crate::plan::PlanRequest;
use crate::study_findings::{StudyFindings, analyse};
use crate::table::{ExperimentAnswer, plan};

const PATIENT: u64 = 1_000_000_000;

fn environment(hosts: u32) -> Environment {
    let machine = |rank| Machine { hostname: Some(format!("node{rank}")), ..Machine::default() };
    let place = |rank| HostPlace { rank, machine: machine(rank), ..HostPlace::default() };
    Environment { hosts: (0..hosts).map(place).collect(), ..Environment::default() }
}

/// Sequential reads: each host alone at these rates, and the first two, three and so on behind a path of `shared` MB/s.
fn records(alone: &[f64], shared: f64, scatter: f64, far_end: Option<&FarEnd>) -> Vec<Record> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut cells: Vec<(Hosts, f64)> =
        (0..).zip(alone).map(|(rank, mbps)| (Hosts::only(rank), mbps.min(shared))).collect();
    cells.extend((2..=alone.len()).map(|n| (Hosts::first(n as u32), alone[..n].iter().sum::<f64>().min(shared))));
    let mut records = Vec::new();
    for (hosts, mbps) in cells {
        let options = WorkloadOptions { hosts: Some(hosts), ..WorkloadOptions::default() };
        let workload = Workload { options, ..crate::built::workload(Rw::Read, Cache::Device, 256, 16) };
        for repeat in 0..3 {
            let rate = mbps * 1e6 * (1.0 + scatter * normal(&mut random));
            let record = record_at(&disk(""), workload, repeat, Pass::Plain, rate);
            let run = Run { experiment: Some(Experiment::Hosts), ..record.run };
            records.push(Record { run, far_end: far_end.map(|far| Box::new(far.clone())), ..record });
        }
    }
    records
}

fn found(alone: &[f64], shared: f64, scatter: f64, far_end: Option<&FarEnd>) -> StudyFindings {
    let question = Question { experiments: vec![Experiment::Hosts], ..Question::about("d") };
    analyse(&question, &environment(alone.len() as u32), &records(alone, shared, scatter, far_end))
}

fn answer(found: &StudyFindings) -> &super::answer::HostsAnswer {
    match &found.experiments[0].found {
        Some(ExperimentAnswer::Hosts(answer)) => answer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_third_host_of_100_mbit_meets_the_wire_of_250() {
    let found = found(&[11.9; 4], 29.8, 0.01, None);
    let kind = &answer(&found).kinds[0];
    let over = kind.taken_over.as_ref().expect("the wire takes over");
    assert_eq!((kind.verdict, over.n, over.before_n), (HostsVerdict::Stopped, 3, 2));
    assert!((over.ceiling_mbps - 29.8).abs() < 0.6, "{over:?}");
    assert_eq!(over.by, SharedPart::Unknown);
    let text = &found.experiments[0].answer;
    assert!(text.contains("from host 3 on a shared path takes over") && text.contains("--far-end"), "{text}");
    let shared = found.levels.iter().find(|level| level.id.kind == LevelKind::SharedPath);
    assert!(shared.is_some(), "the path's table has it: {:?}", found.levels);
}

#[test]
fn hosts_that_bring_what_they_have_share_nothing() {
    let found = found(&[50.0, 25.0, 50.0, 40.0], 1e6, 0.01, None);
    let kind = &answer(&found).kinds[0];
    assert_eq!((kind.verdict, kind.taken_over.is_none()), (HostsVerdict::Scale, true));
    let row = found.rows.hosts.hosts.last().expect("all four");
    assert!((row.of_alone - 1.0).abs() < 0.03, "a slow host is no shared path: {row:?}");
    assert_eq!(found.rows.hosts.hosts_alone.len(), 4);
}

#[test]
fn a_witness_tells_wire_disk_and_processors_apart() {
    let busy = |share: f64| CpuTimes { user_ns: (share * PATIENT as f64) as u64, ..CpuTimes::default() };
    let disk = |busy_ns| DiskUse { name: "sdb".to_string(), busy_ns, ..DiskUse::default() };
    let far = |share, busy_ns| {
        let (machine, disks) = (vec![busy(share); 2], vec![disk(busy_ns)]);
        FarEnd { bill: FarBill { span_ns: PATIENT, machine, disks, ..FarBill::default() }, ..FarEnd::default() }
    };
    let part = |far: &FarEnd| {
        let found = found(&[11.9; 4], 29.8, 0.0, Some(far));
        answer(&found).kinds[0].taken_over.as_ref().expect("it takes over").by.clone()
    };
    assert_eq!(part(&far(0.2, PATIENT / 10)), SharedPart::FarWire);
    assert_eq!(part(&far(0.97, PATIENT / 10)), SharedPart::FarProcessors { share: 0.97 });
    assert!(matches!(part(&far(0.2, PATIENT)), SharedPart::FarDisk { share: 1.0, .. }));
}

#[test]
fn scatter_is_no_shared_path() {
    let found = found(&[11.9; 4], 46.0, 0.15, None);
    assert!(answer(&found).kinds[0].taken_over.is_none(), "{:?}", answer(&found));
}

#[test]
fn the_plan_has_each_host_alone_and_so_many_at_once() {
    let question = Question { experiments: vec![Experiment::Hosts], ..Question::about("d") };
    let cells = |hosts| plan(Experiment::Hosts, &PlanRequest { question: &question, environment: &environment(hosts) });
    let four = cells(4).expect("there are four");
    // Sequential: 4 alone, and 2, 3 and 4 at once. Random: 1, 2, 3 and 4. Each is read and written.
    assert_eq!(four.len(), (4 + 3 + 4) * 2);
    assert!(cells(1).is_err_and(|why| why.contains("mpirun")));
    assert!(cells(1000).expect("many").len() < 120);
}
