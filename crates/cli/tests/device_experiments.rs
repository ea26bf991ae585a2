//! Checks the experiments on a single device with known behaviour.

use crate::page::golden;
use crate::studied::study;
use serde_json::Value;

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
    // A random request moves the arm; a request already in the disk's cache only waits for the bus.
    let us = |hit: &str| {
        let small = findings["hits"].as_array().unwrap().iter().filter(|row| row["bs_bytes"] == 8192);
        figure(small.clone().find(|row| row["hit"] == hit).unwrap(), "latency_ns_p50") / 1e3
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

/// In 1998, files were 12 KiB off the stripe's chunks; here the requests are, in files that begin with a chunk.
#[test]
fn requests_over_the_ends_of_chunks_are_two_and_slower() {
    let machine = "sim:nt4-ultrawide,disks=4";
    let rows_of = |target: &str| {
        let (findings, page) = study(target, "alignment", &["--budget", "20m"]);
        (findings["alignment"].as_array().unwrap().clone(), page)
    };
    let (rows, page) = rows_of(&format!("{machine},aligned=on"));
    let reads = |rows: &[Value], shift: u64, iodepth: u64| {
        let alike = |row: &&Value| {
            (&row["shift_bytes"], &row["bs_bytes"], &row["iodepth"], row["rw"].as_str(), row["pattern"].as_str())
                == (&shift.into(), &65536.into(), &iodepth.into(), Some("read"), Some("sequential"))
        };
        rows.iter().find(alike).unwrap_or_else(|| panic!("no reads shifted by {shift}")).clone()
    };
    let (habit, _) = rows_of(machine);
    for iodepth in [1, 8] {
        // The machine's default placement, and the corrected one.
        close(figure(&reads(&rows, 12 << 10, iodepth), "mbps"), figure(&reads(&habit, 0, iodepth), "mbps"), 0.02);
        let half = figure(&reads(&rows, 32 << 10, iodepth), "mbps") / figure(&reads(&rows, 0, iodepth), "mbps");
        close(figure(&reads(&rows, 32 << 10, iodepth)["of_aligned"], "value"), half, 0.001);
    }
    // The paper has 15 to 20%; deep requests fill the bus either way.
    let of_aligned = |iodepth| figure(&reads(&rows, 12 << 10, iodepth)["of_aligned"], "high");
    assert!(of_aligned(1) < 1.0 / 1.15 && of_aligned(8) < 0.98, "{} {}", of_aligned(1), of_aligned(8));
    golden(&page, "alignment", "alignment");
}

/// Tables 9 and 10 of the study of 2000: random reads of 8 KB a second, the price of each, and MB for a dollar. (Its
/// MAPS are of 1,000,000 bytes at the outer edge's rate; here whole MiB are read anywhere.)
#[test]
fn the_papers_disks_buy_what_they_bought() {
    for (name, price, kaps, each, mb_per_price) in
        [("win2k-atlas10k", "534", 105.0, 5.09, 34.0), ("win2k-fireball", "209", 66.0, 3.17, 124.0)]
    {
        let (findings, page) = study(&format!("sim:{name}"), "price", &["--price", price, "--budget", "20m"]);
        let row = &findings["price"][0];
        let one = &row["one_deep"];
        close(figure(one, "kaps"), kaps, 0.05);
        close(figure(row, "price") / figure(one, "kaps"), each, 0.05);
        let maps = figure(one, "maps") / figure(row, "price");
        close(figure(one, "maps_per_price"), maps, 0.001);
        assert!(figure(one, "maps") < 0.25 * figure(one, "kaps"), "{row}");
        close(1000.0 * figure(row, "gb_per_price"), mb_per_price, 0.03);
        assert!(figure(&row["best"], "kaps") >= figure(one, "kaps"), "{row}");
        if name == "win2k-fireball" {
            golden(&page, "price", "price");
        }
    }
}

#[test]
fn without_a_price_nothing_is_measured_and_the_page_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_halfpower"))
        .current_dir(folder.path())
        .args(["study", "sim:win2k-atlas10k", "--experiments", "price", "--budget", "60s"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let page = std::fs::read_to_string(folder.path().join("study.html")).unwrap();
    assert!(page.contains("No price was given: add --price"));
}

/// A disk whose rates step down in four bands of equally many tracks: each holds bytes in proportion to its rate.
#[test]
fn four_bands_are_found_where_they_are() {
    let rates = [24.0, 20.0, 16.0, 12.0];
    let sets = ["disk.bands=4", "disk.outer_mbps=24", "disk.inner_mbps=12"].map(|set| ["--set", set]).concat();
    let (findings, page) = study("sim:win2k-atlas10k", "zones", &[&["--budget", "30m"], &sets[..]].concat());
    let zones = findings["zones"].as_array().unwrap();
    assert_eq!(zones.len(), 4, "{zones:?}");
    let span = figure(&zones[3], "to_bytes");
    let mut begins = 0.0;
    for (zone, rate) in zones.iter().zip(rates) {
        // The measured places are 1/32 of the disk apart.
        assert!((figure(zone, "from_bytes") - begins).abs() <= span / 32.0, "{zone}, {begins}");
        close(figure(zone, "mbps"), rate, 0.03);
        begins += span * rate / rates.iter().sum::<f64>();
    }
    golden(&page, "zones", "zones-four-bands");
}
