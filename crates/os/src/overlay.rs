//! Finds the other names that overlayfs gives a file: what lies below an upper folder appears in the merged one, under
//! another device number, and the reverse.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::DeviceNumber;
use crate::mounts::{Mount, mount_of, parse};

/// The same file under its other names: its file in the upper folder if it lies on an overlay, and its merged names if
/// it lies in an upper folder, in the mount namespaces of all processes that this one can see.
pub(crate) fn other_names(path: &Path) -> Vec<PathBuf> {
    let Ok(path) = path.canonicalize() else { return Vec::new() };
    let number = path.metadata().ok().map(|metadata| DeviceNumber::of(metadata.dev()));
    let own = parse(&fs::read("/proc/self/mountinfo").unwrap_or_default());
    let mut names: BTreeSet<PathBuf> = upper_name(&own, &path, number).into_iter().collect();
    let mut seen = BTreeSet::new();
    for process in crate::processes::ids() {
        let folder = PathBuf::from(format!("/proc/{process}"));
        // One look at each namespace is enough.
        let Ok(namespace) = fs::read_link(folder.join("ns/mnt")) else { continue };
        if !seen.insert(namespace) {
            continue;
        }
        let mounts = parse(&fs::read(folder.join("mountinfo")).unwrap_or_default());
        names.extend(merged_names(&mounts, &path).map(|name| below(&folder.join("root"), &name)));
    }
    names.into_iter().filter(|name| name.is_file()).collect()
}

/// The upper folder of an overlay; `None` for any other mount, and for an overlay that is only read.
fn upper(mount: &Mount) -> Option<PathBuf> {
    let upper = mount.options.split(',').find_map(|option| option.strip_prefix("upperdir="))?;
    (mount.kind == "overlay").then(|| PathBuf::from(upper))
}

/// The name in the upper folder of a file on an overlay.
fn upper_name(mounts: &[Mount], path: &Path, number: Option<DeviceNumber>) -> Option<PathBuf> {
    let mount = mount_of(mounts, path, number)?;
    let rest = path.strip_prefix(&mount.point).ok()?;
    Some(below(&upper(mount)?, &mount.subtree).join(rest))
}

/// The names in merged folders of a file that lies in an upper folder.
fn merged_names(mounts: &[Mount], path: &Path) -> impl Iterator<Item = PathBuf> {
    mounts.iter().filter_map(move |mount| {
        let upper = upper(mount)?;
        let whole = upper.canonicalize().unwrap_or_else(|_| upper.clone());
        let inside = path.strip_prefix(upper).or_else(|_| path.strip_prefix(whole)).ok()?;
        let shown = mount.subtree.strip_prefix("/").unwrap_or(&mount.subtree);
        Some(mount.point.join(inside.strip_prefix(shown).ok()?))
    })
}

/// An absolute path as one below `root`.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
        2 1 0:50 / /merged rw - overlay overlay rw,lowerdir=/low,upperdir=/data/up,workdir=/data/work\n\
        3 1 0:50 /sub /bound rw - overlay overlay rw,lowerdir=/low,upperdir=/data/up,workdir=/data/work\n\
        4 1 0:51 / /read-only ro - overlay overlay ro,lowerdir=/a:/b\n";

    #[test]
    fn names_are_translated_both_ways() {
        let mounts = parse(TABLE);
        let up = |path: &str| upper_name(&mounts, Path::new(path), None);
        assert_eq!(up("/merged/x/y"), Some("/data/up/x/y".into()));
        assert_eq!(up("/bound/y"), Some("/data/up/sub/y".into()));
        assert_eq!((up("/read-only/y"), up("/data/up/x")), (None, None));
        let merged = |path: &str| merged_names(&mounts, Path::new(path)).collect::<Vec<_>>();
        assert_eq!(merged("/data/up/x"), [PathBuf::from("/merged/x")]);
        assert_eq!(merged("/data/up/sub/y"), [PathBuf::from("/merged/sub/y"), PathBuf::from("/bound/y")]);
        assert!(merged("/data/upper/x").is_empty());
    }
}
