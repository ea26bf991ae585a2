//! Follows a target over small studies, with an index and without, among files that are no studies.

use std::fs::{self, File};
use std::path::Path;
use std::process::Output;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use halfpower_measure::{SimulatedTarget, TargetBackend};
use halfpower_record::{Device, Environment, MemberIdentity, PlaceIdentity, Record, StudyFile};
use halfpower_spec::{Cache, Direction, Nanos, Question, SimulatedDisk};
use halfpower_study::{Observation, Planner, Step};
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{folder, run};

/// A study of a simulated disk: what was asked, where, and its records.
type Studied = (Question, Environment, Vec<Record>);

/// A few seconds of virtual time, of reads past the page cache.
fn studied(constants: &str) -> Studied {
    let question = Question {
        cache: vec![Cache::Device],
        directions: vec![Direction::Read],
        budget: Nanos(10_000_000_000),
        ..Question::about(format!("sim:{constants}"))
    };
    let mut backend = SimulatedTarget::new(SimulatedDisk::from_constants(constants).unwrap());
    let mut planner = Planner::new(&question);
    let mut records = Vec::new();
    while let Step::Run(run) = planner.next() {
        let stop = std::sync::atomic::AtomicBool::new(false);
        let record = halfpower_measure::measure(&mut backend, &run, &stop).unwrap();
        planner.observe(&Observation::from(&record));
        records.push(record);
    }
    (question, backend.environment().clone(), records)
}

/// Twelve days of a disk, of which the last six are a fifth slower.
static DAYS: LazyLock<Vec<Studied>> = LazyLock::new(|| {
    let constants = |day: usize| match day {
        0..6 => format!("fixed=80us,rate=500MB/s,noise=2%,seed={}", 100 + day),
        _ => format!("fixed=100us,rate=400MB/s,noise=2%,seed={}", 100 + day),
    };
    (0..12).map(|day| studied(&constants(day))).collect()
});

const DAY_MS: u64 = 86_400_000;

/// Writes one day's study of the target `/data` on a machine, as of an hour ago, with a kernel.
fn keep(path: &Path, day: usize, machine: &str, kernel: &str) {
    let (question, environment, records) = &DAYS[day];
    let question = Question { target: "/data".to_string(), ..question.clone() };
    let member = MemberIdentity { path: "/data".to_string(), device: Some("S1".to_string()), filesystem: None };
    let place =
        PlaceIdentity { machine: Some(machine.to_string()), kernel: Some(kernel.to_string()), members: vec![member] };
    let mut environment = Environment { place, ..environment.clone() };
    environment.machine.kernel = kernel.to_string();
    let firmware = Some(if kernel == "6.1.0" { "SN05" } else { "SN06" }.to_string());
    environment.device = Some(Device { name: "sda".to_string(), firmware, ..Device::default() });
    let started = 1_767_225_600_000 + day as u64 * DAY_MS;
    let dated = |record: &Record| Record { started_unix_ms: started, ..record.clone() };
    let records: Vec<Record> = records.iter().map(dated).collect();
    StudyFile::create_whole(path, &question, &environment, &records).unwrap();
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    File::options().write(true).open(path).unwrap().set_modified(hour_ago).unwrap();
}

/// A folder `nightly` with the studies of all days; kernel and firmware change with the speed.
fn nightly() -> TempDir {
    let folder = folder();
    fs::create_dir_all(folder.path().join("nightly/deeper")).unwrap();
    for day in 0..12 {
        let below = if day % 2 == 0 { "" } else { "deeper/" };
        let path = folder.path().join(format!("nightly/{below}day-{day:02}.halfpower"));
        keep(&path, day, "m", if day < 6 { "6.1.0" } else { "6.12.0" });
    }
    folder
}

fn text(output: &Output) -> (String, String) {
    (String::from_utf8(output.stdout.clone()).unwrap(), String::from_utf8(output.stderr.clone()).unwrap())
}

#[test]
fn a_change_is_told_with_what_changed_beside_it() {
    let folder = nightly();
    let here = folder.path();
    let output = run(here, &["history", "nightly", "-o", "history.html"]);
    let (out, err) = text(&output);
    assert!(output.status.success() && err.is_empty(), "{err}");
    assert!(out.contains("/data  12 studies, 2026-01-01 to 2026-01-12"), "{out}");
    assert!(out.contains("from study 7 of 12 on") && out.contains("kernel: 6.1.0, then 6.12.0"), "{out}");
    assert!(out.contains("device's firmware: SN05, then SN06"), "{out}");
    assert!(out.contains("typical cell -") && out.contains(['▁', '▂', '▃', '▆', '▇', '█']), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let page = fs::read_to_string(here.join("history.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("6.12.0") && page.len() < 200_000, "{}", page.len());
    // Its own page is replaced.
    assert!(run(here, &["history", "nightly", "-o", "history.html"]).status.success());
}

#[test]
fn a_comparison_tells_of_two_places_what_a_history_tells_beside_a_change() {
    let folder = nightly();
    let output =
        run(folder.path(), &["compare", "nightly/deeper/day-05.halfpower", "nightly/day-06.halfpower", "--full"]);
    let (out, err) = text(&output);
    assert!(output.status.success(), "{err}");
    assert!(out.contains("! The kernel differs: 6.1.0 in A, 6.12.0 in B."), "{out}");
    assert!(out.contains("! The device's firmware differs: SN05 in A, SN06 in B."), "{out}");
    assert!(!out.contains("targets differ"), "{out}");
}

#[test]
fn the_index_gives_what_reading_gives() {
    let folder = nightly();
    let here = folder.path();
    let json = |words: &[&str]| {
        let output = run(here, &[&["history", "nightly", "--json"], words].concat());
        let (out, err) = text(&output);
        assert!(output.status.success(), "{err}");
        serde_json::from_str::<Value>(&out).unwrap()
    };
    let index = here.join(".cache/halfpower/history.sqlite");
    let read = json(&["--no-index"]);
    assert!(!index.exists(), "nothing is remembered");
    assert_eq!(read["changes"][0]["surroundings"][0]["aspect"], "kernel");
    assert_eq!(json(&[]), read, "the first time");
    assert!(index.exists());
    assert_eq!(json(&[]), read, "from the index");
    fs::write(&index, "no index").unwrap();
    assert_eq!(json(&[]), read, "from an index that was made anew");
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    assert_eq!(json(&[]), read, "where no index can be");
    // A study that changed is read again.
    fs::remove_dir(&index).unwrap();
    json(&[]);
    fs::remove_file(here.join("nightly/day-00.halfpower")).unwrap();
    keep(&here.join("nightly/day-00.halfpower"), 1, "m", "6.1.0");
    assert_ne!(json(&[])["figures"], read["figures"]);
}

/// Puts other bytes into a file that seems to be as it was: the same size, time of change and inode.
fn spoil(path: &Path) {
    let found = path.metadata().unwrap();
    fs::write(path, vec![0x5a; found.len() as usize]).unwrap();
    File::options().write(true).open(path).unwrap().set_modified(found.modified().unwrap()).unwrap();
}

#[test]
fn what_the_index_knows_is_not_read_again_and_what_is_new_is() {
    let folder = nightly();
    let here = folder.path();
    let (before, err) = text(&run(here, &["history", "nightly", "--json"]));
    assert!(err.is_empty(), "{err}");
    for day in 0..11 {
        spoil(&here.join(format!("nightly/{}day-{day:02}.halfpower", if day % 2 == 0 { "" } else { "deeper/" })));
    }
    let (after, err) = text(&run(here, &["history", "nightly", "--json"]));
    assert!(err.is_empty() && after == before, "a file was read again: {err}");
    let (out, err) = text(&run(here, &["history", "nightly", "--no-index"]));
    assert!(out.contains("1 study") && err.contains("6 more files are left out"), "{out}{err}");
}

#[test]
fn conditions_hold_for_the_last_change() {
    let folder = nightly();
    let here = folder.path();
    let output = run(here, &["history", "nightly", "--fail-if", "random read throughput < -5%"]);
    let (out, err) = text(&output);
    assert!(output.status.code() == Some(1) && err.contains("holds: throughput of random direct reads"), "{out}{err}");
    assert!(run(here, &["history", "nightly", "--fail-if", "random read throughput < -50%"]).status.success());
    let output = run(here, &["history", "nightly", "--fail-if", "random write iops < -5%"]);
    assert!(output.status.code() == Some(2) && text(&output).1.contains("no cell that the condition names"));
}

#[test]
fn several_targets_are_listed_and_one_is_chosen() {
    let folder = nightly();
    let here = folder.path();
    keep(&here.join("nightly/other.halfpower"), 3, "another machine", "6.1.0");
    let output = run(here, &["history", "nightly"]);
    let (_, err) = text(&output);
    assert!(output.status.code() == Some(2) && err.contains("1    12 studies  /data"), "{err}");
    assert!(err.contains("of 2 targets") && err.contains("--target"), "{err}");
    let (out, _) = text(&run(here, &["history", "nightly", "--target", "1"]));
    assert!(out.contains("12 studies"), "{out}");
    let (out, _) = text(&run(here, &["history", "nightly", "--target", "2"]));
    assert!(out.contains("1 study"), "{out}");
    assert_eq!(run(here, &["history", "nightly", "--target", "3"]).status.code(), Some(2));
}

#[test]
fn files_that_cannot_be_read_are_told_and_left_out() {
    let folder = nightly();
    let here = folder.path();
    fs::write(here.join("nightly/text.halfpower"), "no study").unwrap();
    let bytes = fs::read(here.join("nightly/day-00.halfpower")).unwrap();
    let mut damaged = bytes.clone();
    let end = damaged.len();
    damaged[end / 3..].fill(0x5a);
    fs::write(here.join("nightly/damaged.halfpower"), damaged).unwrap();
    std::os::unix::fs::symlink("nowhere", here.join("nightly/broken.halfpower")).unwrap();
    let output = run(here, &["history", "nightly", "nightly/day-00.halfpower"]);
    let (out, err) = text(&output);
    assert!(output.status.success() && out.contains("12 studies") && out.contains("LEFT OUT"), "{out}{err}");
    for name in ["text", "damaged", "broken"] {
        assert!(err.contains(&format!("nightly/{name}.halfpower")), "{name}: {err}");
    }
    let none = run(here, &["history", "nightly/text.halfpower"]);
    assert!(none.status.code() == Some(2) && text(&none).1.contains("no study that could be read"));
}
