//! Checks the report of each experiment on simulated targets with known behaviour.

use crate::page::golden;
use crate::studied::study;
use serde_json::Value;

#[test]
fn a_disk_without_tracks_is_one_zone() {
    let (findings, page) = study("sim:fixed=80us,rate=500MB/s,noise=1%", "zones", &[]);
    let zones = findings["zones"].as_array().unwrap();
    assert_eq!(
        (zones.len(), zones[0]["from_bytes"].as_u64(), zones[0]["to_bytes"].as_u64()),
        (1, Some(0), Some(1 << 30))
    );
    // A single request of 1 MiB takes 80 us plus the transfer at 500 MB/s.
    let truth = 1_048_576.0 / (80.0 + 1_048_576.0 / 500.0);
    assert!((zones[0]["mbps"].as_f64().unwrap() / truth - 1.0).abs() < 0.02, "{zones:?}, {truth}");
    golden(&page, "zones", "zones");
}

#[test]
fn engines_on_a_disk_differ_by_the_depth_they_can_keep() {
    let disk = "sim:fixed=80us,rate=500MB/s,disks=4,cpu_fixed=4us,cpu_per_kib=0ns,unseen=0.25";
    let (findings, page) = study(disk, "engines", &["--rw", "read"]);
    let rows = findings["engines"].as_array().unwrap();
    let row = |engine: &str, bs: u64, iodepth: u64| {
        let alike = |row: &&Value| {
            (row["engine"].as_str(), row["bs_bytes"].as_u64(), row["iodepth"].as_u64())
                == (Some(engine), Some(bs), Some(iodepth))
        };
        rows.iter().find(alike).unwrap_or_else(|| panic!("no row of {engine}"))
    };
    let near = |found: &Value, truth: f64| (found.as_f64().unwrap() / truth - 1.0).abs() < 0.02;
    let alone_us = 80.0 + 4096.0 / 500.0;
    for engine in ["pool", "libaio", "io_uring", "io_uring_plain", "io_uring_sqpoll"] {
        assert!(near(&row(engine, 4096, 1)["iops"], 1e6 / alone_us), "{engine}");
        assert!(near(&row(engine, 4096, 32)["iops"], 4e6 / alone_us), "{engine}");
        assert!(near(&row(engine, 4096, 32)["charged_us"], 3.0) && near(&row(engine, 4096, 32)["soaker_us"], 4.0));
    }
    assert!(near(&row("sync", 4096, 1)["iops"], 1e6 / alone_us));
    assert!(rows.iter().all(|row| row["engine"] != "sync" || row["iodepth"] == 1), "sync keeps no depth");
    assert!(rows.iter().all(|row| row["cache"] == "device"), "a simulated disk has no page cache");
    golden(&page, "engines", "engines");
}

/// A disk that serves in order of submission: streams share it without loss, and random readers get their turns.
#[test]
fn streams_of_a_disk_without_places_share_it_and_readers_take_their_turns() {
    let (findings, page) = study("sim:fixed=80us,rate=500MB/s,noise=1%", "streams", &[]);
    let rows = findings["streams"].as_array().unwrap();
    let stream_us = 80.0 + 65_536.0 / 500.0;
    let reader_us = 80.0 + 8_192.0 / 500.0;
    let figure = |row: &Value, key: &str| row[key].as_f64().unwrap();
    for row in rows {
        let readers = figure(row, "random_readers");
        let depth = figure(row, "iodepth");
        let share = depth * stream_us / (depth * stream_us + readers * reader_us);
        assert!((figure(row, "of_one") / share - 1.0).abs() < 0.03, "{share}: {row}");
        if readers > 0.0 {
            let iops = readers * 1e6 / (depth * stream_us + readers * reader_us);
            assert!((figure(row, "readers_iops") / iops - 1.0).abs() < 0.03, "{iops}: {row}");
        }
    }
    assert_eq!(rows.len(), 8, "{rows:?}");
    golden(&page, "streams", "streams");
}

/// A simulated drive whose cache of 2 GB fills at the disk's own rate and empties at 250 MB/s.
#[test]
fn sustained_writes_find_the_fast_part_and_what_a_rest_brings_back() {
    let disk = "sim:fixed=10us,rate=1500MB/s,fast_part=2GB,sustained=300MB/s,drain=250MB/s,jitter=0.05";
    let (findings, page) = study(disk, "sustain", &["--sustain-bytes", "12g", "--budget", "4m"]);
    let found = &findings["experiments"][0]["found"];
    let within = |interval: &Value, truth: f64| {
        let [low, high] = ["low", "high"].map(|end| interval[end].as_f64().unwrap());
        assert!(low <= truth && truth <= high && (high - low) / truth < 0.3, "{truth}: {interval}");
    };
    assert_eq!(found["verdict"], "cliff", "{found}");
    within(&found["fast"]["bytes"], 2e9);
    within(&found["comes_back_mbps"], 250.0);
    assert!((found["mbps"]["value"].as_f64().unwrap() / 300.0 - 1.0).abs() < 0.02, "{found}");
    assert!(found["written_bytes"].as_u64().unwrap() <= 12 << 30, "{found}");
    let rows = findings["sustain"].as_array().unwrap();
    assert!(rows.len() == 4 && rows[0]["rest_s"] == 24.0, "{rows:?}");
    assert!(page.contains("Throughput by bytes written"), "the section has its picture");
}

#[test]
fn sustained_writes_take_a_bound_that_somebody_gave() {
    let (findings, _) = study("sim:", "zones,sustain", &["--budget", "10s"]);
    let sections = findings["experiments"].as_array().unwrap();
    let section = sections.iter().find(|section| section["experiment"] == "sustain").unwrap();
    assert!(
        section["ran"] == false && section["notes"][0].as_str().unwrap().contains("--sustain-bytes 20g"),
        "{section}"
    );
    let unbound = std::process::Command::new(env!("CARGO_BIN_EXE_halfpower"))
        .args(["study", "sim:", "--sustain-bytes", "1g"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&unbound.stderr).into_owned();
    assert!(unbound.status.code() == Some(2) && said.contains("add --experiments sustain"), "{said}");
}

#[test]
#[ignore = "gate: writes 256 MiB"]
fn sustained_writes_of_a_folder_stay_within_the_bound_and_leave_nothing() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = folder.path().to_str().unwrap();
    let bound = ["--sustain-bytes", "256m", "--size", "64MiB", "--budget", "20s"];
    let (findings, _) = study(target, "sustain", &bound);
    let found = &findings["experiments"][0]["found"];
    let written = found["written_bytes"].as_u64().unwrap();
    assert!(written > 0 && written <= 256 << 20, "{found}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// One server of 1 ms with Poisson arrivals: p99 reaches five service times at a load of 0.561 (M/D/1).
#[test]
fn the_most_load_under_a_latency_is_told_with_its_interval_and_its_curve() {
    let flags = ["--p99", "5ms", "--rw", "read", "--budget", "5m"];
    let (findings, page) = study("sim:fixed=1ms,rate=100GB/s", "load", &flags);
    let found = &findings["experiments"][0]["found"]["found"][0];
    assert_eq!((found["verdict"].as_str(), found["decided"].as_bool()), (Some("knee"), Some(true)), "{found}");
    assert!((found["iops"]["value"].as_f64().unwrap() / 560.8 - 1.0).abs() < 0.12, "{found}");
    let answer = findings["experiments"][0]["answer"].as_str().unwrap();
    assert!(answer.starts_with("Random reads of 4 KiB: p99 stays below 5.0 ms up to "), "{answer}");
    assert!(
        findings["load"].as_array().unwrap().len() > 4 && page.contains("Latency of random reads of 4 KiB by rate")
    );
    assert!(findings["cells"].as_array().unwrap().is_empty(), "the walks were not asked for");
    let line = findings["most_load"]["text"][0].as_str().unwrap();
    assert!(
        line.starts_with("random read 4 KiB: p99 below 5.0 ms up to ") && line.contains(" a second \u{b1}"),
        "{line}"
    );
    assert!(
        page.contains("id=\"way-load-randread-4096\" checked") && page.contains(&line["random read 4 KiB: ".len()..])
    );
}

#[test]
fn the_most_load_takes_one_bound_that_somebody_gave_and_the_bound_adds_it() {
    let refused = |words: &[&str], part: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_halfpower")).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(part), "{words:?}: {said}");
    };
    refused(&["study", "sim:", "--experiments", "load"], "--p99 1ms");
    refused(&["study", "sim:", "--p99", "1ms", "--p999", "2ms"], "cannot be used with");
    refused(&["study", "sim:", "--p99", "0s"], "above 0");
    let (findings, _) = study("sim:", "zones,load", &["--budget", "10s"]);
    let sections = findings["experiments"].as_array().unwrap();
    let load = sections.iter().find(|section| section["experiment"] == "load").unwrap();
    assert!(load["ran"] == false && load["notes"][0].as_str().unwrap().contains("--p99 1ms"), "{load}");
    let (findings, _) = study("sim:", "zones", &["--p99", "1ms", "--budget", "10s"]);
    let sections = findings["experiments"].as_array().unwrap();
    assert!(sections.iter().any(|section| section["experiment"] == "load" && section["ran"] == true), "{sections:?}");
}

/// A simulated file system whose operations take 20 µs, of which those that change a folder hold its lock for 15 µs.
#[test]
fn the_lock_of_a_folder_is_found_and_costs_those_alone_that_change_it() {
    let disk = "sim:file_op=20us,folder_lock=15us,flush=1ms,cpus=8,noise=1%";
    let (findings, page) = study(disk, "files", &[]);
    let rows = findings["files"].as_array().unwrap();
    let rate = |operation: &str, threads: u64, folders: &str, durable: bool| {
        let fits = |row: &&Value| {
            (row["operation"].as_str(), row["threads"].as_u64(), row["folders"].as_str(), row["is_durable"].as_bool())
                == (Some(operation), Some(threads), Some(folders), Some(durable))
        };
        let row = rows.iter().filter(fits).max_by_key(|row| row["files"].as_u64());
        row.unwrap_or_else(|| panic!("no row of {operation}"))["per_second"]["value"].as_f64().unwrap()
    };
    let near = |found: f64, truth: f64| assert!((found / truth - 1.0).abs() < 0.03, "{found}: {truth}");
    for changing in ["create", "rename", "remove"] {
        near(rate(changing, 1, "own", false), 50e3);
        near(rate(changing, 8, "own", false), 400e3);
        near(rate(changing, 8, "shared", false), 1e6 / 15.0);
    }
    near(rate("stat", 8, "shared", false), 400e3);
    near(rate("list", 1, "own", false), 50e3 * 64.0);
    near(rate("create", 1, "own", true), 1e6 / 1020.0);
    let operations = findings["experiments"][0]["found"]["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 5);
    for found in operations {
        let changes = ["create", "rename", "remove"].contains(&found["operation"].as_str().unwrap());
        let in_one_folder = if changes { "folder-lock" } else { "more-threads" };
        let codes = ["stop_in_one_folder", "stop"].map(|stop| found[stop]["code"].as_str());
        assert_eq!(codes, [Some(in_one_folder), Some("more-threads")], "{found}");
    }
    assert!(page.contains("Small files a second by threads"), "the section has its picture");
}

#[test]
fn a_target_without_files_is_told_what_it_lacks() {
    let (findings, _) = study("sim:", "zones,files", &["--budget", "10s"]);
    let sections = findings["experiments"].as_array().unwrap();
    let section = sections.iter().find(|section| section["experiment"] == "files").unwrap();
    assert!(section["ran"] == false && section["notes"][0].as_str().unwrap().contains("file_op=20us"), "{section}");
}

#[test]
#[ignore = "gate: makes thousands of files many times"]
fn small_files_of_a_folder_are_counted_and_none_is_left() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = folder.path().to_str().unwrap();
    let (findings, _) = study(target, "files", &["--size", "64MiB", "--budget", "30s"]);
    let operations = findings["experiments"][0]["found"]["operations"].as_array().unwrap();
    // How many of the five have their turn within the budget depends on the machine.
    assert!(!operations.is_empty(), "{findings}");
    assert!(operations.iter().all(|found| found["alone"]["value"].as_f64().unwrap() > 0.0), "{operations:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
