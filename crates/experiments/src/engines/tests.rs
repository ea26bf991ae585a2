//! Checks that `engines` returns what each engine's records were made with, and names the best.

use super::answer::IssuingPart;
use super::rows::EngineRow;
use crate::built::{disk, record};
use crate::study_findings::{StudyFindings, analyse};
use crate::table::ExperimentAnswer;
use halfpower_record::{Environment, Record};
use halfpower_spec::{Bytes, Cache, Direction, EngineName, Experiment, Issuing, Pass, Pattern, Question, Rw, Workload};

/// An engine and its simulated disk, which includes the engine's costs.
const ENGINES: [(EngineName, &str); 4] = [
    (EngineName::Sync, "fixed=80us,rate=500MB/s,cpu_fixed=8us,cpu_per_kib=0ns,unseen=0.25"),
    (EngineName::IoUring, "fixed=80us,rate=500MB/s,disks=8,cpu_fixed=4us,cpu_per_kib=0ns,unseen=0.25"),
    (EngineName::Libaio, "fixed=80us,rate=500MB/s,disks=8,cpu_fixed=5us,cpu_per_kib=0ns,unseen=0.2"),
    (EngineName::Sqpoll, "fixed=70us,rate=500MB/s,disks=8,cpu_fixed=12us,cpu_per_kib=0ns,unseen=0"),
];
const WORK: [(u64, u32); 3] = [(4096, 1), (4096, 32), (65536, 32)];

fn records() -> Vec<Record> {
    let mut records = Vec::new();
    for (engine, constants) in ENGINES {
        let disk = disk(constants);
        for (bs, iodepth) in WORK.into_iter().filter(|(_, iodepth)| *iodepth == 1 || !engine.is_in_turn()) {
            let (rw, cache) = (Rw::Randread, Cache::Device);
            let workload = Workload { rw, bs: Bytes(bs), iodepth, cache, engine, ..Workload::default() };
            for repeat in 0..3 {
                records.push(record(&disk, workload, repeat, Pass::Plain, 1.0));
            }
            records.push(record(&disk, workload, 0, Pass::Soaker, 1.0));
        }
    }
    for record in &mut records {
        record.run.experiment = Some(Experiment::Engines);
        record.engine = record.run.workload.engine;
    }
    records
}

fn findings(records: &[Record]) -> StudyFindings {
    let question = Question { experiments: vec![Experiment::Engines], ..Question::about("sim:") };
    analyse(&question, &Environment::default(), records)
}

fn row(findings: &StudyFindings, engine: EngineName, work: (u64, u32)) -> EngineRow {
    let alike = |row: &&EngineRow| row.engine == engine && (row.bs_bytes, row.iodepth) == work;
    *findings.rows.engines.engines.iter().find(alike).unwrap_or_else(|| panic!("no row of {engine} at {work:?}"))
}

fn near(found: f64, truth: f64) -> bool {
    (found / truth - 1.0).abs() < 0.01
}

#[test]
fn what_issuing_brings_and_costs_is_told_part_by_part() {
    let question =
        Question { experiments: vec![Experiment::Engines], issuing: Some(Issuing::default()), ..Question::about("d") };
    let usual = Issuing::default();
    let ways = [
        (EngineName::IoUring, usual, "fixed=80us,rate=500MB/s,disks=8,cpu_fixed=6us,cpu_per_kib=0ns,unseen=0.25"),
        (EngineName::Plain, usual, "fixed=80us,rate=500MB/s,disks=8,cpu_fixed=8us,cpu_per_kib=0ns,unseen=0.25"),
        (
            EngineName::IoUring,
            Issuing { iodepth_batch: 0, ..usual },
            "fixed=100us,rate=500MB/s,disks=8,cpu_fixed=4us,cpu_per_kib=0ns,unseen=0.25",
        ),
    ];
    let mut records = Vec::new();
    for (engine, issuing, constants) in ways {
        let workload = Workload {
            rw: Rw::Randread,
            bs: Bytes(4096),
            iodepth: 32,
            engine,
            issuing: Some(issuing),
            ..Workload::default()
        };
        for (repeat, pass) in [(0, Pass::Plain), (1, Pass::Plain), (2, Pass::Plain), (0, Pass::Soaker)] {
            let mut record = record(&disk(constants), workload, repeat, pass, 1.0);
            record.run.experiment = Some(Experiment::Engines);
            record.engine = engine;
            records.push(record);
        }
    }
    let found = analyse(&question, &Environment::default(), &records);
    let Some(ExperimentAnswer::Engines(answer)) = &found.experiments[0].found else { panic!() };
    let of = |part| answer.issuing.iter().find(|change| change.change == part).unwrap();
    let (registered, all) = (of(IssuingPart::Registration), of(IssuingPart::Batch(0)));
    assert!(near(all.times.unwrap().interval.value, 88.192 / 108.192), "{all:?}");
    assert!(near(all.with_us.0, 3.0) && near(all.without_us.1.unwrap(), 6.0), "{all:?}");
    assert!(near(registered.with_us.0, 4.5) && near(registered.without_us.0, 6.0), "{registered:?}");
    let busy = answer.busy.as_ref().unwrap();
    assert!(
        near(busy.slowest_iops, busy.fastest.best.iops),
        "engines are compared as most applications issue: {busy:?}"
    );
    assert_eq!(found.issuing, answer.issuing, "the table of a study is the same");
    assert_eq!((all.rw, all.pattern, all.engine), (Direction::Read, Pattern::Random, EngineName::IoUring));
    assert!(near(all.without_iops.value, all.without_mbps.value * 1e6 / 4096.0), "{all:?}");
    let walks = Question { experiments: vec![Experiment::Random], ..question };
    let found_beside = analyse(&walks, &Environment::default(), &records);
    assert!(
        found_beside.experiments.is_empty() && found_beside.issuing == answer.issuing,
        "also beside the walks alone"
    );
    assert!(
        found.experiments[0].answer.contains("one call for all that can go out brings "),
        "{}",
        found.experiments[0].answer
    );
}

#[test]
fn rows_are_what_each_engine_was_made_with() {
    let findings = findings(&records());
    assert_eq!(findings.rows.engines.engines.len(), 1 + 3 * 3);
    for (engine, constants) in ENGINES {
        let disk = disk(constants);
        for work in WORK.into_iter().filter(|(_, iodepth)| *iodepth == 1 || !engine.is_in_turn()) {
            let row = row(&findings, engine, work);
            let truth = halfpower_model::throughput(&disk, Bytes(work.0), work.1).mbps();
            assert!(near(row.mbps, truth) && near(row.iops, truth * 1e6 / work.0 as f64), "{row:?}, {truth}");
            let cost = halfpower_model::processor_time(&disk, 1_000, 1_000 * work.0);
            assert!(near(row.charged_us, cost.charged_ns as f64 / 1e6), "{row:?}, {cost:?}");
            assert!(near(row.soaker_us.unwrap(), (cost.charged_ns + cost.unseen_ns) as f64 / 1e6), "{row:?}, {cost:?}");
            assert!(row.latency_ns_p50 <= row.latency_ns_p99 && row.low <= row.mbps && row.mbps <= row.high);
        }
    }
}

#[test]
fn the_answer_names_the_fastest_the_cheapest_and_the_soonest() {
    let reported = findings(&records());
    let section = &reported.experiments[0];
    assert!(section.ran);
    let answer = &section.answer;
    assert!(answer.contains("32 requests of 4 KiB at a time io_uring_sqpoll is fastest"), "{answer}");
    assert!(answer.contains("io_uring costs least, 3.0 µs to 4.0 µs of a processor a request"), "{answer}");
    assert!(answer.contains("interrupts: io_uring_sqpoll 3.0 times"), "{answer}");
    assert!(answer.contains("One at a time, io_uring_sqpoll answers soonest: 78 µs"), "{answer}");
    assert_eq!(section.pictures.len(), 4);
    assert_eq!(section.pictures[0].lines.len(), 3, "a group of bars for each kind of work");
}

#[test]
fn what_is_alike_is_said_to_be_alike() {
    let mut records = records();
    records.retain(|record| matches!(record.engine, EngineName::IoUring | EngineName::Libaio));
    let answer = findings(&records).experiments[0].answer.clone();
    assert!(answer.contains("all engines are equally fast"), "{answer}");
    assert!(answer.contains("io_uring and libaio answer soonest"), "{answer}");
    assert!(!answer.contains("Polling"), "{answer}");
}

#[test]
fn what_single_runs_say_names_no_fastest() {
    let plain = |records: Vec<Record>, runs: u32| -> Vec<Record> {
        let kept = |record: &Record| record.run.pass == Pass::Plain && record.run.repeat < runs;
        records.into_iter().filter(kept).collect()
    };
    let answer = |records: &[Record]| findings(records).experiments[0].answer.clone();
    let reported = answer(&plain(records(), 1));
    assert!(reported.contains("no engine is surely faster than another"), "{reported}");
    // With two runs each, one engine has a stall in one of its runs.
    let mut stalled = plain(records(), 2);
    let is_first = |record: &Record| record.run.repeat == 0 && record.engine == EngineName::IoUring;
    stalled.iter_mut().filter(|record| is_first(record)).for_each(|record| record.elapsed_ns *= 2);
    let reported = answer(&stalled);
    assert!(reported.contains("io_uring and io_uring_sqpoll are fastest"), "{reported}");
}

#[test]
fn an_engine_whose_requests_failed_has_no_row() {
    let mut records = records();
    for record in records.iter_mut().filter(|record| record.engine == EngineName::Libaio) {
        record.errors.insert("EIO".to_string(), 3);
    }
    let rows = findings(&records).rows.engines.engines;
    assert!(!rows.is_empty() && rows.iter().all(|row| row.engine != EngineName::Libaio));
    let alone = findings(&records[..4]).experiments[0].answer.clone();
    assert!(alone.starts_with("Only sync could be measured"), "{alone}");
}
