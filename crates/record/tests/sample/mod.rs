//! Makes different questions, environments and records from a number.
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::collections::BTreeMap;

use halfpower_record::{Cpu, CpuTimes, Environment, Latency, Level, Machine, Noise, Predicted, Record, Series, Soaker};
use halfpower_spec::{Bytes, Cache, EngineName, Experiment, Nanos, Pass, Question, Rate, Run, Rw, Workload};

pub fn question() -> Question {
    Question::about("/data")
}

pub fn environment(kernel: &str) -> Environment {
    let machine = Machine { kernel: kernel.to_string(), cpus: 2, memory: Bytes(8 << 30), ..Machine::default() };
    let link = Level { name: "link".into(), pap: Some(Rate(3.2e9)), ..Level::default() };
    Environment { machine, levels: vec![link], notes: vec!["a note, with a comma".into()], ..Environment::default() }
}

fn workload(number: u32) -> Workload {
    Workload {
        rw: Rw::ALL[number as usize % Rw::ALL.len()],
        rwmixread: 70,
        bs: Bytes(512 << (number % 12)),
        iodepth: 1 << (number % 6),
        threads: 1 + number % 2,
        cache: Cache::ALL[number as usize % 4],
        engine: EngineName::Auto,
        ..Workload::default()
    }
}

/// The record of run `number`: its workload, counts and floats all depend on it.
pub fn record(number: u32) -> Record {
    let workload = workload(number);
    let Workload { rw, bs, .. } = workload;
    let mut latency = Latency::default();
    (0..200).for_each(|step| latency.add(u64::from(number + 1) * 1000 + step * step * 37));
    let ios = latency.count();
    let elapsed_ns = 300_000_000 + u64::from(number) * 7;
    let soaker = Soaker { lost_ns: 123_456_789, baseline_share: 0.1 + f64::from(number) / 3.0 };
    let run = Run {
        experiment: [Some(Experiment::Sequential), Some(Experiment::Random), None][number as usize % 3],
        workload,
        repeat: number,
        pass: if number.is_multiple_of(4) { Pass::Soaker } else { Pass::Plain },
        runtime: Nanos(300_000_000),
        seed: u64::MAX - u64::from(number),
    };
    let mut record = Record {
        span_bytes: 1 << 30,
        started_unix_ms: 1_795_298_078_000 + u64::from(number) * 1000,
        spent_ns: elapsed_ns + 5_000_000,
        elapsed_ns,
        flush_ns: 1_000_000,
        bytes: ios * bs.0,
        ios,
        read_ios: if rw.writes() { 0 } else { ios },
        short_transfers: u64::from(number % 2),
        errors: if number % 5 == 1 { BTreeMap::from([("EIO".to_string(), 3)]) } else { BTreeMap::new() },
        achieved_depth: latency.sum_ns() as f64 / elapsed_ns as f64,
        latency,
        cpu: Cpu {
            span_ns: elapsed_ns + 5,
            ios: ios + 4,
            user_ns: 10_000_001,
            system_ns: 40_500_000,
            waited_ns: u64::from(number) * 1_000,
            machine: vec![CpuTimes { user_ns: 20_000_000, irq_ns: 10_000_000, ..CpuTimes::default() }; 2],
            ..Cpu::default()
        },
        series: Series { step_ns: 10_000_000, bytes: (0..30).map(|step| step * bs.0).collect() },
        harness_ns_per_io: 17.3 + f64::from(number) / 7.0,
        predicted: number.is_multiple_of(5).then_some(Predicted { low: 0.9, high: 1.2, beyond: true }),
        buffer_segments: number.is_multiple_of(3).then_some(2.5),
        cached_bytes: number.is_multiple_of(2).then_some(4096),
        noise: Noise { device_bytes: Some(ios * bs.0), ..Noise::default() },
        ..Record::empty(run, if number.is_multiple_of(2) { EngineName::IoUring } else { EngineName::Sync })
    };
    record.cpu.soaker = number.is_multiple_of(4).then_some(soaker);
    record
}

pub fn records(count: u32) -> Vec<Record> {
    (0..count).map(record).collect()
}
