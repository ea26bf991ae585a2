//! Checks NVMe controllers: their state, the format of their blocks, and the paths to shared drives.

use std::path::Path;

use halfpower_probe::{Disk, NvmeFormat, NvmeFormats, NvmePage};
use halfpower_spec::format::precise_size;

use crate::blocks_below::{controllers, name};
use crate::check::Check;
use crate::drive::{page, source};
use crate::outcome::{Finding, Look, all, computed, only_if};
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

pub(crate) const FORMAT: Check = Check {
    code: "nvme-format",
    title: "Block format of NVMe drives",
    reads: &["/sys/block/DISK/queue/logical_block_size", "Identify Namespace of the drive (root)"],
    applies: "NVMe drives; not in a virtual machine",
    costs: "The drive ranks its formats by speed, and one with larger blocks is often faster. It does not tell by how \
            much: unknown. Metadata beside each block that nobody needs take room on the link (a note).",
    source: "NVM Express NVM command set 1.0, figure 98 (relative performance); \
             https://wiki.archlinux.org/title/Advanced_Format",
    change: "`nvme id-ns -H DEVICE` lists the formats; `nvme format --lbaf=N DEVICE` erases the drive.",
    look: |place| place.each_disk(format),
};

fn format(place: &Place, disk: &Disk) -> Look {
    only_if(place.is_by(disk, &["nvme"]) && place.guest.is_none())?;
    let logical: u32 = place.figure(queue(disk, "logical_block_size"))?;
    match page(place, disk, NvmePage::Namespace, NvmeFormats::of) {
        Ok(formats) => ranked(disk, &formats),
        // Blocks of 4 KiB are the best there are.
        Err(_) if logical >= 4096 => Ok(Outcome::Fine),
        Err(unread) => Err(unread),
    }
}

fn ranked(disk: &Disk, formats: &NvmeFormats) -> Look {
    let now = formats.now;
    let lean = formats.all.iter().filter(|other| other.metadata_bytes <= now.metadata_bytes);
    let Some(best) = lean.min_by_key(|other| (other.rank, other.metadata_bytes, other.number != now.number)) else {
        return Ok(Outcome::Fine);
    };
    let shown = |format: &NvmeFormat| {
        let beside = match format.metadata_bytes {
            0 => String::new(),
            bytes => format!(" and {bytes} bytes of metadata"),
        };
        format!("{}{beside}", precise_size(format.block_bytes as f64))
    };
    let finding = if best.rank < now.rank {
        let what = format!("blocks of {}; the drive calls {} faster", shown(&now), shown(best));
        Finding::warn(&disk.name, what)
    } else if best.metadata_bytes < now.metadata_bytes {
        Finding::note(&disk.name, format!("blocks of {}; {} are as fast", shown(&now), shown(best)))
    } else {
        return Ok(Outcome::Fine);
    };
    finding
        .saw(
            &source(disk, NvmePage::Namespace),
            format!("format {} in use, {} is of rank {}", now.number, best.number, best.rank),
        )
        .change(format!("nvme format --lbaf={} /dev/{}, which erases the drive", best.number, disk.name))
        .end()
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
