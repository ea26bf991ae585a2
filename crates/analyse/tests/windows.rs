//! Checks what a cell's figures are where its windows are short: for its queue, for a credit of the path, or for a stall.

use crate::built::{disk, record_at, workload};
use halfpower_analyse::{CellFinding, HeadlineDoubt, MeasuredCeilings, analyse, cells, judge, run_mbps};
use halfpower_record::{Environment, Latency, Record, Series};
use halfpower_spec::{Cache, Direction, Nanos, Pass, Question, Rw};

/// Runs of 1 MiB, 32 deep, at about 30 MB/s, with windows of a second.
fn deep(rates: &[f64]) -> Vec<Record> {
    let workload = workload(Rw::Randread, Cache::Device, 1024, 32);
    let run = |(repeat, mbps): (u32, &f64)| {
        record_at(&disk("fixed=1ms,rate=30MB/s"), workload, repeat, Pass::Plain, mbps * 1e6)
    };
    (0..).zip(rates).map(run).collect()
}

fn cell(records: &[Record]) -> CellFinding {
    let mut cells = cells(records);
    assert_eq!(cells.len(), 1);
    cells.remove(0)
}

/// Lets the requests counted be those that waited least: each took this share of what the queue takes.
fn young(record: &mut Record, share: f64) {
    let ns = (record.latency.mean_ns() * share) as u64;
    record.latency = Latency::default();
    (0..10).for_each(|_| record.latency.add(ns));
}

#[test]
fn a_latency_that_contradicts_rate_and_depth_is_not_known() {
    let mut records = deep(&[30.0, 30.3, 29.7]);
    let whole = cell(&records);
    let by_little = 32.0 * 1_048_576.0 / 30e6 * 1e9;
    assert!((whole.latency_ns.p50.unwrap() as f64 / by_little - 1.0).abs() < 0.02, "{:?}", whole.latency_ns);
    let interval = whole.latency_ns.p50_interval.unwrap();
    assert!(interval.low < by_little && by_little < interval.high && interval.relative_reach() < 0.05, "{interval:?}");
    // One run of three whose window was too short is left out.
    young(&mut records[0], 0.4);
    let most = cell(&records);
    assert!((most.latency_ns.p50.unwrap() as f64 / by_little - 1.0).abs() < 0.02, "{:?}", most.latency_ns);
    // Of most, nothing is known of the latency; rate and depth are what they were.
    young(&mut records[1], 0.4);
    let none = cell(&records);
    assert_eq!((none.latency_ns.p50, none.latency_ns.p99, none.latency_ns.mean), (None, None, None));
    assert_eq!((none.mbps, none.achieved_depth), (whole.mbps, Some(32.0)));
}

/// Confirming runs: a long window at `long_mbps`, and short ones.
fn confirmed(long_mbps: f64, short_mbps: &[f64]) -> CellFinding {
    let mut records = deep(&[&[short_mbps[0]], short_mbps, &[long_mbps]].concat());
    records[1..].iter_mut().for_each(|record| record.run.pass = Pass::Confirm);
    records.iter_mut().for_each(|record| record.run.runtime = Nanos(110_000_000));
    records.last_mut().unwrap().run.runtime = Nanos(3_000_000_000);
    cell(&records)
}

#[test]
fn a_long_window_that_is_slower_by_more_than_chance_gives_the_rate() {
    // A bucket of 37 KB that is full after each pause is 3.5% of a window of 110 ms at 9.564 MB/s.
    let short = [9.89, 9.91, 9.90, 9.88, 9.92];
    let found = confirmed(9.57, &short);
    assert!((found.mbps.value - 9.57).abs() < 0.01, "{:?}", found.mbps);
    assert!(found.mbps.low < 9.564 && found.mbps.high > 9.9, "the interval holds both: {:?}", found.mbps);
    assert!((found.iops * 1.048_576 - found.mbps.value).abs() < 0.01, "{} {:?}", found.iops, found.mbps);
    let burst = found.burst_mbps.zip(found.sustained_mbps).unwrap();
    assert!((burst.0 - 9.9).abs() < 0.01 && (burst.1 - 9.57).abs() < 0.01, "{burst:?}");
    // What differs by chance is one more run.
    let alike = confirmed(9.85, &[9.7, 10.1, 9.9, 9.6, 10.2]);
    assert_eq!(alike.burst_mbps, None);
    assert!((alike.mbps.value - (9.85 + 49.5) / 6.0).abs() < 0.01, "{:?}", alike.mbps);
    // A faster long window is no credit.
    assert_eq!(confirmed(10.4, &short).burst_mbps, None);
}

/// A window of 114 ms: requests for 15 ms, then a stall of 99 ms, which a single request ends.
#[test]
fn a_stall_after_nearly_all_requests_is_no_steady_state() {
    let mut record = deep(&[10.57]).remove(0);
    let bytes: Vec<u64> =
        (0..114).map(|step| if step < 15 { 80_000 } else { u64::from(step == 113) * 4_096 }).collect();
    (record.elapsed_ns, record.bytes) = (114_000_000, bytes.iter().sum());
    record.series = Series { step_ns: 1_000_000, bytes };
    assert!((run_mbps(&record) - record.mbps()).abs() < 1e-9, "{} of {}", run_mbps(&record), record.mbps());
    assert!(!judge(&record.series).steady);
}

/// Writes that are faster than reads by more than their intervals, at these rates.
fn doubted(reads_mbps: f64, writes_mbps: f64) -> bool {
    let runs = |rw, mbps: f64| {
        let workload = workload(rw, Cache::Device, 1024, 8);
        let run = |repeat: u32| record_at(&disk("fixed=1ms,rate=100MB/s"), workload, repeat, Pass::Plain, mbps * 1e6);
        (0..3).map(run).collect::<Vec<_>>()
    };
    let records = [runs(Rw::Read, reads_mbps), runs(Rw::Write, writes_mbps)].concat();
    let question = Question::about("/data");
    let found = analyse(&question, &Environment::default(), &records, &MeasuredCeilings::default());
    let writes = found.headline.iter().find(|headline| headline.rw == Direction::Write).unwrap();
    writes.doubts.contains(&HeadlineDoubt::FasterThanReads)
}

#[test]
fn reads_and_writes_of_one_wire_are_no_sign_of_a_cache() {
    assert!(!doubted(11.9, 12.1), "both stand on a wire of 100 Mbit/s");
    assert!(doubted(11.9, 15.0));
}
