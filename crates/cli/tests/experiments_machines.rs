//! Checks the experiments on the papers' machines, whose mechanisms are known.

use crate::page::golden;
use crate::studied::study;

/// Chung Fig. 18: three Atlas 10K disks scale, and the shared path limits the fourth; random requests of 8 KiB never
/// fill it.
#[test]
fn the_bus_that_four_disks_share_stops_the_fourth() {
    let (findings, page) =
        study("sim:win2k-atlas10k", "scaling", &["--budget", "20m", "--set", "disks=4", "--rw", "read"]);
    for row in findings["scaling"].as_array().unwrap().iter().filter(|row| row["volume_layout"] == "each") {
        let stopped = row["pattern"] == "sequential" && row["n"] == 4;
        assert_eq!(row["limited_by"], if stopped { "shared" } else { "device" }, "{row}");
    }
    golden(&page, "scaling", "scaling");
}

/// Chung Fig. 33: at depth 2, each arm of a mirror serves one request; on a stripe, half of the pairs fall on one disk.
#[test]
fn a_mirror_reads_with_both_arms() {
    let (findings, page) = study("sim:win2k-3ware6800", "mirror", &["--budget", "20m", "--set", "disks=2"]);
    let rows = findings["mirror"].as_array().unwrap();
    let iops = |volume_layout: &str, rw: &str, iodepth: u64| {
        let row = rows.iter().find(|row| {
            (row["volume_layout"].as_str(), row["rw"].as_str(), row["pattern"].as_str(), row["iodepth"].as_u64())
                == (Some(volume_layout), Some(rw), Some("random"), Some(iodepth))
        });
        row.unwrap_or_else(|| panic!("no {volume_layout}"))["iops"].as_f64().unwrap()
    };
    let one = iops("each", "read", 2);
    assert!((iops("mirror", "read", 2) / one / 2.0 - 1.0).abs() < 0.05, "{rows:?}");
    assert!((iops("stripe", "read", 2) / one / 1.5 - 1.0).abs() < 0.05, "{rows:?}");
    assert!((iops("mirror", "write", 8) / iops("each", "write", 8) - 1.0).abs() < 0.05, "{rows:?}");
    golden(&page, "mirror", "mirror");
}

/// A file system that zeroes the extension of a buffered file: extending costs, and writing existing blocks does not.
#[test]
fn a_file_system_that_zeroes_on_extension_shows() {
    let (findings, page) = study("sim:nt4-ultrawide", "allocation", &["--budget", "20m", "--set", "disks=4"]);
    let rows = findings["allocation"].as_array().unwrap();
    let mbps = |case: &str, cache: &str| {
        let row = rows.iter().find(|row| row["case"] == case && row["cache"] == cache && row["iodepth"] == 8);
        row.unwrap_or_else(|| panic!("no {case}"))["mbps"].as_f64().unwrap()
    };
    assert!(mbps("new", "both") < 0.9 * mbps("written", "both"), "{rows:?}");
    golden(&page, "allocation", "allocation");
}
