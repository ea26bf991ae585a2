//! Checks the experiments about caches and processors on the simulated machines.

use std::process::Command;

use crate::page::golden;
use serde_json::Value;
use tempfile::TempDir;

/// The findings of a study, and its page.
fn study(target: &str, experiment: &str, more: &[&str]) -> (Value, String) {
    study_for("2s", target, experiment, more)
}

/// Like [`study`], with runs of this length.
fn study_for(runtime: &str, target: &str, experiment: &str, more: &[&str]) -> (Value, String) {
    let folder = TempDir::new().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_halfpower"))
        .current_dir(folder.path())
        .args(["study", target, "--experiments", experiment, "--runtime", runtime, "--json"])
        .args(more)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let measured_nothing = output.status.code() == Some(2) && said.contains("nothing was measured");
    assert!(output.status.success() || measured_nothing, "{target} {experiment}: {said}");
    let page = std::fs::read_to_string(folder.path().join("study.html")).unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), page)
}

/// The rows of a list that hold all these values.
fn rows<'a>(findings: &'a Value, list: &str, wanted: &[(&str, Value)]) -> Vec<&'a Value> {
    let all = findings[list].as_array().unwrap_or_else(|| panic!("no {list}"));
    all.iter().filter(|row| wanted.iter().all(|(key, value)| row[*key] == *value)).collect()
}

fn figure(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("no {key} in {row}"))
}

#[track_caller]
fn near(found: f64, truth: f64, within: f64) {
    assert!((found / truth - 1.0).abs() <= within, "{found}, and {truth} is true");
}

/// The costs of the 2000 machine are known: 12 us per call, 4.7 and 5.7 us per KiB copied, and transfers of 64 KiB for
/// read-ahead and writeback (50 us plus 0.48 or 0.5 us per KiB), which also apply to direct requests.
#[test]
fn the_page_cache_of_the_machine_of_2000_is_taken_apart() {
    let (findings, page) = study("sim:win2k-atlas10k", "buffered", &[]);
    for (rw, copy_us, direct_us) in [("read", 4.7, 0.48), ("write", 5.7, 0.5)] {
        let terms = rows(&findings, "buffered_cost", &[("rw", rw.into())])[0];
        let transfer_us = 50.0 + 64.0 * direct_us;
        near(figure(&terms["call_us"], "value"), 12.0, 0.01);
        near(figure(&terms["copy_ns_per_byte"], "value"), copy_us * 1e3 / 1024.0, 0.01);
        near(figure(&terms["behind_us_per_64kib"], "value"), transfer_us, 0.02);
        let kib = (50.0 - 12.0) / (copy_us + transfer_us / 64.0 - direct_us);
        near(figure(terms, "break_even_bytes"), kib * 1024.0, 0.02);
    }
    // Writes of half a page first read the page; whole pages run at the disk's speed.
    let written = |bs: u64| {
        figure(
            rows(&findings, "buffered", &[("rw", "write".into()), ("buffered", true.into()), ("bs_bytes", bs.into())])
                [0],
            "mbps",
        )
    };
    assert!(written(2048) < 0.55 * written(4096) && written(4096) > 0.97 * written(65536));
    golden(&page, "buffered", "buffered");
}

/// The cache of NT 4 loses half of its rate to reads of more than 64 KiB, and the experiment shows it.
#[test]
fn the_dip_of_1998_shows() {
    let (findings, _) = study("sim:nt4-ultrawide", "buffered", &["--rw", "read"]);
    let read = |bs: u64| {
        rows(&findings, "buffered", &[("buffered", true.into()), ("bs_bytes", bs.into()), ("fadvise", "normal".into())])
            [0]
    };
    assert!(figure(read(262_144), "mbps") < 0.75 * figure(read(65_536), "mbps"), "{} {}", read(65_536), read(262_144));
    let answer = findings["experiments"][0]["answer"].as_str().unwrap();
    assert!(answer.contains("one request at a time, reads are") && !answer.contains("write"), "{answer}");
}

#[test]
fn a_disk_without_a_page_cache_says_so() {
    let (findings, _) = study("sim:fixed=80us,rate=500MB/s", "buffered", &[]);
    assert_eq!(findings["experiments"][0]["ran"], false);
    assert_eq!(findings["experiments"][0]["notes"][0], "A simulated disk has no page cache.");
}

/// The disk of the 2000 machine rotates in 6 ms. After a durable write, the next one has missed its place and waits for
/// a rotation. In the paper it reaches 10 MB/s without the write cache (Fig 13) and 22.5 MB/s with it; the simulated
/// machine agrees within 12%.
#[test]
fn durable_writes_wait_for_the_platter_and_share_the_wait() {
    let (findings, page) = study("sim:win2k-atlas10k", "durability", &[]);
    let row = |cache: &str, bs: u64, fdatasync: u32, write_cache: Option<&str>| {
        let write_cache = write_cache.map_or(Value::Null, Value::from);
        let wanted = [
            ("cache", cache.into()),
            ("bs_bytes", bs.into()),
            ("iodepth", 1.into()),
            ("fdatasync", fdatasync.into()),
            ("write_cache", write_cache),
        ];
        rows(&findings, "durability", &wanted)[0].clone()
    };
    near(figure(&row("none", 4096, 0, None), "mbps"), 4096.0 / 6000.0, 0.05);
    near(figure(&row("none", 65_536, 0, None), "mbps"), 10.0, 0.12);
    for cache in ["device", "both"] {
        near(figure(&row(cache, 65_536, 0, Some("off")), "mbps"), 10.0, 0.12);
        near(figure(&row(cache, 65_536, 0, Some("on")), "mbps"), 22.2, 0.03);
    }
    let shares = [1, 4, 16, 64, 256].map(|writes| figure(&row("device", 4096, writes, None)["of_plain"], "value"));
    assert!(shares.is_sorted() && shares[0] < 0.1 && shares[4] > 0.6, "{shares:?}");
    // Writes that share a flush: the number and the flush time must give the rate.
    for writes in [1, 16, 256] {
        let row = row("device", 4096, writes, None);
        let each_ns = figure(&row, "latency_ns_p50") + figure(&row, "sync_ns_p50") / f64::from(writes);
        near(figure(&row, "mbps"), 4096.0 * 1e3 / each_ns, 0.1);
    }
    golden(&page, "durability", "durability");
}

/// The 2000 machine has two processors, and its disk keeps neither busy: one is enough, as in the paper.
#[test]
fn a_second_processor_brings_a_single_disk_nothing() {
    let (findings, page) = study("sim:win2k-atlas10k", "processors", &[]);
    let all = rows(&findings, "processors", &[("affinity", "all".into())]);
    let one = rows(&findings, "processors", &[("affinity", "one".into())]);
    assert_eq!((all.len(), one.len()), (3, 3));
    for (all, one) in all.iter().zip(&one) {
        near(figure(one, "mbps"), figure(all, "mbps"), 0.03);
        near(figure(one, "charged_us"), figure(all, "charged_us"), 0.01);
    }
    let notes = findings["experiments"][0]["notes"].to_string();
    assert!(notes.contains("interrupts' processor is not set against another"), "{notes}");
    golden(&page, "processors", "processors");
}

/// Processors that need 20 ms per request are the limit: each gives 50 requests a second.
#[test]
fn a_second_processor_doubles_what_processors_limit() {
    let slow = ["--set", "host.lookup_us=20000"];
    // Long enough that the requests in flight at the end do not count.
    let (findings, _) = study_for("60s", "sim:win2k-atlas10k", "processors", &slow);
    for (affinity, truth) in [("all", 100.0), ("one", 50.0)] {
        for row in rows(&findings, "processors", &[("affinity", affinity.into()), ("cache", "device".into())]) {
            near(figure(row, "iops"), truth, 0.05);
            // 70% of it is charged.
            near(figure(row, "charged_us"), 14_000.0, 0.05);
        }
    }
    let answer = findings["experiments"][0]["answer"].as_str().unwrap();
    assert!(answer.contains("random direct reads of 4 KiB by one thread get 50%"), "{answer}");
}

/// All three on a real folder: the rows hold the bytes moved, whatever the machine's speed.
#[test]
fn they_run_on_a_real_folder() {
    run_on_a_real_folder("20ms", &["--size", "64MiB", "--repeats", "2", "--budget", "20s"]);
}

fn run_on_a_real_folder(runtime: &str, more: &[&str]) {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = folder.path().to_str().unwrap();
    let (findings, page) = study_for(runtime, target, "buffered,durability,processors", more);
    for (at, list) in ["buffered", "durability", "processors"].into_iter().enumerate() {
        let section = &findings["experiments"][at];
        if section["ran"] == false {
            // For example on a machine with one processor.
            println!("{list} was skipped: {}", section["notes"]);
            continue;
        }
        let rows = rows(&findings, list, &[]);
        assert!(rows.len() >= 6, "{list}: {rows:?}");
        for row in rows {
            assert!(figure(row, "mbps") > 0.0 && figure(row, "low") <= figure(row, "high"), "{row}");
        }
        assert!(page.contains(&format!("id=\"{list}\"")) && section["answer"].as_str().unwrap().len() > 40);
    }
    let flushed = rows(&findings, "durability", &[("fdatasync", 1.into())]);
    assert!(flushed.iter().all(|row| figure(row, "sync_ns_p50") > 0.0), "{flushed:?}");
    assert!(!flushed.is_empty());
    let terms = rows(&findings, "buffered_cost", &[("rw", "write".into())]);
    assert_eq!(terms.len(), 1, "{terms:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "what was laid out is removed");
}

/// Tests for the laboratory.
mod lab {
    use super::*;

    #[test]
    #[ignore = "lab: the same in windows that a disk needs"]
    fn they_run_on_a_real_folder_at_length() {
        run_on_a_real_folder("100ms", &["--size", "64MiB", "--repeats", "2", "--budget", "40s"]);
    }
}
