//! Checks the small settings of a disk's request queue.

use halfpower_probe::Disk;

use crate::check::Check;
use crate::outcome::{Finding, Look, only_if};
use crate::place::{queue, short};
use crate::{Outcome, Place};

const ABI: &str = "https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block)";

pub(crate) const REQUESTS: Check = Check {
    code: "queue-requests",
    title: "Requests in the queue",
    reads: &["/sys/block/DISK/queue/nr_requests", "/sys/block/DISK/device/queue_depth"],
    applies: "disks with a request queue",
    costs: "Fewer requests than the disk takes at once (32 for NVMe and virtual disks): deeper queues do not reach it. \
            Unknown; depths above the figure gain nothing.",
    source: ABI,
    change: "`echo 64 > /sys/block/DISK/queue/nr_requests`, and back with the old figure.",
    look: |place| place.each_disk(requests),
};

fn requests(place: &Place, disk: &Disk) -> Look {
    /// A queue of NVMe or of a virtual disk takes at least so many at once.
    const QUEUE: u32 = 32;
    let file = queue(disk, "nr_requests");
    let now: u32 = place.figure(&file)?;
    let wanted = match place.number::<u32>(format!("{}/device/queue_depth", short(disk))) {
        Some(depth) => depth,
        None if disk.name.starts_with("nvme") || place.is_by(disk, &["virtio"]) => QUEUE,
        None => return Err(Outcome::NotApplicable),
    };
    // A driver may keep one command for itself.
    if now.saturating_add(1) >= wanted {
        return Ok(Outcome::Fine);
    }
    let more = wanted.max(64).to_string();
    Finding::warn(&disk.name, format!("at most {now} requests wait in the queue, the disk takes {wanted}"))
        .saw(&file, now)
        .try_set(&file, &more, &now.to_string())
        .end()
}

pub(crate) const THROTTLE: Check = Check {
    code: "write-throttling",
    title: "Throttling of write-back",
    reads: &["/sys/block/DISK/queue/wbt_lat_usec"],
    applies: "disks whose kernel throttles write-back (wbt)",
    costs: "Buffered writes are held back while reads take longer than the target. Below 500 us on a disk that does \
            not turn, or 10 ms on a hard disk, they are held back nearly always: unknown. The usual 2 ms and 75 ms \
            are fine.",
    source: "https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block, wbt_lat_usec)",
    change: "`echo -1 > /sys/block/DISK/queue/wbt_lat_usec` (the usual), 0 switches it off; back with the old figure.",
    look: |place| place.each_disk(throttle),
};

fn throttle(place: &Place, disk: &Disk) -> Look {
    let file = queue(disk, "wbt_lat_usec");
    let us: u64 = place.figure(&file)?;
    let least = if place.turns(disk) == Some(true) { 10_000 } else { 500 };
    if us == 0 || us >= least {
        return Ok(Outcome::Fine);
    }
    Finding::warn(&disk.name, format!("write-back is held back while reads take over {us} us"))
        .saw(&file, us)
        .try_set(&file, "-1", &us.to_string())
        .end()
}

pub(crate) const AFFINITY: Check = Check {
    code: "rq-affinity",
    title: "Processor that completes",
    reads: &["/sys/block/DISK/queue/rq_affinity"],
    applies: "disks with a request queue, on machines with several processors",
    costs: "With 0 a request is completed where the interrupt comes, and its data are not in the cache of the \
            processor that asked. The usual value is 1. Unknown.",
    source: ABI,
    change: "`echo 1 > /sys/block/DISK/queue/rq_affinity` (2: the very processor), and back with the old figure.",
    look: |place| place.each_disk(affinity),
};

fn affinity(place: &Place, disk: &Disk) -> Look {
    only_if(place.machine.cpus > 1)?;
    let file = queue(disk, "rq_affinity");
    match place.figure::<u32>(&file)? {
        0 => Finding::warn(&disk.name, "requests complete on whichever processor is interrupted")
            .saw(&file, 0)
            .try_set(&file, "1", "0")
            .end(),
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const MERGES: Check = Check {
    code: "merges",
    title: "Merging of requests",
    reads: &["/sys/block/DISK/queue/nomerges"],
    applies: "disks with a request queue",
    costs: "With 1 or 2, neighbouring requests are not joined: small sequential ones reach the disk one by one. \
            Unknown. For random requests it saved 3% of system time (published), so it may be meant.",
    source: "https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block, nomerges); Linux commit 488991e28e55",
    change: "`echo 0 > /sys/block/DISK/queue/nomerges`, and back with the old figure.",
    look: |place| place.each_disk(merges),
};

fn merges(place: &Place, disk: &Disk) -> Look {
    let file = queue(disk, "nomerges");
    match place.figure::<u32>(&file)? {
        0 => Ok(Outcome::Fine),
        level => {
            let what = if level == 1 { "requests are hardly merged" } else { "requests are never merged" };
            Finding::warn(&disk.name, what).saw(&file, level).try_set(&file, "0", &level.to_string()).end()
        }
    }
}

pub(crate) const STATISTICS: Check = Check {
    code: "iostats",
    title: "Statistics of requests",
    reads: &["/sys/block/DISK/queue/iostats"],
    applies: "NVMe disks",
    costs: "Each request is stamped and counted for iostat. Unknown, and felt at millions of requests a second \
            alone; a note.",
    source: ABI,
    change: "`echo 0 > /sys/block/DISK/queue/iostats` (iostat then shows nothing), and back with 1.",
    look: |place| place.each_disk(statistics),
};

fn statistics(place: &Place, disk: &Disk) -> Look {
    only_if(disk.name.starts_with("nvme"))?;
    let file = queue(disk, "iostats");
    match place.figure::<u32>(&file)? {
        0 => Ok(Outcome::Fine),
        on => Finding::note(&disk.name, "each request is counted for iostat")
            .saw(&file, on)
            .try_set(&file, "0", &on.to_string())
            .end(),
    }
}

pub(crate) const ENTROPY: Check = Check {
    code: "add-random",
    title: "Entropy from requests",
    reads: &["/sys/block/DISK/queue/{add_random,rotational}"],
    applies: "disks with a request queue",
    costs: "Each completion is mixed into the pool of random numbers. On solid-state disks it is off by default: \
            unknown. On a hard disk it is the usual setting and costs nothing beside a seek.",
    source: ABI,
    change: "`echo 0 > /sys/block/DISK/queue/add_random`, and back with 1.",
    look: |place| place.each_disk(entropy),
};

fn entropy(place: &Place, disk: &Disk) -> Look {
    let file = queue(disk, "add_random");
    let on = place.figure::<u32>(&file)? == 1;
    match (on, place.turns(disk)) {
        (true, Some(false)) => Finding::warn(&disk.name, "each request feeds the pool of random numbers")
            .saw(&file, 1)
            .try_set(&file, "0", "1")
            .end(),
        (true, None) => Finding::note(&disk.name, "each request feeds the pool of random numbers")
            .saw(&file, 1)
            .try_set(&file, "0", "1")
            .end(),
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const ROTATIONAL: Check = Check {
    code: "rotational",
    title: "Solid state taken for a hard disk",
    reads: &["/sys/block/DISK/queue/rotational", "/sys/block/DISK/device/model"],
    applies: "NVMe disks, and disks whose model says SSD",
    costs: "File systems and schedulers spare seeks that the disk does not make, and read ahead more. Unknown.",
    source: ABI,
    change: "`echo 0 > /sys/block/DISK/queue/rotational`, and back with 1. Mount anew: btrfs and ext4 look when \
            mounting.",
    look: |place| place.each_disk(rotational),
};

fn rotational(place: &Place, disk: &Disk) -> Look {
    let file = queue(disk, "rotational");
    let model = place.text(format!("{}/device/model", short(disk))).unwrap_or_default();
    let is_solid = disk.name.starts_with("nvme") || model.to_uppercase().contains("SSD");
    only_if(is_solid && place.turns(disk).is_some())?;
    match place.figure::<u32>(&file)? {
        0 => Ok(Outcome::Fine),
        _ => Finding::warn(&disk.name, "it is taken for a hard disk").saw(&file, 1).try_set(&file, "0", "1").end(),
    }
}

pub(crate) const QUEUEING: Check = Check {
    code: "command-queueing",
    title: "Commands at once",
    reads: &["/sys/block/DISK/device/queue_depth"],
    applies: "SATA and SAS disks",
    costs: "With one command at a time (NCQ off) the disk cannot order requests, and depth gains nothing. On SATA 31 \
            or 32 are usual. Unknown.",
    source: "https://docs.kernel.org/driver-api/libata.html",
    change: "`echo 31 > /sys/block/DISK/device/queue_depth`, and back with the old figure.",
    look: |place| place.each_disk(queueing),
};

fn queueing(place: &Place, disk: &Disk) -> Look {
    only_if(place.is_by(disk, &["sata", "sas"]))?;
    let file = format!("{}/device/queue_depth", short(disk));
    let depth: u32 = place.figure(&file)?;
    if depth > 7 {
        return Ok(Outcome::Fine);
    }
    let what = if depth == 1 { "one command at a time".to_string() } else { format!("only {depth} commands at once") };
    Finding::warn(&disk.name, what).saw(&file, depth).try_set(&file, "31", &depth.to_string()).end()
}
