//! Checks `halfpower compare --live`: two targets that are measured in turns.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::program::{folder, run};

const DISK: &str = "sim:fixed=80us,rate=500MB/s,noise=1%";
const SLOWER: &str = "sim:fixed=90us,rate=500MB/s,noise=1%";
const ALONE: &str = "--rw randread --bs 4k --iodepth 1";

fn live(folder: &Path, targets: [&str; 2], words: &[&str]) -> Output {
    let front = ["compare", "--live", targets[0], targets[1], "--slice", "100ms"];
    run(folder, &front.iter().chain(words).copied().collect::<Vec<_>>())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", complaint(output)))
}

#[test]
fn a_slower_disk_is_told_in_the_first_sentence_and_fails_a_condition() {
    let folder = folder();
    let output = live(folder.path(), [DISK, SLOWER], &["--cell", ALONE]);
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    let text = said(&output);
    let first = text.lines().next().unwrap_or_default();
    assert!(first.starts_with("B is ") && first.contains("slower at random read, 4 KiB, 1 deep"), "{text}");
    assert!(text.contains("p99 A") && text.contains(" IOPS"), "{text}");
    let failing = live(folder.path(), [DISK, SLOWER], &["--cell", ALONE, "--fail-if", "random read iops < -5%"]);
    assert_eq!(failing.status.code(), Some(1), "{}", said(&failing));
    assert!(complaint(&failing).contains("`random read iops < -5%` holds"), "{}", complaint(&failing));
    let passing = live(folder.path(), [DISK, SLOWER], &["--cell", ALONE, "--fail-if", "random read iops < -20%"]);
    assert_eq!(passing.status.code(), Some(0), "{}", complaint(&passing));
}

#[test]
fn equal_disks_are_the_same_in_the_usual_cells() {
    let folder = folder();
    let output = live(folder.path(), [DISK, DISK], &["--json", "--fail-if", "random read iops < -5%"]);
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    let document = json(&output);
    assert_eq!(document["outcome"], "no-difference", "{document:#}");
    let cells = document["cells"].as_array().unwrap();
    let what: Vec<&str> = cells.iter().filter_map(|cell| cell["what"].as_str()).collect();
    let expected = [
        "random read, 4 KiB, 1 deep",
        "random read, 4 KiB, 32 deep",
        "random write, 4 KiB, 32 deep",
        "seq. read, 1 MiB, 4 deep",
        "seq. write, 1 MiB, 4 deep",
    ];
    assert_eq!(what, expected);
    assert!(document["verdict"][0].as_str().unwrap().starts_with("No difference: "), "{document:#}");
    assert_eq!(document["fail_if"][0]["holds"], false);
    assert!(cells.iter().all(|cell| cell["pairs"].as_u64() >= Some(4) && cell["mbps"]["ratio"]["low"].is_number()));
}

#[test]
fn folders_are_measured_and_nothing_is_left_behind() {
    let folder = folder();
    let place = folder.path();
    fs::create_dir(place.join("old")).unwrap();
    fs::create_dir(place.join("new")).unwrap();
    let words = ["--size", "16MiB", "--budget", "400ms", "--cell", ALONE, "--cell", "--rw write --bs 64k", "--json"];
    let output = live(place, ["old", "new"], &words);
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    let document = json(&output);
    assert_eq!((document["a"].as_str(), document["b"].as_str()), (Some("old"), Some("new")));
    assert_eq!(document["cells"].as_array().map(Vec::len), Some(2));
    for name in ["old", "new"] {
        assert_eq!(fs::read_dir(place.join(name)).unwrap().count(), 0, "{name}");
    }
}

#[test]
fn what_halfpower_did_not_make_is_only_read() {
    let folder = folder();
    let place = folder.path();
    let bytes = vec![7u8; 4 << 20];
    fs::write(place.join("data"), &bytes).unwrap();
    let output = live(place, ["data", "data"], &["--budget", "300ms", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    let document = json(&output);
    let left_out = document["left_out"].as_array().unwrap();
    assert_eq!(left_out.len(), 2, "{document:#}");
    assert!(left_out.iter().all(|one| one["why"].as_str().unwrap().contains("--overwrite")), "{document:#}");
    let chosen = live(place, ["data", "data"], &["--cell", "--rw randwrite --bs 4k"]);
    assert_eq!(chosen.status.code(), Some(2));
    assert!(complaint(&chosen).contains("--overwrite"), "{}", complaint(&chosen));
    assert_eq!(fs::read(place.join("data")).unwrap(), bytes);
}

#[test]
fn lines_that_cannot_be_meant_are_refused_before_anything_is_measured() {
    let folder = folder();
    let refused = |words: &[&str], why: &str| {
        let output = run(folder.path(), words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(complaint(&output).contains(why), "{words:?}: {}", complaint(&output));
    };
    refused(&["compare", "--live", "sim:"], "--live");
    refused(&["compare", "--live", "sim:", "sim:", "a.halfpower"], "--live");
    refused(&["compare", "a.halfpower", "b.halfpower", "--cell", ALONE], "--live");
    refused(&["compare", "--live", "sim:", "sim:", "--markdown"], "--markdown");
    refused(&["compare", "--live", "sim:", "sim:", "--slice", "5s"], "from 100ms to 1s");
    refused(&["compare", "--live", "sim:", "sim:", "--cell", "--rw randread --size 1g"], "--size is no part");
    refused(&["compare", "--live", "sim:", "sim:", "--fail-if", "cost > +5%"], "no cell that is measured here");
    refused(&["compare", "--live", "sim:", "nowhere"], "B (nowhere)");
    refused(&["compare"], "STUDY");
}
