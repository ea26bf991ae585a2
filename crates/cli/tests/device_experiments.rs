//! What do the experiments on a single device say of one whose truth is known? Studies of simulated targets, and the
//! sections that stand in their reports.

mod page;
mod studied;

use page::golden;
use serde_json::Value;
use studied::study;

/// The figure of one row of a list.
fn figure(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("no {key} in {row}"))
}

#[track_caller]
fn close(found: f64, truth: f64, tolerance: f64) {
    assert!((found / truth - 1.0).abs() <= tolerance, "{found}, expected {truth}");
}

/// The study of 2000 found 83.6 MB/s with requests of 64 KB and 98.5 with 1 MB, whatever the number of disks.
#[test]
fn the_caches_of_four_disks_show_the_ceiling_of_their_bus() {
    let (findings, page) = study("sim:win2k-atlas10k,disks=4,array=each", "burst", &["--budget", "20m"]);
    let rows = findings["burst"].as_array().unwrap();
    for n in 1..=4u64 {
        for (bs, truth) in [(65536u64, 83.6), (1 << 20, 98.5)] {
            let alike =
                |row: &&Value| (&row["n"], &row["bs_bytes"], &row["iodepth"]) == (&n.into(), &bs.into(), &2.into());
            close(figure(rows.iter().find(alike).expect("it was measured"), "mbps"), truth, 0.03);
        }
    }
    let levels = findings["levels"].as_array().unwrap();
    let link = levels.iter().find(|level| level["level"] == "controller and link (read)").expect("a measured level");
    close(figure(link, "rap_mbps"), 98.5, 0.03);
    assert!(link["source"].as_str().unwrap().contains("of what the PCI lets through"), "{link}");
    // A request at random moves the arm; one that was read before or ahead waits for the bus alone.
    let us = |hit: &str| {
        let small = findings["hits"].as_array().unwrap().iter().filter(|row| row["bs_bytes"] == 8192);
        figure(small.clone().find(|row| row["hit"] == hit).unwrap(), "us")
    };
    assert!(us("next") <= us("same") && us("same") < 0.05 * us("any"));
    golden(&page, "burst", "burst");
}

#[test]
fn the_fixed_time_of_a_disk_of_constants_is_found_by_subtraction() {
    let (findings, _) = study("sim:fixed=80us,rate=500MB/s,noise=1%", "burst", &[]);
    let overhead = &findings["overhead"][0];
    close(figure(&overhead["fixed_us"], "value"), 80.0, 0.03);
    close(figure(overhead, "mbps"), 500.0, 0.03);
    let answer = findings["experiments"][0]["answer"].as_str().unwrap();
    assert!(answer.contains("nothing before the medium is known to answer"), "{answer}");
}
