//! Kills studies, runs and reports at random moments, and checks for lost records and leftovers.
//!
//! `HALFPOWER_KILLS=1000` sets the number of kills, `HALFPOWER_BUCKET_KILLS` that of studies of a bucket;
//! `HALFPOWER_KILL_SEED` sets the seed.

#[allow(dead_code, reason = "the tests of shares use all of it")]
#[path = "../../share/tests/memory_s3.rs"]
mod memory_s3;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use halfpower_record::{Record, RecordError, StudyFile};
use memory_s3::{KEY, MemoryS3, SECRET};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Default number of kills, and of kills of studies of a bucket.
const KILLS: u32 = 60;
const BUCKET_KILLS: u32 = 40;
/// Folder of the notes about changed settings.
const NOTES: &str = "/var/lib/halfpower";
/// Experiments of a study of a real folder: all that lay out files, change settings or start threads.
const EXPERIMENTS: [&str; 8] = [
    "sequential,random",
    "buffered,allocation",
    "alignment,zones",
    "burst,memory",
    "durability,engines",
    "processors,streams",
    "anatomy",
    "all",
];

/// Counts of kills by kind.
#[derive(Default)]
struct Tally {
    kills: BTreeMap<&'static str, u32>,
    too_late: u32,
    records_acknowledged: usize,
}

fn number(name: &str, otherwise: u32) -> u32 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect(name))
}

fn begin(folder: &Path, words: &[&str]) -> Child {
    let mut command = Command::new(halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")));
    command.current_dir(folder).args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET).env_remove("AWS_SESSION_TOKEN");
    command.spawn().unwrap()
}

fn records(path: &Path) -> Vec<Record> {
    loop {
        // A reader waits for a commit in progress; a killed writer's journal is rolled back.
        match StudyFile::open_mended(path).and_then(|file| file.records()) {
            // On a slow disk one commit follows another before a reader is let in.
            Err(RecordError::Locked { .. }) => {}
            found => return found.unwrap_or_else(|error| panic!("{error}")),
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Notes that the process left about settings that it changed.
fn notes_of(process: u32) -> Vec<String> {
    let Ok(folder) = fs::read_dir(NOTES) else { return Vec::new() };
    let names = folder.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.contains(&format!("-{process}-"))).collect()
}

/// Kills the process after a random time; returns whether it was still running, and its records shortly before.
fn kill(mut child: Child, longest_ms: u64, study: &Path, dice: &mut Xoshiro256PlusPlus) -> (bool, Vec<Record>) {
    std::thread::sleep(Duration::from_millis(dice.random_range(0..longest_ms)));
    let acknowledged = if study.exists() { records(study) } else { Vec::new() };
    std::thread::sleep(Duration::from_micros(dice.random_range(0..(longest_ms * 300).min(20_000))));
    let ended = child.try_wait().unwrap();
    // A process that ended by itself must have succeeded, or refused an experiment on its target.
    if ended.is_some_and(|status| !matches!(status.code(), Some(0 | 1))) {
        let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
        // The trace of a study that was killed early has no line.
        let tells =
            ["nothing was measured", "no comparable cell", "can be fitted", "no run", "already exists", "no result"];
        assert!(tells.iter().any(|words| said.contains(words)), "{ended:?}: {said}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    (ended.is_none(), acknowledged)
}

/// Kills studies of one question, each resuming the last one's file, then checks that the next start cleans up.
fn kill_one_study(kills: u32, tally: &mut Tally, dice: &mut Xoshiro256PlusPlus) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let here = folder.path();
    let study = folder.path().join("study.halfpower");
    fs::create_dir(here.join("data")).unwrap();
    let experiments = EXPERIMENTS[dice.random_range(0..EXPERIMENTS.len())];
    let simulated = dice.random_bool(0.25);
    let real = ["study", "data", "--experiments", experiments, "--size", "64MiB", "--budget", "6s"];
    let virtual_time = ["study", "sim:noise=3%,jitter=10%", "--experiments", experiments, "--budget", "2m"];
    let (kind, words): (_, &[&str]) = if simulated { ("sim: study", &virtual_time) } else { ("study", &real) };
    let mut kept: Vec<Record> = Vec::new();
    let mut processes = Vec::new();
    for _ in 0..kills {
        let child = begin(here, words);
        processes.push(child.id());
        let (at_work, acknowledged) = kill(child, if simulated { 150 } else { 1_500 }, &study, dice);
        *tally.kills.entry(kind).or_default() += u32::from(at_work);
        tally.too_late += u32::from(!at_work);
        if study.exists() {
            let found = records(&study);
            assert!(found.starts_with(&acknowledged), "{words:?}: a committed record is lost");
            assert!(found.starts_with(&kept), "{words:?}: a record of an earlier start is lost");
            tally.records_acknowledged += found.len() - kept.len();
            kept = found;
        }
    }
    if study.exists() {
        kill_reports(here, &study, tally, dice);
    }
    look_for_what_is_left(here, &processes);
}

/// Kills reports and exports of the study.
fn kill_reports(here: &Path, study: &Path, tally: &mut Tally, dice: &mut Xoshiro256PlusPlus) {
    let before = fs::read(study).unwrap();
    let traced = begin(here, &["export", "study.halfpower", "--format", "sqlio", "--output", "study.trace"]);
    traced.wait_with_output().unwrap();
    // The longest time until the kill is some times what each takes.
    for (kind, longest_ms, words) in [
        ("report", 60, ["report", "study.halfpower", "--html", "study.html"].as_slice()),
        ("export", 60, &["export", "study.halfpower", "--format", "csv", "--output", "study.csv"]),
        ("compare", 60, &["compare", "study.halfpower", "study.halfpower", "--html", "compared.html"]),
        ("calibrate", 60, &["calibrate", "study.halfpower", "-o", "system.toml"]),
        ("import", 60, &["import", "study.trace", "--output", "imported.halfpower"]),
        ("doctor", 10, &["doctor", "data"]),
    ] {
        let (at_work, _) = kill(begin(here, words), longest_ms, Path::new("/nowhere"), dice);
        *tally.kills.entry(kind).or_default() += u32::from(at_work);
        tally.too_late += u32::from(!at_work);
    }
    // An import is there as a whole or not at all.
    let imported = here.join("imported.halfpower");
    if imported.exists() {
        records(&imported);
        fs::remove_file(imported).unwrap();
    }
    assert!(fs::read(study).unwrap() == before, "a reader changed the study");
}

/// Checks that the next start of any command cleans up: here a report, or a list if there is no study yet.
fn look_for_what_is_left(here: &Path, processes: &[u32]) {
    let words: &[&str] = if here.join("study.halfpower").exists() {
        &["report", "study.halfpower", "--html", "study.html"]
    } else {
        &["systems"]
    };
    let next = begin(here, words).wait_with_output().unwrap();
    // A study that was killed before its first record has nothing to report.
    assert!(matches!(next.status.code(), Some(0..=2)), "{words:?}: {:?}", next.status);
    let left = names(here);
    let known = ["compared.html", "data", "study.csv", "study.halfpower", "study.html", "study.trace", "system.toml"];
    assert!(left.iter().all(|name| known.contains(&name.as_str())), "{left:?}");
    assert_eq!(names(&here.join("data")), [""; 0]);
    for process in processes {
        assert_eq!(notes_of(*process), [""; 0]);
    }
}

/// Kills studies of a bucket, each going on with the last one's file, then checks that the next command on the bucket
/// removes what they left there.
fn kill_studies_of_a_bucket(kills: u32, tally: &mut Tally, dice: &mut Xoshiro256PlusPlus) {
    let server = MemoryS3::start();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let here = folder.path();
    let study = here.join("study.halfpower");
    fs::create_dir(here.join("data")).unwrap();
    let address = server.address();
    let small = ["--size", "16MiB", "--bs", "4k,64k", "--iodepth", "1,8", "--budget", "60s"];
    let words = [&["study", &address][..], &small].concat();
    let mut kept: Vec<Record> = Vec::new();
    let mut processes = Vec::new();
    for _ in 0..kills {
        let child = begin(here, &words);
        processes.push(child.id());
        let (at_work, acknowledged) = kill(child, 1_500, &study, dice);
        *tally.kills.entry("S3 study").or_default() += u32::from(at_work);
        tally.too_late += u32::from(!at_work);
        if study.exists() {
            let found = records(&study);
            assert!(found.starts_with(&acknowledged), "a committed record is lost");
            assert!(found.starts_with(&kept), "a record of an earlier start is lost");
            tally.records_acknowledged += found.len() - kept.len();
            kept = found;
        }
    }
    let next = begin(here, &["run", &address, "--size", "16MiB", "--runtime", "100ms"]).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&next.stderr).into_owned();
    assert!(next.status.success(), "{said}");
    let store = server.store.lock().unwrap();
    let left: Vec<&String> = store.objects.keys().chain(store.uploads.keys()).collect();
    assert!(left.is_empty(), "{left:?}: {said}");
    look_for_what_is_left(here, &processes);
}

#[test]
#[ignore = "gate: kills studies of a bucket for some seconds"]
fn studies_of_a_bucket_that_are_killed_lose_nothing_and_the_next_one_clears_the_bucket() {
    let mut tally = Tally::default();
    kill_studies_of_a_bucket(5, &mut tally, &mut Xoshiro256PlusPlus::seed_from_u64(5));
    println!("killed: {:?}; records: {}", tally.kills, tally.records_acknowledged);
}

/// Tests for the laboratory.
mod lab {
    use halfpower_lab::Campaign;

    use super::*;

    /// Judges each kind of kill; what was not survived has ended the test.
    fn judge(tally: &Tally) {
        println!(
            "ended before the kill: {}; records committed by killed processes: {}",
            tally.too_late, tally.records_acknowledged
        );
        for (kind, kills) in &tally.kills {
            let kills = u64::from(*kills);
            let name = format!("kills: {kind}");
            Campaign { tried: kills, survived: kills, ..Campaign::new(name) }.judge("kills");
        }
    }

    #[test]
    #[ignore = "lab: starts and kills whole studies"]
    fn kills_lose_no_record_and_leave_nothing() {
        let mut dice = Xoshiro256PlusPlus::seed_from_u64(u64::from(number("HALFPOWER_KILL_SEED", 1)));
        let mut tally = Tally::default();
        let wanted = number("HALFPOWER_KILLS", KILLS);
        while tally.kills.values().sum::<u32>() < wanted {
            let kills = dice.random_range(1..=8);
            kill_one_study(kills, &mut tally, &mut dice);
        }
        judge(&tally);
    }

    #[test]
    #[ignore = "lab: starts and kills whole studies of a bucket"]
    fn kills_of_studies_of_a_bucket_lose_no_record_and_leave_no_object() {
        let mut dice = Xoshiro256PlusPlus::seed_from_u64(u64::from(number("HALFPOWER_KILL_SEED", 1)));
        let mut tally = Tally::default();
        let wanted = number("HALFPOWER_BUCKET_KILLS", BUCKET_KILLS);
        while tally.kills.values().sum::<u32>() < wanted {
            let kills = dice.random_range(1..=8);
            kill_studies_of_a_bucket(kills, &mut tally, &mut dice);
        }
        judge(&tally);
    }
}
