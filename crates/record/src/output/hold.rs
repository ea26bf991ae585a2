//! Lets one process at a time change a file, while any number of others may read it.

use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Who may change a file.
#[derive(Debug)]
pub enum Hold {
    /// This process, as long as the value lives. Other holders are refused; readers are not affected.
    Ours(Held),
    /// Another process.
    Another,
    /// Unknown: locks of this file system cannot tell, because other machines may not see them, or because they would
    /// conflict with a database's own locks.
    Unknown,
}

impl Hold {
    /// Whether `path` still is the file that is held, as far as locks can tell.
    pub fn is_of(&self, path: &Path) -> bool {
        let Self::Ours(held) = self else { return matches!(self, Self::Unknown) };
        let inode = |metadata: io::Result<Metadata>| metadata.ok().map(|metadata| (metadata.dev(), metadata.ino()));
        inode(held.0.metadata()).is_some_and(|ours| inode(path.metadata()) == Some(ours))
    }
}

/// A hold that ends when this value is dropped. Dropping unlocks the file explicitly, because a child process that was
/// just started may still have it open.
#[derive(Debug)]
pub struct Held(File);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Takes the hold on `path`, without waiting.
///
/// # Errors
/// The system's error from opening or locking the file.
pub fn hold(path: &Path) -> io::Result<Hold> {
    if !halfpower_os::filesystem::is_local(path) {
        return Ok(Hold::Unknown);
    }
    let file = File::open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Hold::Ours(Held(file))),
        Err(TryLockError::WouldBlock) => Ok(Hold::Another),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_a_file_until_it_lets_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "read by anyone").unwrap();
        let ours = hold(&path).unwrap();
        assert!(matches!(ours, Hold::Ours(_)));
        assert!(matches!(hold(&path).unwrap(), Hold::Another));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "read by anyone");
        assert!(ours.is_of(&path));
        std::fs::rename(&path, folder.path().join("moved")).unwrap();
        std::fs::write(&path, "another").unwrap();
        assert!(!ours.is_of(&path) && ours.is_of(&folder.path().join("moved")));
        drop(ours);
        assert!(matches!(hold(&path).unwrap(), Hold::Ours(_)));
    }

    #[test]
    fn who_inherited_the_file_holds_nothing_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "").unwrap();
        let Hold::Ours(ours) = hold(&path).unwrap() else { panic!("nobody else is there") };
        let inherited = ours.0.try_clone().unwrap();
        drop(ours);
        assert!(matches!(hold(&path).unwrap(), Hold::Ours(_)));
        drop(inherited);
    }
}
