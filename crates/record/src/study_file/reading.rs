//! Is this a study file, is it whole, and what does it answer?
//!
//! A path enters; a connection, the question and the environments leave, or the sentence that says what the file
//! is instead. Nothing is written but what SQLite rolls back after a kill.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use spec::Question;

use super::{APPLICATION_ID, LAYOUT, PATIENCE, damaged};
use crate::{Environment, RecordError};

/// Looks at the header before SQLite does, so that a file of someone else is never touched.
pub(super) fn identify(path: &Path) -> Result<(), RecordError> {
    let unreadable =
        |error: std::io::Error| RecordError::Unreadable { path: path.to_path_buf(), reason: error.to_string() };
    // A pipe would block, a device is no study: neither is opened.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(RecordError::NotAStudyFile { path: path.to_path_buf() });
    }
    let mut header = Vec::with_capacity(100);
    File::open(path).and_then(|file| file.take(100).read_to_end(&mut header)).map_err(unreadable)?;
    let sqlite = header.starts_with(b"SQLite format 3\0");
    // Offsets of the SQLite file format: user_version stands at 60, application_id at 68.
    match (sqlite, big_endian(&header, 68), big_endian(&header, 60)) {
        (true, None, _) => Err(damaged(path, format!("{} bytes are left of its header", header.len()))),
        (true, Some(APPLICATION_ID), Some(found)) if found > LAYOUT => {
            Err(RecordError::Newer { path: path.to_path_buf(), found, known: LAYOUT })
        }
        (true, Some(APPLICATION_ID), _) => Ok(()),
        _ => Err(RecordError::NotAStudyFile { path: path.to_path_buf() }),
    }
}

fn big_endian(header: &[u8], at: usize) -> Option<u32> {
    header.get(at..)?.first_chunk().copied().map(u32::from_be_bytes)
}

/// Opens a file that was identified. Writing rights are wanted also for reading: what a kill left half-done is
/// rolled back first; where there are none, SQLite reads without.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // An absolute path is never taken for one of SQLite's special names.
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(absolute, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON")?;
    Ok(connection)
}

/// The question in the file.
pub(super) fn question(connection: &Connection, path: &Path) -> Result<Question, RecordError> {
    let text: String = connection
        .query_row("SELECT question FROM study", [], |row| row.get(0))
        .map_err(|error| RecordError::of_sqlite(path, &error))?;
    serde_json::from_str(&text).map_err(|error| damaged(path, format!("its question cannot be understood: {error}")))
}

/// The environments in the file, at least one, in the order of their first record.
pub(super) fn environments(connection: &Connection, path: &Path) -> Result<Vec<Environment>, RecordError> {
    let failed = |error: rusqlite::Error| RecordError::of_sqlite(path, &error);
    let mut statement =
        connection.prepare("SELECT environment FROM environment ORDER BY environment_id").map_err(failed)?;
    let texts: rusqlite::Result<Vec<String>> = statement.query_map([], |row| row.get(0)).map_err(failed)?.collect();
    let environments: Result<Vec<Environment>, _> =
        texts.map_err(failed)?.iter().map(|text| serde_json::from_str(text)).collect();
    match environments {
        Ok(environments) if environments.is_empty() => Err(damaged(path, "it names no machine".to_string())),
        Ok(environments) => Ok(environments),
        Err(error) => Err(damaged(path, format!("its environment cannot be understood: {error}"))),
    }
}

/// SQLite reads a last page that was cut short as if it ended in zeros: the length tells.
pub(super) fn check_length(connection: &Connection, path: &Path) -> Result<(), RecordError> {
    let number = |pragma: &str| {
        connection
            .query_row(pragma, [], |row| row.get::<_, i64>(0))
            .map_err(|error| RecordError::of_sqlite(path, &error))
    };
    let wanted = number("PRAGMA page_count")?.saturating_mul(number("PRAGMA page_size")?);
    let left = path.metadata().map_or(0, |metadata| metadata.len());
    if i128::from(left) < i128::from(wanted) {
        return Err(damaged(path, format!("{left} bytes are left of {wanted}")));
    }
    Ok(())
}

/// Pages that readers never touch, such as those of the index, matter to whoever appends.
pub(super) fn check_structure(connection: &Connection, path: &Path) -> Result<(), RecordError> {
    let said: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| RecordError::of_sqlite(path, &error))?;
    if said == "ok" { Ok(()) } else { Err(damaged(path, said)) }
}
