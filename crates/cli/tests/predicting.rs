//! Predicts captures made by hand on simulated disks, of which the truth is known, and on studies of them.

use std::fs::File;
use std::path::Path;
use std::process::Output;

use halfpower_record::{
    CaptureSource, Captured, CapturedFile, CapturedOperation, CapturedProcessors, OperationKind, read_capture,
    write_capture,
};
use serde_json::Value;

use crate::program::{folder, run};

/// 4 KiB take 88,192 ns and 8 KiB 96,384 ns; a flush takes 1 ms.
const DISK: &str = "sim:fixed=80us,rate=500MB/s,disks=4,flush=1ms";
/// About how long a capture is.
const SPAN_NS: u64 = 100_000_000;

#[track_caller]
fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn complaint(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What is shown, whatever its lines are.
#[track_caller]
fn in_one_line(output: &Output) -> String {
    said(output).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn predicted(folder: &Path, words: &[&str]) -> Value {
    let words = [&["predict", "app.halfpower", "--json", "--on"][..], words].concat();
    serde_json::from_str(&said(&run(folder, &words))).unwrap()
}

/// A lane that does this over and over, each operation with its time, at scattered places of one file.
struct Lane(&'static [(OperationKind, u64, u64)]);

/// What the lanes ask of a file, for as many turns of the first as fit.
fn captured(direct: bool, lanes: &[Lane]) -> Captured {
    let turn_ns = |lane: &Lane| lane.0.iter().map(|(_, _, took_ns)| took_ns).sum::<u64>();
    let span_ns = SPAN_NS / turn_ns(&lanes[0]) * turn_ns(&lanes[0]);
    let mut operations = Vec::new();
    for (number, lane) in (0_u32..).zip(lanes) {
        let mut at_ns = 0;
        for turn in 0..span_ns / turn_ns(lane) {
            for (kind, bytes, took_ns) in lane.0 {
                // Scattered over the file, so that none continues another.
                let place = (u64::from(number) * 1000 + turn) * 7919 % 8192;
                let is_sync = *bytes == 0;
                operations.push(CapturedOperation {
                    slice: 0,
                    lane: number,
                    at_ns,
                    took_ns: *took_ns,
                    kind: *kind,
                    file: 0,
                    offset: if is_sync { 0 } else { place << 16 },
                    bytes: *bytes,
                    cached: !direct && *kind == OperationKind::Write,
                });
                at_ns += took_ns;
            }
        }
    }
    operations.sort_by_key(|operation| (operation.at_ns, operation.lane));
    Captured {
        subject: "postgres".to_string(),
        slices: vec![span_ns],
        files: vec![CapturedFile { bytes: 512 << 20, direct, name: None }],
        lanes: lanes.len() as u32,
        operations,
        ..Captured::default()
    }
}

fn keep(folder: &Path, captured: &Captured) {
    write_capture(captured, File::create(folder.join("app.halfpower")).unwrap()).unwrap();
}

const READS: Lane = Lane(&[(OperationKind::Read, 4096, 88_192)]);
/// As on a disk of 320 us and a flush of 4 ms.
const SLOW: [Lane; 3] = [
    Lane(&[(OperationKind::Write, 8192, 3_000), (OperationKind::Fdatasync, 0, 4_336_384)]),
    Lane(&[(OperationKind::Read, 4096, 328_192)]),
    Lane(&[(OperationKind::Read, 65_536, 451_072)]),
];
const COMMITS: Lane = Lane(&[(OperationKind::Write, 8192, 3_000), (OperationKind::Fdatasync, 0, 1_096_384)]);

fn ratio(findings: &Value) -> f64 {
    findings["rate"]["ratio"]["value"].as_f64().unwrap()
}

#[track_caller]
fn near(found: f64, truth: f64, within: f64) {
    assert!((found / truth - 1.0).abs() < within, "{found}, the truth is {truth}");
}

#[test]
fn an_application_gets_from_a_simulated_disk_what_its_constants_say() {
    let here = folder();
    keep(here.path(), &captured(true, &[READS]));
    let same = predicted(here.path(), &[DISK]);
    near(ratio(&same["whole"]), 1.0, 1e-9);
    assert_eq!(same["flush"]["code"], "not-needed");
    assert_eq!(same["notes"], Value::Array(Vec::new()));
    let twice = predicted(here.path(), &["sim:fixed=40us,rate=1GB/s"]);
    near(ratio(&twice["whole"]), 2.0, 1e-9);
    near(twice["rows"][0]["after"]["p50_ns"]["value"].as_f64().unwrap(), 44_096.0, 0.01);
    // Each read is due at its own time.
    near(ratio(&predicted(here.path(), &["sim:fixed=40us,rate=1GB/s", "--open"])["whole"]), 1.0, 0.01);
    let shown = in_one_line(&run(here.path(), &["predict", "app.halfpower", "--on", "sim:fixed=40us,rate=1GB/s"]));
    assert!(
        shown.starts_with("On sim:fixed=40us,rate=1GB/s, postgres would do 22,678 operations a second, 2.00"),
        "{shown}"
    );
}

#[test]
fn commits_wait_for_the_flush_of_the_other_disk() {
    let here = folder();
    keep(here.path(), &captured(false, &[COMMITS, READS]));
    let found = predicted(here.path(), &["sim:fixed=80us,rate=500MB/s,disks=4,flush=200us"]);
    assert_eq!(found["flush"]["code"], "of-system");
    let rows = found["rows"].as_array().unwrap();
    let sync = rows.iter().find(|row| row["kind"] == "fdatasync").unwrap();
    near(sync["after"]["p99_ns"]["value"].as_f64().unwrap(), 296_384.0, 0.01);
    near(ratio(sync), 1_099_384.0 / 299_384.0, 0.01);
    // Of a disk that does not say how long a flush takes, nothing is made up: a sync takes what was captured.
    let unsaid = predicted(here.path(), &["sim:fixed=80us,rate=500MB/s,disks=4"]);
    assert_eq!(unsaid["flush"]["code"], "unknown");
    let sync = unsaid["rows"].as_array().unwrap().iter().find(|row| row["kind"] == "fdatasync").unwrap().clone();
    near(sync["after"]["p99_ns"]["value"].as_f64().unwrap(), sync["before"]["p99_ns"]["value"].as_f64().unwrap(), 0.01);
    let shown = in_one_line(&run(here.path(), &["predict", "app.halfpower", "--on", DISK, "-o", "there.halfpower"]));
    assert!(shown.contains("It would commit 910 times a second (1.00 times as often); a commit would take 1.1 ms (p99) instead of 1.1 ms."), "{shown}");
    let words = ["predict", "app.halfpower", "--on", DISK, "--html", "-"];
    let page = said(&run(here.path(), &words));
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains("predicted on") && page.contains("replay-rate"),
        "{page}"
    );
    for (more, why) in [(["--html", "-", "--json"], "only one can go there"), (["--html", "./x", "-o=x"], "two files")]
    {
        let refused = run(here.path(), &[&words[..4], &more[..]].concat());
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && refused.stdout.is_empty() && told.contains(why), "{told}");
    }
    let there = read_capture(&here.path().join("there.halfpower")).unwrap();
    assert_eq!((there.source, there.lanes), (CaptureSource::Prediction, 2));
    // What was predicted is a capture, and so can be predicted elsewhere.
    let again = said(&run(here.path(), &["predict", "there.halfpower", "--on", DISK, "--json"]));
    near(ratio(&serde_json::from_str::<Value>(&again).unwrap()["whole"]), 1.0, 0.01);
}

#[test]
fn a_study_of_a_disk_predicts_as_the_disk_itself() {
    let here = folder();
    let experiments = ["--experiments", "sequential,random,commits", "--budget", "60s"];
    let noisy = format!("{DISK},noise=2%");
    said(&run(here.path(), &[&["study", noisy.as_str(), "--output", "other.halfpower"][..], &experiments].concat()));
    keep(here.path(), &captured(false, &SLOW));
    let truth = predicted(here.path(), &[DISK]);
    let found = predicted(here.path(), &["other.halfpower"]);
    assert_eq!(found["flush"]["code"], "measured");
    near(found["flush"]["ns"]["value"].as_f64().unwrap(), 1e6, 0.05);
    assert_eq!(found["place"], "other.halfpower");
    let mut rows = 0;
    for row in found["rows"].as_array().unwrap() {
        let same = |other: &&Value| (&other["kind"], &other["bytes"]) == (&row["kind"], &row["bytes"]);
        let known = truth["rows"].as_array().unwrap().iter().find(same).unwrap();
        near(ratio(row), ratio(known), 0.1);
        rows += 1;
    }
    assert!(rows >= 2, "{found}");
    let rate = &found["whole"]["after"]["per_second"];
    let [low, high] = ["low", "high"].map(|end| rate[end].as_f64().unwrap());
    let known = truth["whole"]["after"]["per_second"]["value"].as_f64().unwrap();
    assert!(
        low < known * 1.02 && known * 0.98 < high && low < high && high < low * 1.3,
        "{rate}, the truth is {known}"
    );
}

/// One lane that reads 4 KiB and thinks half a millisecond after each.
fn thinks() -> Captured {
    let mut captured = captured(true, &[Lane(&[(OperationKind::Read, 4096, 576_048)])]);
    captured.operations.iter_mut().for_each(|operation| operation.took_ns = 76_048);
    // Over many slices of a limit.
    let span_ns = captured.slices[0];
    let later = |turn: u64| {
        let moved = move |one: &CapturedOperation| CapturedOperation { at_ns: one.at_ns + turn * span_ns, ..*one };
        captured.operations.iter().map(moved).collect::<Vec<_>>()
    };
    let operations = (0..30).flat_map(later).collect();
    Captured { operations, slices: vec![30 * span_ns], ..captured.clone() }
}

/// Both disks give a thousand reads a second one at a time; behind the limit a read that comes later does not wait.
#[test]
fn a_limit_of_rate_is_told_from_a_slow_disk_that_gives_as_much() {
    let here = folder();
    keep(here.path(), &thinks());
    let small = ["--experiments", "random", "--rw", "read", "--bs", "4k,8k", "--iodepth", "1..4", "--budget", "90s"];
    let of = |disk: &str| {
        let _ = std::fs::remove_file(here.path().join("s.halfpower"));
        said(&run(here.path(), &[&["study", disk, "--output", "s.halfpower"][..], &small].concat()));
        let per_second = |found: &Value| found["whole"]["after"]["per_second"]["value"].as_f64().unwrap();
        let found = predicted(here.path(), &["s.halfpower"]);
        let notes = found["notes"].as_array().unwrap();
        let note = notes.iter().find(|note| note["code"] == "may-be-limit");
        let at_most = note.map(|note| note["at_most_per_second"].as_f64().unwrap());
        (per_second(&found), per_second(&predicted(here.path(), &[disk])), at_most)
    };
    let (found, truth, at_most) = of("sim:fixed=74us,rate=2GB/s,disks=4,iops=1000,slice=100ms");
    near(truth, 1000.0, 0.1);
    near(found, truth, 0.1);
    assert_eq!(at_most, None);
    let (found, truth, at_most) = of("sim:fixed=1ms,rate=2GB/s,jitter=30%");
    near(truth, 1e6 / 1502.0, 0.05);
    near(found, truth, 0.1);
    assert_eq!(at_most, None, "its times vary too much for an even limit");
    // An even limit looks like a slow disk, and that is said.
    let (found, truth, at_most) = of("sim:fixed=74us,rate=2GB/s,disks=4,iops=1000");
    near(truth, 1000.0, 0.1);
    near(found, 1e6 / 1500.0, 0.1);
    near(at_most.unwrap(), truth, 0.1);
    let shown = in_one_line(&run(here.path(), &["predict", "app.halfpower", "--on", "s.halfpower"]));
    assert!(shown.contains("A slow device and a limit of rate look the same so"), "{shown}");
}

#[test]
fn what_a_study_has_not_seen_is_told_and_what_it_cannot_know_refused() {
    let here = folder();
    let few = ["--experiments", "random", "--budget", "60s", "--iodepth", "1,2", "--rw", "read"];
    let wide = "sim:fixed=80us,rate=500MB/s,disks=64";
    said(&run(here.path(), &[&["study", wide, "--output", "few.halfpower"][..], &few].concat()));
    keep(here.path(), &captured(true, &[READS, READS, READS, READS, READS, READS, READS, READS]));
    let found = predicted(here.path(), &["few.halfpower"]);
    let notes = found["notes"].as_array().unwrap();
    let deeper = notes.iter().find(|note| note["code"] == "depth-beyond").unwrap();
    assert_eq!(deeper["studied_depth"], 2);
    near(deeper["at_most_per_second"].as_f64().unwrap(), 8.0 / 88.192e-6, 0.05);
    let shown = in_one_line(&run(here.path(), &["predict", "app.halfpower", "--on", "few.halfpower"]));
    assert!(shown.contains("More is in flight than the 2 that were studied"), "{shown}");
    keep(here.path(), &captured(true, &[Lane(&[(OperationKind::Write, 8192, 96_384)])]));
    let refused = complaint(&run(here.path(), &["predict", "app.halfpower", "--on", "few.halfpower"]));
    assert!(refused.contains("few.halfpower: it tells nothing of writes"), "{refused}");
}

#[test]
fn a_flush_that_nobody_measured_takes_the_time_that_was_captured() {
    let here = folder();
    let words = ["study", DISK, "--output", "other.halfpower", "--experiments", "random", "--budget", "60s"];
    said(&run(here.path(), &words));
    keep(here.path(), &captured(false, &[COMMITS]));
    let found = predicted(here.path(), &["other.halfpower"]);
    assert_eq!(found["flush"]["code"], "unknown");
    near(ratio(&found["whole"]), 1.0, 0.01);
    assert!(found["note_texts"][0].as_str().unwrap().contains("--experiments sequential,random,commits"), "{found}");
}

#[test]
fn what_is_no_capture_or_no_path_is_refused() {
    let here = folder();
    let predict = |words: &[&str]| complaint(&run(here.path(), &[&["predict"][..], words].concat()));
    std::fs::write(here.path().join("foreign.txt"), "what somebody else wrote\n").unwrap();
    keep(here.path(), &captured(true, &[READS]));
    for (words, why) in [
        (&["none.halfpower", "--on", DISK][..], "none.halfpower"),
        (&["foreign.txt", "--on", DISK], "foreign.txt"),
        (&["app.halfpower", "--on", "none.halfpower"], "none.halfpower"),
        (&["app.halfpower", "--on", "foreign.txt"], "foreign.txt"),
        (&["app.halfpower", "--on", "."], "storage itself"),
        (&["app.halfpower", "--on", "sim:pc"], "no machine of this name"),
        (&["app.halfpower", "--on", DISK, "-o", "foreign.txt"], "--force"),
        (&["app.halfpower", "--on", DISK, "-o", "app.halfpower"], "app.halfpower"),
        (&["app.halfpower"], "--on"),
    ] {
        let said = predict(words);
        assert!(said.contains(why), "{words:?}: {said}");
    }
    keep(here.path(), &Captured::default());
    assert!(predict(&["app.halfpower", "--on", DISK]).contains("holds no operation"));
}

#[test]
fn two_processors_bound_what_eight_threads_get_of_a_fast_disk() {
    let folder = folder();
    let fast = ["sim:fixed=10us,rate=1000GB/s,disks=64"];
    let mut before = captured(true, &[const { Lane(&[(OperationKind::Read, 4096, 10_000_000)]) }; 8]);
    // The last 100 us of each turn are a pause, in which it computes.
    before.operations.iter_mut().for_each(|operation| operation.took_ns -= 100_000);
    keep(folder.path(), &before);
    let rate = |found: &Value| found["whole"]["after"]["per_second"]["value"].as_f64().unwrap();
    let unknown = predicted(folder.path(), &fast);
    assert!(rate(&unknown) > 65_000.0, "{}", rate(&unknown));
    assert!(
        in_one_line(&run(folder.path(), &["predict", "app.halfpower", "--on", fast[0]])).contains("is not known, so")
    );
    let seen = CapturedProcessors { count: 2, own: 0.08, others: 0.02, quota: None, ready: Some(0.0) };
    keep(folder.path(), &Captured { threads: 8, processors: Some(seen), ..before });
    let bounded = predicted(folder.path(), &fast);
    assert!((18_500.0..20_100.0).contains(&rate(&bounded)), "{}", rate(&bounded));
    let text = in_one_line(&run(folder.path(), &["predict", "app.halfpower", "--on", fast[0]]));
    let told = "It used 0.08 processors when it was captured, and would use 1.9";
    assert!(text.contains(told) && text.contains("of the 1.98 that it can have."), "{text}");
    // 800,000 a second of a disk that serves 64 at once, and nothing else.
    let most = bounded["without_computing"]["per_second"].as_f64().unwrap();
    assert!((600_000.0..801_000.0).contains(&most) && text.contains("with no computing at all"), "{most}: {text}");
}
