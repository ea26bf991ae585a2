//! Checks where a curve of percentiles ends, and which runs it covers.

use halfpower_analyse::{CellSettings, cells, percentiles};
use halfpower_record::{Latency, Record};
use halfpower_spec::{Cache, Pass, Rw};

use crate::built::{disk, record, workload};

/// One run of a cell whose requests took 1, 2, 3, ... microseconds.
fn run_of(requests: u64, pass: Pass, repeat: u32) -> Record {
    let mut run =
        record(&disk("fixed=80us,rate=500MB/s"), workload(Rw::Randread, Cache::Device, 4, 1), repeat, pass, 1.0);
    run.latency = Latency::default();
    (1..=requests).for_each(|us| run.latency.add(1000 * us));
    // As many requests in flight as such latencies make at this rate.
    run.achieved_depth = run.latency.mean_ns() * run.iops() / 1e9;
    run
}

fn settings(records: &[Record]) -> CellSettings {
    cells(records)[0].settings
}

#[test]
fn a_curve_ends_where_fewer_than_five_requests_lie_beyond() {
    for (requests, end) in [(10, 0.5), (500, 0.99), (4_999, 0.998), (5_000, 0.999)] {
        let records = [run_of(requests, Pass::Plain, 0)];
        let found = percentiles(&records, &settings(&records));
        assert_eq!((found.requests, found.points.last().map(|point| point.0)), (requests, Some(end)), "{found:?}");
        assert!(found.points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1), "{found:?}");
    }
}

#[test]
fn its_percentiles_are_those_of_the_cell() {
    let confirming = (0..3).map(|repeat| run_of(1000, Pass::Confirm, repeat));
    let records: Vec<Record> = std::iter::once(run_of(9_000, Pass::Plain, 0)).chain(confirming).collect();
    let found = percentiles(&records, &settings(&records));
    let at = |share: f64| found.points.iter().find(|point| point.0 == share).unwrap().1;
    let latency_ns = cells(&records)[0].latency_ns;
    assert_eq!(found.requests, 3_000, "the confirming runs alone, as the cell's");
    assert_eq!((at(0.5), at(0.99)), (latency_ns.p50.unwrap(), latency_ns.p99.unwrap()));
}

#[test]
fn runs_whose_latency_is_not_known_leave_the_curve_to_the_others() {
    let mut records: Vec<Record> = (0..3).map(|repeat| run_of(1000, Pass::Plain, repeat)).collect();
    // So many in flight do not go with rate and latency: the window was too short for its queue.
    records[0].achieved_depth *= 3.0;
    let found = percentiles(&records, &settings(&records));
    assert_eq!((found.requests, found.points.last().map(|point| point.0)), (2000, Some(0.995)), "{found:?}");
    let median = found.points.iter().find(|point| point.0 == 0.5).unwrap().1;
    assert_eq!(cells(&records)[0].latency_ns.p50, Some(median));
    records[1].achieved_depth *= 3.0;
    let found = percentiles(&records, &settings(&records));
    assert!(found.points.is_empty(), "of most runs it is not known, as the cell's: {found:?}");
}

#[test]
fn a_cell_without_runs_has_none() {
    let records = [run_of(100, Pass::Plain, 0)];
    let other = CellSettings { iodepth: 7, ..settings(&records) };
    assert!(percentiles(&records, &other).points.is_empty());
}
