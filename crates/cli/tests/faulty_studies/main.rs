//! Tests whole studies on simulated disks with failed, short and late requests, and with wrong data.
//!
//! A number determines each study. `HALFPOWER_FAULTY_STUDY=N` runs only number N.

mod case;
mod tally;
mod verifying;

use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use case::Case;
use halfpower_experiments::analyse;
use halfpower_measure::TargetBackend;
use halfpower_record::{Record, StudyFile};
use halfpower_report::Style;
use halfpower_spec::Run;
use halfpower_study::{Ending, Observer, SoFar, conduct};
use tally::Tally;
use verifying::Verifying;

/// Number of runs at which a study counts as endless.
const ENDLESS: usize = 5_000;

/// Observer that interrupts a study when a run begins.
struct Interrupter<'a> {
    stop: &'a AtomicBool,
    begun: usize,
    at: Option<usize>,
}

impl Observer for Interrupter<'_> {
    fn begins(&mut self, _: &Run, _: &SoFar) {
        assert!(self.begun < ENDLESS, "the study does not end");
        self.stop.store(self.at == Some(self.begun), Ordering::Relaxed);
        self.begun += 1;
    }

    fn ended(&mut self, _: &Record) {}
}

/// Continues the study in `path` to its end, or to the run at which it is interrupted.
fn go_on(case: &Case, path: &Path, interrupted_at: Option<usize>) -> (Ending, Verifying) {
    go_on_with(Verifying::new(case.disk.clone(), case.verifies), case, path, interrupted_at)
}

fn go_on_with(mut backend: Verifying, case: &Case, path: &Path, interrupted_at: Option<usize>) -> (Ending, Verifying) {
    let mut file = StudyFile::open_or_create(path, &case.question, backend.environment()).unwrap();
    file.spare_the_disk().unwrap();
    let stop = AtomicBool::new(false);
    let mut observer = Interrupter { stop: &stop, begun: 0, at: interrupted_at };
    let ending = conduct(&case.question, &mut backend, &mut file, &mut observer, (0, &stop)).unwrap();
    (ending, backend)
}

fn records(path: &Path) -> Vec<Record> {
    StudyFile::open(path).unwrap().records().unwrap()
}

/// Runs one study whole, and again with an interruption, and checks its invariants.
fn try_study(number: u64, folder: &Path, tally: &Mutex<Tally>) {
    let case = Case::of(number);
    let name = format!("study {number}: {}", case.question.target);
    let whole = folder.join(format!("{number}-whole"));
    let cut = folder.join(format!("{number}-cut"));
    let (ending, backend) = go_on(&case, &whole, None);
    assert_ne!(ending, Ending::Interrupted, "{name}");
    let all = records(&whole);
    assert!(!all.is_empty(), "{name}: nothing was measured");
    tally.lock().unwrap().add(&name, &all, &backend.faults());

    let at = case.interrupted_at(all.len());
    let (ending, _) = go_on(&case, &cut, Some(at));
    assert_eq!(ending, Ending::Interrupted, "{name}, run {at} of {}", all.len());
    let committed = records(&cut);
    assert!(committed.len() <= at && committed[..] == all[..committed.len()], "{name}: records before run {at}");
    let (ending, _) = go_on(&case, &cut, None);
    assert_ne!(ending, Ending::Interrupted, "{name}");
    let resumed = records(&cut);
    assert!(resumed == all, "{name}: interrupted at run {at}, {} and {} records", resumed.len(), all.len());
    tally.lock().unwrap().resumed += 1;
    report(&name, &case, &whole, number.is_multiple_of(16));
    std::fs::remove_file(whole).unwrap();
    std::fs::remove_file(cut).unwrap();
}

/// Checks that the study is reported without a panic, and that the report has its faults.
fn report(name: &str, case: &Case, path: &Path, as_page: bool) {
    let file = StudyFile::open(path).unwrap();
    let all = file.records().unwrap();
    let findings = analyse(&case.question, file.environment(), &all);
    let mut text = Vec::new();
    let mut json = Vec::new();
    halfpower_report::terminal(&findings, None, &Style { width: 100, colour: false }, &mut text).unwrap();
    halfpower_report::json(&findings, &mut json).unwrap();
    if as_page {
        halfpower_report::html(&findings, &all, "halfpower study", &mut std::io::sink()).unwrap();
    }
    let json = String::from_utf8(json).unwrap();
    let text = String::from_utf8(text).unwrap();
    if all.iter().all(|record| !record.errors.is_empty()) {
        let mut kinds = all.iter().flat_map(|record| record.errors.keys());
        let in_words = |kind: &str| if kind == "EOF" { "moved nothing" } else { kind }.to_string();
        let named = kinds.any(|kind| text.contains(&in_words(kind)) && json.contains(kind.as_str()));
        assert!(named || text.contains("WRONG DATA"), "{name}: every run failed:\n{text}");
    }
    assert!(json.starts_with('{'), "{name}");
}

/// A folder in memory if possible, so that thousands of study files need no disk.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// Runs the studies of these numbers in parallel on all processors.
fn try_studies(numbers: Range<u64>) -> Tally {
    let folder = folder();
    let tally = Mutex::new(Tally::default());
    match std::env::var("HALFPOWER_FAULTY_STUDY") {
        Ok(number) => try_study(number.parse().unwrap(), folder.path(), &tally),
        Err(_) => {
            let next = AtomicU64::new(numbers.start);
            let lanes = std::thread::available_parallelism().map_or(1, usize::from);
            std::thread::scope(|scope| {
                for _ in 0..lanes {
                    scope.spawn(|| {
                        while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < numbers.end)
                        {
                            try_study(number, folder.path(), &tally);
                        }
                    });
                }
            });
        }
    }
    let tally = tally.into_inner().unwrap();
    println!("{tally}");
    tally
}

#[test]
fn a_date_that_is_set_back_changes_no_study_but_its_dates() {
    let folder = folder();
    let case = Case::of(1);
    let usual = folder.path().join("usual");
    let back = folder.path().join("back");
    let verifying = || Verifying::new(case.disk.clone(), case.verifies);
    go_on_with(verifying(), &case, &usual, None);
    let (ending, _) = go_on_with(verifying().with_a_date_that_is_set_back(), &case, &back, None);
    assert_ne!(ending, Ending::Interrupted);
    let mut usual = records(&usual);
    let mut dated = records(&back);
    assert!(dated.windows(2).all(|pair| pair[0].started_unix_ms > pair[1].started_unix_ms), "each is before the last");
    usual.iter_mut().chain(&mut dated).for_each(|record| record.started_unix_ms = 0);
    assert!(usual == dated, "{} and {} records", usual.len(), dated.len());
    report("a date that is set back", &case, &back, true);
}

#[test]
fn two_hundred_studies_with_faults_keep_their_promises() {
    let tally = try_studies(0..200);
    tally.assert_all_kinds();
}

/// Tests for the laboratory.
mod lab {
    use super::*;

    #[test]
    #[ignore = "lab: ten thousand studies, some minutes"]
    fn ten_thousand_studies_with_faults_keep_their_promises() {
        try_studies(200..10_200).assert_all_kinds();
    }
}
