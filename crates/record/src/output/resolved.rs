//! Resolves a path link by link, without opening it, and follows no link that somebody else has laid out.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
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
/// If a folder on the way is missing or inaccessible, links form a cycle, a link may not be followed, or the path ends in `/`
/// and so means a folder.
pub(crate) fn find(path: &Path) -> io::Result<Resolved> {
    if path.as_os_str().as_bytes().ends_with(b"/") {
        return Err(io::ErrorKind::IsADirectory.into());
    }
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
            Ok(link) if link.is_symlink() => {
                if !may_follow(&folder.symlink_metadata()?, &link) {
                    return Err(somebody_elses(&whole, &link));
                }
                path = folder.join(fs::read_link(&whole)?);
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return Ok(Resolved::Name { folder, name }),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}

/// Whether a link may be followed: the kernel's rule `fs.protected_symlinks`, which holds here whether or not it is switched
/// on. In a folder that everybody may write to (sticky, as `/tmp`), a link is followed if it belongs to who follows it, or to
/// the owner of the folder.
fn may_follow(folder: &Metadata, link: &Metadata) -> bool {
    const STICKY_AND_WRITABLE: u32 = 0o1002;
    let is_for_all = folder.mode() & STICKY_AND_WRITABLE == STICKY_AND_WRITABLE;
    // The user of the file system follows the effective one: this program never parts the two.
    !is_for_all || link.uid() == rustix::process::geteuid().as_raw() || link.uid() == folder.uid()
}

fn somebody_elses(path: &Path, link: &Metadata) -> io::Error {
    let text = format!(
        "the link {} belongs to another user (uid {}), in a folder that everybody may write to, and is not followed",
        path.display(),
        link.uid()
    );
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

/// Where the file is that `path` names, with all links followed that may be; `path` itself for a descriptor of this
/// process.
///
/// # Errors
/// If a folder on the way is missing or inaccessible, links form a cycle, or a link belongs to another user and lies in a
/// folder that everybody may write to.
pub fn located(path: &Path) -> io::Result<PathBuf> {
    Ok(match find(path)? {
        Resolved::Name { folder, name } => folder.join(name),
        Resolved::Descriptor(_) => path.to_path_buf(),
    })
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
