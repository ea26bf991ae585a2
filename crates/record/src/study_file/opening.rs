//! Opens a study file through SQLite so that nothing in it runs, reading it always ends, and a reader changes nothing.
//!
//! A study may come from anybody. Triggers, views, virtual tables and functions of its schema do nothing here; sizes, and the
//! steps that SQLite may take, are bounded. A reader opens it read-only: SQLite then refuses a transaction that a kill left
//! unfinished, and does not roll it back.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::RecordError;

/// Longest time that a reader waits for a commit, or a new writer waits for readers: a commit syncs the journal, the file and
/// their folder one after the other, each of which may wait behind all that a run has left in a slow disk.
const PATIENCE: Duration = Duration::from_secs(30);
/// Largest text in a file, in bytes: a record is a few hundred KiB, and some MiB from thousands of processes.
const MOST_BYTES: i32 = 64 << 20;
/// Most of each thing that a study's schema, or a query of ours, may have.
const LIMITS: [(Limit, i32); 11] = [
    (Limit::SQLITE_LIMIT_LENGTH, MOST_BYTES),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
    (Limit::SQLITE_LIMIT_COLUMN, 500),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 10),
    (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 100),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];
/// Steps of SQLite's machine after which it is asked whether to go on.
const STEPS_AT_ONCE: i32 = 100_000;
/// Steps that any file may take, and further steps for each of its bytes. Reading takes some ten steps a record, and checking
/// some five hundred, of two thousand bytes and more.
const STEPS: u64 = 50_000_000;
const STEPS_A_BYTE: u64 = 4;

/// Opens a file to be read. A file beside it that must not be applied (`is_alone`) is not looked at, and neither is the file
/// locked then: nobody of its owner's writes to it meanwhile.
pub(super) fn to_read(path: &Path, is_alone: bool) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | usual(path);
    let connection = match is_alone {
        true => Connection::open_with_flags(immutable(path), flags | OpenFlags::SQLITE_OPEN_URI)?,
        false => Connection::open_with_flags(path, flags)?,
    };
    hardened(connection, path)
}

/// Opens a file to be written to. SQLite first rolls back a transaction that a kill left unfinished.
pub(super) fn to_append(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | usual(path);
    hardened(Connection::open_with_flags(path, flags)?, path)
}

/// Links were followed before, so there is none by now, but where the kernel shows a descriptor of this process.
fn usual(path: &Path) -> OpenFlags {
    let links = if path.is_symlink() { OpenFlags::empty() } else { OpenFlags::SQLITE_OPEN_NOFOLLOW };
    links | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

/// The address of a file that SQLite takes for one that nobody changes.
fn immutable(path: &Path) -> String {
    let mut address = "file://".to_string();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => address.push(char::from(*byte)),
            byte => write!(address, "%{byte:02X}").expect("a string takes all"),
        }
    }
    address + "?immutable=1"
}

fn hardened(mut connection: Connection, path: &Path) -> rusqlite::Result<Connection> {
    connection.busy_timeout(PATIENCE)?;
    for (config, is_on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        // A log that somebody laid beside the study while it was written is never written into it.
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
    ] {
        connection.set_db_config(config, is_on)?;
    }
    for (limit, most) in LIMITS {
        connection.set_limit(limit, most)?;
    }
    let bytes = path.metadata().map_or(0, |file| file.len());
    let most = STEPS.saturating_add(bytes.saturating_mul(STEPS_A_BYTE)) / STEPS_AT_ONCE as u64;
    let mut asked = 0;
    let is_too_much = move || {
        asked += 1;
        asked > most
    };
    connection.progress_handler(STEPS_AT_ONCE, Some(is_too_much))?;
    connection.execute_batch("PRAGMA cell_size_check = ON; PRAGMA query_only = ON")?;
    Ok(connection)
}

/// Lifts the bound on steps, for a file that was checked and that only this process writes to.
pub(super) fn without_end(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.progress_handler(0, None::<fn() -> bool>)
}

/// Checks that the tables of a study are tables, and that each of their columns holds what was written. A view or a virtual
/// table would give what it likes, for as long as it likes.
pub(super) fn check_tables(connection: &Connection, path: &Path) -> Result<(), RecordError> {
    const KIND: &str = "SELECT CASE WHEN rootpage > 0 THEN type ELSE 'virtual ' || type END FROM sqlite_schema
                        WHERE name = ?1 COLLATE NOCASE LIMIT 1";
    const MADE_UP: &str = "SELECT count(*) FROM pragma_table_xinfo(?1) WHERE hidden <> 0";
    let failed = |error: rusqlite::Error| RecordError::of_sqlite(path, &error);
    let damaged = |detail: String| RecordError::Damaged { path: path.to_path_buf(), detail };
    for table in ["study", "environment", "record"] {
        let mut kinds = connection.prepare(KIND).map_err(failed)?;
        let kind: Option<String> =
            kinds.query_map([table], |row| row.get(0)).map_err(failed)?.next().transpose().map_err(failed)?;
        match kind.as_deref() {
            Some("table") => {}
            None => return Err(damaged(format!("it has no table `{table}`"))),
            Some(_) => {
                return Err(damaged(format!("its `{table}` is no table with records in it, as every study has")));
            }
        }
        let made_up: i64 = connection.query_row(MADE_UP, [table], |row| row.get(0)).map_err(failed)?;
        if made_up > 0 {
            return Err(damaged(format!("its table `{table}` has columns that are computed, as no study has")));
        }
    }
    Ok(())
}

/// Whether SQLite has taken in a write-ahead log in the present transaction.
pub(super) fn has_log(connection: &Connection) -> rusqlite::Result<bool> {
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    Ok(mode.eq_ignore_ascii_case("wal"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_any_path() {
        assert_eq!(immutable(Path::new("/a b/c?d#%.halfpower")), "file:///a%20b/c%3Fd%23%25.halfpower?immutable=1");
    }
}
