//! Reads the counters of machine, disks, pressure and limits when a watch begins, and what became of them since.

use std::path::{Path, PathBuf};

use halfpower_os::processor::{self, Times};
use halfpower_os::tasks::{PressureTime, pressure, task};
use halfpower_record::{CpuTimes, DeviceUse, GroupLimit, Pressure};
use halfpower_witness::{DeviceCounters, processors_since};

use super::places::Places;
use crate::groups::{LimitReadings, unified};

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
    /// The limits when they were looked at last, and when that was: once the process has ended, nothing tells its groups.
    last_limits: (LimitReadings, u64),
    /// The process whose control groups are told of.
    process: Option<u32>,
}

impl Counters {
    /// Reads them now. The control groups are those of this process.
    pub(crate) fn begin(root: &Path, places: &Places, process: Option<u32>, now_ns: u64) -> Self {
        let mut folders = vec![("machine".to_string(), root.join("proc/pressure"))];
        let group = process.and_then(|process| unified(places.root(), places.mounts(), process));
        folders.extend(group.map(|(path, folder)| (path, root.join(folder))).filter(|(path, _)| path != "/"));
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
            process,
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
        let limits = |process| LimitReadings::of(places.root(), places.mounts(), process);
        self.process.map(limits).unwrap_or_default()
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

    /// Whether the process whose limits are told of is there, and has not ended.
    fn is_there(&self) -> bool {
        self.process.and_then(|process| task(&self.root, process, process)).is_some_and(|task| task.exists)
    }

    /// Looks at the limits that there were in the beginning, for when the process has ended.
    pub(crate) fn look_at_limits(&mut self, places: &Places, now_ns: u64) {
        if self.limits.is_empty() {
            return;
        }
        let now = self.limits_now(places);
        // What was read while it ended may lack some.
        if self.is_there() {
            self.last_limits = (now, now_ns);
        }
    }

    /// What was used of the limits since the beginning, or until they were looked at last if the process has ended.
    pub(crate) fn limits(&self, places: &Places, now_ns: u64) -> Vec<GroupLimit> {
        let span_ns = |at_ns: u64| at_ns.saturating_sub(self.began_ns);
        let told = self.limits_now(places).since(&self.limits, span_ns(now_ns));
        // Version 2 tells the groups of a process until its parent has waited for it.
        if !told.is_empty() || self.is_there() {
            return told;
        }
        let (last, at_ns) = &self.last_limits;
        last.since(&self.limits, span_ns(*at_ns))
    }
}
