//! Defines what both layouts of the study file share: its marks, its checksums, and the rows of environments and
//! records.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Transaction, params, params_from_iter};

use crate::{Column, Environment, Record, RecordError};

/// The layout that this program writes, and the newest that it reads.
pub(super) const LAYOUT: u32 = 2;
/// The first layout with checksums of the question and of the environments.
pub(super) const LAYOUT_WITH_ALL_SUMS: u32 = 2;
/// Longest time that a reader waits for a commit, or a new writer waits for readers.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// Longest time that a study waits between two runs for a reader that keeps its lock.
pub(super) const PATIENCE_OF_HOLDER: Duration = Duration::from_secs(60);

/// FNV-1a, 64 bits, as the signed integer that SQLite keeps. Fowler, Noll, Vo: draft-eastlake-fnv.
pub(super) fn fnv1a(text: &str) -> i64 {
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
