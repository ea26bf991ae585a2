//! Checks whether blocks, partitions and stripes begin where those below them begin.

use std::path::Path;

use halfpower_probe::{DeviceNumber, Disk, Volume};
use halfpower_spec::Bytes;

use crate::blocks_below::Partition;
use crate::check::Check;
use crate::outcome::{Finding, Look, all, computed, only_if};
use crate::place::queue;
use crate::{Outcome, Place};

const SECTOR: u64 = 512;
/// Flash and most disks work in blocks of at least this size, whatever they report.
const USUAL_BLOCK: u64 = 4096;
/// Larger figures for the best size are nonsense of a bridge, such as 65,535 sectors.
const LARGEST_STRIPE: u64 = 64 << 20;

pub(crate) const BLOCKS: Check = Check {
    code: "block-size",
    title: "Logical and physical blocks",
    reads: &["/sys/block/DISK/queue/{logical_block_size,physical_block_size}"],
    applies: "disks with a request queue",
    costs: "A write of less than a physical block makes the disk read the block first. A note: file systems with \
            blocks of 4 KiB never do that.",
    source: "https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block)",
    change: "Use blocks of 4 KiB; some drives can be formatted to 4 KiB, which erases them.",
    look: |place| place.each_disk(blocks),
};

fn blocks(place: &Place, disk: &Disk) -> Look {
    let logical: u64 = place.figure(queue(disk, "logical_block_size"))?;
    let physical: u64 = place.figure(queue(disk, "physical_block_size"))?;
    if physical <= logical {
        return Ok(Outcome::Fine);
    }
    Finding::note(&disk.name, format!("writes below {} make the disk read first", Bytes(physical)))
        .saw(&queue(disk, "logical_block_size"), logical)
        .saw(&queue(disk, "physical_block_size"), physical)
        .end()
}

pub(crate) const SYSTEM_BLOCK: Check = Check {
    code: "file-system-block",
    title: "Blocks of the file system",
    reads: &["statvfs of the target", "/sys/block/DISK/queue/physical_block_size"],
    applies: "file systems on disks",
    costs: "Blocks smaller than the disk's physical ones make the disk read before it writes: twice the accesses for \
            one block. Smaller than 4 KiB elsewhere: unknown, a note.",
    source: "https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block)",
    change: "Make the file system anew with blocks of 4 KiB.",
    look: |place| all([system_block(place)]),
};

fn system_block(place: &Place) -> Look {
    let mount = place.mounted_as(&["ext2", "ext3", "ext4", "xfs", "f2fs"])?;
    let block = place.file_system_block();
    only_if(block > 0 && !place.stack.disks.is_empty())?;
    let physical = place.real_disks().filter_map(|disk| place.number(queue(disk, "physical_block_size"))).max();
    let subject = mount.point.display().to_string();
    let what = format!("the file system has blocks of {}", Bytes(block));
    match physical {
        Some(physical) if block < physical => {
            Finding::warn(&subject, format!("{what}, the disk of {}", Bytes(physical)))
                .saw("statvfs", block)
                .costs(computed(0.0, 0.5, "writes of one block", "a read and a write for each"))
                .change("make the file system anew with blocks of 4 KiB")
                .end()
        }
        _ if block < USUAL_BLOCK => Finding::note(&subject, what).saw("statvfs", block).end(),
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const PARTITIONS: Check = Check {
    code: "partition-alignment",
    title: "Where partitions begin",
    reads: &["/sys/block/DISK/PARTITION/{start,alignment_offset}", "/sys/block/DISK/queue/physical_block_size"],
    applies: "partitions on the path",
    costs: "A partition that does not begin at a multiple of the disk's physical block, or of 4 KiB where that is \
            larger: each block of the file system lies over two of the disk, and a small write reads and writes both. Computed: two accesses in place of one, and four where \
            they are read first.",
    source: "https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block, alignment_offset)",
    change: "Make the partition anew at a multiple of 1 MiB; its data have to be moved.",
    look: |place| all(place.partitions.iter().map(|partition| partition_start(place, partition))),
};

fn partition_start(place: &Place, partition: &Partition) -> Look {
    let file = |file: &str| format!("sys/class/block/{}/{file}", partition.name);
    let start: u64 = place.figure(file("start"))?;
    let offset = place.number::<u64>(file("alignment_offset")).unwrap_or(0);
    let folder = format!("sys/class/block/{}/queue/physical_block_size", partition.disk);
    let physical = place.number::<u64>(folder).unwrap_or(SECTOR);
    let over = physical.max(USUAL_BLOCK);
    if start.saturating_mul(SECTOR).is_multiple_of(over) && offset == 0 {
        return Ok(Outcome::Fine);
    }
    let what = format!("it begins at sector {start}, not at a multiple of {}", Bytes(over));
    let finding = if physical >= USUAL_BLOCK {
        Finding::bad(&partition.name, what)
    } else {
        Finding::warn(&partition.name, what)
    };
    let finding = finding.saw(&file("start"), start);
    let finding = if offset > 0 { finding.saw(&file("alignment_offset"), offset) } else { finding };
    let least = if physical >= USUAL_BLOCK { 0.5 } else { 0.0 };
    finding
        .costs(computed(least, 0.75, "small writes", "two blocks of the disk are written for one, or read and written"))
        .change("make the partition anew at a multiple of 1 MiB and move its data")
        .end()
}

pub(crate) const STRIPES: Check = Check {
    code: "stripe-alignment",
    title: "Where stripes begin",
    reads: &[
        "/sys/block/DISK/PARTITION/start",
        "/sys/block/DISK/queue/optimal_io_size",
        "the mapped device's table (root)",
    ],
    applies: "partitions and linear volumes on arrays and RAID cards that report a stripe",
    costs: "A request of a whole stripe lies over two: with parity both are read first. Unknown: it depends on the \
            level of the array and the size of requests.",
    source: "https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block, optimal_io_size)",
    change: "Make partition or volume anew at a multiple of the stripe (`pvcreate --dataalignment`); its data have \
            to be moved.",
    look: stripes,
};

fn stripes(place: &Place) -> Vec<Outcome> {
    let mut outcomes = all(place.partitions.iter().map(|partition| {
        let start: u64 = place.figure(format!("sys/class/block/{}/start", partition.name))?;
        let evidence = (format!("sys/class/block/{}/start", partition.name), start.to_string());
        stripe(place, &partition.name, &partition.disk, start, evidence)
    }));
    outcomes.extend(place.each_volume(linear));
    outcomes
}

fn linear(place: &Place, volume: &Volume) -> Look {
    let below = || volume.beneath.iter().filter_map(|name| Disk::by_name(&place.root, name));
    only_if(below().any(|disk| stripe_of(place, &disk.name).is_some()))?;
    let parts = place.mapping(&volume.disk)?;
    for part in &parts {
        let words: Vec<&str> = part.split_whitespace().collect();
        let ["linear", device, start] = words[..] else { continue };
        let disk = DeviceNumber::parse(device).and_then(|number| Disk::by_number(&place.root, number));
        let (Some(disk), Ok(start)) = (disk, start.parse::<u64>()) else { continue };
        let evidence = (format!("table of {}", place.mapped_name(&volume.disk)), format!("linear {device} {start}"));
        let found = stripe(place, &volume.disk.name, &disk.name, start, evidence)?;
        if found != Outcome::Fine {
            return Ok(found);
        }
    }
    Ok(Outcome::Fine)
}

/// The stripe that a device reports, if it makes sense.
fn stripe_of(place: &Place, disk: &str) -> Option<u64> {
    let bytes: u64 = place.number(Path::new("sys/class/block").join(disk).join("queue/optimal_io_size"))?;
    let physical: u64 = place.number(Path::new("sys/class/block").join(disk).join("queue/physical_block_size"))?;
    (bytes > physical && bytes <= LARGEST_STRIPE && bytes.is_multiple_of(USUAL_BLOCK)).then_some(bytes)
}

fn stripe(place: &Place, subject: &str, disk: &str, start: u64, evidence: (String, String)) -> Look {
    let stripe = stripe_of(place, disk).ok_or(Outcome::NotApplicable)?;
    if start.saturating_mul(SECTOR).is_multiple_of(stripe) {
        return Ok(Outcome::Fine);
    }
    Finding::warn(subject, format!("it does not begin at a stripe of {disk} ({})", Bytes(stripe)))
        .saw(&evidence.0, evidence.1)
        .saw(&format!("sys/class/block/{disk}/queue/optimal_io_size"), stripe)
        .change("make it anew at a multiple of the stripe and move its data")
        .end()
}
