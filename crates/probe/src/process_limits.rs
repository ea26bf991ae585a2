//! Reads the limits that control groups set on block devices for given processes.

use std::collections::{BTreeMap, BTreeSet};

use halfpower_os::DeviceNumber;
use halfpower_record::DiskLimit;

use crate::cgroup::{Limits, limits_of, memberships_of};
use crate::{Root, mount_table};

/// The limits on any of these processes, by device; the tightest if several apply.
pub fn process_limits(root: &Root, processes: impl Iterator<Item = u32>) -> BTreeMap<DeviceNumber, DiskLimit> {
    let groups: BTreeSet<(String, String)> =
        processes.flat_map(|process| memberships_of(root, &process.to_string())).collect();
    let limits = limits_of(root, &mount_table::mounts(root), groups);
    limits.into_iter().filter_map(|(number, limits)| Some((number, reported(&limits)?))).collect()
}

fn reported(Limits { read_bps, write_bps, .. }: &Limits) -> Option<DiskLimit> {
    let tighter = [read_bps, write_bps].into_iter().flatten().min_by(|one, other| one.most.total_cmp(&other.most))?;
    let most = |limit: &Option<crate::cgroup::Limit>| limit.as_ref().map(|limit| limit.most as u64);
    let read_bytes_per_s = most(read_bps);
    let write_bytes_per_s = most(write_bps);
    Some(DiskLimit { read_bytes_per_s, write_bytes_per_s, group: tighter.source.clone() })
}
