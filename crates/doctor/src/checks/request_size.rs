//! Checks whether large requests are cut into more pieces than the disk needs.

use halfpower_probe::Disk;

use crate::check::Check;
use crate::outcome::{Finding, Look};
use crate::place::queue;
use crate::{Outcome, Place};

/// What the kernel allows on its own, if the disk takes it.
const USUAL_KIB: u64 = 1280;

pub(crate) const SIZE: Check = Check {
    code: "request-size",
    title: "Size of requests",
    reads: &["/sys/block/DISK/queue/{max_sectors_kb,max_hw_sectors_kb}"],
    applies: "disks with a request queue",
    costs: "A large request is cut into pieces of this size, each with its own overhead and its own turn. Named \
            where the setting is at most half of what the disk takes and the kernel would allow (1,280 KiB). Unknown.",
    source: "https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block, max_sectors_kb)",
    change: "`echo 1280 > /sys/block/DISK/queue/max_sectors_kb`, and back with the old figure.",
    look: |place| place.each_disk(size),
};

fn size(place: &Place, disk: &Disk) -> Look {
    let file = queue(disk, "max_sectors_kb");
    let now: u64 = place.figure(&file)?;
    let hardware: u64 = place.figure(queue(disk, "max_hw_sectors_kb"))?;
    let able = hardware.min(USUAL_KIB);
    if now == 0 || now.saturating_mul(2) > able {
        return Ok(Outcome::Fine);
    }
    Finding::warn(
        &disk.name,
        format!("requests are cut at {now} KiB; a request of 1 MiB becomes {}", 1024_u64.div_ceil(now)),
    )
    .saw(&file, now)
    .saw(&queue(disk, "max_hw_sectors_kb"), hardware)
    .try_set(&file, &able.to_string(), &now.to_string())
    .end()
}
