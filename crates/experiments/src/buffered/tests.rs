//! Checks that `buffered` returns the terms its records were made with, and claims no more than the runs support.

use super::cost::{BufferedCostRow, Cheaper};
use crate::built::{disk, record_at};
use crate::study_findings::{StudyFindings, analyse};
use halfpower_record::{Environment, Latency, Record, Series, Soaker};
use halfpower_spec::{
    Bytes, Cache, Direction, Experiment, PageCache, Pass, Question, Region, Rw, Workload, WorkloadOptions,
};

const SIZES_KIB: [u64; 5] = [2, 4, 16, 64, 256];
/// Microseconds charged per call and per KiB, buffered and direct, and lost beyond that per 64 KiB.
const BUFFERED: (f64, f64) = (1.5, 0.25);
const DIRECT: (f64, f64) = (9.0, 0.02);
const BEHIND_US: f64 = 14.0;

fn walk(rw: Rw, cache: Cache, kib: u64) -> Workload {
    Workload { rw, cache, bs: Bytes(kib << 10), iodepth: 1, ..Workload::default() }
}

/// A run whose requests cost what the constants say, times `chance`.
fn run(workload: Workload, direct: (f64, f64), repeat: u32, pass: Pass, chance: f64) -> Record {
    let kib = workload.bs.0 as f64 / 1024.0;
    let (call_us, us_per_kib) = if workload.cache.direct() { direct } else { BUFFERED };
    let call_us = (call_us + us_per_kib * kib) * chance;
    let mut record = record_at(&disk("fixed=80us,rate=500MB/s"), workload, repeat, pass, kib * 1024e6 / call_us / 4.0);
    record.run.experiment = Some(Experiment::Buffered);
    record.cpu.user_ns = 0;
    record.cpu.system_ns = (record.ios as f64 * call_us * 1e3) as u64;
    let behind_us = if workload.cache.direct() { 0.0 } else { BEHIND_US * kib / 64.0 };
    let lost_ns = (record.ios as f64 * (call_us + behind_us) * 1e3) as u64;
    record.cpu.soaker = (pass == Pass::Soaker).then_some(Soaker { lost_ns, baseline_share: 1.0 });
    record
}

fn records() -> Vec<Record> {
    records_beside(DIRECT)
}

fn records_beside(direct: (f64, f64)) -> Vec<Record> {
    let mut records = Vec::new();
    for rw in [Rw::Read, Rw::Write] {
        for cache in [Cache::Both, Cache::Device] {
            for kib in SIZES_KIB {
                let share = |repeat: u32| 1.0 + 0.02 * (f64::from(repeat) - 1.0);
                let workload = walk(rw, cache, kib);
                records.extend((0..3).map(|repeat| run(workload, direct, repeat, Pass::Plain, share(repeat))));
                records.extend((0..2).map(|repeat| run(workload, direct, repeat, Pass::Soaker, 1.0)));
            }
        }
    }
    records
}

fn findings(records: &[Record]) -> StudyFindings {
    let question = Question { experiments: vec![Experiment::Buffered], ..Question::about("d") };
    analyse(&question, &Environment::default(), records)
}

fn terms(findings: &StudyFindings, rw: Direction) -> BufferedCostRow {
    *findings.rows.buffered.buffered_cost.iter().find(|row| row.rw == rw).expect("no terms")
}

fn near(found: f64, truth: f64) -> bool {
    (found / truth - 1.0).abs() < 0.01
}

#[test]
fn the_three_terms_come_back() {
    let reported = findings(&records());
    for rw in [Direction::Read, Direction::Write] {
        let row = terms(&reported, rw);
        assert!(near(row.call_us.value, BUFFERED.0), "{row:?}");
        assert!(near(row.copy_ns_per_byte.value, BUFFERED.1 * 1e3 / 1024.0), "{row:?}");
        assert!(near(row.behind_us_per_64kib.unwrap().value, BEHIND_US), "{row:?}");
        // The lines meet where the saved call equals the cost of the copy and of the work behind it.
        let kib = (DIRECT.0 - BUFFERED.0) / (BUFFERED.1 + BEHIND_US / 64.0 - DIRECT.1);
        assert!(
            row.cheaper == Cheaper::DirectFromASize && near(row.break_even_bytes.unwrap(), kib * 1024.0),
            "{row:?}"
        );
    }
    assert_eq!(reported.rows.buffered.buffered.len(), 20);
    let answer = &reported.experiments[0].answer;
    assert!(
        answer.contains("costs 1.5 µs a call, 0.24 ns a byte and 14 µs for each 64 KiB written behind"),
        "{answer}"
    );
    assert!(answer.contains("so that direct ones cost less from"), "{answer}");
}

#[test]
fn without_the_soaker_the_charge_alone_decides_and_is_named() {
    let mut records = records();
    records.retain(|record| record.run.pass == Pass::Plain);
    let reported = findings(&records);
    let row = terms(&reported, Direction::Write);
    let kib = (DIRECT.0 - BUFFERED.0) / (BUFFERED.1 - DIRECT.1);
    assert!(row.behind_us_per_64kib.is_none() && near(row.break_even_bytes.unwrap(), kib * 1024.0), "{row:?}");
    assert!(reported.experiments[0].answer.contains("by the charge alone"), "{}", reported.experiments[0].answer);
    // An unknown term does not appear in the picture.
    let parts = reported.experiments[0].pictures.iter().find(|picture| picture.title.contains("of 64 KiB")).unwrap();
    let names: Vec<&str> = parts.lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["the call", "the copy"]);
}

#[test]
fn lines_that_are_alike_carry_no_verdict() {
    let reported = findings(&records_beside(BUFFERED));
    assert_eq!(terms(&reported, Direction::Read).cheaper, Cheaper::Unknown);
    assert!(!reported.experiments[0].answer.contains("cost less"), "{}", reported.experiments[0].answer);
}

#[test]
fn a_study_cut_short_claims_nothing_of_two_sizes() {
    let mut records = records();
    let kept = |record: &Record| [4096, 16_384].contains(&record.run.workload.bs.0) && record.run.repeat == 0;
    records.retain(|record| kept(record) && (record.run.pass == Pass::Plain || record.run.workload.bs.0 == 4096));
    let reported = findings(&records);
    let row = terms(&reported, Direction::Write);
    assert!(row.cheaper == Cheaper::Unknown && row.behind_us_per_64kib.is_none(), "{row:?}");
    let answer = &reported.experiments[0].answer;
    assert!(!answer.contains("cost less") && !answer.contains("written behind"), "{answer}");
}

/// A random small write whose calls take `call_ns`.
fn small(kib: u64, page_cache: PageCache, repeat: u32, call_ns: u64) -> Record {
    let region = Some(Region { from: Bytes(0), bytes: Bytes(64 << 20) });
    let options = WorkloadOptions { region, page_cache, ..WorkloadOptions::default() };
    let workload = Workload { options, ..walk(Rw::Randwrite, Cache::Both, kib) };
    let mut record = run(workload, DIRECT, repeat, Pass::Plain, 1.0);
    record.latency = Latency::default();
    record.latency.add(call_ns);
    record
}

#[test]
fn a_page_that_is_read_first_shows_in_the_time_of_a_write() {
    let reported = |cold_ns: [u64; 2]| {
        let of = |page_cache, times: [u64; 2]| {
            [0, 1].map(|repeat| small(2, page_cache, repeat as u32, times[repeat])).to_vec()
        };
        let records = [of(PageCache::Empty, cold_ns), of(PageCache::Warm, [1_000, 1_020])].concat();
        findings(&records).experiments[0].answer.clone()
    };
    let read_first = reported([40_000, 40_400]);
    assert!(read_first.contains("takes 40 µs, and 1.0 µs into one that is: 40 times ("), "{read_first}");
    let unknown = reported([500, 90_000]);
    let once = {
        let records = [small(2, PageCache::Empty, 0, 40_000), small(2, PageCache::Warm, 0, 1_000)];
        findings(&records).experiments[0].answer.clone()
    };
    assert!(once.ends_with("40 times (by one run each)."), "{once}");
    assert!(unknown.contains("cannot tell them apart") && !unknown.contains("since the page"), "{unknown}");
}

#[test]
fn a_run_over_time_shows_what_the_cache_took_and_then_the_flush() {
    let mut records = records();
    let shown = |record: &&mut Record| record.run.workload == walk(Rw::Write, Cache::Both, 64);
    for record in records.iter_mut().filter(shown) {
        // 100 MB/s for 0.3 s, 20 MB/s for 0.3 s, then a flush of 0.4 s that takes no writes.
        let steps = [vec![1_000_000; 30], vec![200_000; 30], vec![0; 40]].concat();
        record.series = Series { step_ns: 10_000_000, bytes: steps };
        (record.bytes, record.elapsed_ns, record.flush_ns) = (36_000_000, 1_000_000_000, 400_000_000);
    }
    let reported = findings(&records);
    let picture = reported.experiments[0].pictures.iter().find(|picture| picture.title.contains("over time")).unwrap();
    let [taken, flush] = &picture.lines[..] else { panic!("{picture:?}") };
    let rates: Vec<f64> = taken.points.iter().map(|point| point.y).collect();
    assert_eq!((rates.len(), rates[0], rates[rates.len() - 1]), (12, 100.0, 20.0));
    assert!(flush.points.iter().all(|point| point.y == 0.0));
    assert_eq!([flush.points[0].x, flush.points[1].x], [600.0, 1000.0]);
    let answer = &reported.experiments[0].answer;
    assert!(answer.contains("until they are durable, 40% of the time is the closing flush"), "{answer}");
}
