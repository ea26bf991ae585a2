//! Checks the write cache of disks, and whether the kernel knows its position.

use halfpower_probe::Disk;

use crate::blocks_below::name;
use crate::check::Check;
use crate::outcome::{Finding, Look, only_if};
use crate::place::{OF_HOSTS, missed, queue, short};
use crate::{Outcome, Place};

const BARRIER: &str = "https://docs.kernel.org/block/writeback_cache_control.html";
pub(crate) const ON: &str = "write back";
pub(crate) const OFF: &str = "write through";

pub(crate) const CACHE: Check = Check {
    code: "write-cache",
    title: "Write cache of the disk",
    reads: &[
        "/sys/block/DISK/queue/write_cache",
        "/sys/block/DISK/device/scsi_disk/*/cache_type",
        "/sys/block/DISK/cache_type (virtio)",
        "feature 6 of an NVMe controller (root)",
    ],
    applies: "SATA, SAS, USB, virtual and NVMe disks",
    costs: "With the cache off, each write waits for the medium: the cost is unknown until it is measured, and large \
            on hard disks. If the kernel takes a cache that is on for off, it sends no flushes, and durable writes \
            are lost with the power. A RAID card or an array that keeps its cache through a loss of power reports it \
            as off, and for a virtual disk the host decides, so there it is a note.",
    source: "https://docs.kernel.org/block/writeback_cache_control.html",
    change: "`echo 'write back' > .../cache_type`, and back with `write through`; for NVMe `nvme set-feature -f 6 -V \
            1 DEVICE`; not for arrays and virtual disks.",
    look: |place| place.each_disk(cache),
};

/// The file with the position of the disk's own cache, as the driver reports it.
pub(crate) fn own_switch(place: &Place, disk: &Disk) -> Option<String> {
    let virtio = format!("{}/cache_type", short(disk));
    if place.root.exists(&virtio) {
        return Some(virtio);
    }
    let folder = format!("{}/device/scsi_disk", short(disk));
    let first = place.root.names(&folder).into_iter().next()?;
    Some(format!("{folder}/{first}/cache_type"))
}

fn cache(place: &Place, disk: &Disk) -> Look {
    let believed_at = queue(disk, "write_cache");
    let believed = place.fact(&believed_at)?;
    if disk.name.starts_with("nvme") {
        return of_nvme(place, disk, &believed_at, &believed);
    }
    let Some(switch) = own_switch(place, disk) else { return Err(Outcome::NotApplicable) };
    let own = place.fact(&switch)?;
    if own.starts_with(ON) && believed == OFF {
        return ignored(disk).saw(&switch, &own).saw(&believed_at, &believed).set(&believed_at, ON, OFF).end();
    }
    if !own.starts_with(OFF) {
        return Ok(Outcome::Fine);
    }
    let finding = match Keeper::of(place, disk) {
        Keeper::Disk => Finding::warn(&disk.name, "the write cache of the disk is off").set(&switch, ON, OFF),
        Keeper::Card => {
            Finding::note(&disk.name, "its RAID card reports that writes wait for the disks").set(&switch, ON, OFF)
        }
        // What others decide is not to be switched from here.
        Keeper::Array => Finding::note(&disk.name, "the array reports that it keeps what it has taken"),
        Keeper::Host => Finding::note(&disk.name, "the host writes each request through"),
    };
    finding.saw(&switch, &own).end()
}

/// Whose cache a disk reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// Its own.
    Disk,
    /// That of a RAID card.
    Card,
    /// That of an array on a network.
    Array,
    /// That of a hypervisor's host.
    Host,
}

impl Keeper {
    /// Of a disk with a switch of SCSI or virtio. What is neither a disk of its own nor elsewhere is behind a RAID card; in a
    /// virtual machine the card is one of the host's, such as VMware's pvscsi.
    pub(crate) fn of(place: &Place, disk: &Disk) -> Self {
        match place.transport(disk).unwrap_or_default().as_str() {
            "fc" | "iscsi" => Self::Array,
            "scsi" if place.guest.is_some() => Self::Host,
            "scsi" => Self::Card,
            of_host if OF_HOSTS.contains(&of_host) => Self::Host,
            _ => Self::Disk,
        }
    }
}

fn ignored(disk: &Disk) -> Finding {
    Finding::bad(&disk.name, "the disk has a write cache, and the kernel sends it no flushes: durable writes are not")
}

fn of_nvme(place: &Place, disk: &Disk, believed_at: &str, believed: &str) -> Look {
    if believed == ON {
        return Ok(Outcome::Fine);
    }
    let asked = "feature 6 of the controller";
    let unread = |missing| {
        missed(&missing, std::path::Path::new(&format!("dev/{}: {asked}", disk.name)), Outcome::NotApplicable)
    };
    match place.root.write_cache(&disk.sys).map_err(unread)?.as_str() {
        ON => ignored(disk).saw(asked, "1 (on)").saw(believed_at, believed).set(believed_at, ON, OFF).end(),
        OFF => Finding::warn(&disk.name, "the write cache of the drive is off")
            .saw(asked, "0 (off)")
            .change(format!("nvme set-feature -f 6 -V 1 /dev/{}", name(&disk.sys)))
            .back(format!("nvme set-feature -f 6 -V 0 /dev/{}", name(&disk.sys)))
            .end(),
        // It has none, as drives that keep their cache through a loss of power.
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const FORCE: Check = Check {
    code: "forced-writes",
    title: "Writes that pass the cache (FUA)",
    reads: &["/sys/block/DISK/queue/{fua,write_cache}"],
    applies: "disks with a write cache that is on",
    costs: "Without FUA each durable write is followed by a flush of the whole cache. Unknown; a note: most SATA \
            disks have none, or Linux does not use it.",
    source: BARRIER,
    change: "For SATA `libata.fua=1` on the kernel's command line, where the disk does it right.",
    look: |place| place.each_disk(force),
};

fn force(place: &Place, disk: &Disk) -> Look {
    only_if(place.fact(queue(disk, "write_cache"))? == ON)?;
    let file = queue(disk, "fua");
    match place.figure::<u32>(&file)? {
        0 => Finding::note(&disk.name, "each durable write flushes the whole cache (no FUA)").saw(&file, 0).end(),
        _ => Ok(Outcome::Fine),
    }
}
