//! Reads the I/O limits of this process's control group, version 2 and version 1.
//!
//! Block devices enter, the tightest limit of each leaves with the place that sets it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::Root;
use halfpower_os::DeviceNumber;
use halfpower_os::mounts::Mount;

/// A limit and the control group that sets it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limit {
    /// Bytes or requests a second.
    pub most: f64,
    /// Which file of which group says so.
    pub source: String,
}

/// Limits on one device; what is not limited is `None`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Limits {
    /// Bytes a second read.
    pub read_bps: Option<Limit>,
    /// Bytes a second written.
    pub write_bps: Option<Limit>,
    /// Reads a second.
    pub read_iops: Option<Limit>,
    /// Writes a second.
    pub write_iops: Option<Limit>,
}

impl Limits {
    fn slot(&mut self, key: &str) -> Option<&mut Option<Limit>> {
        match key {
            "rbps" => Some(&mut self.read_bps),
            "wbps" => Some(&mut self.write_bps),
            "riops" => Some(&mut self.read_iops),
            "wiops" => Some(&mut self.write_iops),
            _ => None,
        }
    }

    /// Keeps the tighter of what is there and `most`.
    fn tighten(&mut self, key: &str, most: &str, source: impl Fn() -> String) {
        // `max` is no limit, and neither is the 0 that version 1 takes for one.
        let Some(most) = most.parse().ok().filter(|most: &f64| *most > 0.0 && most.is_finite()) else {
            return;
        };
        let Some(slot) = self.slot(key) else { return };
        if slot.as_ref().is_none_or(|known| most < known.most) {
            *slot = Some(Limit { most, source: source() });
        }
    }
}

/// A control group of this process.
pub(crate) struct Group {
    /// Its folder, relative to the root.
    pub folder: PathBuf,
    /// Its path within its hierarchy, for people.
    path: String,
}

/// The limits on each device that has some.
pub(crate) fn limits(root: &Root, mounts: &[Mount]) -> BTreeMap<DeviceNumber, Limits> {
    limits_of(root, mounts, memberships(root))
}

/// The same for the members of these groups, all together.
pub(crate) fn limits_of(
    root: &Root,
    mounts: &[Mount],
    groups: impl IntoIterator<Item = (String, String)>,
) -> BTreeMap<DeviceNumber, Limits> {
    let mut limits = BTreeMap::new();
    for (controllers, path) in groups {
        if controllers.is_empty() {
            second_version(root, mounts, &path, &mut limits);
        } else if controllers.split(',').any(|controller| controller == "blkio") {
            first_version(root, mounts, &path, &mut limits);
        }
    }
    limits
}

/// The controllers and the path of each hierarchy that this process is in; version 2 names no controllers.
pub(crate) fn memberships(root: &Root) -> Vec<(String, String)> {
    memberships_of(root, "self")
}

/// The same of any process, by its number.
pub(crate) fn memberships_of(root: &Root, process: &str) -> Vec<(String, String)> {
    let text = root.text(format!("proc/{process}/cgroup")).unwrap_or_default();
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?.to_string(), parts.next()?.to_string()))
    };
    text.lines().filter_map(of_line).collect()
}

/// `io.max` of the group and of all above it, each of which holds for the sum of what is below.
fn second_version(root: &Root, mounts: &[Mount], path: &str, limits: &mut BTreeMap<DeviceNumber, Limits>) {
    let Some(mount) = mounts.iter().rev().find(|mount| mount.kind == "cgroup2") else {
        return;
    };
    for group in upwards(mount, path) {
        for line in root.text(group.folder.join("io.max")).unwrap_or_default().lines() {
            let mut words = line.split_whitespace();
            let Some(number) = words.next().and_then(DeviceNumber::parse) else {
                continue;
            };
            for (key, most) in words.filter_map(|word| word.split_once('=')) {
                let source = || format!("io.max of the control group {} for {number}", group.path);
                limits.entry(number).or_default().tighten(key, most, source);
            }
        }
    }
}

/// `blkio.throttle.*` of the group alone: in version 1 the limits of the groups above do not hold for those
/// below (Documentation/admin-guide/cgroup-v1/blkio-controller.rst, "Hierarchical Cgroups").
fn first_version(root: &Root, mounts: &[Mount], path: &str, limits: &mut BTreeMap<DeviceNumber, Limits>) {
    let is_blkio = |mount: &&Mount| mount.kind == "cgroup" && mount.options.split(',').any(|word| word == "blkio");
    let Some(mount) = mounts.iter().rev().find(is_blkio) else {
        return;
    };
    let Some(group) = upwards(mount, path).into_iter().next() else {
        return;
    };
    let files = [("rbps", "read_bps"), ("wbps", "write_bps"), ("riops", "read_iops"), ("wiops", "write_iops")];
    for (key, file) in files {
        let file = format!("blkio.throttle.{file}_device");
        for line in root.text(group.folder.join(&file)).unwrap_or_default().lines() {
            let Some((number, most)) = line.split_once(' ') else {
                continue;
            };
            let Some(number) = DeviceNumber::parse(number) else {
                continue;
            };
            let source = || format!("{file} of the control group {} for {number}{}", group.path, whose(key));
            limits.entry(number).or_default().tighten(key, most.trim(), source);
        }
    }
}

/// Version 1 charges a write to whoever submits it: direct writes and the process's own flushes to its group, what
/// the kernel writes back by itself to the root group.
fn whose(key: &str) -> &'static str {
    if key.starts_with('w') { ", not for what the kernel writes back by itself" } else { "" }
}

/// The group and those above it, as far as the mount shows them.
pub(crate) fn upwards(mount: &Mount, path: &str) -> Vec<Group> {
    let Ok(point) = mount.point.strip_prefix("/") else {
        return Vec::new();
    };
    // A container without a namespace of its own sees its group's host path, and only that group mounted.
    let path = Path::new(path);
    let shown = path.strip_prefix(&mount.subtree).or_else(|_| path.strip_prefix("/")).unwrap_or(path);
    // A process moved out of its namespace is at `/..`; of such a group only what is mounted can be looked at.
    let shown = if shown.iter().any(|part| part == "..") { Path::new("") } else { shown };
    let group = |below: &Path| Group { folder: point.join(below), path: format!("/{}", below.display()) };
    shown.ancestors().map(group).collect()
}
