//! Reads the limits that control groups set on a process, and how much of each was used, in version 2 and version 1.

use std::path::PathBuf;

use halfpower_os::DeviceNumber;
use halfpower_os::mounts::Mount;
use halfpower_os::tasks::pressure;
use halfpower_probe::{Disk, Group, Root, groups_of};
use halfpower_record::GroupLimit;

/// Version 1 tells "no limit" of memory as a number near the largest; no real limit exceeds an exbibyte.
const NO_LIMIT_BYTES: f64 = (1_u64 << 60) as f64;
/// What `io.max` and `io.stat` of version 2 call what is limited, and what the limit is recorded as.
const IO: [(&str, &str, &str); 4] = [
    ("rbps=", "rbytes=", "read_bps"),
    ("wbps=", "wbytes=", "write_bps"),
    ("riops=", "rios=", "read_iops"),
    ("wiops=", "wios=", "write_iops"),
];
/// As `IO`, for version 1: the file of the limit, the file that counts, and the word in it.
const THROTTLE: [(&str, &str, &str, &str); 4] = [
    ("blkio.throttle.read_bps_device", "blkio.throttle.io_service_bytes", "Read", "read_bps"),
    ("blkio.throttle.write_bps_device", "blkio.throttle.io_service_bytes", "Write", "write_bps"),
    ("blkio.throttle.read_iops_device", "blkio.throttle.io_serviced", "Read", "read_iops"),
    ("blkio.throttle.write_iops_device", "blkio.throttle.io_serviced", "Write", "write_iops"),
];

/// What `memory.stat` calls pages that are read again after they were taken away: with the groups below in version 1, and as
/// older kernels call them.
const READ_AGAIN: [&str; 4] =
    ["total_workingset_refault_file", "workingset_refault_file", "total_workingset_refault", "workingset_refault"];

/// What a limit on processors is recorded as.
const QUOTA: &str = "cpu_quota";

/// What was used of a limit so far.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Used {
    /// A counter that only grows.
    Counted(f64),
    /// An amount that is in use.
    Level(f64),
}

/// A limit, and the counters beside it at one moment.
#[derive(Debug, Clone, PartialEq)]
struct Reading {
    file: String,
    limits: &'static str,
    disk: String,
    limit: f64,
    used: Used,
    held_ns: Option<u64>,
    read_again_bytes: Option<u64>,
}

impl Reading {
    /// Whether both are of one limit.
    fn is_of(&self, other: &Self) -> bool {
        (&self.file, self.limits, &self.disk) == (&other.file, other.limits, &other.disk)
    }
}

/// The limits on processes at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct LimitReadings(Vec<Reading>);

impl LimitReadings {
    /// Reads the limits that hold for a process: of its groups and those above.
    pub(crate) fn of(root: &Root, mounts: &[Mount], pid: u32) -> Self {
        let groups = |controller: &str| groups_of(root, mounts, &pid.to_string(), controller);
        let mut all = Vec::new();
        let disks = groups("blkio");
        // The limits of version 1 hold for the group itself alone; version 2 has no controller of this name.
        if let Some(group) = disks.iter().find(|group| !group.is_second_version) {
            throttles(root, group, &mut all);
        }
        let accounts = groups("cpuacct");
        for group in groups("cpu") {
            if group.is_second_version {
                io_limits(root, &group, &mut all);
            }
            all.extend(quota(root, &group, &accounts));
        }
        all.extend(groups("memory").iter().filter_map(|group| memory(root, group)));
        Self(all)
    }

    /// Reads the limits that hold for any of some processes, each limit once. A part of the processors that some of them may
    /// use alone bounds not all together, and is left out.
    pub(crate) fn of_all(root: &Root, mounts: &[Mount], pids: &[u32]) -> Self {
        let there = pids.iter().filter(|pid| root.exists(format!("proc/{pid}/cgroup")));
        let of_each: Vec<Self> = there.map(|pid| Self::of(root, mounts, *pid)).collect();
        let has = |of: &Self, reading: &Reading| of.0.iter().any(|known| known.is_of(reading));
        let mut all = Self::default();
        for reading in of_each.iter().flat_map(|of| &of.0) {
            let counts = reading.limits != QUOTA || of_each.iter().all(|of| has(of, reading));
            if counts && !has(&all, reading) {
                all.0.push(reading.clone());
            }
        }
        all
    }

    /// Whether no limit holds.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a limit holds for requests to disks.
    pub(crate) fn limits_disks(&self) -> bool {
        self.0.iter().any(|reading| !reading.disk.is_empty())
    }

    /// What was used of each limit since `then`, over a time.
    pub(crate) fn since(&self, then: &Self, span_ns: u64) -> Vec<GroupLimit> {
        let seconds = span_ns.max(1) as f64 / 1e9;
        let limit = |now: &Reading| {
            let then = then.0.iter().find(|then| then.is_of(now))?;
            let used = match (now.used, then.used) {
                (Used::Counted(now), Used::Counted(then)) => (now - then).max(0.0) / seconds,
                (Used::Level(now) | Used::Counted(now), _) => now,
            };
            Some(GroupLimit {
                file: now.file.clone(),
                limits: now.limits.to_string(),
                disk: now.disk.clone(),
                limit: now.limit,
                used,
                held_ns: grown(now.held_ns, then.held_ns),
                read_again_bytes: grown(now.read_again_bytes, then.read_again_bytes),
            })
        };
        self.0.iter().filter_map(limit).collect()
    }
}

/// By how much a counter grew, if it was read both times.
fn grown(now: Option<u64>, then: Option<u64>) -> Option<u64> {
    now.zip(then).map(|(now, then)| now.saturating_sub(then))
}

fn shown(group: &Group, file: &str) -> String {
    format!("/{}", group.folder.join(file).display())
}

/// The number after a key such as `rbytes=` among the words of a line.
fn keyed(line: &str, key: &str) -> Option<f64> {
    line.split_whitespace().find_map(|word| word.strip_prefix(key)?.parse().ok())
}

/// The number after a name at the beginning of a line.
fn named(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

fn disk_name(root: &Root, number: DeviceNumber) -> String {
    Disk::by_number(root, number).map_or_else(|| number.to_string(), |disk| disk.name)
}

/// `io.max` of version 2, with `io.stat`.
fn io_limits(root: &Root, group: &Group, all: &mut Vec<Reading>) {
    let counted = root.text(group.folder.join("io.stat")).unwrap_or_default();
    for line in root.text(group.folder.join("io.max")).unwrap_or_default().lines() {
        let Some(number) = line.split_whitespace().next().and_then(DeviceNumber::parse) else { continue };
        let of_disk = |line: &&str| line.split_whitespace().next().and_then(DeviceNumber::parse) == Some(number);
        let counted = counted.lines().find(of_disk).unwrap_or_default();
        for (limit_key, used_key, limits) in IO {
            let Some(limit) = keyed(line, limit_key) else { continue };
            all.push(Reading {
                file: shown(group, "io.max"),
                limits,
                disk: disk_name(root, number),
                limit,
                used: Used::Counted(keyed(counted, used_key).unwrap_or(0.0)),
                held_ns: None,
                read_again_bytes: None,
            });
        }
    }
}

/// `blkio.throttle.*` of version 1.
fn throttles(root: &Root, group: &Group, all: &mut Vec<Reading>) {
    for (file, counter, word, limits) in THROTTLE {
        for line in root.text(group.folder.join(file)).unwrap_or_default().lines() {
            let Some((number, limit)) = line.split_once(' ') else { continue };
            let Some(disk) = DeviceNumber::parse(number) else { continue };
            let Some(limit) = limit.trim().parse::<f64>().ok().filter(|limit| *limit > 0.0) else { continue };
            let counted = root.text(group.folder.join(counter)).unwrap_or_default();
            all.push(Reading {
                file: shown(group, file),
                limits,
                disk: disk_name(root, disk),
                limit,
                used: Used::Counted(named(&counted, &format!("{number} {word}")).unwrap_or(0.0)),
                held_ns: None,
                read_again_bytes: None,
            });
        }
    }
}

/// The part of the processors that a group may use; in version 1 what it used is told by the group of the same path in
/// another hierarchy.
fn quota(root: &Root, group: &Group, accounts: &[Group]) -> Option<Reading> {
    let read = |file: &str| root.text(group.folder.join(file));
    let (file, text) = match group.is_second_version {
        true => ("cpu.max", read("cpu.max")?),
        false => ("cpu.cfs_quota_us", format!("{} {}", read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?)),
    };
    let mut words = text.split_whitespace().map(|word| word.parse::<f64>().ok());
    let quota_us = words.next()??;
    let period_us = words.next()??;
    if quota_us <= 0.0 || period_us <= 0.0 {
        return None;
    }
    let counted = read("cpu.stat").unwrap_or_default();
    let held_ns = match group.is_second_version {
        true => named(&counted, "throttled_usec").map(|us| us * 1e3),
        false => named(&counted, "throttled_time"),
    };
    let used_ns = match group.is_second_version {
        true => named(&counted, "usage_usec").map(|us| us * 1e3),
        false => {
            let account = accounts.iter().find(|account| account.path == group.path && !account.is_second_version);
            account.and_then(|account| root.number::<f64>(account.folder.join("cpuacct.usage")))
        }
    };
    Some(Reading {
        file: shown(group, file),
        limits: QUOTA,
        disk: String::new(),
        limit: quota_us / period_us,
        // Nanoseconds of processor time a second are billionths of a processor.
        used: Used::Counted(used_ns.unwrap_or(0.0) / 1e9),
        held_ns: held_ns.map(|ns| ns as u64),
        read_again_bytes: None,
    })
}

fn memory(root: &Root, group: &Group) -> Option<Reading> {
    let (file, counter) = match group.is_second_version {
        true => ("memory.max", "memory.current"),
        false => ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    };
    let limit = root.number::<f64>(group.folder.join(file)).filter(|limit| *limit < NO_LIMIT_BYTES)?;
    let waited = group.is_second_version.then(|| pressure(&root.absolute(&group.folder)));
    let waited = waited.into_iter().flatten().find(|time| time.resource == "memory");
    let counted = root.text(group.folder.join("memory.stat")).unwrap_or_default();
    let again_pages = READ_AGAIN.into_iter().find_map(|name| named(&counted, name));
    Some(Reading {
        file: shown(group, file),
        limits: "memory",
        disk: String::new(),
        limit,
        used: Used::Level(root.number(group.folder.join(counter)).unwrap_or(0.0)),
        held_ns: waited.map(|time| time.some_ns),
        read_again_bytes: again_pages.map(|pages| pages as u64 * rustix::param::page_size() as u64),
    })
}

/// The path of the group of version 2 that a process is in, and its folder below the root.
pub(crate) fn unified(root: &Root, mounts: &[Mount], pid: u32) -> Option<(String, PathBuf)> {
    // Any controller will do: version 2 has one hierarchy for all.
    let group = groups_of(root, mounts, &pid.to_string(), "").into_iter().find(|group| group.is_second_version)?;
    Some((group.path, group.folder))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use halfpower_probe::mounts;

    use super::*;

    fn lay(base: &Path, path: &str, text: &str) {
        let path = base.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn of(limits: &[GroupLimit], name: &str) -> (f64, f64, Option<u64>) {
        let found = limits.iter().find(|limit| limit.limits == name).unwrap_or_else(|| panic!("{name}: {limits:?}"));
        (found.limit, found.used, found.held_ns)
    }

    #[test]
    fn limits_of_version_2_are_told_with_what_was_used_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        lay(base, "proc/self/mountinfo", "30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        lay(base, "proc/7/cgroup", "0::/pod/box\n");
        lay(base, "sys/fs/cgroup/pod/box/io.max", "254:0 rbps=max wbps=1000000 riops=200 wiops=max\n");
        lay(base, "sys/fs/cgroup/pod/box/io.stat", "8:0 wbytes=9\n254:0 rbytes=0 wbytes=500 rios=10 wios=1\n");
        lay(base, "sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
        lay(base, "sys/fs/cgroup/pod/cpu.stat", "usage_usec 1000000\nthrottled_usec 5\n");
        lay(base, "sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
        lay(base, "sys/fs/cgroup/pod/box/memory.max", "268435456\n");
        lay(base, "sys/fs/cgroup/pod/box/memory.current", "1048576\n");
        lay(base, "sys/fs/cgroup/pod/box/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=20\n");
        lay(
            base,
            "sys/fs/cgroup/pod/box/memory.stat",
            "file 9\nworkingset_refault_anon 3\nworkingset_refault_file 5\n",
        );
        let root = Root::at(base);
        let then = LimitReadings::of(&root, &mounts(&root), 7);
        lay(base, "sys/fs/cgroup/pod/box/io.stat", "254:0 rbytes=0 wbytes=2000500 rios=310 wios=1\n");
        lay(base, "sys/fs/cgroup/pod/cpu.stat", "usage_usec 3000000\nthrottled_usec 800005\n");
        lay(base, "sys/fs/cgroup/pod/box/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=25\n");
        lay(
            base,
            "sys/fs/cgroup/pod/box/memory.stat",
            "file 9\nworkingset_refault_anon 3\nworkingset_refault_file 105\n",
        );
        let now = LimitReadings::of(&root, &mounts(&root), 7);
        let limits = now.since(&then, 2_000_000_000);
        assert_eq!(limits.len(), 4, "{limits:?}");
        assert_eq!(of(&limits, "write_bps"), (1e6, 1e6, None));
        assert_eq!(of(&limits, "read_iops"), (200.0, 150.0, None));
        assert_eq!(of(&limits, "cpu_quota"), (1.5, 1.0, Some(800_000_000)));
        assert_eq!(of(&limits, "memory"), (268_435_456.0, 1_048_576.0, Some(5_000)));
        let again = limits.iter().find_map(|limit| limit.read_again_bytes);
        assert_eq!(again, Some(100 * rustix::param::page_size() as u64));
        assert!(now.limits_disks() && limits[0].file == "/sys/fs/cgroup/pod/box/io.max" && limits[0].disk == "254:0");
        assert!(!LimitReadings::of(&root, &mounts(&root), 8).limits_disks());
        let (path, found) = unified(&root, &mounts(&root), 7).unwrap();
        assert_eq!((path.as_str(), found.as_path()), ("/pod/box", Path::new("sys/fs/cgroup/pod/box")));
    }

    #[test]
    fn limits_of_version_1_are_told_with_what_was_used_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        let mounted: String = ["blkio", "cpu", "cpuacct", "memory"]
            .iter()
            .map(|name| format!("30 1 0:30 / /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n"))
            .collect();
        lay(base, "proc/self/mountinfo", &mounted);
        lay(base, "proc/7/cgroup", "7:blkio:/box\n4:memory:/box\n2:cpuacct:/box\n1:cpu:/box\n0::/\n");
        let counted = |read: u64| format!("254:0 Read {read}\n254:0 Write 7\n254:0 Total 9\nTotal 9\n");
        lay(base, "sys/fs/cgroup/blkio/box/blkio.throttle.read_bps_device", "254:0 4194304\n");
        lay(base, "sys/fs/cgroup/blkio/blkio.throttle.write_bps_device", "254:0 1\n");
        lay(base, "sys/fs/cgroup/blkio/box/blkio.throttle.io_service_bytes", &counted(1_000));
        lay(base, "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "50000\n");
        lay(base, "sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
        lay(base, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
        lay(base, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
        lay(base, "sys/fs/cgroup/cpu/box/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 1000\n");
        lay(base, "sys/fs/cgroup/cpuacct/box/cpuacct.usage", "5000000000\n");
        lay(base, "sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
        let root = Root::at(base);
        let then = LimitReadings::of(&root, &mounts(&root), 7);
        lay(base, "sys/fs/cgroup/blkio/box/blkio.throttle.io_service_bytes", &counted(8_001_000));
        lay(base, "sys/fs/cgroup/cpu/box/cpu.stat", "nr_periods 9\nnr_throttled 9\nthrottled_time 700001000\n");
        lay(base, "sys/fs/cgroup/cpuacct/box/cpuacct.usage", "6000000000\n");
        let limits = LimitReadings::of(&root, &mounts(&root), 7).since(&then, 2_000_000_000);
        assert_eq!(limits.len(), 2, "{limits:?}");
        assert_eq!(of(&limits, "read_bps"), (4_194_304.0, 4e6, None));
        assert_eq!(of(&limits, "cpu_quota"), (0.5, 0.5, Some(700_000_000)));
    }
}
