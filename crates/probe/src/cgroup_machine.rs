//! Reads the processor time and memory that the control groups of this process allow, version 2 and version 1.
//!
//! A limit of a group applies to all groups below it, so the tightest from the group upwards counts.

use halfpower_os::mounts::Mount;
use halfpower_spec::Bytes;

use crate::Root;
use crate::cgroup::{Group, memberships, upwards};

/// Version 1 reports "no limit" as a number near the largest; no real limit exceeds an exbibyte.
const NO_LIMIT_BYTES: u64 = 1 << 60;

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
    let of_line = move |(controllers, path): (String, String)| -> Vec<T> {
        let names = |text: &str| text.split(',').any(|word| word == controller);
        let is_second = controllers.is_empty();
        let fits = |mount: &&Mount| match is_second {
            true => mount.kind == "cgroup2",
            false => mount.kind == "cgroup" && names(&mount.options),
        };
        if !is_second && !names(&controllers) {
            return Vec::new();
        }
        let Some(mount) = mounts.iter().rev().find(fits) else { return Vec::new() };
        let reported = |group: &Group| if is_second { second(group) } else { first(group) };
        upwards(mount, &path).iter().filter_map(reported).collect()
    };
    memberships(root).into_iter().flat_map(of_line)
}

/// `50000 100000` means half a processor; `max` and -1 mean no limit.
fn quota(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let (quota, period): (f64, f64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(quota / period).filter(|processors| quota > 0.0 && period > 0.0 && processors.is_finite())
}
