//! Remembers what was made of each study file, in one small SQLite file of the user's cache.
//!
//! What is remembered of a study holds as long as its file is the same: path, size, time of the last change, and inode. The
//! index may vanish at any moment: one that is damaged, of another release or of something else is made anew without a word,
//! and where none can be used, studies are read each time. A study is never taken for an index, and neither is a link or a
//! file of another user.
//!
//! Each text has a checksum, because a power cut may leave half of what was written: nothing is synced.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use crate::StudyFile;
use crate::study_file::fnv1a;

/// Longest wait for another process that uses the index.
const PATIENCE: Duration = Duration::from_millis(500);
/// A file that changed more recently may change again without showing it.
const SETTLED: Duration = Duration::from_secs(2);
/// Largest text, in bytes.
const MOST_BYTES: i32 = 64 << 20;

/// Most studies that are remembered; those that were put in first are forgotten.
const MOST_STUDIES: i64 = 20_000;

/// What tells whether a file is the same as before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamp {
    path: PathBuf,
    size: i64,
    modified_ns: i64,
    inode: i64,
    device: i64,
}

/// The index. Whatever fails in it is as if it knew nothing.
#[derive(Debug)]
pub struct StudyIndex {
    path: PathBuf,
    connection: Connection,
}

impl FileStamp {
    /// The stamp of a regular file, which `path` may lead to over links.
    ///
    /// # Errors
    /// The system's; a sentence if it is no regular file.
    pub fn of(path: &Path) -> io::Result<Self> {
        let found = path.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let modified_ns = found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec());
        Ok(Self {
            path: std::path::absolute(path)?,
            size: found.len() as i64,
            modified_ns,
            inode: found.ino() as i64,
            device: found.dev() as i64,
        })
    }

    /// When the file was last changed, in milliseconds of Unix time.
    pub fn modified_unix_ms(&self) -> u64 {
        u64::try_from(self.modified_ns / 1_000_000).unwrap_or(0)
    }

    /// Whether the file has been the same for a while, so that a later change shows in its stamp.
    fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let settled = now.saturating_sub(SETTLED).as_nanos();
        i128::from(self.modified_ns) <= settled as i128
    }
}

impl StudyIndex {
    /// Opens the index at `path`, and makes it and its folder if they are missing. `maker` names the release: the index of
    /// another one is made anew. `None` if no index can be used there.
    pub fn open(path: &Path, maker: &str) -> Option<Self> {
        let folder = path.parent()?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).ok()?;
        // SQLite follows no link, also not to a folder.
        let path = fs::canonicalize(folder).ok()?.join(path.file_name()?);
        let is_own = |found: &Metadata| found.uid() == rustix::process::geteuid().as_raw();
        if !folder.metadata().is_ok_and(|found| is_own(&found)) {
            return None;
        }
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(found) if found.is_file() && is_own(&found) && !StudyFile::is_at(&path) => {}
            _ => return None,
        }
        match Self::open_here(&path, maker) {
            Ok(index) => Some(index),
            // Another process is at work with it.
            Err(error) if is_busy(&error) => None,
            Err(_) => {
                remove(&path);
                Self::open_here(&path, maker).ok()
            }
        }
    }

    fn open_here(path: &Path, maker: &str) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        for (config, is_on) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        ] {
            connection.set_db_config(config, is_on)?;
        }
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MOST_BYTES)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.execute_batch("PRAGMA cell_size_check = ON; PRAGMA synchronous = OFF")?;
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables == 0 {
            connection.execute_batch(LAYOUT)?;
            connection.execute("INSERT INTO maker VALUES (?1)", [maker])?;
        }
        let made_by: String = connection.query_row("SELECT name FROM maker", [], |row| row.get(0))?;
        // Also that its columns are there.
        connection.prepare(FIGURES)?;
        connection.prepare(SURROUNDINGS)?;
        match made_by == maker {
            true => Ok(Self { path: path.to_path_buf(), connection }),
            false => Err(rusqlite::Error::QueryReturnedNoRows),
        }
    }

    /// What is remembered of the figures of this file; `None` if it changed, or was not seen yet.
    pub fn figures(&self, stamp: &FileStamp) -> Option<String> {
        self.text(FIGURES, stamp)
    }

    /// What is remembered of the surroundings of this file.
    pub fn surroundings(&self, stamp: &FileStamp) -> Option<String> {
        self.text(SURROUNDINGS, stamp)
    }

    fn text(&self, sql: &str, stamp: &FileStamp) -> Option<String> {
        let FileStamp { path, size, modified_ns, inode, device } = stamp;
        let mut statement = self.connection.prepare_cached(sql).ok()?;
        let found = statement
            .query_row(params![path.as_os_str().as_bytes(), size, modified_ns, inode, device], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
            });
        found.optional().ok()?.filter(|(text, sum)| fnv1a(text) == *sum).map(|(text, _)| text)
    }

    /// Remembers figures and surroundings of these files, in place of what was remembered of the same paths. A file that was
    /// changed a moment ago is left out.
    pub fn remember<'a>(&mut self, all: impl IntoIterator<Item = (&'a FileStamp, &'a str, &'a str)>) {
        // What cannot be remembered is read again; a damaged index is made anew by the next command.
        if self.put(all).is_err_and(|error| is_damaged(&error)) {
            remove(&self.path);
        }
    }

    fn put<'a>(&mut self, all: impl IntoIterator<Item = (&'a FileStamp, &'a str, &'a str)>) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        for (stamp, figures, surroundings) in all.into_iter().filter(|(stamp, ..)| stamp.is_settled()) {
            let FileStamp { path, size, modified_ns, inode, device } = stamp;
            let path = path.as_os_str().as_bytes();
            let sums = [fnv1a(figures), fnv1a(surroundings)];
            transaction.prepare_cached(PUT)?.execute(params![
                path,
                size,
                modified_ns,
                inode,
                device,
                figures,
                sums[0],
                surroundings,
                sums[1]
            ])?;
        }
        transaction.execute(FORGET, [MOST_STUDIES])?;
        transaction.commit()
    }
}

fn remove(path: &Path) {
    for ending in ["", "-journal", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_os_string();
        name.push(ending);
        let _ = fs::remove_file(PathBuf::from(name));
    }
}

const LAYOUT: &str = "
    CREATE TABLE maker (name TEXT NOT NULL);
    CREATE TABLE study (path BLOB PRIMARY KEY, size INTEGER NOT NULL, modified_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL, device INTEGER NOT NULL, figures TEXT NOT NULL, figures_fnv1a INTEGER NOT NULL,
        surroundings TEXT NOT NULL, surroundings_fnv1a INTEGER NOT NULL);";
const FIGURES: &str = "SELECT figures, figures_fnv1a FROM study
    WHERE path = ?1 AND size = ?2 AND modified_ns = ?3 AND inode = ?4 AND device = ?5";
const SURROUNDINGS: &str = "SELECT surroundings, surroundings_fnv1a FROM study
    WHERE path = ?1 AND size = ?2 AND modified_ns = ?3 AND inode = ?4 AND device = ?5";
const PUT: &str = "INSERT OR REPLACE INTO study VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
/// Each row that is put in has a higher number than all others.
const FORGET: &str = "DELETE FROM study WHERE rowid <= (SELECT max(rowid) FROM study) - ?1";

fn is_damaged(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn old_file(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        let hour_ago = SystemTime::now() - Duration::from_secs(3600);
        File::options().write(true).open(&path).unwrap().set_modified(hour_ago).unwrap();
        path
    }

    #[test]
    fn what_was_remembered_holds_until_the_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let study = old_file(folder.path(), "study", "one");
        let place = folder.path().join("cache/halfpower/history.sqlite");
        let stamp = FileStamp::of(&study).unwrap();
        let mut index = StudyIndex::open(&place, "1").unwrap();
        assert_eq!(index.figures(&stamp), None);
        index.remember([(&stamp, "figures", "surroundings")]);
        drop(index);
        let index = StudyIndex::open(&place, "1").unwrap();
        assert_eq!(index.figures(&stamp).as_deref(), Some("figures"));
        assert_eq!(index.surroundings(&stamp).as_deref(), Some("surroundings"));
        old_file(folder.path(), "study", "one more");
        assert_eq!(index.figures(&FileStamp::of(&study).unwrap()), None);
    }

    #[test]
    fn a_file_that_changed_a_moment_ago_is_not_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let study = folder.path().join("study");
        fs::write(&study, "one").unwrap();
        let mut index = StudyIndex::open(&folder.path().join("index"), "1").unwrap();
        let stamp = FileStamp::of(&study).unwrap();
        index.remember([(&stamp, "figures", "surroundings")]);
        assert_eq!(index.figures(&stamp), None);
    }

    #[test]
    fn an_index_that_is_none_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("index");
        let study = old_file(folder.path(), "study", "one");
        let stamp = FileStamp::of(&study).unwrap();
        let remembers = |maker: &str| {
            let mut index = StudyIndex::open(&place, maker).unwrap();
            let known = index.figures(&stamp).is_some();
            index.remember([(&stamp, "figures", "surroundings")]);
            known
        };
        assert!(!remembers("1") && remembers("1") && !remembers("2"), "of another release");
        fs::write(&place, "no database").unwrap();
        assert!(!remembers("2") && remembers("2"));
        let bytes = fs::read(&place).unwrap();
        for at in [20, 100, bytes.len() / 2, bytes.len() - 100] {
            let mut damaged = bytes.clone();
            damaged[at..at + 50].fill(0xff);
            fs::write(&place, &damaged).unwrap();
            // It gives what was put in, or nothing.
            let told = StudyIndex::open(&place, "2").and_then(|index| index.figures(&stamp));
            assert!(told.is_none_or(|told| told == "figures"), "{at}");
        }
    }

    #[test]
    fn a_study_or_a_link_is_never_taken_for_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let target = old_file(folder.path(), "target", "theirs");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(StudyIndex::open(&link, "1").is_none());
        assert_eq!(fs::read_to_string(&target).unwrap(), "theirs");
        let study = folder.path().join("study");
        let question = halfpower_spec::Question::about("null:");
        StudyFile::create_whole(&study, &question, &crate::Environment::default(), &[]).unwrap();
        let before = fs::read(&study).unwrap();
        assert!(StudyIndex::open(&study, "1").is_none());
        assert!(fs::read(&study).unwrap() == before);
    }
}
