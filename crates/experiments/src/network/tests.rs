//! Checks that `network` returns what its records were made with.

use crate::built::{disk, record_at};
use crate::study_findings::analyse;
use crate::table::ExperimentAnswer;
use halfpower_record::{CpuTimes, Environment, FarBill, FarEnd, Latency, Record, Tcp};
use halfpower_spec::{Bytes, Direction, EngineName, Experiment, Pass, Question, Rw, Workload, WorkloadOptions};

/// A round trip, and what the server takes for a request, in microseconds.
const ROUND_TRIP_US: f64 = 100.0;
const SERVER_US: f64 = 50.0;
/// The wire.
const WIRE_MBPS: f64 = 112.0;
/// What the far end spends on a byte, in nanoseconds.
const FAR_NS: f64 = 2.0;

fn runs(rw: Rw, bs: u64, iodepth: u32, connections: u32) -> Vec<Record> {
    let options = WorkloadOptions { connections, ..WorkloadOptions::default() };
    let workload = Workload { rw, bs: Bytes(bs), iodepth, options, ..Workload::default() };
    let run = |repeat: u32| {
        let alone = ROUND_TRIP_US + SERVER_US;
        let mbps = WIRE_MBPS.min(f64::from(iodepth) * bs as f64 / alone) * (1.0 + 0.002 * f64::from(repeat));
        let mut record = record_at(&disk(""), workload, repeat, Pass::Plain, mbps * 1e6);
        record.engine = EngineName::Smb;
        record.run.experiment = Some(Experiment::Network);
        record.latency = Latency::default();
        (0..10).for_each(|_| record.latency.add((alone * 1e3) as u64));
        let least_round_trip_ns = (ROUND_TRIP_US * 1e3) as u64;
        record.tcp = Some(Box::new(Tcp { connections: connections.into(), least_round_trip_ns, ..Tcp::default() }));
        let cpu = CpuTimes { system_ns: (FAR_NS * record.bytes as f64) as u64, ..CpuTimes::default() };
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
    // 16 KiB a 150 us are 109 MB/s; 2 KiB eight deep as many.
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
