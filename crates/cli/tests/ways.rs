//! Tests runs that a witness measures at the far end, with the witness on this machine and an in-memory server.

use serde_json::Value;
use tempfile::TempDir;

use crate::memory_nfs::MemoryNfs;
use crate::program::{folder, run};

const HP: &str = env!("CARGO_BIN_EXE_halfpower");

fn witness(words: &str) -> String {
    format!("'{HP}' witness {words}")
}

/// A folder for the study, and one at the far end.
fn folders() -> (TempDir, TempDir) {
    (folder(), folder())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_run_by_another_way_is_measured_at_the_far_end() {
    let (here, there) = folders();
    let server = MemoryNfs::start();
    let address = server.address();
    let far_end = witness(&format!("--local '{}' --share {address}", there.path().display()));
    for (way, engine) in [("local", ""), ("same-machine", "nfs"), ("wire", "nfs")] {
        let words = "--rw write --bs 64k --iodepth 2 --size 16MiB --runtime 100ms --json --way";
        let words: Vec<&str> =
            ["run", &address].into_iter().chain(words.split(' ')).chain([way, "--far-end", &far_end]).collect();
        let output = run(here.path(), &words);
        assert!(output.status.success(), "{way}: {}", text(&output.stderr));
        let reported: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(reported["ios"].as_u64() > Some(0) && reported["span_bytes"] == 16 << 20, "{way}: {reported}");
        assert!(engine.is_empty() || reported["engine"] == engine, "{way}: {reported}");
        assert_eq!(reported["engine"] == "nfs", way != "local", "{reported}");
        assert_eq!(reported["tcp"].is_null(), way == "local", "{reported}");
    }
    let words = ["run", &address, "--size", "16MiB", "--runtime", "50ms", "--way", "local", "--far-end", &far_end];
    let reported = text(&run(here.path(), &words).stdout);
    assert!(reported.contains("way         past the share at the far end"), "{reported}");
    assert_eq!(std::fs::read_dir(there.path()).unwrap().count(), 0, "nothing is left");
    assert!(server.files.lock().unwrap().is_empty(), "nothing is left");
}

#[test]
fn a_way_that_nobody_offers_is_refused_in_a_sentence() {
    let (here, there) = folders();
    let file = there.path().join("file");
    std::fs::write(&file, [1; 9]).unwrap();
    let local = witness(&format!("--local '{}'", there.path().display()));
    let no_folder = witness(&format!("--local '{}'", file.display()));
    let server = MemoryNfs::start();
    let address = server.address();
    for (far_end, way, why) in [
        (None, "local", "--way local: a witness at the far end measures it: add --far-end"),
        (Some(witness("")), "local", "does not measure so; start it with --local FOLDER"),
        (Some(local), "same-machine", "does not measure so; start it with --share ADDRESS"),
        (Some(no_folder), "local", "--local takes the folder that the share serves"),
    ] {
        let mut words = vec!["run", &address, "--size", "16MiB", "--runtime", "50ms", "--way", way];
        words.extend(far_end.iter().flat_map(|command| ["--far-end", command.as_str()]));
        let output = run(here.path(), &words);
        assert!(output.status.code() == Some(2) && text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
    let no_share = run(here.path(), &["witness", "--share", "/srv"]);
    assert!(text(&no_share.stderr).contains("name a share, such as smb://localhost/share"));
}

/// The report of a study of a share, and the workloads of its runs.
fn studied(far_end: &str, budget: &str) -> (String, Vec<String>) {
    let here = folder();
    let server = MemoryNfs::start();
    let far_end = far_end.replace("ADDRESS", &server.address());
    let address = server.address();
    let words =
        ["study", &address, "--size", "16MiB", "--budget", budget, "--experiments", "network", "--repeats", "1"];
    let more = ["--runtime", "20ms", "--far-end", &far_end, "--output", "s.halfpower"];
    let output = run(here.path(), &[&words[..], &more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = run(here.path(), &["report", "s.halfpower", "--json"]);
    let exported = run(here.path(), &["export", "s.halfpower", "--format", "csv"]);
    let runs = text(&exported.stdout).lines().skip(1).map(str::to_string).collect();
    (text(&report.stdout).split_whitespace().collect::<Vec<_>>().join(" "), runs)
}

/// Number of runs by way: local, same machine, wire.
fn by_way(runs: &[String]) -> [usize; 3] {
    let of = |way: &str| runs.iter().filter(|run| run.contains(way)).count();
    let local = of(" --way local");
    let same = of(" --way same-machine");
    [local, same, runs.len() - local - same]
}

#[test]
fn a_study_tells_the_three_ways() {
    let there = folder();
    let (report, runs) = studied(&witness(&format!("--local '{}' --share ADDRESS", there.path().display())), "60s");
    let [local, same, wire] = by_way(&runs);
    assert!(local >= 20 && same >= 20 && wire >= 34, "{local} {same} {wire}: {report}");
    for words in ["Reads reach", "MB/s locally at the server,", "MB/s through the share on the same machine,"] {
        assert!(report.contains(words), "{words}: {report}");
    }
    assert!(!report.contains("is not measured: --far-end"), "{report}");
}

#[test]
fn a_witness_that_dies_leaves_the_wire_and_says_why_the_ways_are_missing() {
    let there = folder();
    let offers = witness(&format!("--local '{}' --share ADDRESS", there.path().display()));
    // The witness ends when the first run is requested.
    let (report, runs) = studied(&format!("sed -u '/\"measure\"/Q' | {offers}"), "30s");
    let [local, same, wire] = by_way(&runs);
    assert!(local + same == 0 && wire >= 34, "{wire} {local} {same}: {report}");
    assert!(report.contains("was lost, and is not asked again"), "{report}");
}
