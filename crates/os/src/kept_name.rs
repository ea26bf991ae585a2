//! Makes files of our own on file systems that know no files without a name.
//!
//! Most let a file lose its name at once. An SMB mount opens no file again whose name is gone: there the name stays until the
//! file is closed, and the next start removes those that killed processes left.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The name of a file of our own; it goes with this value.
#[derive(Debug)]
pub(crate) struct KeptName(PathBuf);

impl Drop for KeptName {
    fn drop(&mut self) {
        // What is gone need not be removed.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A new, empty file in `folder`, which is gone when it is closed; its name where it has to keep one until then.
///
/// # Errors
/// The error that the system reports.
pub(crate) fn short_lived_in(folder: &Path) -> io::Result<(File, Option<KeptName>)> {
    let (path, file) = named_in(folder)?;
    std::fs::remove_file(&path)?;
    if !has_proc() || reopens(&file) {
        return Ok((file, None));
    }
    let (path, file) = named_in(folder)?;
    Ok((file, Some(KeptName(path))))
}

fn named_in(folder: &Path) -> io::Result<(PathBuf, File)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("{}{}-{number}", prefix(), std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    Ok((path, file))
}

/// What the names of this host's files begin with; the number of the process follows.
fn prefix() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().replace('/', "_");
    format!(".halfpower-at-{host}-")
}

/// Whether this process sees its own descriptors.
pub(crate) fn has_proc() -> bool {
    Path::new("/proc/self/fd").exists()
}

fn reopens(file: &File) -> bool {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).is_ok()
}

/// Removes files of this host from `folder` whose processes are no more.
pub(crate) fn sweep(folder: &Path) {
    let prefix = prefix();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(&prefix)?.split_once('-'));
        let Some(process) = process.and_then(|(process, _)| process.parse::<u32>().ok()) else { continue };
        if entry.file_type().is_ok_and(|kind| kind.is_file()) && !Path::new(&format!("/proc/{process}")).exists() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_name_goes_with_its_file_and_is_swept_where_its_process_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        let (path, file) = named_in(folder.path()).unwrap();
        let kept = KeptName(path);
        sweep(folder.path());
        assert!(names() == 1 && reopens(&file), "this process lives");
        drop(kept);
        assert_eq!(names(), 0);
        // No process has a number beyond the kernel's largest.
        let left = folder.path().join(format!("{}4194999-0", prefix()));
        std::fs::write(left, b"left").unwrap();
        std::fs::write(folder.path().join(".halfpower-at-elsewhere-4194999-0"), b"another host's").unwrap();
        sweep(folder.path());
        assert_eq!(names(), 1);
    }
}
