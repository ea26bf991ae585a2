//! Checks that a truncated, corrupted or interrupted study file gives its first records or one clear error.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::sample::{environment, question, record, records};
use halfpower_record::{Record, RecordError, StudyFile};
use rusqlite::Connection;

/// Environment variable for the child process that appends until it is killed.
pub const APPEND_TO: &str = "HALFPOWER_TEST_APPEND_TO";
const COUNT: u32 = 12;
/// Records of the study that is read while it runs.
const READ_MEANWHILE: u32 = 60;

fn study_bytes(count: u32) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.halfpower");
    let mut file = StudyFile::create(&path, &question(), &environment("6.1")).unwrap();
    records(count).iter().for_each(|record| file.append(record).unwrap());
    drop(file);
    fs::read(&path).unwrap()
}

/// The records of a study file, after a transaction that a crash cut off is rolled back, or the error.
pub fn opened(path: &Path) -> Result<Vec<Record>, RecordError> {
    StudyFile::open_mended(path).and_then(|file| file.records())
}

fn assert_prefix_or_sentence(path: &Path, whole: &[Record], case: &str) {
    let resumed = || StudyFile::resume(path, &question(), &environment("6.1")).and_then(|file| file.records());
    for outcome in [opened(path), resumed()] {
        match outcome {
            Ok(found) => assert!(found == whole[..found.len()], "{case}: wrong records"),
            Err(
                RecordError::Damaged { .. }
                | RecordError::NotAStudyFile { .. }
                | RecordError::Newer { .. }
                | RecordError::OtherQuestion { .. },
            ) => {}
            Err(error) => panic!("{case}: {error}"),
        }
    }
}

#[test]
fn a_file_cut_anywhere_gives_a_sentence_and_is_left_as_it_is() {
    // Without records, no reader looks at the last page.
    for count in [0, COUNT] {
        let bytes = study_bytes(count);
        let whole = records(count);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.halfpower");
        let near_a_page = |at: &usize| at % 4096 < 3 || at % 4096 > 4093;
        for at in (0..bytes.len()).filter(|at| *at < 130 || near_a_page(at) || at % 509 == 0) {
            fs::write(&path, &bytes[..at]).unwrap();
            assert_prefix_or_sentence(&path, &whole, &format!("cut at {at} of {}", bytes.len()));
            assert!(opened(&path).is_err(), "cut at {at}: the end is missing and nobody says so");
            assert!(fs::read(&path).unwrap() == bytes[..at], "cut at {at}: the file was changed");
        }
        fs::write(&path, &bytes).unwrap();
        assert!(opened(&path).unwrap() == whole);
    }
}

#[test]
fn a_flipped_byte_never_makes_a_wrong_record() {
    let bytes = study_bytes(COUNT);
    let whole = records(COUNT);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.halfpower");
    for at in (0..bytes.len()).filter(|at| *at < 200 || at % 4096 < 12 || at % 211 == 0) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x15;
        fs::write(&path, &flipped).unwrap();
        assert_prefix_or_sentence(&path, &whole, &format!("flipped at {at}"));
    }
}

#[test]
fn a_transaction_that_a_crash_cut_off_is_rolled_back_from_its_journal() {
    let folder = tempfile::tempdir().unwrap();
    let live = folder.path().join("study.halfpower");
    fs::write(&live, study_bytes(COUNT)).unwrap();
    let before = fs::read(&live).unwrap();
    let writer = Connection::open(&live).unwrap();
    writer.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE").unwrap();
    let mut written_early = 0;
    for id in 1..=COUNT {
        writer.execute("UPDATE record SET record = record || ' ' WHERE record_id = ?1", [id]).unwrap();
        let image = fs::read(&live).unwrap();
        let journal = fs::read(beside(&live)).unwrap();
        written_early += u32::from(image != before);
        assert_rolled_back(&image, &journal, &format!("after change {id}"));
        // Pages reach the file only after their journal is durable, so a short journal belongs to the earlier file.
        for cut in (0..journal.len()).step_by(1021).chain([1, 7, 8, 27, 28, 511, 512, 513]) {
            assert_rolled_back(&before, &journal[..cut.min(journal.len())], &format!("change {id}, cut at {cut}"));
        }
    }
    assert!(written_early > 0, "no page was written before the end, so nothing was rolled back");
}

fn beside(path: &Path) -> std::path::PathBuf {
    path.with_file_name("study.halfpower-journal")
}

fn assert_rolled_back(image: &[u8], journal: &[u8], case: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.halfpower");
    fs::write(&path, image).unwrap();
    fs::write(beside(&path), journal).unwrap();
    match opened(&path) {
        Ok(found) => assert!(found == records(COUNT), "{case}: wrong records"),
        Err(error) => panic!("{case}: {error}"),
    }
}

/// A record of many pages, so that a kill often falls between two of them.
fn large(number: u32) -> Record {
    let mut record = record(number);
    record.series.bytes = (0..40_000).map(|step| step * u64::from(number + 1)).collect();
    record
}

/// Not a test: the child process that is killed. It prints how many records are committed.
#[test]
fn child_that_appends() {
    let Ok(path) = std::env::var(APPEND_TO) else { return };
    let mut file = StudyFile::open_or_create(path.as_ref(), &question(), &environment("6.1")).unwrap();
    for number in file.records().unwrap().len() as u32.. {
        file.append(&large(number)).unwrap();
        println!("\ncommitted {}", number + 1);
    }
}

fn start_child(path: &Path, test: &str) -> (Child, BufReader<impl Read>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(APPEND_TO, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap());
    (child, said)
}

pub fn committed(line: &str) -> Option<usize> {
    line.trim().strip_prefix("committed ").and_then(|count| count.parse().ok())
}

/// Not a test: the child process whose file is read meanwhile.
#[test]
fn child_that_is_read() {
    let Ok(path) = std::env::var(APPEND_TO) else { return };
    let mut file = StudyFile::create(path.as_ref(), &question(), &environment("6.1")).unwrap();
    for number in 0..READ_MEANWHILE {
        file.append(&record(number)).unwrap();
        println!("\ncommitted {}", number + 1);
    }
}

#[test]
fn readers_see_the_records_so_far_and_do_not_stop_a_study() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.halfpower");
    let (mut child, said) = start_child(&path, "crash::child_that_is_read");
    let mut readings = 0;
    for acknowledged in said.lines().map(Result::unwrap).filter_map(|line| committed(&line)) {
        // The child commits without a pause, as no study does: where commits are slow, it seldom lets a reader in.
        let found = loop {
            match opened(&path) {
                Err(RecordError::Locked { .. }) => {}
                found => break found.unwrap(),
            }
        };
        assert!(found.len() >= acknowledged, "{} of {acknowledged}", found.len());
        assert!(found == records(found.len() as u32));
        readings += 1;
    }
    assert!(child.wait().unwrap().success() && readings == READ_MEANWHILE, "{readings} readings");
}

#[test]
fn a_killed_study_loses_at_most_the_record_in_progress_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.halfpower");
    for round in 0..14 {
        let (mut child, mut said) = start_child(&path, "crash::child_that_appends");
        let mut acknowledged = 0;
        // Killed after a few commits, at any point of the next one.
        for line in said.by_ref().lines().map(Result::unwrap).filter_map(|line| committed(&line)).take(1 + round % 4) {
            acknowledged = line;
        }
        if round == 0 {
            let error = StudyFile::open_to_append(&path).unwrap_err();
            assert!(matches!(error, RecordError::Locked { .. }), "{error}");
        }
        std::thread::sleep(std::time::Duration::from_micros(round as u64 * 531));
        child.kill().unwrap();
        child.wait().unwrap();
        let late = said.lines().map_while(Result::ok).filter_map(|line| committed(&line)).last();
        let acknowledged = late.unwrap_or(acknowledged);
        let found = opened(&path).unwrap();
        assert!(!beside(&path).exists(), "who mends a killed study leaves its journal");
        assert!((acknowledged..=acknowledged + 1).contains(&found.len()), "{acknowledged}, {}", found.len());
        assert!(
            found.iter().eq(&(0..found.len() as u32).map(large).collect::<Vec<_>>()),
            "round {round}: wrong records"
        );
    }
    drop(StudyFile::resume(&path, &question(), &environment("6.1")).unwrap());
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["study.halfpower"]);
}
