//! Judges the files that SQLite would take for a study's own because of their names: a journal, a write-ahead log.
//!
//! SQLite writes what is in such a file into the study, whoever made it. In a folder that others may write to, anybody can
//! lay one beside a study. Here a journal counts only if it belongs to the study's owner or to this user, and a write-ahead
//! log never does: no release has written one.
//!
//! A writer takes the name of the journal before SQLite looks for it. Where others may create files but not remove ours (a
//! sticky folder), the journal keeps its name for as long as the study is written, so that nobody can lay another there.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::RecordError;

const JOURNAL: &str = "-journal";
const LOG: &str = "-wal";

/// `path` with `ending` appended.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(ending);
    PathBuf::from(name)
}

/// The journal of the study at `path`.
pub(super) fn journal(path: &Path) -> PathBuf {
    beside(path, JOURNAL)
}

/// The write-ahead log that SQLite would look for.
pub(super) fn log(path: &Path) -> PathBuf {
    beside(path, LOG)
}

/// Whether a file beside a study of this owner is a regular file of the owner's or of this user.
fn is_trusted(file: &Metadata, owner: u32) -> bool {
    file.is_file() && (file.uid() == owner || file.uid() == rustix::process::geteuid().as_raw())
}

/// The first file beside the study at `path` that must not be applied to it, if any. An empty one does nothing.
///
/// # Errors
/// The system's, for the study itself.
pub(super) fn strange(path: &Path) -> io::Result<Option<PathBuf>> {
    let owner = path.metadata()?.uid();
    let present = |beside: &PathBuf| beside.symlink_metadata().ok().filter(|found| found.len() > 0);
    let journal = Some(journal(path)).filter(|beside| present(beside).is_some_and(|found| !is_trusted(&found, owner)));
    Ok(journal.or_else(|| Some(log(path)).filter(|beside| present(beside).is_some())))
}

/// The name of a study's journal, taken by this process; an empty file that was made for it goes with this value.
#[derive(Debug)]
pub(super) struct Claim {
    journal: PathBuf,
    /// Device and inode of the file that was made; `None` if there was one.
    made: Option<(u64, u64)>,
}

impl Claim {
    /// Takes the name of the journal of the study at `path`; `named` is the path as the user wrote it.
    ///
    /// # Errors
    /// [`RecordError::StrangeFile`] if a file beside the study must not be applied, [`RecordError::Unwritable`] if none can be
    /// made.
    pub(super) fn take(path: &Path, named: &Path) -> Result<Self, RecordError> {
        let unwritable =
            |error: io::Error| RecordError::Unwritable { path: named.to_path_buf(), reason: error.to_string() };
        let strange = |beside: PathBuf| RecordError::StrangeFile { path: named.to_path_buf(), beside };
        if let Some(beside) = self::strange(path).map_err(unwritable)? {
            return Err(strange(beside));
        }
        let study = path.metadata().map_err(unwritable)?;
        let journal = journal(path);
        let is_there = journal.symlink_metadata().is_ok();
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags.bits() as i32);
        let file = match options.open(&journal) {
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                return Err(strange(journal));
            }
            other => other.map_err(unwritable)?,
        };
        let found = file.metadata().map_err(unwritable)?;
        if !is_trusted(&found, study.uid()) {
            return Err(strange(journal));
        }
        let made = (!is_there && found.len() == 0).then_some((found.dev(), found.ino()));
        if made.is_some() {
            // As SQLite makes it: whoever may continue the study may roll it back.
            let _ = std::os::unix::fs::fchown(&file, Some(study.uid()), Some(study.gid()));
            let _ = file.set_permissions(fs::Permissions::from_mode(study.mode() & 0o666));
        }
        Ok(Self { journal, made })
    }

    /// Ends the claim: SQLite has the name from now on (`is_kept`), or it is given back.
    pub(super) fn end(mut self, is_kept: bool) {
        if is_kept {
            self.made = None;
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let there = self.journal.symlink_metadata().ok().filter(|there| there.len() == 0);
        if there.map(|there| (there.dev(), there.ino())).is_some_and(|there| Some(there) == self.made) {
            let _ = fs::remove_file(&self.journal);
        }
    }
}

/// Whether others may create files beside `path` and not remove ours: a sticky folder that others may write to.
pub(super) fn others_may_create_beside(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(Path::new("/"));
    folder.metadata().is_ok_and(|folder| folder.mode() & 0o1000 != 0 && folder.mode() & 0o022 != 0)
}

/// Removes a journal of this user without a study at `path`, left by a kill and an `rm`; SQLite would roll it back into the
/// new file.
///
/// # Errors
/// [`RecordError::Exists`] if the file there is no such journal.
pub(super) fn clear_orphan(path: &Path) -> Result<(), RecordError> {
    const MARK: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let journal = journal(path);
    let Ok(found) = journal.symlink_metadata() else { return Ok(()) };
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let head = if is_trusted(&found, rustix::process::geteuid().as_raw()) { head_of(&journal) } else { None };
    if !head.is_some_and(|head| head == MARK || head.iter().all(|byte| *byte == 0)) {
        return Err(RecordError::Exists { path: journal });
    }
    fs::remove_file(&journal)
        .map_err(|error| RecordError::Unwritable { path: journal.clone(), reason: error.to_string() })
}

/// The first eight bytes of a file, or all if it is shorter.
fn head_of(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(8).read_to_end(&mut head).ok()?;
    Some(head)
}
