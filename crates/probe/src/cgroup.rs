//! Reads the limits that control groups set on I/O, processor time and memory, version 2 and version 1.
//!
//! For each block device it returns the tightest limit and the file that sets it. A limit of a group applies to all
//! groups below it, so the tightest from the group upwards counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use halfpower_os::DeviceNumber;
use halfpower_os::mounts::Mount;
use halfpower_record::DiskLimit;
use halfpower_spec::Bytes;

use crate::Root;
use crate::root::mounts;

/// Version 1 reports "no limit" as a number near the largest; no real limit exceeds an exbibyte.
const NO_LIMIT_BYTES: u64 = 1 << 60;

/// A limit and the control group that sets it.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Bytes or requests a second.
    pub most: f64,
    /// The file and the group that set it.
    pub source: String,
}

/// Limits on one device; `None` means not limited.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Limits {
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

    /// Keeps the tighter of the present limit and `most`.
    fn tighten(&mut self, key: &str, most: &str, source: impl Fn() -> String) {
        // `max` means no limit, and so does 0 in version 1.
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
pub struct Group {
    /// Its folder, relative to the root.
    pub folder: PathBuf,
    /// Its path within the hierarchy, for display.
    pub path: String,
    /// Whether it is of version 2.
    pub is_second_version: bool,
}

/// The limits on each device that has any.
pub fn limits(root: &Root, mounts: &[Mount]) -> BTreeMap<DeviceNumber, Limits> {
    limits_of(root, mounts, memberships(root))
}

/// The tightest limits over the members of these groups.
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

/// The controllers and the path of each hierarchy that this process belongs to; version 2 names no controllers.
pub(crate) fn memberships(root: &Root) -> Vec<(String, String)> {
    memberships_of(root, "self")
}

/// As `memberships`, for any process by its ID.
pub(crate) fn memberships_of(root: &Root, process: &str) -> Vec<(String, String)> {
    let text = root.text(format!("proc/{process}/cgroup")).unwrap_or_default();
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?.to_string(), parts.next()?.to_string()))
    };
    text.lines().filter_map(of_line).collect()
}

/// Reads `io.max` of the group and of all groups above it; each limits the sum of the groups below.
fn second_version(root: &Root, mounts: &[Mount], path: &str, limits: &mut BTreeMap<DeviceNumber, Limits>) {
    let Some(mount) = mounts.iter().rev().find(|mount| mount.kind == "cgroup2") else {
        return;
    };
    let groups = upwards(mount, path);
    if let [_, .., top] = &groups[..] {
        cost_model(root, &top.folder, limits);
    }
    for group in groups {
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

/// Reads `io.cost`: its model of the device limits what all groups get together, to at most `max` percent of the model. The
/// root group is exempt (Documentation/admin-guide/cgroup-v2.rst, "io.cost.qos" and "io.cost.model").
fn cost_model(root: &Root, top: &Path, limits: &mut BTreeMap<DeviceNumber, Limits>) {
    let qos = root.text(top.join("io.cost.qos")).unwrap_or_default();
    let models = root.text(top.join("io.cost.model")).unwrap_or_default();
    for line in qos.lines().filter(|line| figure(line, "enable=") == Some(1.0)) {
        let Some(name) = line.split_whitespace().next() else { continue };
        let Some(number) = DeviceNumber::parse(name) else { continue };
        let Some(model) = models.lines().find(|model| model.split_whitespace().next() == Some(name)) else { continue };
        let share = figure(line, "max=").unwrap_or(100.0) / 100.0;
        // A request costs least if it follows the one before.
        for (key, of_model) in [("rbps", "rbps="), ("wbps", "wbps="), ("riops", "rseqiops="), ("wiops", "wseqiops=")] {
            let Some(most) = figure(model, of_model) else { continue };
            let source = || format!("the model of io.cost for {number}, which holds for all control groups together");
            limits.entry(number).or_default().tighten(key, &(most * share).to_string(), source);
        }
    }
}

/// The number after `key` among the words of a line.
fn figure(line: &str, key: &str) -> Option<f64> {
    line.split_whitespace().find_map(|word| word.strip_prefix(key)?.parse().ok())
}

/// Reads `blkio.throttle.*` of the group only: in version 1 the limits of groups above do not apply to those below
/// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst, "Hierarchical Cgroups").
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

/// Version 1 charges a write to whoever submits it: direct writes and the process's own flushes to its group, the
/// kernel's own write-back to the root group.
fn whose(key: &str) -> &'static str {
    if key.starts_with('w') { ", not for what the kernel writes back by itself" } else { "" }
}

/// The group and those above it, as far as the mount shows them.
pub(crate) fn upwards(mount: &Mount, path: &str) -> Vec<Group> {
    let Ok(point) = mount.point.strip_prefix("/") else {
        return Vec::new();
    };
    // A container without its own cgroup namespace sees the host path of its group, but only that group is mounted.
    let path = Path::new(path);
    let shown = path.strip_prefix(&mount.subtree).or_else(|_| path.strip_prefix("/")).unwrap_or(path);
    // A process moved out of its namespace is at `/..`; only the mounted part of that group can be read.
    let shown = if shown.iter().any(|part| part == "..") { Path::new("") } else { shown };
    let is_second_version = mount.kind == "cgroup2";
    let group = |below: &Path| {
        let path = format!("/{}", below.display());
        Group { folder: point.join(below), path, is_second_version }
    };
    shown.ancestors().map(group).collect()
}

/// Number of processors that may be used at once; `None` if there is no limit.
pub(crate) fn processors(root: &Root, mounts: &[Mount]) -> Option<f64> {
    let second = |group: &Group| quota(&root.text(group.folder.join("cpu.max"))?);
    let first = |group: &Group| {
        let read = |file: &str| root.text(group.folder.join(file));
        quota(&format!("{} {}", read("cpu.cfs_quota_us")?.trim(), read("cpu.cfs_period_us")?.trim()))
    };
    groups(root, mounts, "cpu", second, first).reduce(f64::min)
}

/// Bytes of memory that may be used; `None` if there is no limit.
pub(crate) fn memory(root: &Root, mounts: &[Mount]) -> Option<Bytes> {
    let bytes = |group: &Group, file: &str| {
        root.text(group.folder.join(file))?.trim().parse::<u64>().ok().filter(|bytes| *bytes < NO_LIMIT_BYTES)
    };
    let second = |group: &Group| bytes(group, "memory.max");
    let first = |group: &Group| bytes(group, "memory.limit_in_bytes");
    groups(root, mounts, "memory", second, first).min().map(Bytes)
}

/// The values in each group of this process and each group above it, in either version.
fn groups<'a, T: 'a>(
    root: &'a Root,
    mounts: &'a [Mount],
    controller: &'a str,
    second: impl Fn(&Group) -> Option<T> + 'a,
    first: impl Fn(&Group) -> Option<T> + 'a,
) -> impl Iterator<Item = T> + 'a {
    let read = move |group: Group| if group.is_second_version { second(&group) } else { first(&group) };
    own_groups(root, mounts, controller).into_iter().filter_map(read)
}

/// The groups of this process and those above, as far as they are mounted: all of version 2, and those of version 1
/// that have this controller.
pub fn own_groups(root: &Root, mounts: &[Mount], controller: &str) -> Vec<Group> {
    groups_of(root, mounts, "self", controller)
}

/// As [`own_groups`], for any process by its ID.
pub fn groups_of(root: &Root, mounts: &[Mount], process: &str, controller: &str) -> Vec<Group> {
    let of_line = |(controllers, path): (String, String)| -> Vec<Group> {
        let names = |text: &str| text.split(',').any(|word| word == controller);
        let is_second = controllers.is_empty();
        let fits = |mount: &&Mount| match is_second {
            true => mount.kind == "cgroup2",
            false => mount.kind == "cgroup" && names(&mount.options),
        };
        if !is_second && !names(&controllers) {
            return Vec::new();
        }
        mounts.iter().rev().find(fits).map_or_else(Vec::new, |mount| upwards(mount, &path))
    };
    memberships_of(root, process).into_iter().flat_map(of_line).collect()
}

/// `50000 100000` means half a processor; `max` and -1 mean no limit.
fn quota(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let (quota, period): (f64, f64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(quota / period).filter(|processors| quota > 0.0 && period > 0.0 && processors.is_finite())
}

/// The limits on any of these processes, by device; the tightest if several apply.
pub fn process_limits(root: &Root, processes: impl Iterator<Item = u32>) -> BTreeMap<DeviceNumber, DiskLimit> {
    let groups: BTreeSet<(String, String)> =
        processes.flat_map(|process| memberships_of(root, &process.to_string())).collect();
    let limits = limits_of(root, &mounts(root), groups);
    limits.into_iter().filter_map(|(number, limits)| Some((number, reported(&limits)?))).collect()
}

fn reported(Limits { read_bps, write_bps, .. }: &Limits) -> Option<DiskLimit> {
    let tighter = [read_bps, write_bps].into_iter().flatten().min_by(|one, other| one.most.total_cmp(&other.most))?;
    let most = |limit: &Option<Limit>| limit.as_ref().map(|limit| limit.most as u64);
    let read_bytes_per_s = most(read_bps);
    let write_bytes_per_s = most(write_bps);
    Some(DiskLimit { read_bytes_per_s, write_bytes_per_s, group: tighter.source.clone() })
}
