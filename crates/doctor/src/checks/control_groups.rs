//! Checks what control groups take from this process: rates of disks, weights, memory, processors.

use halfpower_probe::{Disk, Group, Limit, Limits, limits, own_groups};
use halfpower_record::Basis;
use halfpower_spec::Bytes;

use crate::check::Check;
use crate::outcome::{Finding, Look, above_bytes, above_requests, all, computed, only_if};
use crate::{Outcome, Place};

const DOCS: &str = "https://docs.kernel.org/admin-guide/cgroup-v2.html; \
                    https://docs.kernel.org/admin-guide/cgroup-v1/blkio-controller.html";

pub(crate) const RATE: Check = Check {
    code: "cgroup-io-limit",
    title: "Control group's limit of I/O",
    reads: &["/proc/self/cgroup", "io.max, io.cost.qos, io.cost.model, blkio.throttle.* of this group and those above"],
    applies: "processes in a control group that limits a disk or volume of the path",
    costs: "All above the limit, which is shown.",
    source: DOCS,
    change: "`echo 'MAJOR:MINOR rbps=max wbps=max riops=max wiops=max' > .../io.max`, and back with the old line.",
    look: rates,
};

fn rates(place: &Place) -> Vec<Outcome> {
    let known = limits(&place.root, &place.mounts);
    let volumes = place.stack.volumes.iter().map(|volume| &volume.disk);
    let devices: Vec<&Disk> = volumes.chain(&place.stack.disks).collect();
    if devices.is_empty() {
        return vec![Outcome::NotApplicable];
    }
    let mut outcomes = vec![Outcome::Fine];
    for disk in devices {
        let Some(found) = disk.number(&place.root).and_then(|number| known.get(&number)) else { continue };
        outcomes.extend(all(limits_of(disk, found)));
    }
    outcomes
}

fn limits_of(disk: &Disk, limits: &Limits) -> Vec<Look> {
    let finding = |limit: &Limit, what: String| {
        let (file, value) = limit.source.split_once(" of ").unwrap_or((&limit.source, ""));
        let value = format!("{} ({value})", limit.most);
        let finding = Finding::warn(&disk.name, what).saw(file, value);
        match file {
            "io.max" => finding.change(format!("raise it in {}", limit.source)),
            _ => finding.change(format!("raise {}", limit.source)),
        }
    };
    let bytes = |limit: &Option<Limit>, of: &str| {
        let limit = limit.as_ref()?;
        let what = format!("a control group allows {:.1} MB/s of {of}", limit.most / 1e6);
        Some(finding(limit, what).costs(above_bytes(limit.most, of, "the limit")).end())
    };
    let requests = |limit: &Option<Limit>, of: &str| {
        let limit = limit.as_ref()?;
        let what = format!("a control group allows {:.0} {of} a second", limit.most);
        let cost = above_requests(limit.most, of, Basis::Computed("the limit".to_string()));
        Some(finding(limit, what).costs(cost).end())
    };
    let found = [
        bytes(&limits.read_bps, "reads"),
        bytes(&limits.write_bps, "writes"),
        requests(&limits.read_iops, "reads"),
        requests(&limits.write_iops, "writes"),
    ];
    found.into_iter().flatten().collect()
}

pub(crate) const WEIGHT: Check = Check {
    code: "cgroup-io-weight",
    title: "Control group's weight",
    reads: &["io.weight and io.bfq.weight of this group and those above"],
    applies: "processes in a control group of version 2 with a weight",
    costs: "A weight below 100 gets less than others where disks are full. It works with the scheduler bfq or \
            io.cost alone. Unknown: it depends on what the others do.",
    source: DOCS,
    change: "`echo 'default 100' > .../io.weight`, and back with the old weight.",
    look: |place| {
        let groups = own_groups(&place.root, &place.mounts, "io");
        all(groups
            .iter()
            .filter(|group| group.is_second_version)
            .flat_map(|group| ["io.weight", "io.bfq.weight"].map(|file| weight(place, group, file))))
    },
};

fn weight(place: &Place, group: &Group, file: &str) -> Look {
    only_if(!place.stack.disks.is_empty())?;
    let path = group.folder.join(file).display().to_string();
    let text = place.fact(&path)?;
    let default = text.lines().find_map(|line| line.strip_prefix("default")).unwrap_or(&text).trim();
    match default.parse::<u32>() {
        Ok(weight) if weight < 100 => {
            Finding::warn(&group.path, format!("its weight for disks is {weight}, others have 100"))
                .saw(&path, weight)
                .set(&path, "default 100", &format!("default {weight}"))
                .end()
        }
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const MEMORY: Check = Check {
    code: "cgroup-memory",
    title: "Control group's memory",
    reads: &["memory.max, memory.high, memory.limit_in_bytes of this group and those above"],
    applies: "processes in a control group that limits memory below the machine's",
    costs: "The page cache of this process counts towards the limit, so files larger than it are read from the disk \
            again. Unknown: it depends on the files. Direct I/O does not feel it.",
    source: DOCS,
    change: "`echo max > .../memory.high` (or memory.max), and back with the old figure.",
    look: |place| all([memory(place)]),
};

fn memory(place: &Place) -> Look {
    only_if(!place.is_in_memory())?;
    let groups = own_groups(&place.root, &place.mounts, "memory");
    only_if(!groups.is_empty())?;
    let limit = |group: &Group| -> Option<(u64, String)> {
        let files: &[&str] =
            if group.is_second_version { &["memory.max", "memory.high"] } else { &["memory.limit_in_bytes"] };
        let read = |file: &&str| {
            let path = group.folder.join(file).display().to_string();
            Some((place.number::<u64>(&path)?, path))
        };
        files.iter().filter_map(read).min()
    };
    let least = groups.iter().filter_map(limit).min();
    let Some((bytes, path)) = least.filter(|(bytes, _)| *bytes < place.machine.memory.0) else {
        return Ok(Outcome::Fine);
    };
    let what = format!("a control group allows {} of memory, page cache included", Bytes(bytes));
    let endless = if path.ends_with("limit_in_bytes") { "-1" } else { "max" };
    Finding::warn("", what).saw(&path, bytes).set(&path, endless, &bytes.to_string()).end()
}

pub(crate) const PROCESSORS: Check = Check {
    code: "cgroup-processors",
    title: "Control group's processors",
    reads: &["cpu.max, cpu.cfs_quota_us of this group and those above"],
    applies: "every machine",
    costs: "Where requests need more processor time than the quota, they wait for the next period: computed from the \
            quota.",
    source: DOCS,
    change: "`echo max > .../cpu.max`, and back with the old line.",
    look: |place| all([processors(place)]),
};

fn processors(place: &Place) -> Look {
    let cpus = f64::from(place.machine.cpus);
    let Some(quota) = place.machine.cpu_quota else { return Ok(Outcome::Fine) };
    only_if(cpus > 0.0)?;
    Finding::warn("", format!("a control group allows {quota:.2} of {cpus:.0} processors"))
        .saw("cpu.max", format!("{quota:.2}"))
        .costs(computed(0.0, 1.0 - quota / cpus, "processor time", format!("{quota:.2} of {cpus:.0} processors")))
        .change("raise cpu.max (or cpu.cfs_quota_us) of the group in /proc/self/cgroup")
        .end()
}
