//! Finds a control group by its path or its name, in both versions of control groups.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use halfpower_probe::{Root, mounts};

use super::offered::offered;

/// Groups that are deeper, or more than so many, are not looked at.
const DEEPEST: usize = 16;
const MOST: usize = 20_000;

/// A control group.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoundGroup {
    /// Its path within its hierarchy, such as `/system.slice/postgresql.service`.
    pub path: String,
    /// Its folder.
    pub folder: PathBuf,
}

/// Finds the group that `asked` names: its folder, its path within a hierarchy, or the end of that.
///
/// # Errors
/// A sentence with the nearest names if there is none; with their paths if there are several; if it has no process.
pub(super) fn find(root: &Root, asked: &Path) -> Result<FoundGroup> {
    let points = hierarchies(root);
    if points.is_empty() {
        bail!("--cgroup {}: no control groups are mounted here; watch a process, --pid or --name", asked.display());
    }
    if asked.has_root() {
        let by_path = points.iter().filter_map(|point| {
            let inside = asked.strip_prefix(Path::new("/").join(point)).or_else(|_| asked.strip_prefix("/"));
            Some((point, inside.ok()?.to_path_buf()))
        });
        let mut there = by_path.filter(|(point, inside)| is_group(root, &point.join(inside)));
        if let Some((point, inside)) = there.next() {
            return inhabited(root, point, &inside);
        }
    }
    let wanted = asked.strip_prefix("/").unwrap_or(asked);
    let mut names = BTreeSet::new();
    for point in &points {
        let all = groups(root, point);
        let found: Vec<&PathBuf> = all.iter().filter(|group| group.ends_with(wanted)).collect();
        match found.as_slice() {
            [] => {}
            [group] => return inhabited(root, point, group),
            several => {
                let paths: Vec<String> = several.iter().map(|group| format!("/{}", group.display())).collect();
                bail!("--cgroup {}: several groups have that name; write one of {}", asked.display(), paths.join(", "))
            }
        }
        names.extend(all.iter().filter_map(|group| group.file_name()?.to_str().map(str::to_string)));
    }
    let last = wanted.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    bail!(
        "--cgroup {}: there is no such control group; {}",
        asked.display(),
        offered(&last, names, "`systemd-cgls` lists them")
    )
}

/// Where hierarchies are mounted, relative to the root: version 2 first, then those that limit I/O.
fn hierarchies(root: &Root) -> Vec<PathBuf> {
    let rank = |kind: &str, options: &str| match kind {
        "cgroup2" => Some(0),
        "cgroup" if options.split(',').any(|option| option == "blkio") => Some(1),
        "cgroup" => Some(2),
        _ => None,
    };
    let mut points: Vec<(u8, PathBuf)> = mounts(root)
        .iter()
        .filter_map(|mount| {
            let point = mount.point.strip_prefix("/").unwrap_or(&mount.point);
            Some((rank(&mount.kind, &mount.options)?, point.to_path_buf()))
        })
        .collect();
    points.sort();
    points.into_iter().map(|(_, point)| point).collect()
}

fn is_group(root: &Root, folder: &Path) -> bool {
    root.exists(folder.join("cgroup.procs"))
}

/// All groups of a hierarchy, relative to it.
fn groups(root: &Root, point: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(group) = open.pop() {
        for name in root.names(point.join(&group)) {
            let below = group.join(name);
            if all.len() < MOST && below.components().count() <= DEEPEST && is_group(root, &point.join(&below)) {
                all.push(below.clone());
                open.push(below);
            }
        }
    }
    all.sort();
    all
}

/// The group, unless nobody is in it or below it.
fn inhabited(root: &Root, point: &Path, group: &Path) -> Result<FoundGroup> {
    let has_processes = |folder: PathBuf| root.text(folder.join("cgroup.procs")).is_some_and(|ids| !ids.is_empty());
    let mut below = groups(root, &point.join(group)).into_iter().map(|deeper| point.join(group).join(deeper));
    let path = format!("/{}", group.display());
    if !has_processes(point.join(group)) && !below.any(has_processes) {
        bail!("the control group {path} has no process: nobody is there to be watched");
    }
    Ok(FoundGroup { path, folder: Path::new("/").join(point).join(group) })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A tree with these groups of version 2 and of version 1 (blkio), each with its processes.
    fn tree(second: &[(&str, &str)], first: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let base = tempfile::tempdir().unwrap();
        let mut lines = String::new();
        for (point, kind, options, groups) in
            [("sys/fs/cgroup/blkio", "cgroup", "rw,blkio", first), ("sys/fs/cgroup/unified", "cgroup2", "rw", second)]
        {
            if groups.is_empty() {
                continue;
            }
            lines += &format!("30 22 0:30 / /{point} rw - {kind} {kind} {options}\n");
            for (group, ids) in groups {
                let folder = base.path().join(point).join(group);
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join("cgroup.procs"), ids).unwrap();
            }
        }
        fs::create_dir_all(base.path().join("proc/self")).unwrap();
        fs::write(base.path().join("proc/self/mountinfo"), lines).unwrap();
        let root = Root::at(base.path());
        (base, root)
    }

    const SECOND: [(&str, &str); 6] = [
        ("", "1\n"),
        ("system.slice", ""),
        ("system.slice/postgresql.service", "40\n41\n"),
        ("system.slice/empty.service", ""),
        ("system.slice/run", "7\n"),
        ("user.slice", ""),
    ];

    #[test]
    fn a_group_is_found_by_its_folder_its_path_and_its_name() {
        let (_base, root) = tree(&SECOND, &[("lab", "9\n"), ("user.slice", "8\n")]);
        let folder = "/sys/fs/cgroup/unified/system.slice/postgresql.service";
        for asked in
            [folder, "/system.slice/postgresql.service", "system.slice/postgresql.service", "postgresql.service"]
        {
            let found = find(&root, Path::new(asked)).unwrap();
            assert_eq!(
                (found.path.as_str(), found.folder.as_path()),
                ("/system.slice/postgresql.service", Path::new(folder))
            );
        }
        assert_eq!(find(&root, Path::new("lab")).unwrap().folder, Path::new("/sys/fs/cgroup/blkio/lab"));
        assert_eq!(find(&root, Path::new("/system.slice")).unwrap().path, "/system.slice", "processes are below it");
    }

    #[test]
    fn what_is_not_there_is_refused_with_what_is() {
        let (base, root) = tree(&SECOND, &[]);
        let said = |asked: &str| find(&root, Path::new(asked)).unwrap_err().to_string();
        assert!(said("postgresq.service").contains("there are postgresql.service"), "{}", said("postgresq.service"));
        assert!(said("nothing-like-it").contains("systemd-cgls"), "{}", said("nothing-like-it"));
        assert!(said("empty.service").contains("has no process"), "{}", said("empty.service"));
        let other = base.path().join("sys/fs/cgroup/unified/user.slice/run");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("cgroup.procs"), "").unwrap();
        assert!(said("run").contains("/system.slice/run, /user.slice/run"), "{}", said("run"));
        let (_base, nothing) = tree(&[], &[]);
        let said = find(&nothing, Path::new("lab")).unwrap_err().to_string();
        assert!(said.contains("no control groups are mounted"), "{said}");
    }
}
