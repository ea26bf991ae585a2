//! Checks `halfpower systems`, and studies and runs on the simulated machines.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::program::{folder, run};

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn complaint(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn every_shipped_system_is_listed_with_what_it_is_and_can_be_printed() {
    let folder = folder();
    let list = said(&run(folder.path(), &["systems"]));
    for system in halfpower_model::systems() {
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(system.name)).expect(system.name);
        assert!(line.ends_with(system.about()) && !system.about().is_empty(), "{line}");
        assert_eq!(said(&run(folder.path(), &["systems", system.name])), system.text);
    }
    let unknown = complaint(&run(folder.path(), &["systems", "win95"]));
    assert!(unknown.contains("win95") && unknown.contains("halfpower systems"), "{unknown}");
}

/// The rows of a kind that count, and those of them within 10%, in the table of kinds.
fn tally(table: &str, kind: &str) -> [usize; 2] {
    let line = table.lines().find(|line| line.starts_with(kind)).unwrap();
    let counts: Vec<usize> = line.split_whitespace().skip(1).map(|count| count.parse().unwrap()).collect();
    let [within_10, within_25, beyond, _] = counts[..] else { panic!("{line}") };
    [within_10 + within_25 + beyond, within_10]
}

/// The crate `model` checks the numbers; this test checks how they are printed.
#[test]
fn the_reproduction_is_printed_row_by_row_with_its_counts() {
    let table = said(&run(folder().path(), &["systems", "--reproduce"]));
    let total = table.lines().next().unwrap();
    let count = |before: &str| -> usize {
        let text = total.split(before).next().unwrap();
        text.rsplit([' ', ',']).find(|word| !word.is_empty()).unwrap().parse().unwrap_or_else(|_| panic!("{total}"))
    };
    let rows: Vec<&str> = table.lines().skip_while(|line| !line.starts_with("figure ")).skip(1).collect();
    let of_kind = |kind: &str| rows.iter().filter(|row| row.contains(&format!("  {kind} "))).count();
    assert_eq!(of_kind("within 10%"), count(" predicted within 10%"));
    assert_eq!(of_kind("within 25%"), count(" within 25%"));
    assert_eq!(of_kind("not predicted"), count(" given to a system"));
    let answered = count(" figures:") - count(" not answered");
    assert_eq!(rows.len(), answered);
    let headline = table.lines().nth(1).unwrap();
    let [independent, within_10] = tally(&table, "independent");
    assert!(headline.contains(&format!(" of the {independent} independent predictions are within 10%")), "{headline}");
    assert!(within_10 > 0 && within_10 <= independent, "{table}");
    let apart = rows.iter().find(|row| row.starts_with("chung-s84-sw-64kb-1-deep ")).unwrap();
    assert!(apart.contains(" / ") && apart.contains("  independent  "), "reads and writes stand apart: {apart}");
    for row in rows {
        let (id, published) = row.split_once(' ').unwrap();
        assert!(id.starts_with("riedel-") || id.starts_with("chung-"), "{row}");
        assert!(published.chars().any(|letter| letter.is_ascii_digit()), "{row}");
    }
}

fn json(folder: &Path, words: &[&str]) -> Value {
    let output = run(folder, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

fn peak(findings: &Value, rw: &str, cache: &str) -> f64 {
    let of_path = |curve: &&Value| curve["rw"] == rw && curve["cache"] == cache && curve["pattern"] == "sequential";
    let peaks = findings["curves"].as_array().unwrap().iter().filter(of_path);
    peaks.map(|curve| curve["peak_mbps"].as_f64().unwrap()).fold(0.0, f64::max)
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found}, expected {expected}");
}

const SHORT: [&str; 4] = ["--budget", "15m", "--bs", "2KiB,4KiB,16KiB,64KiB,256KiB,1MiB"];

fn study(folder: &Path, target: &str, more: &[&str]) -> Value {
    json(folder, &[&["study", target, "--json"], &SHORT[..], more].concat())
}

#[test]
fn a_study_of_a_papers_machine_gives_the_papers_answer() {
    let folder = folder();
    let findings = study(folder.path(), "sim:win2k-atlas10k", &["--experiments", "sequential"]);
    assert_eq!(findings["target"], "sim:win2k-atlas10k");
    // The paper: "almost 24" MB/s reading, 22.5 writing, and the file system's cache equally fast at every size.
    close(peak(&findings, "read", "device"), 23.7, 0.02);
    close(peak(&findings, "write", "device"), 22.5, 0.02);
    close(peak(&findings, "read", "both"), 23.7, 0.02);
    assert_eq!(findings["bottleneck"]["level"], "Atlas 10K (read)");
    let levels = findings["levels"].as_array().unwrap();
    let named = |name: &str| levels.iter().find(|level| level["level"] == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(named("PCI")["pap_mbps"], 133.0);
    assert_eq!(named("Ultra160 SCSI")["pap_mbps"], 160.0);
    // 50 us per request and 0.5 us per KiB, of which 70% is charged.
    let of_reads = |cost: &&Value| cost["rw"] == "read" && cost["cache"] == "device" && cost["bound"] == "soaker";
    let cost = findings["cost"].as_array().unwrap().iter().find(of_reads).expect("a cost of reads");
    close(cost["fixed_us"]["value"].as_f64().unwrap(), 50.0, 0.03);
    close(cost["marginal_us_per_kib"]["value"].as_f64().unwrap(), 0.48, 0.03);
    assert!(folder.path().join("study.html").exists());
}

#[test]
fn what_several_disks_share_is_named_and_settings_predict_what_was_never_measured() {
    let level = |target: &str, settings: &[&str]| {
        let words: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        let more = [&["--experiments", "sequential", "--cache", "device", "--rw", "read"], &words[..]].concat();
        let findings = study(folder().path(), target, &more);
        (findings["bottleneck"]["level"].as_str().unwrap().to_string(), peak(&findings, "read", "device"))
    };
    let (name, mbps) = level("sim:nt4-ultrawide", &["disks=5"]);
    assert_eq!(name, "Ultra-Wide SCSI");
    close(mbps, 30.0, 0.07);
    let (name, mbps) = level("sim:nt4-ultrawide", &["disks=9", "buses=3"]);
    assert_eq!(name, "PCI");
    close(mbps, 72.0, 0.02);
    // With a faster bus on the same machine, the disks are the limit.
    let (name, mbps) = level("sim:nt4-ultrawide", &["disks=5", "bus.mbps=160"]);
    assert_eq!(name, "5 x Barracuda 4LP");
    // What the slower bus advertised is no limit of it.
    assert!(mbps > 41.0, "{mbps}");
    let (name, _) = level("sim:win2k-gigabit", &["disks=3"]);
    assert_eq!(name, "PCI");
}

#[test]
fn a_study_of_a_system_goes_on_only_with_the_same_system() {
    let folder = folder();
    let here = folder.path();
    let text = said(&run(here, &["systems", "nt4-fastwide"]));
    std::fs::write(here.join("mine.toml"), &text).unwrap();
    let words = ["study", "sim:mine.toml", "--set", "disks=2", "--budget", "5m", "--experiments", "random"];
    assert!(run(here, &words).status.success());
    let before = std::fs::read(here.join("study.html")).unwrap();
    assert!(run(here, &words).status.success());
    assert!(before == std::fs::read(here.join("study.html")).unwrap(), "told again, the report is another");
    // The canonical target gives the same question.
    let target = json(here, &["report", "study.halfpower", "--json"])["target"].as_str().unwrap().to_string();
    assert!(target.starts_with("sim:mine.toml,text=") && target.ends_with(",disks=2"), "{target}");
    assert!(run(here, &["study", &target, "--budget", "5m", "--experiments", "random"]).status.success());
    let other = complaint(&run(here, &["study", "sim:mine.toml", "--budget", "5m", "--experiments", "random"]));
    assert!(other.contains("target"), "{other}");
    std::fs::write(here.join("mine.toml"), text.replace("rpm = 7200", "rpm = 5400")).unwrap();
    let changed = complaint(&run(here, &["study", &target, "--budget", "5m", "--experiments", "random"]));
    assert!(changed.contains("mine.toml has changed"), "{changed}");
    assert!(complaint(&run(here, &words)).contains("target"));
}

#[test]
fn what_cannot_be_asked_of_a_system_is_said_in_a_sentence() {
    let folder = folder();
    std::fs::write(folder.path().join("broken.toml"), "about = 'x'\n[disk]\nrpm = 7200\n").unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["study", "sim:win95"], "halfpower systems"),
        (&["study", "sim:nowhere.toml"], "nowhere.toml"),
        (&["study", "sim:broken.toml"], "missing field"),
        (&["run", "sim:nt4-fastwide", "--set", "disks=none"], "from 1 to 1024"),
        (&["run", "sim:nt4-fastwide", "--set", "speed=2"], "no such setting"),
        (&["run", "sim:nt4-fastwide", "--set", "disk.speed=2"], "unknown field"),
        (&["run", "sim:nt4-fastwide", "--set", "disks=2", "--set", "array=mirror"], "mirror"),
        (&["run", "sim:nt4-fastwide", "--layout", "fallocated", "--rw", "write"], "--layout fallocated"),
        (&["run", "sim:nt4-fastwide", "--size", "1000000GiB"], "--size"),
        (&["run", "/tmp", "--set", "disks=2"], "only sim: targets"),
        (&["run", "sim:fixed=1us", "--set", "disks=0"], "disks must be from 1 to 1024"),
    ];
    for (words, expected) in cases {
        let said = complaint(&run(folder.path(), words));
        let sentence = said.lines().next().unwrap_or_default();
        assert!(sentence.contains(expected) && !said.contains("panicked"), "{words:?}: {said}");
    }
}

#[test]
fn constants_can_be_set_too_and_members_are_disks() {
    let here = folder();
    let rate = |more: &[&str]| {
        let words = ["run", "sim:fixed=100us,rate=1GB/s,disks=2", "--bs", "100000", "-o", "8", "-d", "1s", "--json"];
        json(here.path(), &[&words, more].concat())["mbps"].as_f64().unwrap()
    };
    close(rate(&[]), 1000.0, 0.02);
    close(rate(&["--set", "disks=4"]), 2000.0, 0.02);
    close(rate(&["--set", "disks=4", "--set", "shared=1200MB/s"]), 1200.0, 0.02);
    close(rate(&["--set", "disks=4", "--members", "3"]), 1500.0, 0.02);
}

#[test]
fn a_span_is_spread_where_that_is_asked_and_a_study_of_it_is_another_one() {
    let folder = folder();
    let asked = ["sim:win2k-fireball", "--size", "256MiB"];
    let ran = |words: &[&str]| run(folder.path(), &[&["run"], &asked[..], &["--json"], words].concat());
    let json = |words: &[&str]| serde_json::from_slice::<Value>(&ran(words).stdout).unwrap();
    assert_eq!(json(&[])["spread_bytes"], Value::Null);
    let spread = json(&["--spread"]);
    assert_eq!(spread["span_bytes"], 256 << 20);
    assert!(spread["spread_bytes"].as_u64() > Some(4 << 30), "{spread}");
    let alone = run(folder.path(), &["run", "sim:win2k-fireball", "--spread"]);
    assert!(complaint(&alone).contains("--size"));

    let budget = ["--bs", "64KiB", "--iodepth", "1", "--rw", "read", "--budget", "2m"];
    let study = |words: &[&str]| run(folder.path(), &[&["study"], &asked[..], &budget, words].concat());
    let first = said(&study(&["--spread"]));
    assert!(first.contains("Study file"), "{first}");
    let full = said(&run(folder.path(), &["report", "study.halfpower", "--full"]));
    assert!(full.contains("pieces of 16MiB spread over"), "{full}");
    let other = complaint(&study(&[]));
    assert!(other.contains("the way the size lies is in pieces there and one part here"), "{other}");
    let plan = said(&run(folder.path(), &[&["plan"], &asked[..], &budget, &["--spread"]].concat()));
    let commands: Vec<&str> = plan.lines().filter(|line| line.starts_with("halfpower run")).collect();
    assert!(!commands.is_empty() && commands.iter().all(|line| line.contains(" --size 256MiB --spread")), "{plan}");
}
