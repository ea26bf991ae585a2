//! Measures studies in several sessions, in virtual time and in a folder: by one command again and again, with `--every`, and
//! interrupted.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use halfpower_measure::{SimulatedTarget, TargetBackend};
use halfpower_record::{Record, StudyFile};
use halfpower_spec::{Bytes, Cache, Direction, Experiment, Nanos, Question, Rate, Run, SimulatedDisk};
use halfpower_study::{Ending, Observer, SoFar, conduct};
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{command, folder, run};

const DISK: &str = "fixed=80us,rate=500MB/s,disks=4,noise=3%";
/// A small study of it.
const SMALL: [&str; 10] =
    ["--experiments", "random", "--rw", "read", "--bs", "4KiB,64KiB", "--iodepth", "1,2,4,8", "--budget", "20s"];

/// The findings of a study with these further words, and what it said on standard error.
fn study(folder: &Path, more: &[&str]) -> (Value, String) {
    let target = format!("sim:{DISK}");
    let words = [&["study", target.as_str(), "--json"], &SMALL[..], more].concat();
    let output = run(folder, &words);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{words:?}: {said}");
    (serde_json::from_slice(&output.stdout).unwrap(), said)
}

fn begun(findings: &Value) -> Option<u64> {
    findings["sessions"]["begun"].as_u64()
}

#[test]
fn each_start_of_the_same_command_measures_one_session_and_every_measures_all() {
    let one_by_one = folder();
    let sessions = ["--sessions", "3"];
    let (first, said) = study(one_by_one.path(), &sessions);
    assert_eq!(begun(&first), Some(1), "{first}");
    assert!(said.contains("1 of 3 sessions is measured; the same command measures the next."), "{said}");
    let (second, said) = study(one_by_one.path(), &sessions);
    assert_eq!(begun(&second), Some(2));
    assert!(said.contains("2 of 3 sessions are measured"), "{said}");
    let (third, said) = study(one_by_one.path(), &sessions);
    assert_eq!(begun(&third), Some(3));
    assert!(!said.contains("sessions are measured"), "{said}");
    let (_, said) = study(one_by_one.path(), &sessions);
    assert!(said.contains("nothing was measured now"), "{said}");
    let (_, said) = study(one_by_one.path(), &[]);
    assert!(said.contains("nothing was measured now"), "a study keeps its number of sessions: {said}");

    let at_once = folder();
    let (all, _) = study(at_once.path(), &["--sessions", "3", "--every", "1h"]);
    assert_eq!(all, third);
}

#[test]
fn an_ordinary_study_stays_as_it_is_and_goes_on_with_its_second_session() {
    let ordinary = folder();
    let (findings, _) = study(ordinary.path(), &[]);
    assert_eq!(begun(&findings), None);
    let file = StudyFile::open(&ordinary.path().join("study.halfpower")).unwrap();
    let question = serde_json::to_value(file.question()).unwrap();
    assert!(question.get("sessions").is_none(), "{question}");
    let record = serde_json::to_value(&file.records().unwrap()[0]).unwrap();
    assert!(record.get("session").is_none());
    drop(file);
    let of_one = folder();
    assert_eq!(study(of_one.path(), &["--sessions", "1"]).0, findings);
    let (extended, _) = study(ordinary.path(), &["--sessions", "2"]);
    assert_eq!(begun(&extended), Some(2), "{extended}");
}

#[test]
fn sessions_have_cells_of_walks_to_measure() {
    let folder = folder();
    let output = run(folder.path(), &["study", "sim:", "--experiments", "burst", "--sessions", "2"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("name one of them in --experiments"), "{said}");
}

/// Interrupts a study before the run of this number.
struct Interrupter<'a> {
    stop: &'a AtomicBool,
    begun: usize,
    at: Option<usize>,
}

impl Observer for Interrupter<'_> {
    fn begins(&mut self, _: &Run, _: &SoFar) {
        self.stop.store(self.at == Some(self.begun), Ordering::Relaxed);
        self.begun += 1;
    }

    fn ended(&mut self, _: &Record) {}
}

fn question(sessions: u32) -> Question {
    Question {
        experiments: vec![Experiment::Random],
        directions: vec![Direction::Read],
        bs: vec![Bytes(4096), Bytes(65_536)],
        iodepth: vec![1, 2, 4, 8],
        cache: vec![Cache::Device],
        budget: Nanos(20_000_000_000),
        sessions,
        ..Question::about(format!("sim:{DISK}"))
    }
}

/// Measures a session of the study in `path`, each on a disk that is 10% slower than in the session before.
fn session(path: &Path, sessions: u32, number: u32, interrupted_at: Option<usize>) -> Ending {
    let disk = SimulatedDisk::from_constants(DISK).unwrap();
    let rate = Rate(disk.rate.0 * 0.9f64.powi(number as i32));
    let mut backend = SimulatedTarget::new(SimulatedDisk { rate, ..disk });
    let question = question(sessions);
    let mut file = StudyFile::open_or_create(path, &question, backend.environment()).unwrap();
    file.spare_the_disk().unwrap();
    let stop = AtomicBool::new(false);
    let mut observer = Interrupter { stop: &stop, begun: 0, at: interrupted_at };
    conduct(&question, &mut backend, &mut file, &mut observer, (0, &stop)).unwrap()
}

fn records(path: &Path) -> Vec<Record> {
    StudyFile::open(path).unwrap().records().unwrap()
}

#[test]
fn sessions_that_are_interrupted_and_resumed_are_the_same() {
    let folder = folder();
    let whole = folder.path().join("whole");
    let endings: Vec<Ending> = (0..3).map(|number| session(&whole, 3, number, None)).collect();
    assert_eq!(endings[..2], [Ending::SessionEnded; 2]);
    assert!(matches!(endings[2], Ending::Answered | Ending::BudgetSpent), "{endings:?}");
    let all = records(&whole);
    for number in 0..3 {
        let own: Vec<&Record> = all.iter().filter(|record| record.session == number).collect();
        assert!(own.len() >= 3, "session {number}: {} runs", own.len());
        let spent_ns: u64 = own.iter().map(|record| record.of_budget_ns()).sum();
        assert!(number == 0 || spent_ns <= 6_000_000_000, "session {number}: {spent_ns} ns of a quarter of 20 s");
        assert!(own.iter().all(|record| record.run.repeat / 10_000 == number));
    }

    let cut = folder.path().join("cut");
    assert_eq!(session(&cut, 3, 0, Some(5)), Ending::Interrupted);
    assert_eq!(session(&cut, 3, 0, None), Ending::SessionEnded);
    assert_eq!(session(&cut, 3, 1, Some(2)), Ending::Interrupted);
    let so_far = halfpower_study::sessions_so_far(&StudyFile::open(&cut).unwrap(), 3).unwrap();
    assert_eq!((so_far.complete, so_far.waits_since_unix_ms), (1, None), "it goes on at once within a session");
    assert_eq!(session(&cut, 3, 1, None), Ending::SessionEnded);
    let so_far = halfpower_study::sessions_so_far(&StudyFile::open(&cut).unwrap(), 3).unwrap();
    assert_eq!((so_far.complete, so_far.waits_since_unix_ms), (2, Some(0)));
    session(&cut, 3, 2, None);
    assert!(records(&cut) == all);
}

#[test]
fn the_first_session_of_several_is_the_ordinary_study() {
    let folder = folder();
    let ordinary = folder.path().join("ordinary");
    let first = folder.path().join("first");
    session(&ordinary, 1, 0, None);
    session(&first, 4, 0, None);
    assert!(records(&ordinary) == records(&first));
}

/// A study of a folder that takes some seconds.
const OF_A_FOLDER: &str =
    "study data --size 4MiB --experiments random --rw read --cache device --bs 4KiB --iodepth 1,2 --budget 2s";

/// A folder with the one that is measured.
fn with_data() -> TempDir {
    let here = folder();
    std::fs::create_dir(here.path().join("data")).unwrap();
    here
}

/// Its words with so many sessions in these intervals.
fn of_a_folder(sessions: &'static str, every: &'static str) -> Vec<&'static str> {
    OF_A_FOLDER.split(' ').chain(["--sessions", sessions, "--every", every]).collect()
}

/// When each session of the study in a folder began, in milliseconds of Unix time.
fn begun_unix_ms(folder: &Path) -> Vec<u64> {
    let records = records(&folder.join("study.halfpower"));
    let sessions = records.iter().map(|record| record.session).max().unwrap_or(0) + 1;
    let began = |number: u32| {
        let own = records.iter().filter(|record| record.session == number);
        own.map(|record| record.started_unix_ms).min().expect("it has a run")
    };
    (0..sessions).map(began).collect()
}

#[test]
fn sessions_of_a_folder_begin_in_the_intervals_that_were_asked_for() {
    let here = with_data();
    let output = run(here.path(), &of_a_folder("3", "4s"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let begun = begun_unix_ms(here.path());
    let are_apart = begun.windows(2).all(|pair| pair[1] - pair[0] >= 4_000);
    assert!(begun.len() == 3 && are_apart, "{begun:?}: {said}");
    assert!(said.contains("1 of 3 sessions is measured") && said.contains("2 of 3 sessions are measured"), "{said}");
    let left = std::fs::read_dir(here.path().join("data")).unwrap().count();
    assert_eq!(left, 0, "a layout is left");
}

#[test]
fn who_waits_for_a_session_can_be_interrupted_and_goes_on_later() {
    let here = with_data();
    let mut waiting = command(here.path(), &of_a_folder("2", "1h"));
    let mut child = waiting.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
    let waits = lines.by_ref().find(|line| line.contains("the next begins on")).expect("it waits");
    assert!(waits.contains("1 of 2 sessions is measured"), "{waits}");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let said: String = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{said}");
    assert!(said.contains("interrupted; 1 of 2 sessions is measured into study.halfpower"), "{said}");
    assert_eq!(begun_unix_ms(here.path()).len(), 1);

    let output = run(here.path(), &of_a_folder("2", "1ms"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(begun_unix_ms(here.path()).len(), 2);
}

#[test]
fn another_question_is_refused_before_the_turn_of_a_session_is_waited_for() {
    let here = with_data();
    let first: Vec<&str> = OF_A_FOLDER.split(' ').chain(["--sessions", "2"]).collect();
    let output = run(here.path(), &first);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut other = of_a_folder("2", "1h");
    let at = other.iter().position(|word| *word == "4KiB").unwrap();
    other[at] = "8KiB";
    let mut child = command(here.path(), &other).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
    for line in lines {
        if line.contains("the next begins on") {
            child.kill().unwrap();
            panic!("it waits: {line}");
        }
        assert!(line.contains("another question") && line.contains("8KiB"), "{line}");
    }
    assert_eq!(child.wait().unwrap().code(), Some(2));
}
