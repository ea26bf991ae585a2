//! Checks how often writes are made durable: on a simulated disk whose flush is known, and in a real folder.

use std::path::Path;

use serde_json::Value;

use crate::program::{folder, run};
use crate::studied::study;

/// A write of 8 KiB takes 208 us, a flush 1 ms.
const DISK: &str = "sim:fixed=200us,rate=1GB/s,disks=64,flush=1ms";
const WRITE_S: f64 = 200e-6 + 8192.0 / 1e9;
const FLUSH_S: f64 = 1e-3;

fn near(found: &Value, truth: f64, what: &str) {
    let value = found.as_f64().unwrap_or_else(|| panic!("{what}: {found}"));
    assert!((value / truth - 1.0).abs() < 0.03, "{what}: {value}, in truth {truth}");
}

/// The text of a command of these words that succeeds.
fn printed(folder: &Path, line: &str) -> String {
    let output = run(folder, &line.split(' ').collect::<Vec<_>>());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// The row of 8 KiB by so many writers.
fn row(findings: &Value, writers: u64) -> &Value {
    let is_it = |row: &&Value| {
        let of = ["writers", "bs_bytes", "beside_writers"].map(|key| row[key].as_u64());
        of == [Some(writers), Some(8192), Some(0)] && row["own_files"] == false
    };
    findings["commits"].as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("no row of {writers}"))
}

#[test]
fn a_known_flush_and_a_known_group_come_back() {
    let (findings, page) = study(&format!("{DISK},flush_group=4"), "commits", &["--budget", "20s"]);
    let alone_s = WRITE_S + FLUSH_S;
    near(&row(&findings, 1)["per_second"]["value"], 1.0 / alone_s, "one writer");
    near(&row(&findings, 1)["commit_ns_p50"], alone_s * 1e9, "its median");
    near(&row(&findings, 1)["flush_ns_p50"], FLUSH_S * 1e9, "its flush");
    // Four of those that wait share a flush, and more have to wait for the next ones.
    for writers in [8, 16, 32, 64] {
        near(&row(&findings, writers)["per_second"]["value"], 4.0 / FLUSH_S, "many writers");
        near(&row(&findings, writers)["commit_ns_p50"], writers as f64 * FLUSH_S / 4.0 * 1e9, "their median");
    }
    let found = &findings["experiments"][0]["found"];
    assert_eq!((found["group"]["writers"].as_u64(), found["group"]["is_bounded"].as_bool()), (Some(8), Some(true)));
    near(&found["group"]["share_a_flush"], 4.0, "commits that share a flush");
    near(&found["group"]["times"]["value"], 4.0 / FLUSH_S * alone_s, "gain");
    // A simulated device flushes as fast whatever else is in flight.
    let beside = &found["beside_others"];
    near(&beside["beside_ns"], FLUSH_S * 1e9, "a flush beside other writes");
    assert_eq!((beside["others"].as_u64(), beside["times"]["verdict"].as_str()), (Some(15), Some("alike")));
    assert_eq!(found["stops_alone"]["code"], "device-flush");
    near(&found["stops_alone"]["share"], FLUSH_S / alone_s, "share of the flush");
    assert_eq!(found["stops_together"], found["stops_alone"], "more writers bring nothing");
    assert!(page.contains("id=\"commits\"") && page.contains("Commits of 8 KiB by writers"), "the page lacks them");
}

#[test]
fn the_first_screen_tells_of_commits_beside_reads_and_writes() {
    let here = folder();
    let line = format!("study {DISK} --bs 8k --iodepth 1 --budget 20s --output s.halfpower");
    let first = printed(here.path(), &line);
    let rows: Vec<&str> = first.lines().skip_while(|line| !line.starts_with("  commit, 8 KiB")).take(2).collect();
    assert!(rows.len() == 2 && rows[0].contains("  1 at a time  ") && rows[0].contains(" a second"), "{first}");
    assert!(rows[0].contains("p50 1.2 ms") && rows[0].contains("p99 1.2 ms"), "{first}");
    assert!(rows[1].contains("16 together") && rows[1].contains("p50 2.0 ms"), "{first}");
    assert!(rows.iter().all(|row| row.chars().count() <= 80), "{first}");
    let report: Value = serde_json::from_str(&printed(here.path(), "report s.halfpower --json")).unwrap();
    near(&row(&report, 1)["per_second"]["value"], 1.0 / (WRITE_S + FLUSH_S), "one writer");
    // Two groups take turns: while one is flushed, the other writes and waits.
    near(&row(&report, 16)["per_second"]["value"], 16.0 / (2.0 * FLUSH_S), "16 writers");
    assert!(report["how_fast"].as_array().unwrap().len() >= 2, "reads and writes are there too");
    assert!(std::fs::read_to_string(here.path().join("s.html")).unwrap().contains("Commits</dt>"));
}

#[test]
fn a_budget_that_holds_no_commits_says_so() {
    let here = folder();
    let line = format!("study {DISK} --bs 8k --iodepth 1 --budget 5s --output s.halfpower");
    let first = printed(here.path(), &line);
    assert!(!first.contains("commit, 8 KiB") && first.contains("not run: The time ended before it"), "{first}");
}

/// Lets a study be of an earlier release: its version stands behind its question.
fn date_back(study: &Path) {
    let mut bytes = std::fs::read(study).unwrap();
    let version = format!("}}{}", env!("CARGO_PKG_VERSION"));
    let at = bytes.windows(version.len()).position(|part| part == version.as_bytes()).expect("it has one");
    bytes[at + version.len() - 1] = b'x';
    std::fs::write(study, bytes).unwrap();
}

#[test]
fn studies_of_earlier_releases_go_on_without_commits() {
    let here = folder();
    let line = format!("study {DISK} --bs 8k --iodepth 1 --budget 5s --output s.halfpower");
    printed(here.path(), &format!("{line} --experiments sequential,random"));
    let other = run(here.path(), &line.split(' ').collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(other.status.code() == Some(2) && said.contains("another question"), "this release asks both: {said}");
    date_back(&here.path().join("s.halfpower"));
    let again = printed(here.path(), &line);
    assert!(again.contains("was finished on") && !again.contains("commits"), "{again}");
    // A disk whose flush nobody knows has none by itself, and says why when it is asked.
    let plain = printed(here.path(), "study sim:fixed=200us --bs 8k --iodepth 1 --budget 5s --output p.halfpower");
    assert!(!plain.contains("commit"), "{plain}");
    let asked = "study sim:fixed=200us --experiments commits --budget 5s --output a.halfpower";
    let output = run(here.path(), &asked.split(' ').collect::<Vec<_>>());
    let asked = [output.stdout, output.stderr].map(|out| String::from_utf8(out).unwrap()).concat();
    let asked = asked.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.status.code() == Some(2) && asked.contains("takes: add flush=1ms"), "{asked}");
}

#[test]
fn the_plan_of_a_folder_has_commits_and_that_of_reads_none() {
    let here = folder();
    let plan = printed(here.path(), "plan . --size 4MiB --bs 8k --iodepth 1");
    let commits: Vec<&str> = plan.lines().filter(|line| line.contains("--fdatasync 1")).collect();
    assert!(commits.len() > 20, "{plan}");
    assert!(commits[..6].iter().all(|line| line.contains("--bs 8KiB") && line.contains("--cache both")), "{plan}");
    assert!(commits.iter().any(|line| line.contains("--own-files")), "{plan}");
    assert!(!printed(here.path(), "plan . --size 4MiB --bs 8k --iodepth 1 --rw read").contains("--fdatasync"));
}

#[test]
#[ignore = "gate: writes and flushes for some seconds"]
fn a_real_folder_has_commits_and_keeps_nothing() {
    let here = folder();
    let line = "study . --size 16MiB --experiments commits --budget 12s --runtime 50ms --repeats 2 --json";
    let findings: Value = serde_json::from_str(&printed(here.path(), line)).unwrap();
    let found = &findings["experiments"][0]["found"];
    for rate in ["alone", "together"] {
        let row = &found["rates"][rate];
        assert!(row["per_second"]["value"].as_f64() > Some(0.0), "{findings}");
        let times = ["p50", "p99", "p999"].map(|name| row[format!("commit_ns_{name}")].as_u64());
        assert!(times[0] > Some(0) && times.is_sorted(), "{row}");
    }
    let mut names: Vec<String> = std::fs::read_dir(here.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name != ".data");
    names.sort();
    assert_eq!(names, ["study.halfpower", "study.html"]);
}
