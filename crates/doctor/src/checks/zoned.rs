//! Checks whether a disk is zoned, which changes how it may be written.

use halfpower_probe::Disk;
use halfpower_spec::Bytes;

use crate::check::Check;
use crate::outcome::{Finding, Look};
use crate::place::queue;
use crate::{Outcome, Place};

pub(crate) const ZONED: Check = Check {
    code: "zoned",
    title: "Zoned disk",
    reads: &["/sys/block/DISK/queue/{zoned,chunk_sectors,max_open_zones}"],
    applies: "disks with a request queue",
    costs: "A host-managed disk takes writes at the end of each zone's data alone; a host-aware one rearranges \
            others by itself, which takes long once its cache is full. Unknown; a note, as it is the disk's nature.",
    source: "https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block, zoned); https://zonedstorage.io",
    change: "Use a file system that knows zones (f2fs, btrfs, xfs).",
    look: |place| place.each_disk(zoned),
};

fn zoned(place: &Place, disk: &Disk) -> Look {
    let file = queue(disk, "zoned");
    let kind = place.fact(&file)?;
    if kind == "none" {
        return Ok(Outcome::Fine);
    }
    let zone = place.number::<u64>(queue(disk, "chunk_sectors")).unwrap_or(0).saturating_mul(512);
    Finding::note(&disk.name, format!("a {kind} disk with zones of {}", Bytes(zone))).saw(&file, &kind).end()
}
