//! Checks NVMe controllers: their state, power saving, the format of their blocks, and the paths to shared drives.

use std::path::Path;

use halfpower_probe::Disk;

use crate::blocks_below::{controllers, name};
use crate::check::Check;
use crate::outcome::{Finding, Look, all, computed, delay, only_if};
use crate::place::{named, queue};
use crate::{Outcome, Place};

pub(crate) const STATE: Check = Check {
    code: "nvme-state",
    title: "State of NVMe controllers",
    reads: &["/sys/class/nvme/nvmeN/state"],
    applies: "NVMe disks",
    costs: "A controller that is not live serves nothing: requests wait, or go by the other paths. Unknown.",
    source: "https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-class-nvme)",
    change: "`nvme reset /dev/nvmeN`; over a network look at the connection.",
    look: |place| {
        place
            .real_disks()
            .flat_map(|disk| all(controllers(&place.root, disk).iter().map(|it| state(place, it))))
            .collect()
    },
};

fn state(place: &Place, controller: &Path) -> Look {
    let state = place.fact(controller.join("state"))?;
    if state == "live" {
        return Ok(Outcome::Fine);
    }
    let at = named(controller);
    Finding::bad(&at, format!("the controller is {state}"))
        .saw(&format!("sys/class/nvme/{at}/state"), &state)
        .change(format!("nvme reset /dev/{at}"))
        .end()
}

pub(crate) const SLEEP: Check = Check {
    code: "nvme-power",
    title: "NVMe power saving (APST)",
    reads: &["/sys/class/nvme/nvmeN/power/pm_qos_latency_tolerance_us"],
    applies: "NVMe drives that save power by themselves",
    costs: "After a pause the drive sleeps in states that take up to this long to leave: the first request after a \
            pause waits. The tolerance is the bound. A note: the usual value is 100 ms.",
    source: "https://docs.kernel.org/admin-guide/kernel-parameters.html (nvme_core.default_ps_max_latency_us)",
    change: "`echo 0 > /sys/class/nvme/nvmeN/power/pm_qos_latency_tolerance_us`, and back with the old figure.",
    look: |place| {
        place
            .real_disks()
            .flat_map(|disk| all(controllers(&place.root, disk).iter().map(|it| sleep(place, it))))
            .collect()
    },
};

fn sleep(place: &Place, controller: &Path) -> Look {
    let at = named(controller);
    let file = format!("sys/class/nvme/{at}/power/pm_qos_latency_tolerance_us");
    let text = place.fact(controller.join("power/pm_qos_latency_tolerance_us"))?;
    let Ok(us) = text.parse::<f64>() else { return Err(Outcome::NotApplicable) };
    if us <= 0.0 {
        return Ok(Outcome::Fine);
    }
    Finding::note(&at, "the drive sleeps between requests (APST)")
        .saw(&file, &text)
        .costs(delay(us * 1e3, "the first request after a pause", "the tolerance"))
        .try_set(&file, "0", &text)
        .end()
}

pub(crate) const FORMAT: Check = Check {
    code: "nvme-format",
    title: "Block format of NVMe drives",
    reads: &["/sys/block/DISK/queue/logical_block_size"],
    applies: "NVMe drives with blocks of 512 bytes",
    costs: "Some drives are faster when formatted to blocks of 4 KiB. Which formats a drive has, the kernel does not \
            tell.",
    source: "https://wiki.archlinux.org/title/Advanced_Format",
    change: "`nvme id-ns -H DEVICE` lists the formats; `nvme format --lbaf=N DEVICE` erases the drive.",
    look: |place| place.each_disk(format),
};

fn format(place: &Place, disk: &Disk) -> Look {
    only_if(place.is_by(disk, &["nvme"]) && place.guest.is_none())?;
    let logical: u32 = place.figure(queue(disk, "logical_block_size"))?;
    if logical >= 4096 {
        return Ok(Outcome::Fine);
    }
    Err(Outcome::untold(format!("the block formats of {0}: nvme id-ns -H /dev/{0} lists them", disk.name)))
}

/// The paths of a shared namespace: name of the path, and its state.
fn paths(place: &Place, disk: &Disk) -> Vec<(String, String)> {
    let of = |controller: &Path| -> Vec<(String, String)> {
        let names = place.root.names(controller).into_iter();
        names.filter_map(|name| Some((name.clone(), place.text(controller.join(&name).join("ana_state"))?))).collect()
    };
    controllers(&place.root, disk).iter().flat_map(|controller| of(controller)).collect()
}

pub(crate) const PATHS: Check = Check {
    code: "nvme-paths",
    title: "Paths to NVMe drives",
    reads: &["/sys/block/nvmeXcYnZ/ana_state"],
    applies: "NVMe drives with paths that report their state (ANA)",
    costs: "Paths that are not optimized are slower by as much as the array makes them; inaccessible ones carry \
            nothing. Unknown. If others are optimized, it is a note.",
    source: "https://docs.kernel.org/admin-guide/nvme-multipath.html",
    change: "Look at the array's controllers and at `nvme list-subsys`.",
    look: |place| place.each_disk(path_states),
};

fn path_states(place: &Place, disk: &Disk) -> Look {
    let found = paths(place, disk);
    only_if(!found.is_empty())?;
    let worse: Vec<&(String, String)> = found.iter().filter(|(_, state)| state != "optimized").collect();
    let Some((path, state)) = worse.first().copied().cloned() else { return Ok(Outcome::Fine) };
    let lost = worse.iter().any(|(_, state)| state != "non-optimized");
    let what = format!("{} of {} paths are not optimized", worse.len(), found.len());
    let finding = match (lost, worse.len() == found.len()) {
        (true, _) | (_, true) => Finding::bad(&disk.name, what),
        _ => Finding::note(&disk.name, what),
    };
    finding.saw(&format!("sys/class/block/{path}/ana_state"), state).change("nvme list-subsys; look at the array").end()
}

pub(crate) const POLICY: Check = Check {
    code: "nvme-path-policy",
    title: "Choice among NVMe paths",
    reads: &["/sys/class/nvme-subsystem/nvme-subsysN/iopolicy"],
    applies: "NVMe drives with several good paths",
    costs: "With numa each processor uses one path, and often all use the same: up to the share of the other paths.",
    source: "https://docs.kernel.org/admin-guide/nvme-multipath.html",
    change: "`echo round-robin > .../iopolicy` (or queue-depth), and back with numa.",
    look: |place| place.each_disk(policy),
};

fn policy(place: &Place, disk: &Disk) -> Look {
    let good = paths(place, disk).iter().filter(|(_, state)| state == "optimized").count();
    only_if(good > 1)?;
    let subsystem = disk.sys.parent().ok_or(Outcome::NotApplicable)?;
    let policy = place.fact(subsystem.join("iopolicy"))?;
    if policy != "numa" {
        return Ok(Outcome::Fine);
    }
    let file = format!("sys/class/nvme-subsystem/{}/iopolicy", name(subsystem));
    Finding::warn(&disk.name, format!("one of {good} good paths carries everything (numa)"))
        .saw(&file, &policy)
        .costs(computed(0.0, 1.0 - 1.0 / good as f64, "what the paths carry", format!("1 of {good} paths")))
        .try_set(&file, "round-robin", &policy)
        .end()
}
