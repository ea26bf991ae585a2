//! Reads what counters tell of a watch: limits, processors, memory, disks.

use halfpower_record::{Cause, CpuTimes, DeviceUse, GroupLimit, Latency, Watched, WatchedPlace};

use super::groups::Gathered;
use super::parts::{OperationGroup, WatchCounters, WatchDisk, WatchOther};
use super::seconds::mbps;
use super::stop::WatchStop;
use super::thresholds::{AT_LIMIT, FEWEST_OPERATIONS, FULL_PROCESSOR, FULL_THREAD};
use crate::mean::quotient;

/// What was watched, with what all groups share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene<'a> {
    pub watched: &'a Watched,
    /// Share of the time with at least one operation in progress, at most; 1 if nothing was traced.
    pub busy_share: f64,
    pub others: &'a [WatchOther],
}

impl<'a> Scene<'a> {
    fn span_ns(&self) -> f64 {
        self.watched.span_ns as f64
    }

    /// Share of the kernel's events that were lost.
    pub fn lost_share(&self) -> f64 {
        let lost = self.watched.cost.lost_events as f64;
        quotient(lost, lost + self.watched.cost.events as f64)
    }

    /// How many times as long as its quickest requests the device takes for the application's of this group's direction; `None`
    /// if too few were seen.
    pub fn slower_inside(&self, group: &Gathered<'_>) -> Option<f64> {
        let writes = group.group != OperationGroup::Reads;
        let own = self.watched.requests.iter().filter(|one| one.own == Some(true) && one.writes == writes);
        let mut device = Latency::default();
        own.for_each(|one| device.merge(&one.device));
        let quickest = device.quantile_ns(0.05) as f64;
        (device.count() >= FEWEST_OPERATIONS && quickest > 0.0).then(|| device.mean_ns() / quickest)
    }

    /// Share of the time that the application asks for nothing.
    pub fn think_share(&self) -> f64 {
        1.0 - self.busy_share
    }

    /// The limit on reads or writes that is used up, if there is one; the one that is used most.
    pub fn rate_limit(&self, direction: &str, disks: &[String]) -> Option<WatchStop> {
        let of_volume = |limit: &GroupLimit| {
            let above = |place: &&WatchedPlace| place.disks.iter().any(|disk| disks.contains(disk));
            self.watched.places.iter().filter(above).any(|place| place.volumes.contains(&limit.disk))
        };
        let holds = |limit: &&GroupLimit| {
            let of_all = limit.disk.is_empty() || disks.is_empty();
            let of_disk = of_all || disks.contains(&limit.disk) || of_volume(limit);
            of_disk && limit.limits.starts_with(direction) && used_share(limit) >= AT_LIMIT
        };
        let limits = self.watched.group_limits.iter().filter(holds);
        let most = limits.max_by(|one, other| used_share(one).total_cmp(&used_share(other)))?;
        Some(WatchStop::GroupLimit {
            file: most.file.clone(),
            limits: most.limits.clone(),
            disk: most.disk.clone(),
            limit: most.limit,
            used: most.used,
            share: used_share(most),
        })
    }

    /// The processor quota that holds the application up most, with the share of the time that it does.
    pub fn quota(&self) -> Option<(f64, WatchStop)> {
        let quotas = self.watched.group_limits.iter().filter(|limit| limit.limits == "cpu_quota" && limit.limit > 0.0);
        let held = |limit: &GroupLimit| {
            let counted = limit.held_ns.map(|ns| quotient(ns as f64, self.span_ns()).min(1.0));
            // Where nobody counts the time, a quota that is used up held it for some of it.
            (counted.unwrap_or_else(|| if used_share(limit) >= AT_LIMIT { 1.0 } else { 0.0 }), counted)
        };
        let most = quotas.max_by(|one, other| held(one).0.total_cmp(&held(other).0))?;
        let (share, held_share) = held(most);
        let stop =
            WatchStop::ProcessorQuota { file: most.file.clone(), limit: most.limit, used: most.used, held_share };
        Some((share, stop))
    }

    /// The thread that fills a processor.
    pub fn one_processor(&self) -> Option<WatchStop> {
        let busy_share = quotient(self.watched.processors.busiest_thread_ns as f64, self.span_ns()).min(1.0);
        (busy_share >= FULL_THREAD).then_some(WatchStop::OneProcessor { busy_share })
    }

    /// Full processors of the machine, and all of them.
    pub fn full_processors(&self) -> (usize, usize) {
        let machine = &self.watched.processors.machine;
        let is_full = |times: &&CpuTimes| {
            let all = times.busy_ns() as f64 + times.steal_ns as f64 + times.idle_ns as f64;
            all > 0.0 && 1.0 - times.idle_ns as f64 / all >= FULL_PROCESSOR
        };
        (machine.iter().filter(is_full).count(), machine.len())
    }

    /// Share of the watch that its threads were ready and waited for a processor; `None` if the kernel does not count it.
    pub fn run_queue_share(&self) -> Option<f64> {
        let ns = self.watched.processors.run_queue_ns?;
        Some(quotient(ns as f64, self.span_ns()).min(1.0))
    }

    /// Share of the processors' time that a hypervisor takes.
    pub fn steal_share(&self) -> f64 {
        let machine = &self.watched.processors.machine;
        let steal: f64 = machine.iter().map(|times| times.steal_ns as f64).sum();
        let all: f64 = machine.iter().map(|times| times.busy_ns() as f64 + times.idle_ns as f64).sum();
        quotient(steal, steal + all)
    }

    /// Share of the time that some task waited for this resource: the application's group, or else the machine; `None` if
    /// the kernel does not tell.
    pub fn pressure(&self, resource: &str) -> Option<f64> {
        let of = |own: bool| {
            let all = self.watched.pressure.iter().filter(|one| one.resource == resource);
            all.filter(|one| (one.of != "machine") == own).map(|one| one.some_ns).max()
        };
        of(true).or_else(|| of(false)).map(|ns| quotient(ns as f64, self.span_ns()).min(1.0))
    }

    /// Share of the application's reads, in bytes, that fetch pages which were taken from processes; `None` if nothing was
    /// traced.
    pub fn paging_share(&self) -> Option<f64> {
        let all = self.read_bytes(|_| true);
        (all > 0.0).then(|| self.read_bytes(|cause| cause == Cause::Paging) / all)
    }

    /// Bytes that the application read from disks in the traced time, for these causes.
    fn read_bytes(&self, is_meant: impl Fn(Cause) -> bool) -> f64 {
        let reads = self.watched.requests.iter().filter(|one| !one.writes && one.own != Some(false));
        reads.filter(|one| is_meant(one.cause)).map(|one| one.bytes as f64).sum()
    }

    /// Share of the application's reads, in bytes, that fetch what a full limit on its memory had taken from it; `None` if
    /// there is no such limit, or nobody counts them.
    pub fn read_again_share(&self) -> Option<f64> {
        let again = self.full_memory()?.read_again_bytes?;
        let read = quotient(self.read_bytes(|_| true), self.watched.traced_ns as f64);
        (read > 0.0).then(|| quotient(quotient(again as f64, self.span_ns()), read).min(1.0))
    }

    /// A limit on the application's memory that is nearly used up.
    fn full_memory(&self) -> Option<&'a GroupLimit> {
        let mut limits = self.watched.group_limits.iter().filter(|limit| limit.limits == "memory");
        limits.find(|limit| used_share(limit) >= AT_LIMIT)
    }

    /// The file of that limit.
    pub fn memory_limit(&self) -> Option<String> {
        self.full_memory().map(|limit| limit.file.clone())
    }

    /// The disks beneath the places that a group uses; empty if not known.
    pub fn disks_of(&self, group: &Gathered<'_>) -> Vec<String> {
        let mut disks: Vec<String> = Vec::new();
        for place in group.members.iter().filter_map(|one| self.watched.places.get(one.place?)) {
            for disk in &place.disks {
                if !disks.contains(disk) {
                    disks.push(disk.clone());
                }
            }
        }
        disks
    }

    /// The busiest of these disks, or of all if none is named.
    pub fn busiest(&self, disks: &[String]) -> Option<&'a DeviceUse> {
        let of = self.watched.disks.iter().filter(|disk| disks.is_empty() || disks.contains(&disk.name));
        of.filter(|disk| disk.span_ns > 0).max_by(|one, other| one.busy_share().total_cmp(&other.busy_share()))
    }
}

/// What counters tell of the whole watch.
pub(super) fn counters(scene: &Scene<'_>) -> WatchCounters {
    let watched = scene.watched;
    let span_ns = scene.span_ns();
    let cost_ns = watched.cost.processor_ns as f64 + watched.cost.recording_ns as f64;
    let told = if watched.bytes_unseen { &[] } else { watched.seconds.as_slice() };
    WatchCounters {
        cost_share: quotient(cost_ns, span_ns),
        lost_share: scene.lost_share(),
        processors: quotient(watched.processors.own_ns as f64, span_ns),
        run_queue_share: scene.run_queue_share(),
        block_io_share: watched.processors.block_io_ns.map(|ns| quotient(ns as f64, span_ns)),
        pressure_io_share: scene.pressure("io"),
        pressure_cpu_share: scene.pressure("cpu"),
        pressure_memory_share: scene.pressure("memory"),
        steal_share: scene.steal_share(),
        own_mbps: mbps(told, watched.span_ns, |second| second.own_bytes),
        other_mbps: mbps(told, watched.span_ns, |second| second.other_bytes).filter(|_| knows_others(watched)),
    }
}

/// Share of a limit that was used; 0 for no limit.
pub(super) fn used_share(limit: &GroupLimit) -> f64 {
    quotient(limit.used, limit.limit)
}

/// Mean number of requests in progress while at least one was.
pub(super) fn depth_while_busy(disk: &DeviceUse) -> f64 {
    quotient(disk.in_queue_ms as f64, disk.busy_ms as f64)
}

/// Whether what others moved was counted: by events, or by the counters of every disk that the subject uses.
pub(super) fn knows_others(watched: &Watched) -> bool {
    let is_counted = |disk: &String| watched.disks.iter().any(|counted| counted.name == *disk);
    let are_counted = watched.places.iter().flat_map(|place| &place.disks).all(is_counted);
    watched.traced_ns > 0 || are_counted && !may_write_twice(watched)
}

/// Whether what is written may go to several disks, as on a mirror: these then write more than anybody gave them.
fn may_write_twice(watched: &Watched) -> bool {
    /// Share of the bytes that are written, up to which twice as many change little.
    const HARDLY: f64 = 0.05;
    let is_one_of_several = |disk: &&DeviceUse| {
        watched.places.iter().any(|place| place.disks.len() > 1 && place.disks.contains(&disk.name))
    };
    let disks = || watched.disks.iter().filter(is_one_of_several);
    let written: f64 = disks().map(|disk| disk.writes.sectors as f64).sum();
    let read: f64 = disks().map(|disk| disk.reads.sectors as f64).sum();
    quotient(written, written + read) > HARDLY
}

/// The disks as a whole.
pub(super) fn disks(watched: &Watched) -> Vec<WatchDisk> {
    let a_second = |disk: &DeviceUse, what: u64| quotient(what as f64 * 1e9, disk.span_ns as f64);
    let of = |disk: &DeviceUse| WatchDisk {
        name: disk.name.clone(),
        busy_share: disk.busy_share(),
        depth_while_busy: depth_while_busy(disk),
        iops: a_second(disk, disk.reads.ios.saturating_add(disk.writes.ios)),
        mbps: a_second(disk, disk.bytes()) / 1e6,
    };
    watched.disks.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use halfpower_record::DeviceRequests;

    use super::*;

    #[test]
    fn what_others_wrote_beneath_a_mirror_is_not_known_by_counters() {
        let moved = |sectors| DeviceRequests { sectors, ..DeviceRequests::default() };
        let disk = |name: &str, written| DeviceUse {
            name: name.to_string(),
            reads: moved(1000),
            writes: moved(written),
            busy_ms: 1,
            in_queue_ms: 1,
            span_ns: 1_000_000_000,
        };
        let knows = |names: &[&str], written, traced_ns| {
            let disks = names.iter().map(|name| (*name).to_string()).collect();
            let place =
                WatchedPlace { path: "/srv".into(), file_system: "ext4".into(), disks, volumes: vec!["md0".into()] };
            let disks = names.iter().map(|name| disk(name, written)).collect();
            knows_others(&Watched { places: vec![place], disks, traced_ns, ..Watched::default() })
        };
        assert!(!knows(&["sda", "sdb"], 500, 0), "each byte may be there twice");
        assert!(knows(&["sda", "sdb"], 10, 0), "it hardly writes");
        assert!(knows(&["sda"], 500, 0) && knows(&["sda", "sdb"], 500, 1));
    }
}
