//! Reads the counters of machine, disks, pressure and limits when a watch begins, and what became of them since.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use halfpower_os::processor::{self, Times};
use halfpower_os::tasks::{PressureTime, pressure, task};
use halfpower_record::{CpuTimes, DeviceUse, GroupLimit, Pressure};
use halfpower_witness::{DeviceCounters, processors_since};

use super::places::Places;
use crate::groups::{LimitReadings, unified};

/// Control groups whose limits are told.
const MOST_GROUPS: usize = 64;

/// Whose pressure it is, where it is told, and what had been counted.
#[derive(Debug)]
struct PressureBefore {
    of: String,
    folder: PathBuf,
    before: Vec<PressureTime>,
}

/// The counters when the watch began.
#[derive(Debug)]
pub(crate) struct Counters {
    root: PathBuf,
    began_ns: u64,
    machine: Vec<Times>,
    /// Disks, with when each was first looked at.
    disks: Vec<(String, DeviceCounters, u64)>,
    pressure: Vec<PressureBefore>,
    limits: LimitReadings,
    /// The limits when they were looked at last, and when that was: once a process has ended, nothing tells its groups.
    last_limits: (LimitReadings, u64),
    /// The processes whose control groups are told of, one of each group.
    processes: Vec<u32>,
}

/// Of processes, one of each control group.
pub(crate) fn one_of_each_group(root: &Path, processes: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut seen = BTreeSet::new();
    let mut is_new = |pid: &u32| {
        let groups = fs::read_to_string(root.join(format!("proc/{pid}/cgroup")));
        groups.is_ok_and(|groups| seen.len() < MOST_GROUPS && seen.insert(groups))
    };
    processes.filter(|pid| is_new(pid)).collect()
}

/// The path and the folder of the control group of version 2 whose pressure is told: of the one that is watched, or else of that
/// of a process.
fn group_of(root: &Path, places: &Places, process: u32, watched: Option<&Path>) -> Option<(String, PathBuf)> {
    let (path, folder) = unified(places.root(), places.mounts(), process)?;
    let folder = root.join(folder);
    let Some(watched) = watched else { return Some((path, folder)) };
    let inside = watched.strip_prefix(root).or_else(|_| watched.strip_prefix("/")).ok()?;
    let watched = root.join(inside);
    let deeper = folder.strip_prefix(&watched).ok()?.components().count();
    let path = Path::new(&path).ancestors().nth(deeper)?.display().to_string();
    Some((path, watched))
}

impl Counters {
    /// Reads them now. The control groups are those of these processes, and the pressure that of the group that is watched, if
    /// one is.
    pub(crate) fn begin(
        root: &Path,
        places: &Places,
        processes: Vec<u32>,
        watched: Option<&Path>,
        now_ns: u64,
    ) -> Self {
        let mut folders = vec![("machine".to_string(), root.join("proc/pressure"))];
        let group = processes.first().and_then(|process| group_of(root, places, *process, watched));
        folders.extend(group.filter(|(path, _)| path != "/"));
        let pressure = folders.into_iter().map(|(of, folder)| {
            let before = pressure(&folder);
            PressureBefore { of, folder, before }
        });
        let mut counters = Self {
            root: root.to_path_buf(),
            began_ns: now_ns,
            machine: processor::machine(),
            disks: Vec::new(),
            pressure: pressure.collect(),
            limits: LimitReadings::default(),
            last_limits: (LimitReadings::default(), now_ns),
            processes,
        };
        counters.limits = counters.limits_now(places);
        counters.watch_disks(&places.disks(), now_ns);
        counters
    }

    /// Looks at these disks too from now on.
    pub(crate) fn watch_disks(&mut self, disks: &[String], now_ns: u64) {
        for disk in disks {
            if !self.disks.iter().any(|(known, _, _)| known == disk) {
                self.disks.push((disk.clone(), DeviceCounters::of(std::slice::from_ref(disk)), now_ns));
            }
        }
    }

    fn limits_now(&self, places: &Places) -> LimitReadings {
        LimitReadings::of_all(places.root(), places.mounts(), &self.processes)
    }

    /// Whether a control group limits the requests of the subject.
    pub(crate) fn limits_disks(&self) -> bool {
        self.limits.limits_disks()
    }

    /// Processor time of the machine since the beginning.
    pub(crate) fn machine(&self) -> Vec<CpuTimes> {
        processors_since(&processor::machine(), &self.machine)
    }

    /// What the disks did since each was first looked at.
    pub(crate) fn disks(&self, now_ns: u64) -> Vec<DeviceUse> {
        let since = |(name, before, from_ns): &(String, DeviceCounters, u64)| {
            let now = DeviceCounters::of(std::slice::from_ref(name));
            now.since(before, now_ns.saturating_sub(*from_ns))
        };
        self.disks.iter().flat_map(since).collect()
    }

    /// The disks whose counters tell nothing: they are switched off, or stand still.
    pub(crate) fn uncounted(&self, now_ns: u64) -> Vec<String> {
        let known = self.disks(now_ns);
        let names = self.disks.iter().map(|(name, _, _)| name);
        names.filter(|name| !known.iter().any(|disk| disk.name == **name)).cloned().collect()
    }

    /// Time that tasks waited since the beginning.
    pub(crate) fn pressure(&self) -> Vec<Pressure> {
        let since = |one: &PressureBefore| -> Vec<Pressure> {
            let grown = |now: PressureTime| {
                let before = one.before.iter().find(|before| before.resource == now.resource)?;
                Some(Pressure {
                    of: one.of.clone(),
                    some_ns: now.some_ns.saturating_sub(before.some_ns),
                    full_ns: now.full_ns.zip(before.full_ns).map(|(now, before)| now.saturating_sub(before)),
                    resource: now.resource,
                })
            };
            pressure(&one.folder).into_iter().filter_map(grown).collect()
        };
        self.pressure.iter().flat_map(since).collect()
    }

    /// Whether the processes whose limits are told of are there, and have not ended.
    fn are_there(&self) -> bool {
        self.processes.iter().all(|pid| task(&self.root, *pid, *pid).is_some_and(|task| task.exists))
    }

    /// Looks at the limits that there were in the beginning, for when processes have ended.
    pub(crate) fn look_at_limits(&mut self, places: &Places, now_ns: u64) {
        if self.limits.is_empty() {
            return;
        }
        let now = self.limits_now(places);
        // What was read while one ended may lack some.
        if self.are_there() {
            self.last_limits = (now, now_ns);
        }
    }

    /// What was used of the limits since the beginning, or until they were looked at last if their processes have ended.
    pub(crate) fn limits(&self, places: &Places, now_ns: u64) -> Vec<GroupLimit> {
        let span_ns = |at_ns: u64| at_ns.saturating_sub(self.began_ns);
        let mut told = self.limits_now(places).since(&self.limits, span_ns(now_ns));
        // Version 2 tells the groups of a process until its parent has waited for it.
        if self.are_there() {
            return told;
        }
        let (last, at_ns) = &self.last_limits;
        for limit in last.since(&self.limits, span_ns(*at_ns)) {
            let is_it =
                |one: &GroupLimit| (&one.file, &one.limits, &one.disk) == (&limit.file, &limit.limits, &limit.disk);
            if !told.iter().any(is_it) {
                told.push(limit);
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_pressure_are_those_of_the_whole_group() {
        let base = tempfile::tempdir().unwrap();
        let lay = |path: &str, text: &str| {
            let path = base.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let waited = |us: u64| format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={us}\n");
        lay("proc/self/mountinfo", "30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        for (pid, group) in [(7, "pause"), (8, "db"), (9, "db")] {
            lay(&format!("proc/{pid}/cgroup"), &format!("0::/pods/pod/{group}\n"));
        }
        lay("sys/fs/cgroup/pods/pod/db/memory.max", "1000000\n");
        lay("sys/fs/cgroup/pods/pod/db/memory.current", "999999\n");
        // One for all of the group, and one for some of it.
        lay("sys/fs/cgroup/pods/pod/cpu.max", "200000 100000\n");
        lay("sys/fs/cgroup/pods/pod/db/cpu.max", "50000 100000\n");
        lay("sys/fs/cgroup/pods/pod/pause/memory.pressure", &waited(0));
        lay("sys/fs/cgroup/pods/pod/memory.pressure", &waited(10));
        let whose = one_of_each_group(base.path(), [7, 8, 9].into_iter());
        assert_eq!(whose, [7, 8]);
        let places = Places::new(base.path());
        let begin = |watched| Counters::begin(base.path(), &places, whose.clone(), watched, 0);
        let of_group = begin(Some(Path::new("/sys/fs/cgroup/pods/pod")));
        let of_processes = begin(None);
        lay("sys/fs/cgroup/pods/pod/memory.pressure", &waited(25));
        for (counters, expected) in [(&of_group, ("/pods/pod", 15_000)), (&of_processes, ("/pods/pod/pause", 0))] {
            let told = counters.pressure();
            let own: Vec<(&str, u64)> =
                told.iter().filter(|one| one.of != "machine").map(|one| (one.of.as_str(), one.some_ns)).collect();
            assert_eq!(own, [expected]);
            let limits = counters.limits(&places, 1_000_000_000);
            let limits: Vec<(&str, f64)> = limits.iter().map(|one| (one.file.as_str(), one.limit)).collect();
            assert_eq!(
                limits,
                [("/sys/fs/cgroup/pods/pod/cpu.max", 2.0), ("/sys/fs/cgroup/pods/pod/db/memory.max", 1e6)]
            );
        }
    }
}
