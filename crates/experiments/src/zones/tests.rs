//! Checks that `zones` finds the bands of records with known truth.

use halfpower_spec::{Bytes, Cache, Experiment, Region, Rw, Workload, WorkloadOptions};

use crate::built_study::{answer, told_in_rounds};

#[test]
fn bands_are_found_although_others_had_the_disk_for_a_round() {
    let places = (0..32u64).map(|place| {
        let region = Region { from: Bytes(place << 30), bytes: Bytes(1 << 30) };
        let options = WorkloadOptions { region: Some(region), ..WorkloadOptions::default() };
        let (rw, cache, bs) = (Rw::Read, Cache::Device, Bytes(1 << 20));
        let mbps = [24.0, 21.0, 18.5, 15.0][place as usize / 8];
        (Workload { rw, cache, bs, iodepth: 4, options, ..Workload::default() }, mbps)
    });
    let places: Vec<(Workload, f64)> = places.collect();
    for rounds in [[1.0; 3], [1.0, 0.5, 0.9]] {
        let findings = told_in_rounds(Experiment::Zones, &places, 0.02, rounds);
        let begin: Vec<u64> = findings.rows.zones.zones.iter().map(|zone| zone.from_bytes >> 30).collect();
        assert_eq!(begin, [0, 8, 16, 24], "{}", answer(&findings));
        assert!(answer(&findings).contains("it falls into 4 bands"), "{}", answer(&findings));
    }
}
