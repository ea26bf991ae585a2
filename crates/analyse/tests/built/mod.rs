//! Makes records of a simulated disk from its closed form: the records of a study for given constants and a question.
#![allow(dead_code)] // Each test file uses its own part.

use halfpower_analyse::{Comparison, MeasuredCeilings, StudyRecords, analyse, compare};
use halfpower_model::{DiskPath, Moment, Operation, PathModel, Submission};
use halfpower_record::{Cpu, Environment, Latency, Record, Series, Soaker};
use halfpower_spec::{
    Bytes, Cache, Direction, EngineName, Experiment, Nanos, Pass, Question, Run, Rw, SimulatedDisk, Workload,
};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A question about one pattern, direction and cache setting, over all sizes and depths.
pub fn question() -> Question {
    Question {
        experiments: vec![Experiment::Sequential],
        directions: vec![Direction::Read],
        cache: vec![Cache::Device],
        ..Question::about("sim:")
    }
}

pub fn disk(constants: &str) -> SimulatedDisk {
    SimulatedDisk::from_constants(constants).unwrap()
}

/// The sum of twelve uniform draws is nearly normal (Irwin-Hall).
pub fn normal(random: &mut impl Rng) -> f64 {
    (0..12).map(|_| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0
}

/// Every cell of the question, each with `repeats` plain runs and one beside the soaker, with the disk's own noise.
pub fn study(disk: &SimulatedDisk, question: &Question) -> Vec<Record> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(disk.seed);
    let mut records = Vec::new();
    for workload in workloads(question) {
        for repeat in 0..question.repeats {
            let factor = 1.0 + disk.noise * normal(&mut random);
            records.push(record(disk, workload, repeat, Pass::Plain, factor));
        }
        records.push(record(disk, workload, 0, Pass::Soaker, 1.0));
    }
    records
}

pub fn workloads(question: &Question) -> Vec<Workload> {
    let mut workloads = Vec::new();
    for pattern in question.patterns() {
        for direction in &question.directions {
            for cache in &question.cache {
                for iodepth in &question.iodepth {
                    for bs in &question.bs {
                        let rw = Rw::of(pattern, *direction);
                        let bs = *bs;
                        let iodepth = *iodepth;
                        let cache = *cache;
                        workloads.push(Workload { rw, bs, iodepth, cache, ..Workload::default() });
                    }
                }
            }
        }
    }
    workloads
}

/// One run of about a second with `factor` times the throughput of the disk.
pub fn record(disk: &SimulatedDisk, workload: Workload, repeat: u32, pass: Pass, factor: f64) -> Record {
    let bytes_a_second = halfpower_model::throughput(disk, workload.bs, workload.iodepth).0 * factor;
    record_at(disk, workload, repeat, pass, bytes_a_second)
}

/// One run of about a second at a given rate, with the disk's processor cost.
pub fn record_at(disk: &SimulatedDisk, workload: Workload, repeat: u32, pass: Pass, bytes_a_second: f64) -> Record {
    let bs = workload.bs.0 as f64;
    let depth = f64::from(workload.iodepth);
    let ios = (bytes_a_second / bs).ceil().max(1.0);
    let elapsed_ns = (ios * bs / bytes_a_second * 1e9).round() as u64;
    let cost = halfpower_model::processor_time(disk, ios as u64, (ios * bs) as u64);
    let mut latency = Latency::default();
    (0..10).for_each(|_| latency.add((depth * bs / bytes_a_second * 1e9) as u64));
    let run = Run {
        experiment: Some(Experiment::walking(workload.rw.pattern())),
        workload,
        repeat,
        pass,
        runtime: Nanos(1_000_000_000),
        seed: 1,
    };
    Record {
        span_bytes: 1 << 30,
        spent_ns: elapsed_ns,
        elapsed_ns,
        bytes: (ios * bs) as u64,
        ios: ios as u64,
        read_ios: if workload.rw.writes() { 0 } else { ios as u64 },
        latency,
        achieved_depth: depth,
        cpu: Cpu {
            span_ns: elapsed_ns,
            ios: ios as u64,
            user_ns: cost.charged_ns / 4,
            system_ns: cost.charged_ns - cost.charged_ns / 4,
            soaker: (pass == Pass::Soaker)
                .then_some(Soaker { lost_ns: cost.charged_ns + cost.unseen_ns, baseline_share: 1.0 }),
            ..Cpu::default()
        },
        series: Series { step_ns: 100_000_000, bytes: vec![(bytes_a_second / 10.0) as u64; 10] },
        harness_ns_per_io: 100.0,
        cached_bytes: workload.rw.direction().filter(|_| !workload.cache.direct()).map(|_| 0),
        ..Record::empty(run, EngineName::Simulated)
    }
}

/// A workload of 1 thread.
pub fn workload(rw: Rw, cache: Cache, bs_kib: u64, iodepth: u32) -> Workload {
    Workload { rw, cache, bs: Bytes(bs_kib * 1024), iodepth, ..Workload::default() }
}

/// A run of `runtime_ns` on the disk's own model, request by request as in the measured window: `depth` requests are
/// kept in flight, and a step is a hundredth of the window. `speed` gives the disk's speed at a share of the window; it
/// scales the time between two completions.
pub fn run(disk: &SimulatedDisk, workload: Workload, runtime_ns: u64, seed: u64, speed: &dyn Fn(f64) -> f64) -> Record {
    let mut path = DiskPath::new(disk, seed);
    let operation = if workload.rw.writes() { Operation::Write } else { Operation::Read };
    let request = |token| Submission { token, operation, offset: 0, length: workload.bs.0 as u32 };
    (0..workload.iodepth).for_each(|token| path.submit(Moment::default(), request(token)));
    let step_ns = (runtime_ns / 100).clamp(1_000_000, 100_000_000);
    let mut record = record_at(disk, workload, 0, Pass::Plain, 1e9);
    let mut bytes = 0;
    let mut ios = 0;
    let mut before = 0;
    let mut steps = Vec::new();
    // Two clocks: the model's, and the window's, which is stretched when the speed changes.
    let mut last_ns = 0.0;
    let mut now_ns = 0.0;
    while now_ns < runtime_ns as f64 {
        let Some(done) = path.pop() else { break };
        let at_ns = done.at.ps() as f64 / 1e3;
        now_ns += (at_ns - last_ns) / speed(now_ns / runtime_ns as f64);
        last_ns = at_ns;
        while now_ns >= (steps.len() as u64 + 1) as f64 * step_ns as f64 {
            steps.push(bytes - before);
            before = bytes;
        }
        (bytes, ios) = (bytes + u64::from(done.bytes), ios + 1);
        path.submit(done.at, request(done.token));
    }
    (record.elapsed_ns, record.bytes, record.ios) = (now_ns.round() as u64, bytes, ios);
    record.series = Series { step_ns, bytes: steps };
    record.run.seed = seed;
    record
}

/// Two studies of this question, compared.
pub fn compared(question: &Question, a: &[Record], b: &[Record]) -> Comparison {
    let environment = Environment::default();
    let [of_a, of_b] = [a, b].map(|records| analyse(question, &environment, records, &MeasuredCeilings::default()));
    let [a, b] = [("a", &of_a, a), ("b", &of_b, b)].map(|(name, findings, records)| StudyRecords {
        name,
        question,
        environment: &environment,
        findings,
        records,
    });
    compare(&a, &b).unwrap()
}
