//! Checks that a study file is undamaged, and reads it in short transactions.
//!
//! What both layouts share stands here too: their marks, their checksums, and the rows of environments and records.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use halfpower_spec::Question;
use rusqlite::types::Value;
use rusqlite::{Connection, Transaction, params, params_from_iter};

use super::{opening, side_files};
use crate::output::STUDY_APPLICATION_ID as APPLICATION_ID;
use crate::{Column, Environment, Record, RecordError};

/// A record and its environment.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Index into [`crate::StudyFile::environments`].
    pub environment: usize,
    /// The record.
    pub record: Record,
}

/// The layout that this program writes, and the newest that it reads.
pub(super) const LAYOUT: u32 = 2;
/// The first layout with checksums of the question and of the environments.
pub(super) const LAYOUT_WITH_ALL_SUMS: u32 = 2;
/// Longest time that a study waits between two runs for a reader that keeps its lock.
pub(super) const PATIENCE_OF_HOLDER: Duration = Duration::from_secs(60);

/// FNV-1a, 64 bits, as the signed integer that SQLite keeps. Fowler, Noll, Vo: draft-eastlake-fnv.
pub(crate) fn fnv1a(text: &str) -> i64 {
    let sum = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    sum as i64
}

pub(super) fn damaged(path: &Path, detail: String) -> RecordError {
    RecordError::Damaged { path: path.to_path_buf(), detail }
}

pub(super) fn insert_environment(
    to: &Transaction,
    layout: u32,
    index: usize,
    environment: &Environment,
) -> rusqlite::Result<()> {
    let text = serde_json::to_string(environment).map_err(to_sqlite)?;
    let id = index as i64 + 1;
    if layout < LAYOUT_WITH_ALL_SUMS {
        return to.execute("INSERT INTO environment VALUES (?1, ?2)", params![id, text]).map(drop);
    }
    let sum = fnv1a(&text);
    to.execute("INSERT INTO environment VALUES (?1, ?2, ?3)", params![id, text, sum]).map(drop)
}

/// Inserts by column name, because a file of an earlier layout has other columns.
pub(super) fn insert_record(
    to: &Transaction,
    columns: &[(String, &Column)],
    environment: usize,
    record: &Record,
) -> rusqlite::Result<()> {
    let text = serde_json::to_string(record).map_err(to_sqlite)?;
    let sum = fnv1a(&text);
    let names: String = columns.iter().map(|(name, _)| format!(", {name}")).collect();
    let places = ", ?".repeat(columns.len());
    let values = columns.iter().map(|(_, column)| (column.value)(record));
    let values = values.chain([Value::Integer(environment as i64 + 1), Value::Text(text), Value::Integer(sum)]);
    let sql = format!(
        "INSERT INTO record (record_id{names}, environment_id, record, record_fnv1a) VALUES (NULL{places}, ?, ?, ?)"
    );
    to.prepare_cached(&sql)?.execute(params_from_iter(values)).map(drop)
}

pub(super) fn to_sqlite(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

/// Checks the header before SQLite does, so that a foreign file is never touched.
pub(super) fn identify(path: &Path) -> Result<(), RecordError> {
    let unreadable =
        |error: std::io::Error| RecordError::Unreadable { path: path.to_path_buf(), reason: error.to_string() };
    // Opening a pipe would block, and a device is never a study.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(RecordError::NotAStudyFile { path: path.to_path_buf() });
    }
    let mut header = Vec::with_capacity(100);
    File::open(path).and_then(|file| file.take(100).read_to_end(&mut header)).map_err(unreadable)?;
    let sqlite = header.starts_with(b"SQLite format 3\0");
    // In the SQLite file format, user_version is at byte 60 and application_id at byte 68.
    // Byte 19 is 2 where SQLite reads what a write-ahead log holds before what the file holds.
    let has_log = header.get(19).is_some_and(|version| *version == 2);
    match (sqlite, big_endian(&header, 68), big_endian(&header, 60)) {
        (true, None, _) => Err(damaged(path, format!("its header has only {} bytes", header.len()))),
        (true, Some(APPLICATION_ID), Some(found)) if found > LAYOUT => {
            Err(RecordError::Newer { path: path.to_path_buf(), found, known: LAYOUT })
        }
        (true, Some(APPLICATION_ID), _) if has_log => Err(RecordError::HasLog { path: path.to_path_buf() }),
        (true, Some(APPLICATION_ID), _) => Ok(()),
        _ => Err(RecordError::NotAStudyFile { path: path.to_path_buf() }),
    }
}

fn big_endian(header: &[u8], at: usize) -> Option<u32> {
    header.get(at..)?.first_chunk().copied().map(u32::from_be_bytes)
}

/// Reads in one transaction, in which SQLite has taken nothing from a write-ahead log: somebody may have laid one beside
/// the file since it was opened.
pub(super) fn moment<T>(
    connection: &Connection,
    path: &Path,
    read: impl FnOnce() -> Result<T, RecordError>,
) -> Result<T, RecordError> {
    let failed = |error: rusqlite::Error| RecordError::of_sqlite(path, &error);
    let moment = connection.unchecked_transaction().map_err(failed)?;
    let read = read()?;
    refuse_log(connection, path)?;
    moment.commit().map_err(failed)?;
    Ok(read)
}

/// Refuses what was read or written in the present transaction if it may be from a write-ahead log.
pub(super) fn refuse_log(connection: &Connection, path: &Path) -> Result<(), RecordError> {
    match opening::has_log(connection).map_err(|error| RecordError::of_sqlite(path, &error))? {
        true => Err(RecordError::StrangeFile { path: path.to_path_buf(), beside: side_files::log(path) }),
        false => Ok(()),
    }
}

/// Records per transaction; a commit waits at most for one such read.
const AT_ONCE: usize = 256;
/// Bytes of records after which a transaction ends sooner.
const BYTES_AT_ONCE: usize = 16 << 20;

/// A study without its records.
pub(super) struct Seen {
    pub(super) layout: u32,
    pub(super) program: String,
    pub(super) question: Question,
    pub(super) environments: Vec<Environment>,
    /// The number of the last record.
    pub(super) newest: i64,
}

/// Everything but the records, in one consistent snapshot.
pub(super) fn all_but_records(connection: &Connection, path: &Path) -> Result<Seen, RecordError> {
    let failed = |error: rusqlite::Error| RecordError::of_sqlite(path, &error);
    moment(connection, path, || {
        opening::check_tables(connection, path)?;
        let layout = layout(connection, path)?;
        let question = question(connection, path, layout)?;
        let program = connection.query_row("SELECT program FROM study", [], |row| row.get(0)).map_err(failed)?;
        check_length(connection, path)?;
        let environments = environments(connection, path, layout)?;
        let newest = newest(connection, path)?;
        Ok(Seen { layout, program, question, environments, newest })
    })
}

/// The number of the last record. A damaged page may hide the last ones: then there are more records than that, in the table
/// or in its index. One that is missing before it is missed when it is read.
fn newest(connection: &Connection, path: &Path) -> Result<i64, RecordError> {
    const TABLE: &str = "SELECT ifnull(max(rowid), 0), count(*) FROM record NOT INDEXED";
    const INDEX: &str = "SELECT count(*) FROM record";
    let failed = |error: rusqlite::Error| RecordError::of_sqlite(path, &error);
    let (newest, in_table): (i64, i64) =
        connection.query_row(TABLE, [], |row| Ok((row.get(0)?, row.get(1)?))).map_err(failed)?;
    let in_index: i64 = connection.query_row(INDEX, [], |row| row.get(0)).map_err(failed)?;
    match in_table.max(in_index) {
        found if found > newest => Err(damaged(path, format!("its last record is number {newest} of {found}"))),
        _ => Ok(newest),
    }
}

/// A record as it is stored.
pub(super) struct Stored {
    number: i64,
    environment: i64,
    text: String,
    sum: i64,
}

impl Stored {
    /// Checks and parses the record, which must have number `wanted` and belong to one of `environments` environments.
    pub(super) fn read(self, wanted: i64, environments: usize, path: &Path) -> Result<Entry, RecordError> {
        let environment = usize::try_from(self.environment - 1).unwrap_or(usize::MAX);
        if self.number != wanted {
            return Err(damaged(path, format!("record {wanted} is missing")));
        }
        if fnv1a(&self.text) != self.sum || environment >= environments {
            return Err(damaged(path, format!("the checksum or the environment of record {wanted} is wrong")));
        }
        let record = serde_json::from_str(&self.text)
            .map_err(|error| damaged(path, format!("record {wanted} cannot be read: {error}")))?;
        Ok(Entry { environment, record })
    }
}

/// The next records after number `last` up to number `newest`, at most [`AT_ONCE`].
pub(super) fn records_after(
    connection: &Connection,
    path: &Path,
    last: i64,
    newest: i64,
) -> Result<Vec<Stored>, RecordError> {
    const NEXT: &str = "SELECT record_id, environment_id, record, record_fnv1a FROM record
                        WHERE record_id > ?1 AND record_id <= ?2 ORDER BY record_id";
    let failed = |error: rusqlite::Error| RecordError::of_sqlite(path, &error);
    moment(connection, path, || {
        let mut statement = connection.prepare_cached(NEXT).map_err(failed)?;
        let rows = statement.query_map([last, newest], |row| {
            Ok(Stored { number: row.get(0)?, environment: row.get(1)?, text: row.get(2)?, sum: row.get(3)? })
        });
        let mut all: Vec<Stored> = Vec::new();
        let mut bytes = 0;
        for row in rows.map_err(failed)? {
            let row = row.map_err(failed)?;
            bytes += row.text.len();
            all.push(row);
            if all.len() == AT_ONCE || bytes > BYTES_AT_ONCE {
                break;
            }
        }
        Ok(all)
    })
}

/// The layout of the file, read through SQLite, because a journal may hold the page with the header.
fn layout(connection: &Connection, path: &Path) -> Result<u32, RecordError> {
    connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(|error| RecordError::of_sqlite(path, &error))
}

/// The names of the record table's columns, in order.
pub(super) fn columns(connection: &Connection, path: &Path) -> Result<Vec<String>, RecordError> {
    let failed = |error: rusqlite::Error| RecordError::of_sqlite(path, &error);
    // Read as text, which a damaged file may not be.
    let mut statement =
        connection.prepare("SELECT name FROM pragma_table_info('record') ORDER BY cid").map_err(failed)?;
    let names = statement.query_map([], |row| row.get(0)).map_err(failed)?;
    names.collect::<rusqlite::Result<_>>().map_err(failed)
}

/// The file's question.
fn question(connection: &Connection, path: &Path, layout: u32) -> Result<Question, RecordError> {
    let sum = if layout < LAYOUT_WITH_ALL_SUMS { "NULL" } else { "question_fnv1a" };
    let (text, sum): (String, Option<i64>) = connection
        .query_row(&format!("SELECT question, {sum} FROM study"), [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(|error| RecordError::of_sqlite(path, &error))?;
    if layout >= LAYOUT_WITH_ALL_SUMS && sum != Some(fnv1a(&text)) {
        return Err(damaged(path, "the checksum of its question is wrong".to_string()));
    }
    serde_json::from_str(&text).map_err(|error| damaged(path, format!("its question cannot be read: {error}")))
}

/// The file's environments, at least one, in the order of their first record.
pub(super) fn environments(connection: &Connection, path: &Path, layout: u32) -> Result<Vec<Environment>, RecordError> {
    let failed = |error: rusqlite::Error| RecordError::of_sqlite(path, &error);
    let summed = layout >= LAYOUT_WITH_ALL_SUMS;
    let sum = if summed { "environment_fnv1a" } else { "NULL" };
    let all = format!("SELECT environment_id, environment, {sum} FROM environment ORDER BY environment_id");
    let mut statement = connection.prepare(&all).map_err(failed)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).map_err(failed)?;
    let mut environments: Vec<Environment> = Vec::new();
    for (wanted, row) in (1..).zip(rows) {
        let (id, text, sum): (i64, String, Option<i64>) = row.map_err(failed)?;
        if id != wanted {
            return Err(damaged(path, format!("environment {wanted} is missing")));
        }
        if summed && sum != Some(fnv1a(&text)) {
            return Err(damaged(path, format!("the checksum of environment {id} is wrong")));
        }
        let environment = serde_json::from_str(&text)
            .map_err(|error| damaged(path, format!("its environment cannot be read: {error}")))?;
        environments.push(environment);
    }
    if environments.is_empty() { Err(damaged(path, "it has no environment".to_string())) } else { Ok(environments) }
}

/// Checks the file's length, because SQLite reads a truncated last page as if it ended in zeros.
fn check_length(connection: &Connection, path: &Path) -> Result<(), RecordError> {
    let number = |pragma: &str| {
        connection
            .query_row(pragma, [], |row| row.get::<_, i64>(0))
            .map_err(|error| RecordError::of_sqlite(path, &error))
    };
    let wanted = number("PRAGMA page_count")?.saturating_mul(number("PRAGMA page_size")?);
    let left = path.metadata().map_or(0, |metadata| metadata.len());
    if i128::from(left) < i128::from(wanted) {
        return Err(damaged(path, format!("it has only {left} of {wanted} bytes")));
    }
    Ok(())
}

/// Checks all pages, including those that only writers use, such as the index.
pub(super) fn check_structure(connection: &Connection, path: &Path) -> Result<(), RecordError> {
    let said: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| RecordError::of_sqlite(path, &error))?;
    if said == "ok" { Ok(()) } else { Err(damaged(path, said)) }
}
