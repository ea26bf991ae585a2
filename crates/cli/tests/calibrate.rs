//! Checks that `halfpower calibrate` turns a study into a model that predicts.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::program::{folder, run};

#[track_caller]
fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn complaint(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[track_caller]
fn json(folder: &Path, words: &[&str]) -> Value {
    serde_json::from_str(&said(&run(folder, words))).unwrap()
}

#[track_caller]
fn close(what: &str, found: f64, truth: f64) {
    assert!((found / truth - 1.0).abs() < 0.02, "{what}: {found}, the truth is {truth}");
}

/// A shared limit that a single device reaches only with large requests.
const ONE: &str = "sim:fixed=200us,rate=400MB/s,shared=300MB/s";
const FOUR: &str = "sim:fixed=200us,rate=400MB/s,shared=300MB/s,disks=4";

#[test]
fn a_study_of_one_device_predicts_four_that_share_a_limit() {
    let folder = folder();
    let here = folder.path();
    said(&run(here, &["study", ONE, "--output", "one.halfpower", "--iodepth", "1,4", "--budget", "60s"]));
    let reported = said(&run(here, &["calibrate", "one.halfpower", "--shared", "-o", "mine.toml"]));
    let next = reported.lines().last().unwrap();
    // 300 MB/s, up to the effect of a run's last requests.
    assert!(
        ["300", "301"].iter().any(|mbps| reported.contains(&format!("devices share: {mbps} MB/s in reads"))),
        "{reported}"
    );
    assert!(
        next.ends_with("halfpower study sim:mine.toml --set disks=4 --cache device --output mine-predicted.halfpower"),
        "{reported}"
    );
    let text = std::fs::read_to_string(here.join("mine.toml")).unwrap();
    let fitted = halfpower_model::Fitted::with_constants(&text, &BTreeMap::new()).unwrap();
    close("shared", fitted.shared.read_mbps.unwrap(), 300.0);
    close("fixed", fitted.path["random-direct-read"].fixed_us, 200.0);
    assert!(text.lines().any(|line| line.starts_with("fixed_us = ") && line.contains("# fitted; ")), "{text}");
    // The command that was printed, and a run of four devices against the truth.
    let words: Vec<&str> = next.split("halfpower ").nth(1).unwrap().split(' ').collect();
    let predicted = json(here, &[&words[..], &["--budget", "60s", "--json"]].concat());
    assert_eq!(predicted["device"]["name"], "4 x device");
    assert!(
        predicted["bottleneck"]["level"].as_str().unwrap().starts_with("shared path"),
        "{}",
        predicted["bottleneck"]
    );
    let names: Vec<&str> =
        predicted["levels"].as_array().unwrap().iter().map(|level| level["level"].as_str().unwrap()).collect();
    assert_eq!(names, ["shared path (read)", "shared path (write)", "device"]);
    // Windows as in a study of the device itself, shorter than for the papers' disks.
    assert!(predicted["runs"].as_u64().unwrap() > 100, "{}", predicted["runs"]);
    for (bs, depth) in [("4KiB", "1"), ("64KiB", "1"), ("1MiB", "1")] {
        let rate = |target: &str, depth: &str, more: &[&str]| {
            let words = ["run", target, "--rw", "randread", "--bs", bs, "-o", depth, "-d", "2s", "--json"];
            json(here, &[&words[..], more].concat())["mbps"].as_f64().unwrap()
        };
        let truth = rate(FOUR, "4", &[]);
        let found = rate("sim:mine.toml", depth, &["--set", "disks=4", "--set", "array=each"]);
        close(bs, found, truth);
    }
}

/// With a ceiling in requests, and paths that were not all measured, the printed command still works.
#[test]
fn the_ceilings_that_were_seen_are_told_and_the_next_command_asks_for_what_is_known() {
    let folder = folder();
    let here = folder.path();
    let target = "sim:fixed=200us,rate=400MB/s,disks=16,iops=20000";
    let question = ["--rw", "read", "--experiments", "random,memory", "--budget", "60s"];
    said(&run(here, &[&["study", target], &question[..]].concat()));
    let reported = said(&run(here, &["calibrate", "study.halfpower", "-o", "mine.toml"]));
    assert!(reported.contains(" IOPS") && !reported.contains("none seen"), "{reported}");
    let next = reported.lines().last().unwrap().split("halfpower ").nth(1).unwrap();
    let asks = "study sim:mine.toml --set disks=4 --experiments random --rw read --cache device";
    assert_eq!(next, format!("{asks} --output mine-predicted.halfpower"));
    // Unchanged, in the folder of the study that it comes from.
    said(&run(here, &[&next.split(' ').collect::<Vec<_>>()[..], &["--budget", "20s"]].concat()));
}

#[test]
fn half_of_a_study_predicts_the_other_half() {
    let folder = folder();
    let target = "sim:fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s,noise=3%,jitter=10%";
    said(&run(folder.path(), &["study", target, "--budget", "2m", "--rw", "read"]));
    let reported = said(&run(folder.path(), &["calibrate", "study.halfpower", "--check"]));
    let median = reported.lines().find_map(|line| line.split_once("the median error is ")).unwrap().1;
    let median: f64 = median.trim_end_matches(['%', '.']).parse().unwrap();
    assert!(median < 10.0, "{reported}");
    assert!(reported.contains("random direct read") && reported.contains("Two runs of the same cell"), "{reported}");
}

/// Experiments about values that were not fitted say so; a stripe's chunks are known.
#[test]
fn a_calibrated_device_leaves_out_what_its_study_cannot_tell() {
    let folder = folder();
    let here = folder.path();
    said(&run(here, &["study", "sim:win2k-atlas10k", "--output", "s.halfpower", "--budget", "10m"]));
    said(&run(here, &["calibrate", "s.halfpower", "-o", "mine.toml"]));
    let asked = |more: &[&str]| json(here, &[&["study", "sim:mine.toml", "--json"], more].concat());
    let all = asked(&["--experiments", "all", "--budget", "20m", "--price", "534", "--output", "one.halfpower"]);
    let reported = |findings: &Value, name: &str| -> (bool, String) {
        let sections = findings["experiments"].as_array().unwrap();
        let section = sections.iter().find(|section| section["experiment"] == name).unwrap();
        (section["ran"].as_bool().unwrap(), section["notes"].to_string())
    };
    let reasons = [
        ("burst", "answers blocks that it gave before like any others"),
        ("alignment", "does not care where a request begins"),
        ("zones", "tells no places apart"),
        ("streams", "seen with one stream"),
        ("engines", "in one way, whatever the engine"),
        ("buffered", "no page cache"),
        ("durability", "no write cache"),
        ("processors", "processors cannot be chosen"),
        ("allocation", "no file system"),
    ];
    for (name, reason) in reasons {
        let (ran, notes) = reported(&all, name);
        assert!(!ran && notes.contains(reason), "{name}: {ran} {notes}");
    }
    assert!(reported(&all, "price").0, "accesses at random are fitted");
    let more =
        ["--set", "disks=2", "--experiments", "alignment,burst,mirror", "--budget", "20m", "--output", "two.halfpower"];
    let two = asked(&more);
    let (ran, notes) = reported(&two, "alignment");
    assert!(ran && notes.contains("Only requests over the ends of chunks"), "{notes}");
    for row in two["alignment"].as_array().unwrap() {
        assert_eq!((row["bs_bytes"].as_u64(), row["pattern"].as_str()), (Some(65536), Some("sequential")), "{row}");
    }
    for (name, reason) in [("burst", "blocks that it gave before"), ("mirror", "nothing of copies")] {
        let (ran, notes) = reported(&two, name);
        assert!(!ran && notes.contains(reason), "{name}: {notes}");
    }
    for flags in [["--misalign", "512"], ["--streams", "2"]] {
        let words = ["run", "sim:mine.toml", "--rw", "randread", "--bs", "4KiB", flags[0], flags[1]];
        assert!(complaint(&run(here, &words)).contains(flags[0]), "{flags:?}");
    }
}

#[test]
fn what_lacks_for_a_calibration_is_said_in_a_sentence() {
    let folder = folder();
    let here = folder.path();
    let sim = "sim:fixed=80us,rate=500MB/s";
    said(&run(here, &["study", sim, "--output", "zones.halfpower", "--experiments", "zones", "--budget", "10s"]));
    let small = ["--experiments", "random", "--rw", "read", "--iodepth", "1,2,4", "--budget", "10s"];
    said(&run(here, &[&["study", sim, "--output", "one.halfpower", "--bs", "4KiB"], &small[..]].concat()));
    said(&run(
        here,
        &[&["study", sim, "--output", "reads.halfpower", "--bs", "4KiB,64KiB,256KiB"], &small[..]].concat(),
    ));
    said(&run(here, &["calibrate", "reads.halfpower", "-o", "reads.toml"]));
    let cases: &[(&[&str], &str)] = &[
        (&["calibrate", "nowhere.halfpower"], "nowhere.halfpower"),
        (&["calibrate", "reads.toml"], "is not a study file; name another file\n"),
        (&["calibrate", "reads.halfpower", "-o", "mine.txt"], "end in .toml"),
        (&["calibrate", "reads.halfpower", "-o", "a,b.toml"], "must not contain , or ="),
        (&["calibrate", "zones.halfpower"], "--experiments sequential,random"),
        (&["calibrate", "zones.halfpower", "--check"], "--experiments sequential,random"),
        (&["calibrate", "one.halfpower"], "4 KiB"),
        (&["study", "sim:reads.toml", "--cache", "device"], "random-direct-read; ask for those"),
        (&["study", "sim:reads.toml", "--set", "buses=2"], "set disks, array or a constant"),
        (&["study", "sim:reads.toml", "--set", "disk.rpm=7200"], "disk.rpm"),
        (
            &["run", "sim:reads.toml", "--rw", "randread", "--set", "path.random-direct-read.fixed_us=-1"],
            "path.random-direct-read.fixed_us is -1",
        ),
        (&["run", "sim:reads.toml", "--rw", "randread", "--streams", "2"], "--streams"),
        (&["run", "sim:reads.toml", "--rw", "randread", "--size", "1TiB"], "--size"),
    ];
    for (words, expected) in cases {
        let said = complaint(&run(here, words));
        assert!(
            said.contains(expected) && !said.contains("panicked") && said.lines().count() <= 2,
            "{words:?}: {said}"
        );
    }
}
