//! How does a study file come into the world? Whole, under its name, in one step, and over nothing.
//!
//! A path, a question and an environment enter; the file is made under a name of its own beside the path and
//! then linked to it, so that a kill leaves no half-made study and nothing that exists is written over.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use spec::Question;

use super::{APPLICATION_ID, LAYOUT, insert_environment, to_sqlite};
use crate::{COLUMNS, Environment, RecordError};

pub(super) fn create(path: &Path, question: &Question, environment: &Environment) -> Result<(), RecordError> {
    let unwritable = |reason: String| RecordError::Unwritable { path: path.to_path_buf(), reason };
    clear_orphan(path)?;
    let draft = beside(path, &format!("-new-{}", std::process::id()));
    let _ = fs::remove_file(&draft);
    // The system says more plainly than SQLite why there can be no file.
    let made = File::create_new(&draft)
        .map_err(|error| unwritable(error.to_string()))
        .and_then(|_| write(&draft, question, environment).map_err(|error| unwritable(error.to_string())))
        .and_then(|()| {
            publish(&draft, path).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => RecordError::Exists { path: path.to_path_buf() },
                _ => unwritable(error.to_string()),
            })
        });
    let _ = fs::remove_file(&draft);
    made
}

/// `path` with `ending` added to its last part.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(ending);
    PathBuf::from(name)
}

/// A journal without its study is what a kill and an `rm` leave; SQLite would play it into the new file.
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

fn write(draft: &Path, question: &Question, environment: &Environment) -> rusqlite::Result<()> {
    let absolute = std::path::absolute(draft).unwrap_or_else(|_| draft.to_path_buf());
    let mut connection = Connection::open(absolute)?;
    connection.execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = FULL")?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(&layout())?;
    let text = serde_json::to_string(question).map_err(to_sqlite)?;
    transaction.execute("INSERT INTO study VALUES (?1, ?2)", params![text, env!("CARGO_PKG_VERSION")])?;
    insert_environment(&transaction, 0, environment)?;
    transaction.commit()?;
    connection.close().map_err(|(_, error)| error)
}

fn layout() -> String {
    let columns: Vec<String> =
        COLUMNS.iter().map(|column| format!("{:13}{} {}", "", column.name, column.kind)).collect();
    format!(
        "PRAGMA application_id = {APPLICATION_ID};
         PRAGMA user_version = {LAYOUT};
         CREATE TABLE study (question TEXT NOT NULL, program TEXT NOT NULL);
         CREATE TABLE environment (environment_id INTEGER PRIMARY KEY, environment TEXT NOT NULL UNIQUE);
         CREATE TABLE record (record_id INTEGER PRIMARY KEY,
             environment_id INTEGER NOT NULL REFERENCES environment,
{},
             record TEXT NOT NULL, record_fnv1a INTEGER NOT NULL);
         CREATE UNIQUE INDEX one_run ON record (ifnull(experiment, ''), workload, pass, repeat);",
        columns.join(",\n")
    )
}

/// Gives the draft its name unless that is taken.
fn publish(draft: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(draft, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // Some file systems have no links; there the name is looked at and then taken.
            if path.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(draft, path)
        }
        done => done,
    }
}
