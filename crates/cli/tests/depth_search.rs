//! Checks the search for the greatest depth that keeps a latency, on simulated disks whose truth is known.

use serde_json::Value;

use crate::program::{folder, run};

/// A disk that serves one request after the other, each in a millisecond: at depth d each takes d milliseconds.
const SERIAL: &str = "sim:fixed=1ms,rate=1000GB/s";

/// Exit code, output and messages of a line.
fn said(line: &str) -> (Option<i32>, String, String) {
    let here = folder();
    let words: Vec<&str> = ["run"].into_iter().chain(line.split_whitespace()).collect();
    let output = run(here.path(), &words);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn record(line: &str) -> Value {
    let (code, shown, why) = said(&format!("{line} --json"));
    assert_eq!(code, Some(0), "{line}: {why}");
    serde_json::from_str(&shown).unwrap()
}

#[test]
fn the_greatest_depth_that_keeps_the_latency_is_found_and_measured() {
    let asked = "--rw randread --bs 4k --iodepth 64 --runtime 2s --latency-percentile 99";
    for (most, threads, depth) in [("10500us", 1, 10), ("10.5ms", 2, 5), ("1.5ms", 1, 1), ("70ms", 1, 64)] {
        let line = format!("{SERIAL} {asked} --latency-target {most} --threads {threads}");
        let record = record(&line);
        assert_eq!(record["iodepth"], depth, "{line}");
        let search = &record["depth_search"];
        assert_eq!((&search["found"], &search["held"]), (&depth.into(), &true.into()), "{search}");
        assert_eq!((&search["tried"][0]["depth"], &search["most_depth"]), (&64.into(), &64.into()), "{search}");
        assert_eq!(record["runtime_ns"], 2_000_000_000_u64, "the run has its own window");
    }
    let (code, shown, told) = said(&format!("{SERIAL} {asked} --latency-target 10800"));
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("depth 10 is the greatest up to 64 that keeps p99 within 11 ms"), "{told}");
    assert!(shown.contains("searched") && shown.contains("depth 10, "), "{shown}");
}

#[test]
fn that_not_even_one_request_at_a_time_keeps_it_is_a_finding() {
    let (code, shown, told) = said(&format!("{SERIAL} --rw randread --bs 4k --iodepth 8 --latency-target 500us"));
    assert_eq!(code, Some(1), "{told}");
    assert!(shown.contains("NO depth keeps the longest latency within 500 µs"), "{shown}");
    assert!(told.contains("at depth 1 it is 1.0 ms") && told.lines().count() == 1, "{told}");
}

#[test]
fn what_has_no_depth_to_look_for_is_refused() {
    for (with, why) in [
        ("--latency-target 1ms --rate-iops 100", "whatever the depth"),
        ("--latency-target 1ms --latency-window 1ms", "too short"),
        ("--latency-target 0", "every request takes time"),
        ("--latency-target 1ms --latency-percentile 101", "up to 100"),
        ("--latency-percentile 99", "--latency-target"),
        ("--latency-target 1ms --rw write --verify", "--verify"),
    ] {
        let (code, shown, told) = said(&format!("{SERIAL} {with}"));
        assert_eq!((code, shown.as_str()), (Some(2), ""), "{with}: {told}");
        assert!(told.contains(why), "{with}: {told}");
    }
}

#[test]
fn a_job_of_fio_ends_at_the_depth_that_keeps_its_latency_target() {
    let line = format!(
        "--filename={SERIAL} --name=profile --rw=randread --bs=4k --direct=1 --norandommap --ioengine=libaio --iodepth=64 \
         --latency_target=10500 --latency_percentile=99 --latency_window=2000000 --output-format=json"
    );
    let (code, shown, told) = said(&line);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("depth 10 is the greatest"), "{told}");
    let results: Value = serde_json::from_str(&shown).unwrap();
    let job = &results["jobs"][0];
    for (key, value) in [
        ("latency_depth", 10.into()),
        ("latency_target", 10_500_000.into()),
        ("latency_percentile", Value::from(99.0)),
        ("latency_window", 2_000_000.into()),
        ("job_runtime", 2_000.into()),
    ] {
        assert_eq!(job[key], value, "{key}");
    }
    let both = format!("{line} --name=other --filename=sim:fixed=2ms --rw=randread");
    let (code, _, told) = said(&both);
    assert!(code == Some(2) && told.contains("--latency-target is for a job alone"), "{told}");
}
