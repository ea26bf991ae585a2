//! Checks which latencies of a run are known, and what its counts say.

use std::collections::BTreeMap;

use crate::sample::{environment, question, record};
use halfpower_record::{ByDirection, DiscardReason, LaneRecord, LaneRole, Latency, Record, StudyFile};
use halfpower_spec::{Arrival, Arrivals, Cache, Rw};
use rusqlite::Connection;
use rusqlite::types::Value;

/// A run of so many requests of 100 ms each, with 32 in flight, in a window of one second.
fn run(ios: u64) -> Record {
    let mut latency = Latency::default();
    (0..ios).for_each(|_| latency.add(100_000_000));
    let record = record(2);
    Record { ios, latency, elapsed_ns: 1_000_000_000, flush_ns: 0, achieved_depth: 32.0, ..record }
}

/// A column of the study file that holds this record alone.
fn column(record: &Record, name: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.halfpower");
    StudyFile::create(&path, &question(), &environment("6.1")).unwrap().append(record).unwrap();
    let read = Connection::open(&path).unwrap();
    read.query_row(&format!("SELECT {name} FROM record"), [], |row| row.get(0)).unwrap()
}

#[test]
fn latencies_that_contradict_rate_and_depth_are_not_known() {
    // 320 requests of 100 ms in a second are 32 in flight.
    assert!(run(320).knows_latency());
    assert_eq!(run(320).latency_ns_at(1.0), Some(100_000_000));
    // 20 such requests a second with 32 in flight would take 1.6 s each: those counted are the first of their queue.
    let young = run(20);
    assert!((young.latency_share().unwrap() - 20.0 * 0.1 / 32.0).abs() < 1e-9);
    assert_eq!((young.knows_latency(), young.latency_ns_at(0.5)), (false, None));
    for name in ["latency_ns_min", "latency_ns_p50", "latency_ns_p99", "latency_ns_max", "latency_ns_mean"] {
        assert_eq!(column(&young, name), Value::Null, "{name}");
        assert_ne!(column(&run(320), name), Value::Null, "{name}");
    }
    // One request of three halves of the window may be cut by either end.
    let mut latency = Latency::default();
    latency.add(800_000_000);
    assert!(Record { latency, ios: 1, achieved_depth: 1.0, ..run(1) }.knows_latency());
}

#[test]
fn where_nothing_can_be_said_latencies_are_what_was_counted() {
    let mut rated = run(20);
    rated.run.workload.rate = Some(Arrival { iops: 20, arrivals: Arrivals::Fixed });
    let failed = Record { errors: BTreeMap::from([("EIO".to_string(), 1)]), ..run(20) };
    for record in [rated, failed] {
        assert_eq!(record.latency_share(), None);
        assert!(record.knows_latency());
    }
}

#[test]
fn where_no_request_succeeded_there_is_no_latency() {
    let names = ["latency_ns_min", "latency_ns_p50", "latency_ns_p99", "latency_ns_max", "latency_ns_mean"];
    let failed = Record { errors: BTreeMap::from([("EIO".to_string(), 9)]), bytes: 0, ..run(0) };
    assert!(failed.knows_latency() && failed.known_latency().is_none());
    for name in names {
        assert_eq!(column(&failed, name), Value::Null, "{name}");
    }
    let mut reads_alone = run(320);
    reads_alone.run.workload.rw = Rw::Randmixed;
    let read_latency = reads_alone.latency.clone();
    let write_latency = Latency::default();
    let by_direction = Some(ByDirection { read_bytes: reads_alone.bytes, read_latency, write_latency });
    let reads_alone = Record { read_ios: 320, by_direction, ..reads_alone };
    for name in ["latency_ns_p50", "read_latency_ns_p50", "read_latency_ns_p99"] {
        assert_ne!(column(&reads_alone, name), Value::Null, "{name}");
    }
    for name in ["write_latency_ns_p50", "write_latency_ns_p99"] {
        assert_eq!(column(&reads_alone, name), Value::Null, "{name}");
    }
}

#[test]
fn faults_of_discarded_windows_are_in_the_columns_too() {
    let first = Record { errors: BTreeMap::from([("EIO".to_string(), 3)]), short_transfers: 2, ..run(320) };
    let window = first.discarded_for(DiscardReason::Stopped);
    let last = Record { errors: BTreeMap::from([("EIO".to_string(), 4)]), short_transfers: 1, ..run(320) };
    let record = Record { discarded: vec![window], ..last };
    assert_eq!((column(&record, "errors"), column(&record, "short_transfers")), (7.into(), 3.into()));
    assert_eq!(column(&record, "errors_by_kind"), Value::Text("EIO=7".to_string()));
}

#[test]
fn a_counter_that_stood_still_is_no_evidence_unless_the_page_cache_may_have_answered() {
    let mut still = run(320);
    still.run.workload.cache = Cache::Device;
    (still.noise.device_bytes, still.cached_bytes) = (Some(0), Some(0));
    assert_eq!((still.device_share(), still.foreign_bytes()), (None, None));
    still.cached_bytes = Some(4096);
    assert_eq!(still.device_share(), Some(0.0));
}

#[test]
fn requests_beside_the_workload_have_sizes_of_their_own() {
    let mut record = run(100);
    let own_bytes = 100 * record.run.workload.bs.0;
    let lane = |role, ios, bytes| LaneRecord { role, cpu: None, elapsed_ns: 1, bytes, ios, reads: None, writes: None };
    for role in [LaneRole::Random, LaneRole::Beside] {
        record.lanes = vec![lane(LaneRole::Own, 100, own_bytes), lane(role, 50, 50 * 512)];
        (record.cpu.ios, record.noise.device_bytes) = (150, Some(own_bytes + 50 * 512));
        assert_eq!(record.device_share(), Some(1.0), "{role:?}: the device moved all of it");
    }
}

#[test]
fn flushes_between_requests_have_columns() {
    let mut record = run(320);
    assert_eq!((column(&record, "syncs"), column(&record, "sync_ns_p50")), (Value::Null, Value::Null));
    (1..=100).for_each(|us| record.syncs.add(us * 1_000));
    assert_eq!(column(&record, "syncs"), 100.into());
    let near = |name: &str, truth: i64| match column(&record, name) {
        Value::Integer(ns) => assert!((ns - truth).abs() <= truth / 64, "{name}: {ns}"),
        other => panic!("{name}: {other:?}"),
    };
    near("sync_ns_p50", 50_000);
    near("sync_ns_p99", 99_000);
    near("sync_ns_p999", 100_000);
}
