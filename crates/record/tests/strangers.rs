//! Checks what other users can do to a study and to outputs: side files, links, rights, and files made to harm.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

use crate::sample::{environment, question, record, records};
use halfpower_record::output::{Destination, Form, OutputError};
use halfpower_record::{Record, RecordError, StudyFile};
use rusqlite::Connection;

/// Records of a study, and with the one that its journal brings back.
const KEPT: u32 = 11;
const ALL: u32 = 12;
/// A user who is not this one.
const STRANGER: u32 = 65534;
const PAGE: &str = "<!DOCTYPE html><meta name=\"generator\" content=\"halfpower 0\">";

/// Whether this is root, who can make files of other users; else says that the test is skipped.
fn is_root() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let is_root = chown(folder.path(), Some(STRANGER), None).is_ok();
    if !is_root {
        assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: only root makes files of others");
        eprintln!("skipped: only root makes files of others");
    }
    is_root
}

/// A folder that everybody may write to, as `/tmp`.
fn shared_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    folder
}

fn write(path: &Path, text: &str) -> Result<(), OutputError> {
    Destination::new(path, Form::Page, false)?.write(|out| {
        out.write_all(text.as_bytes()).unwrap();
        Ok(())
    })
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

/// A study of [`KEPT`] records, and a journal that would bring back another one.
fn study_and_journal(folder: &Path) -> (PathBuf, Vec<u8>) {
    let path = folder.join("study.halfpower");
    let mut file = StudyFile::create(&path, &question(), &environment("6.1")).unwrap();
    file.append_all(&records(ALL)).unwrap();
    drop(file);
    let writer = Connection::open(&path).unwrap();
    // The journal becomes whole when pages are written before the commit.
    writer.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE").unwrap();
    let delete = format!("DELETE FROM record WHERE record_id = {ALL}");
    writer.execute_batch(&delete).unwrap();
    writer.execute("UPDATE record SET record = record || ' '", []).unwrap();
    let journal = fs::read(beside(&path, "-journal")).unwrap();
    writer.execute_batch(&format!("ROLLBACK; {delete}")).unwrap();
    drop(writer);
    assert_eq!(journal[0], 0xd9, "nothing was written before the commit");
    (path, journal)
}

fn found(path: &Path) -> Vec<Record> {
    StudyFile::open(path).unwrap().records().unwrap()
}

#[test]
fn a_new_file_never_runs_with_the_rights_of_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    write(&path, PAGE).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o6750)).unwrap();
    write(&path, PAGE).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o750);
}

#[test]
fn a_new_file_takes_no_rights_from_a_file_of_somebody_else() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    fs::write(&path, PAGE).unwrap();
    chown(&path, Some(STRANGER), Some(STRANGER)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o6777)).unwrap();
    write(&path, PAGE).unwrap();
    let made = fs::metadata(&path).unwrap();
    assert_eq!((made.uid(), made.gid(), made.mode() & 0o7111), (0, 0, 0), "{:o}", made.mode());
}

#[test]
fn a_link_of_somebody_else_in_a_folder_for_all_is_not_followed() {
    if !is_root() {
        return;
    }
    let folder = shared_folder();
    let safe = tempfile::tempdir().unwrap();
    let link = folder.path().join("out.html");
    let target = safe.path().join("target.html");
    symlink(&target, &link).unwrap();
    // One's own link is followed.
    write(&link, PAGE).unwrap();
    fs::remove_file(&target).unwrap();
    lchown(&link, Some(STRANGER), Some(STRANGER)).unwrap();
    let refused = write(&link, PAGE).unwrap_err().to_string();
    assert!(refused.contains("belongs to another user"), "{refused}");
    assert!(!target.exists());
    let (study, _) = study_and_journal(safe.path());
    fs::remove_file(&link).unwrap();
    symlink(&study, &link).unwrap();
    assert_eq!(found(&link), records(KEPT));
    lchown(&link, Some(STRANGER), Some(STRANGER)).unwrap();
    let before = fs::read(&study).unwrap();
    let refused = [StudyFile::open(&link).err(), StudyFile::open_to_append(&link).err()];
    for error in refused {
        let said = error.unwrap().to_string();
        assert!(said.contains("belongs to another user"), "{said}");
    }
    fs::remove_file(&study).unwrap();
    let error = StudyFile::create(&link, &question(), &environment("6.1")).unwrap_err().to_string();
    assert!(error.contains("belongs to another user") && !study.exists(), "{error}");
    fs::write(&study, &before).unwrap();
    // In a folder of one's own, whoever made the link had the right to.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(found(&link), records(KEPT));
}

#[test]
fn a_journal_of_somebody_else_is_not_applied() {
    let folder = shared_folder();
    let (path, bytes) = study_and_journal(folder.path());
    let journal = beside(&path, "-journal");
    let before = fs::read(&path).unwrap();
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, &bytes).unwrap();
    symlink(&elsewhere, &journal).unwrap();
    let look = || {
        let file = StudyFile::open(&path).unwrap();
        assert_eq!(file.set_aside(), Some(journal.as_path()));
        assert_eq!(file.records().unwrap(), records(KEPT));
        for refused in [StudyFile::open_to_append(&path), StudyFile::resume(&path, &question(), &environment("6.1"))] {
            let error = refused.unwrap_err();
            assert!(matches!(error, RecordError::StrangeFile { .. }), "{error}");
        }
        assert!(fs::read(&path).unwrap() == before, "the study was changed");
    };
    look();
    assert!(journal.is_symlink());
    fs::remove_file(&journal).unwrap();
    if is_root() {
        fs::write(&journal, &bytes).unwrap();
        chown(&journal, Some(STRANGER), Some(STRANGER)).unwrap();
        look();
        assert_eq!(fs::read(&journal).unwrap(), bytes);
    }
}

#[test]
fn a_reader_leaves_a_study_that_was_killed_as_it_is_and_a_writer_mends_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = study_and_journal(folder.path());
    let journal = beside(&path, "-journal");
    let before = fs::read(&path).unwrap();
    fs::write(&journal, &bytes).unwrap();
    let error = StudyFile::open(&path).unwrap_err();
    assert!(matches!(error, RecordError::HalfWritten { .. }), "{error}");
    assert!(error.to_string().contains("halfpower study"), "{error}");
    assert!(fs::read(&path).unwrap() == before && fs::read(&journal).unwrap() == bytes, "a reader changed something");
    drop(StudyFile::resume(&path, &question(), &environment("6.1")).unwrap());
    assert!(!journal.exists());
    assert_eq!(found(&path), records(ALL));
}

#[test]
fn a_write_ahead_log_is_never_applied() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = study_and_journal(folder.path());
    let before = fs::read(&path).unwrap();
    let copy = folder.path().join("copy");
    fs::copy(&path, &copy).unwrap();
    let writer = Connection::open(&copy).unwrap();
    writer.execute_batch("PRAGMA journal_mode = WAL; DELETE FROM record WHERE record_id = 2").unwrap();
    let error = StudyFile::open(&copy).unwrap_err();
    assert!(matches!(error, RecordError::HasLog { .. }), "{error}");
    let log = beside(&path, "-wal");
    fs::copy(beside(&copy, "-wal"), &log).unwrap();
    let file = StudyFile::open(&path).unwrap();
    assert_eq!((file.set_aside(), file.records().unwrap()), (Some(log.as_path()), records(KEPT)));
    let error = StudyFile::open_to_append(&path).unwrap_err();
    assert!(matches!(error, RecordError::StrangeFile { .. }), "{error}");
    // One that comes while the file is open is not applied either.
    fs::remove_file(&log).unwrap();
    let reader = StudyFile::open(&path).unwrap();
    let mut writer = StudyFile::open_to_append(&path).unwrap();
    fs::copy(beside(&copy, "-wal"), &log).unwrap();
    for error in [reader.records().map(drop).unwrap_err(), writer.append(&record(20)).unwrap_err()] {
        assert!(matches!(error, RecordError::StrangeFile { .. } | RecordError::Damaged { .. }), "{error}");
    }
    drop((reader, writer));
    fs::remove_file(&log).unwrap();
    assert!(fs::read(&path).unwrap() == before, "the study was changed");
}

#[test]
fn in_a_folder_for_all_the_journal_keeps_its_name_while_the_study_is_written() {
    let folder = shared_folder();
    let path = folder.path().join("study.halfpower");
    let journal = beside(&path, "-journal");
    let mut file = StudyFile::create(&path, &question(), &environment("6.1")).unwrap();
    assert!(journal.exists(), "somebody else could lay one there");
    file.append_all(&records(3)).unwrap();
    assert!(journal.exists());
    assert_eq!(found(&path), records(3));
    drop(file);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["study.halfpower"]);
    assert_eq!(found(&path), records(3));
}

/// Changes the study by SQL, and returns what comes of reading it.
fn made_to_harm(sql: &str) -> Result<Vec<Record>, RecordError> {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = study_and_journal(folder.path());
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    StudyFile::open(&path).and_then(|file| file.records())
}

#[test]
fn a_study_whose_tables_are_none_is_refused() {
    let rename = "ALTER TABLE record RENAME TO other";
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    for sql in [
        format!("{rename}; CREATE VIEW record AS {endless} SELECT i AS record_id, 1 AS environment_id, '' AS record, 0 AS record_fnv1a FROM n"),
        format!("{rename}; CREATE VIEW Record AS SELECT * FROM other"),
        rename.to_string(),
        "PRAGMA foreign_keys = OFF; DROP TABLE environment; CREATE TABLE environment (environment_id INTEGER PRIMARY KEY, environment TEXT AS (hex(zeroblob(30000000))), environment_fnv1a)".to_string(),
    ] {
        let error = made_to_harm(&sql).unwrap_err();
        assert!(matches!(error, RecordError::Damaged { .. }), "{sql}: {error}");
    }
}

#[test]
fn a_text_larger_than_any_record_is_refused() {
    let error = made_to_harm("UPDATE record SET record = hex(zeroblob(33554433)) WHERE record_id = 2").unwrap_err();
    assert!(matches!(error, RecordError::Damaged { .. }), "{error}");
}

#[test]
fn what_a_study_would_run_does_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = study_and_journal(folder.path());
    let trigger = "CREATE TRIGGER evil AFTER INSERT ON record BEGIN DELETE FROM record WHERE record_id < 3; END";
    Connection::open(&path).unwrap().execute_batch(trigger).unwrap();
    let mut file = StudyFile::open_to_append(&path).unwrap();
    file.append(&record(20)).unwrap();
    drop(file);
    assert_eq!(found(&path), [records(KEPT), vec![record(20)]].concat());
}
