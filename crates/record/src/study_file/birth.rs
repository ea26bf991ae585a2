//! Creates a study file: whole, in one step, and never over an existing file.
//!
//! The file is built in memory and published by the crate `output`, so a kill leaves no incomplete study.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::output::OutputError;
use crate::output::STUDY_APPLICATION_ID as APPLICATION_ID;
use halfpower_spec::Question;
use rusqlite::{Connection, params};

use super::layout::{LAYOUT, fnv1a, insert_environment, insert_record, to_sqlite};
use crate::{Column, Environment, Record, RecordError, columns};

pub(super) fn create(
    path: &Path,
    question: &Question,
    environment: &Environment,
    records: &[Record],
) -> Result<(), RecordError> {
    clear_orphan(&crate::output::followed(path))?;
    let bytes = made(question, environment, records)
        .map_err(|error| RecordError::Unwritable { path: path.to_path_buf(), reason: error.to_string() })?;
    publish(path, &bytes)
}

/// Creates the file with these bytes; the name must not exist.
pub(super) fn publish(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    crate::output::publish_new(path, bytes).map_err(|error| match error {
        OutputError::Taken { path } => RecordError::Exists { path },
        OutputError::Refused { path, error } => RecordError::Unwritable { path, reason: error.to_string() },
        other => RecordError::Unwritable { path: path.to_path_buf(), reason: other.to_string() },
    })
}

/// `path` with `ending` appended.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(ending);
    PathBuf::from(name)
}

/// Removes a journal without a study, left by a kill and an `rm`; SQLite would roll it back into the new file.
fn clear_orphan(path: &Path) -> Result<(), RecordError> {
    const JOURNAL: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let journal = beside(path, "-journal");
    if path.symlink_metadata().is_ok() || journal.symlink_metadata().is_err() {
        return Ok(());
    }
    let mut head = Vec::new();
    let read = File::open(&journal).and_then(|file| file.take(8).read_to_end(&mut head));
    if read.is_err() || !(head == JOURNAL || head.iter().all(|byte| *byte == 0)) {
        return Err(RecordError::Exists { path: journal });
    }
    fs::remove_file(&journal)
        .map_err(|error| RecordError::Unwritable { path: journal.clone(), reason: error.to_string() })
}

/// The bytes of a new study, built in memory.
fn made(question: &Question, environment: &Environment, records: &[Record]) -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_in_memory()?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(&layout())?;
    let text = serde_json::to_string(question).map_err(to_sqlite)?;
    let sum = fnv1a(&text);
    transaction.execute("INSERT INTO study VALUES (?1, ?2, ?3)", params![text, env!("CARGO_PKG_VERSION"), sum])?;
    insert_environment(&transaction, LAYOUT, 0, environment)?;
    let columns: Vec<(String, &Column)> = columns().map(|column| (column.name.to_string(), column)).collect();
    records.iter().try_for_each(|record| insert_record(&transaction, &columns, 0, record))?;
    transaction.commit()?;
    Ok(connection.serialize("main")?.to_vec())
}

fn layout() -> String {
    let columns: Vec<String> = columns().map(|column| format!("{:13}{} {}", "", column.name, column.kind)).collect();
    format!(
        "PRAGMA application_id = {APPLICATION_ID};
         PRAGMA user_version = {LAYOUT};
         CREATE TABLE study (question TEXT NOT NULL, program TEXT NOT NULL, question_fnv1a INTEGER NOT NULL);
         CREATE TABLE environment (environment_id INTEGER PRIMARY KEY, environment TEXT NOT NULL UNIQUE,
             environment_fnv1a INTEGER NOT NULL);
         CREATE TABLE record (record_id INTEGER PRIMARY KEY,
             environment_id INTEGER NOT NULL REFERENCES environment,
{},
             record TEXT NOT NULL, record_fnv1a INTEGER NOT NULL);
         CREATE UNIQUE INDEX one_run ON record (ifnull(experiment, ''), workload, pass, repeat);",
        columns.join(",\n")
    )
}
