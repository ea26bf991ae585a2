//! Finds what a path leads to, link by link, without opening it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Links that are followed before they are taken for a circle.
const MOST_LINKS: u32 = 40;

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// A descriptor of this process, as `/dev/stdout` does.
    Descriptor(i32),
    /// A name in a folder; there may be nothing of that name, and it is no link.
    Name {
        /// The folder, without links.
        folder: PathBuf,
        /// The name in it.
        name: OsString,
    },
}

/// Follows `path` to its end.
///
/// # Errors
/// Where a folder on the way is missing or closed, or links go in a circle.
pub(crate) fn find(path: &Path) -> io::Result<Resolved> {
    let mut path = std::path::absolute(path)?;
    for _ in 0..MOST_LINKS {
        let Some(name) = path.file_name().map(OsStr::to_os_string) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let folder = path.parent().unwrap_or(Path::new("/")).canonicalize()?;
        if let Some(number) = descriptor(&folder, &name) {
            return Ok(Resolved::Descriptor(number));
        }
        let whole = folder.join(&name);
        match whole.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => path = folder.join(fs::read_link(&whole)?),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return Ok(Resolved::Name { folder, name }),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}

/// The path with all links followed, that of its last part too, also where there is nothing at its end; `path` itself
/// where it cannot be followed.
pub fn followed(path: &Path) -> PathBuf {
    match find(path) {
        Ok(Resolved::Name { folder, name }) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

/// The number of our own descriptor, where `folder` is one of those in which the kernel shows them.
fn descriptor(folder: &Path, name: &OsStr) -> Option<i32> {
    let own = PathBuf::from(format!("/proc/{}", std::process::id()));
    let below = folder.strip_prefix(own).ok()?;
    let shows = below == Path::new("fd") || (below.starts_with("task") && below.ends_with("fd"));
    shows.then(|| name.to_str()?.parse().ok()).flatten()
}
