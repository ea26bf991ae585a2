//! Checks that damage to a study file gives a clear error, and never a result or a panic.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::sample::{environment, question, records};
use halfpower_record::{Environment, Record, RecordError, StudyFile};
use halfpower_spec::Question;
use proptest::prelude::*;
use rusqlite::Connection;

const COUNT: u32 = 6;

/// A study file with two environments, as bytes.
static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (_folder, path) = scratch();
    let mut file = StudyFile::create(&path, &question(), &environment("6.1")).unwrap();
    let records = records(COUNT);
    file.append_all(&records[..3]).unwrap();
    file.go_on_in(&environment("6.2")).unwrap();
    file.append_all(&records[3..]).unwrap();
    drop(file);
    fs::read(&path).unwrap()
});

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.halfpower");
    (folder, path)
}

/// Everything that a report needs.
fn contents(path: &Path) -> Result<(Question, Vec<Environment>, Vec<Record>), RecordError> {
    let file = StudyFile::open(path)?;
    Ok((file.question().clone(), file.environments().to_vec(), file.records()?))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_flipped_bit_never_changes_a_report_unseen(at in 0..WHOLE.len(), bit in 0..8_u32) {
        let (_folder, path) = scratch();
        let mut bytes = WHOLE.clone();
        bytes[at] ^= 1 << bit;
        fs::write(&path, bytes).unwrap();
        if let Ok((asked, environments, found)) = contents(&path) {
            prop_assert_eq!(asked, question());
            prop_assert_eq!(environments, [environment("6.1"), environment("6.2")]);
            prop_assert_eq!(found, records(COUNT));
        }
    }
}

/// Where a page's header points elsewhere, its last rows are gone or those of another page.
#[test]
fn a_flipped_bit_in_the_header_of_a_page_never_hides_a_record() {
    let (_folder, path) = scratch();
    for (at, bit) in (0..WHOLE.len()).filter(|at| at % 4096 < 12).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut bytes = WHOLE.clone();
        bytes[at] ^= 1 << bit;
        fs::write(&path, bytes).unwrap();
        if let Ok((asked, environments, found)) = contents(&path) {
            let is_whole = asked == question() && environments == [environment("6.1"), environment("6.2")];
            assert!(is_whole && found == records(COUNT), "bit {bit} of byte {at} hides records, and nobody says so");
        }
    }
}

/// A damaged table definition can hide every record.
#[test]
fn records_that_the_schema_hides_are_missed() {
    let (_folder, path) = scratch();
    let mut bytes = WHOLE.clone();
    let key = b"record_id INTEGER PRIMARY KEY";
    let at = bytes.windows(key.len()).position(|window| window == key).unwrap();
    bytes[at + key.len() - 1] ^= 1;
    fs::write(&path, bytes).unwrap();
    let error = contents(&path).unwrap_err();
    assert!(matches!(error, RecordError::Damaged { .. }), "{error}");
}

/// FNV-1a, the file's checksum.
fn fnv1a(text: &str) -> i64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
        as i64
}

/// Changes the text of record 1 and updates its checksum.
fn doctor(path: &Path, change: impl Fn(&str) -> String) {
    let database = Connection::open(path).unwrap();
    let select = "SELECT record FROM record WHERE record_id = 1";
    let text: String = database.query_row(select, [], |row| row.get(0)).unwrap();
    let changed = change(&text);
    assert_ne!(text, changed);
    let update = "UPDATE record SET record = ?1, record_fnv1a = ?2 WHERE record_id = 1";
    database.execute(update, rusqlite::params![changed, fnv1a(&changed)]).unwrap();
}

#[test]
fn a_record_whose_shortest_latency_is_longer_than_its_longest_is_refused() {
    let (_folder, path) = scratch();
    fs::write(&path, &*WHOLE).unwrap();
    let max_ns = records(1)[0].latency.max_ns();
    doctor(&path, |text| text.replacen(&format!("\"max_ns\":{max_ns}"), "\"max_ns\":3", 1));
    let error = contents(&path).unwrap_err();
    assert!(matches!(error, RecordError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("record 1 cannot be read: the shortest or the longest latency"), "{error}");
}

#[test]
fn an_environment_that_was_changed_is_told() {
    let (_folder, path) = scratch();
    fs::write(&path, &*WHOLE).unwrap();
    let update = "UPDATE environment SET environment = replace(environment, '6.2', '6.3') WHERE environment_id = 2";
    assert_eq!(Connection::open(&path).unwrap().execute(update, []).unwrap(), 1);
    let error = contents(&path).unwrap_err();
    assert!(error.to_string().contains("the checksum of environment 2 is wrong"), "{error}");
}
