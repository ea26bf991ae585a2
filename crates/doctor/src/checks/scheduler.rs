//! Checks whether the I/O scheduler fits the disk.

use halfpower_probe::Disk;
use halfpower_record::Basis;

use crate::check::Check;
use crate::outcome::{Finding, Look, above_requests, only_if};
use crate::parsed::{chosen, release};
use crate::place::queue;
use crate::{Outcome, Place};

/// What BFQ did at most: https://docs.kernel.org/block/bfq-iosched.html.
const BFQ_IOPS: f64 = 400_000.0;
const BFQ_SOURCE: &str = "the kernel's page on BFQ: at most 400,000 IOPS on an Intel i7-4850HQ";
/// From this release on, the block layer itself keeps the order of writes to a zone.
const KEEPS_ZONES: (u32, u32) = (6, 10);

pub(crate) const SCHEDULER: Check = Check {
    code: "scheduler",
    title: "I/O scheduler",
    reads: &["/sys/block/DISK/queue/{scheduler,rotational,zoned}"],
    applies: "disks with a request queue",
    costs: "bfq on a solid-state disk: it did at most 400,000 IOPS on a laptop's processor (published). Any \
            scheduler on NVMe: unknown; a study of fast drives found that none helped and most took longer. On a \
            virtual disk the host schedules again (a note). A hard disk without a scheduler lets writes hold up \
            reads (a note). A host-managed zoned disk needs mq-deadline before Linux 6.10, or its writes fail.",
    source: "https://docs.kernel.org/block/bfq-iosched.html; \
             \"Do we still need IO schedulers for low-latency disks?\", HotStorage 2023, \
             https://doi.org/10.1145/3599691.3603400",
    change: "`echo none > /sys/block/DISK/queue/scheduler` (mq-deadline for a hard disk), and back with the old name.",
    look: |place| place.each_disk(scheduler),
};

fn scheduler(place: &Place, disk: &Disk) -> Look {
    let file = queue(disk, "scheduler");
    let text = place.fact(&file)?;
    let name = chosen(&text).ok_or_else(|| Outcome::untold(format!("/{file} names none as chosen")))?;
    let offered = |other: &str| text.split(['[', ']', ' ']).any(|word| word == other);
    let zoned = place.text(queue(disk, "zoned")).is_some_and(|kind| kind == "host-managed");
    if zoned && name != "mq-deadline" && release(&place.machine.kernel).is_some_and(|kernel| kernel < KEEPS_ZONES) {
        let what = format!("zoned disk with the scheduler {name}: writes to a zone may come out of order and fail");
        return Finding::bad(&disk.name, what).saw(&file, name).set(&file, "mq-deadline", name).end();
    }
    only_if(!text.is_empty() && offered("none"))?;
    let turns = place.turns(disk);
    let is_virtual = turns.is_none();
    let is_nvme = disk.name.starts_with("nvme");
    let finding = match name {
        "bfq" if turns != Some(true) => Finding::warn(&disk.name, "scheduler bfq").costs(above_requests(
            BFQ_IOPS,
            "requests",
            Basis::Published(BFQ_SOURCE.to_string()),
        )),
        "none" if turns == Some(true) && place.is_by(disk, &["sata", "sas"]) && offered("mq-deadline") => {
            let what = "a hard disk without a scheduler: writes may hold up reads";
            return Finding::note(&disk.name, what).saw(&file, name).try_set(&file, "mq-deadline", name).end();
        }
        "none" => return Ok(Outcome::Fine),
        // The kernel gives zoned disks mq-deadline.
        other if is_nvme && !zoned => Finding::warn(&disk.name, format!("scheduler {other} on NVMe")),
        other if is_virtual => Finding::note(&disk.name, format!("scheduler {other}, and the host schedules again")),
        _ => return Ok(Outcome::Fine),
    };
    finding.saw(&file, name).try_set(&file, "none", name).end()
}
