//! Checks the file system itself: how full it is, and where its log lies.

use halfpower_os::mounts::Mount;
use halfpower_probe::{Disk, mount_option};
use halfpower_spec::format::precise_size;

use crate::blocks_below::name;
use crate::check::Check;
use crate::outcome::{Finding, Look, all, only_if};
use crate::{Outcome, Place};

fn size(bytes: u64) -> String {
    precise_size(bytes as f64)
}

pub(crate) const FULL: Check = Check {
    code: "nearly-full",
    title: "Space in the file system",
    reads: &["statvfs of the mount point"],
    applies: "every file system with space of its own",
    costs: "Below 10% free, new files are laid out in pieces wherever there is room, and solid-state disks have \
            fewer erased blocks; below 3% it is bad. Unknown.",
    source: "https://docs.kernel.org/filesystems/ext4/overview.html; \
            https://btrfs.readthedocs.io/en/latest/Balance.html",
    change: "Remove files, or make it larger.",
    look: |place| all([full(place)]),
};

fn full(place: &Place) -> Look {
    let mount = place.mount.as_ref().ok_or(Outcome::NotApplicable)?;
    only_if(!["overlay", "squashfs", "erofs", "iso9660"].contains(&mount.kind.as_str()))?;
    let space = place.root.space(&mount.point).ok_or(Outcome::NotApplicable)?;
    only_if(space.bytes > 0)?;
    let share = space.available as f64 / space.bytes as f64;
    let what = format!("{} of {} are free ({:.0}%)", size(space.available), size(space.bytes), share * 100.0);
    let subject = mount.point.display().to_string();
    let finding = match share {
        room if room >= 0.1 => return Ok(Outcome::Fine),
        little if little >= 0.03 => Finding::warn(&subject, what),
        _ => Finding::bad(&subject, what),
    };
    finding.saw("statvfs", format!("available {}", space.available)).change("remove files, or make it larger").end()
}

pub(crate) const LOG: Check = Check {
    code: "log-device",
    title: "Log on another device",
    reads: &[
        "/proc/self/mountinfo (logdev=, journal_path=)",
        "/sys/fs/ext4/DEVICE/journal_task",
        "/proc/PID/comm (jbd2/DEVICE)",
        "/sys/block/DISK/queue/rotational",
    ],
    applies: "xfs and ext4 with a log on another device",
    costs: "Each change of metadata waits for that device. A hard disk for the log of a solid-state disk: unknown. \
            Else a note.",
    source: "https://man7.org/linux/man-pages/man5/xfs.5.html; https://docs.kernel.org/admin-guide/ext4.html",
    change: "Mount with a log on a faster device, or an internal one.",
    look: |place| all([log(place)]),
};

fn log(place: &Place) -> Look {
    let mount = place.mounted_as(&["xfs", "ext4"])?;
    let option = ["logdev", "journal_path"].iter().find_map(|option| mount_option(mount, option));
    let told = option.map(|device| (device.to_string(), "proc/self/mountinfo".to_string()));
    let Some((device, seen_at)) = told.or_else(|| journal(place, mount)) else { return Ok(Outcome::Fine) };
    let disk = device.strip_prefix("/dev/").and_then(|name| Disk::by_name(&place.root, name));
    let turns = disk.as_ref().and_then(|disk| place.turns(disk)) == Some(true);
    let data_turn = place.real_disks().any(|disk| place.turns(disk) == Some(true));
    let subject = mount.point.display().to_string();
    let finding = match (turns, data_turn) {
        (true, false) => Finding::warn(&subject, format!("its log lies on a hard disk, {device}")),
        _ => Finding::note(&subject, format!("its log lies on another device, {device}")),
    };
    finding.saw(&seen_at, device).end()
}

/// The other device on which ext4 keeps its journal, and where that is told: the kernel names the journal's thread after
/// the device, `jbd2/sdb`, and after device and inode if it is the file system's own, `jbd2/sda1-8`.
fn journal(place: &Place, mount: &Mount) -> Option<(String, String)> {
    let own = place.root.block_device(mount.number)?;
    let own = name(&own);
    let task: u32 = place.number(format!("sys/fs/ext4/{own}/journal_task"))?;
    let file = format!("proc/{task}/comm");
    let thread = place.text(&file)?;
    let device = thread.strip_prefix("jbd2/")?;
    // Older kernels cut the name.
    let is_own = device.starts_with(own) || own.starts_with(device);
    (!is_own && !device.is_empty()).then(|| (format!("/dev/{device}"), file))
}

pub(crate) const RESERVED: Check = Check {
    code: "reserved-blocks",
    title: "Blocks reserved for root",
    reads: &["statvfs of the mount point"],
    applies: "ext2, ext3 and ext4",
    costs: "What is reserved is room that others cannot fill: no cost in speed, and less of one, since the file system \
            keeps free space to choose from. A note where it is more than 16 GiB or 6%.",
    source: "https://man7.org/linux/man-pages/man8/tune2fs.8.html (-m)",
    change: "`tune2fs -m 1 DEVICE`, and back with `-m 5`.",
    look: |place| all([reserved(place)]),
};

fn reserved(place: &Place) -> Look {
    const MUCH_BYTES: u64 = 16 << 30;
    const MUCH_SHARE: f64 = 0.06;
    let mount = place.mounted_as(&["ext2", "ext3", "ext4"])?;
    let space = place.root.space(&mount.point).ok_or(Outcome::NotApplicable)?;
    let kept = space.free.saturating_sub(space.available);
    only_if(space.bytes > 0)?;
    let share = kept as f64 / space.bytes as f64;
    if kept < MUCH_BYTES && share < MUCH_SHARE {
        return Ok(Outcome::Fine);
    }
    let what = format!("{} ({:.0}%) are reserved for root", size(kept), share * 100.0);
    Finding::note(&mount.point.display().to_string(), what)
        .saw("statvfs", format!("free {}, available {}", space.free, space.available))
        .change(format!("tune2fs -m 1 {}", mount.source))
        .back(format!("tune2fs -m 5 {}", mount.source))
        .end()
}
