//! Checks that `network` returns what its records were made with.

use super::answer::NetworkAnswer;
use super::sealed::Sealed;
use crate::built::{disk, record_at};
use crate::section::ExperimentSection;
use crate::study_findings::analyse;
use crate::table::ExperimentAnswer;
use halfpower_record::{CpuTimes, Environment, FarBill, FarEnd, FarEndMachine, Latency, Record, Soaker, Tcp};
use halfpower_spec::{
    Bytes, Direction, EngineName, Experiment, Pass, Question, Rw, Sealing, Way, Workload, WorkloadOptions,
};

/// Round trip, and the server's time per request, in microseconds.
const ROUND_TRIP_US: f64 = 100.0;
const SERVER_US: f64 = 50.0;
/// Rate of the wire in MB/s.
const WIRE_MBPS: f64 = 112.0;
/// Processor time of the far end per byte, in nanoseconds.
const FAR_NS: f64 = 2.0;
/// For plain, signed and encrypted messages: share of the plain rate, and factor on the processor time at both ends.
const LEFT: [f64; 3] = [1.0, 0.8, 0.5];
const TIMES: [f64; 3] = [1.0, 1.5, 3.0];
/// Processor time charged at this end per plain byte, in nanoseconds.
const NEAR_NS: f64 = 1.0;

fn runs(rw: Rw, bs: u64, iodepth: u32, connections: u32) -> Vec<Record> {
    sealed_runs(rw, (bs, iodepth), connections, Sealing::AsAsked)
}

fn sealed_runs(rw: Rw, (bs, iodepth): (u64, u32), connections: u32, sealing: Sealing) -> Vec<Record> {
    let options = WorkloadOptions { connections, sealing, ..WorkloadOptions::default() };
    let (left, times) = (LEFT[sealing as usize], TIMES[sealing as usize]);
    let workload = Workload { rw, bs: Bytes(bs), iodepth, options, ..Workload::default() };
    let run = |repeat: u32| {
        let alone = ROUND_TRIP_US + SERVER_US;
        let mbps = left * WIRE_MBPS.min(f64::from(iodepth) * bs as f64 / alone) * (1.0 + 0.002 * f64::from(repeat));
        let mut record = record_at(&disk(""), workload, repeat, Pass::Plain, mbps * 1e6);
        record.engine = EngineName::Smb;
        record.run.experiment = Some(Experiment::Network);
        record.latency = Latency::default();
        (0..10).for_each(|_| record.latency.add((alone * 1e3) as u64));
        let least_round_trip_ns = (ROUND_TRIP_US * 1e3) as u64;
        record.tcp = Some(Box::new(Tcp { connections: connections.into(), least_round_trip_ns, ..Tcp::default() }));
        (record.cpu.user_ns, record.cpu.system_ns) = (0, (times * NEAR_NS * record.bytes as f64) as u64);
        let cpu = CpuTimes { system_ns: (times * FAR_NS * record.bytes as f64) as u64, ..CpuTimes::default() };
        let bill = FarBill { span_ns: record.elapsed_ns, machine: vec![cpu; 1], ..FarBill::default() };
        record.far_end = Some(Box::new(FarEnd { bill, ..FarEnd::default() }));
        record
    };
    (0..3).map(run).collect()
}

#[test]
fn rates_half_power_round_trips_and_bills_are_recovered() {
    let mut records = Vec::new();
    for rw in [Rw::Read, Rw::Write] {
        for bs in [2 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20] {
            records.extend([1, 8].into_iter().flat_map(|depth| runs(rw, bs, depth, 1)));
        }
    }
    for connections in [1, 4] {
        records.extend(runs(Rw::Read, 64 << 10, 32, connections));
    }
    let question = Question { experiments: vec![Experiment::Network], ..Question::about("d") };
    let found = analyse(&question, &Environment::default(), &records);
    let section = &found.experiments[0];
    let Some(ExperimentAnswer::Network(answer)) = &section.found else { panic!("{section:?}") };
    let read = answer.directions.iter().find(|direction| direction.rw == Direction::Read).unwrap();
    assert!((read.mbps / WIRE_MBPS - 1.0).abs() < 0.01, "{read:?}");
    let halves: Vec<(u32, u64)> = read.half_power.iter().map(|half| (half.iodepth, half.bs_bytes)).collect();
    // 16 KiB per 150 us is 109 MB/s, and so is 2 KiB at depth 8.
    assert_eq!(halves, [(1, 16 << 10), (8, 2 << 10)]);
    assert!((read.round_trips.unwrap() - 1.5).abs() < 0.02, "{read:?}");
    assert!((read.far_ms_per_mb.unwrap() - FAR_NS).abs() < 0.05, "{read:?}");
    assert!(answer.connections[0].times.is_alike(), "{answer:?}");
    assert!(
        section.answer.contains("Reads reach 112 MB/s") && section.answer.contains("1.5 round trips"),
        "{section:?}"
    );
    assert!(section.answer.contains("32 reads in flight over 4 connections are as fast as over one"), "{section:?}");
    assert_eq!((found.rows.network.network.len(), section.pictures.len()), (26, 2));
}

/// The section for 1 MiB and 4 KiB requests: default, signed and encrypted. `unavailable` lists what the server
/// refuses.
fn sealed_section(unavailable: &[&str]) -> (ExperimentSection, NetworkAnswer) {
    let mut records = Vec::new();
    for (shape, sealing) in
        [(1 << 20, 8), (4 << 10, 1)].into_iter().flat_map(|shape| Sealing::ALL.iter().map(move |of| (shape, *of)))
    {
        records.extend(sealed_runs(Rw::Read, shape, 1, sealing));
    }
    let question = Question { experiments: vec![Experiment::Network], ..Question::about("d") };
    let mut environment = Environment::default();
    let reasons = unavailable.iter().map(|word| (format!("sealing {word}"), "so it is".to_string()));
    environment.capabilities.unavailable = reasons.collect();
    let section = analyse(&question, &environment, &records).experiments.remove(0);
    let Some(ExperimentAnswer::Network(answer)) = section.found.clone() else { panic!("{section:?}") };
    (section, answer)
}

#[test]
fn what_signing_and_encryption_cost_is_recovered() {
    let (section, answer) = sealed_section(&[]);
    assert_eq!(answer.sealing.len(), 4, "{answer:?}");
    for cost in &answer.sealing {
        let which = if cost.sealed == Sealed::Signed { 1 } else { 2 };
        assert_eq!(cost.than, Sealed::Plain);
        assert!((cost.times.interval.value / LEFT[which] - 1.0).abs() < 0.01 && cost.times.is_less(), "{cost:?}");
        let (near, far) = (cost.near.unwrap(), cost.far.unwrap());
        assert!((near.ms / near.than_ms / TIMES[which] - 1.0).abs() < 0.02, "{cost:?}");
        assert!((far.than_ms - FAR_NS).abs() < 0.05 && (far.ms - TIMES[which] * FAR_NS).abs() < 0.1, "{cost:?}");
    }
    for words in [
        "Encrypted reads have 0.50 times (0.50 to 0.50) the rate of plain ones with 1 MiB 8 deep, 0.50 times",
        "a MB in 1 MiB costs 3.0 instead of 1.0 ms of processor time here, 6.0 instead of 2.0 there.",
    ] {
        assert!(section.answer.contains(words), "{}", section.answer);
    }
    let titles: Vec<&str> = section.pictures.iter().map(|picture| picture.title.as_str()).collect();
    assert!(titles.contains(&"Throughput by sealing"), "{titles:?}");
    // The share's rates come from unsealed messages only.
    assert!((answer.directions[0].mbps / WIRE_MBPS - 1.0).abs() < 0.01, "{answer:?}");
}

#[test]
fn where_signatures_are_required_encryption_is_held_against_them() {
    let (section, answer) = sealed_section(&["plain"]);
    assert!(answer.sealing.iter().all(|cost| (cost.sealed, cost.than) == (Sealed::Encrypted, Sealed::Signed)));
    assert_eq!(answer.sealing.len(), 2);
    assert!(section.answer.contains("the rate of signed ones") && !section.answer.contains("plain"), "{section:?}");
}

#[test]
fn the_three_ways_are_told_with_what_a_byte_costs_by_each() {
    // For each way: rate over that of the wire, and the soaker's loss per byte at the sending machine, in nanoseconds.
    let truth = [(Way::Local, 10.0, 1.2), (Way::SameMachine, 4.0, 1.5), (Way::Wire, 1.0, 1.3)];
    let mut records = Vec::new();
    for (way, times, near_ns) in truth {
        for bs in [64 << 10, 1 << 20] {
            for mut record in runs(Rw::Read, bs, 8, 1) {
                record.run.workload.options.way = way;
                record.elapsed_ns = (record.elapsed_ns as f64 / times) as u64;
                if way != Way::Wire {
                    (record.far_end, record.tcp) = (None, None);
                }
                let mut soaked = record.clone();
                soaked.run.pass = Pass::Soaker;
                let lost_ns = (near_ns * record.bytes as f64) as u64;
                soaked.cpu.soaker = Some(Soaker { lost_ns, baseline_share: 1.0 });
                records.extend([record, soaked]);
            }
        }
    }
    let question = Question { experiments: vec![Experiment::Network], ..Question::about("d") };
    let far_end = Some(FarEndMachine { ways: vec![Way::Local, Way::SameMachine], ..FarEndMachine::default() });
    let environment = Environment { far_end, ..Environment::default() };
    let section = analyse(&question, &environment, &records).experiments.remove(0);
    let Some(ExperimentAnswer::Network(answer)) = &section.found else { panic!("{section:?}") };
    assert_eq!(answer.ways.len(), 3, "{answer:?}");
    for (found, (way, times, near_ns)) in answer.ways.iter().zip(truth) {
        assert_eq!((found.rw, found.way), (Direction::Read, way));
        assert!((found.mbps / (times * WIRE_MBPS) - 1.0).abs() < 0.01, "{found:?}");
        let bill = found.bill.unwrap();
        assert!((bill.ms_per_mb - near_ns).abs() < 0.02, "{found:?}");
        assert_eq!(bill.far_ms_per_mb.is_some(), way == Way::Wire);
        assert!(bill.far_ms_per_mb.is_none_or(|far| (far - FAR_NS).abs() < 0.05), "{found:?}");
    }
    assert!(
        (answer.directions[0].mbps / WIRE_MBPS - 1.0).abs() < 0.01,
        "the share's rate is over the wire: {answer:?}"
    );
    assert!(section.answer.contains("MB/s locally at the server, "), "{}", section.answer);
    assert!(
        section.answer.contains("112 MB/s over the wire; a MB costs, in ms of processor time, 1.2 locally"),
        "{}",
        section.answer
    );
    assert!(section.pictures.iter().any(|picture| picture.title.contains("by way")));
}
