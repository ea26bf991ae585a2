//! Resolves a path link by link, without opening it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Most links that are followed before they count as a cycle.
const MOST_LINKS: u32 = 40;

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// A descriptor of this process, such as `/dev/stdout`.
    Descriptor(i32),
    /// A name in a folder. It may not exist; it is not a link.
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
/// If a folder on the way is missing or inaccessible, or links form a cycle.
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

/// The path with all links followed, including its last part, even if its end does not exist; `path` itself if it
/// cannot be resolved.
pub fn followed(path: &Path) -> PathBuf {
    match find(path) {
        Ok(Resolved::Name { folder, name }) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

/// The number of one of our descriptors, if `folder` is one in which the kernel lists them.
fn descriptor(folder: &Path, name: &OsStr) -> Option<i32> {
    let own = PathBuf::from(format!("/proc/{}", std::process::id()));
    let below = folder.strip_prefix(own).ok()?;
    let shows = below == Path::new("fd") || (below.starts_with("task") && below.ends_with("fd"));
    shows.then(|| name.to_str()?.parse().ok()).flatten()
}
