//! Checks that a single run names the known limit that it reached.

use crate::built::{record_at, workload};
use halfpower_analyse::{Most, met_limit};
use halfpower_record::Level;
use halfpower_spec::{Cache, Direction, Pass, Rate, Rw, SimulatedDisk};

#[test]
fn a_single_run_names_the_limit_that_it_met() {
    let limit = |name: &str, mbps: Option<f64>, iops, direction| Level {
        name: name.to_string(),
        pap: mbps.map(|mbps| Rate(mbps * 1e6)),
        pap_iops: iops,
        direction,
        source: format!("known of {name}"),
        ..Level::default()
    };
    let levels = [
        limit("memory", Some(36.8), None, None),
        limit("cgroup limit, reads", Some(37.0), Some(2000.0), Some(Direction::Read)),
        limit("cgroup limit, writes", Some(23.0), None, Some(Direction::Write)),
        limit("link", Some(600.0), None, None),
    ];
    let disk = SimulatedDisk::from_constants("fixed=100us,rate=1000MB/s").unwrap();
    let met = |rw, bs_kib, mbps: f64| {
        let workload = workload(rw, Cache::Device, bs_kib, 4);
        met_limit(&levels, &record_at(&disk, workload, 0, Pass::Plain, mbps * 1e6))
    };
    let reads = met(Rw::Read, 128, 36.8).unwrap();
    assert_eq!((reads.level.as_str(), reads.most), ("cgroup limit, reads", Most::Mbps(37.0)));
    assert!((reads.share - 36.8 / 37.0).abs() < 0.01 && reads.source == "known of cgroup limit, reads");
    assert_eq!(met(Rw::Write, 128, 22.9).unwrap().level, "cgroup limit, writes");
    assert_eq!(met(Rw::Randread, 4, 8.15).unwrap().most, Most::Iops(2000.0));
    assert_eq!(met(Rw::Read, 128, 590.0).unwrap().level, "link");
    assert_eq!(met(Rw::Read, 128, 30.0), None, "below it");
    assert_eq!(met(Rw::Read, 128, 300.0), None, "a cache answered");
}

#[test]
fn reads_and_writes_are_added_up_where_they_share_a_limit() {
    let disk = SimulatedDisk::from_constants("fixed=100us,rate=1000MB/s").unwrap();
    let met = |half_duplex, each_mbps: f64| {
        let pap = Some(Rate(37e6));
        let level = Level { name: "cgroup limit".to_string(), pap, half_duplex, ..Level::default() };
        let mixed = workload(Rw::Mixed, Cache::Device, 128, 4);
        let mut record = record_at(&disk, mixed, 0, Pass::Plain, 2.0 * each_mbps * 1e6);
        record.read_ios = record.ios / 2;
        met_limit(&[level], &record).map(|met| met.share)
    };
    let is_near = |share: Option<f64>, expected: f64| share.is_some_and(|share| (share - expected).abs() < 0.02);
    assert_eq!(met(false, 18.5), None, "each way is at half");
    assert!(is_near(met(false, 37.0), 1.0), "each way is at its limit");
    assert!(is_near(met(true, 18.5), 1.0), "both together are at the limit of a half-duplex link");
    assert_eq!(met(true, 37.0), None, "beyond it");
}
