//! Checks the file system itself: how full it is, and where its log lies.

use halfpower_probe::{Disk, mount_option};
use halfpower_spec::Bytes;

use crate::check::Check;
use crate::outcome::{Finding, Look, all, only_if};
use crate::{Outcome, Place};

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
    let what = format!("{} of {} are free ({:.0}%)", Bytes(space.available), Bytes(space.bytes), share * 100.0);
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
    reads: &["/proc/self/mountinfo (logdev=, journal_path=)", "/sys/block/DISK/queue/rotational"],
    applies: "xfs and ext4 with a log on another device",
    costs: "Each change of metadata waits for that device. A hard disk for the log of a solid-state disk: unknown. \
            Else a note.",
    source: "https://man7.org/linux/man-pages/man5/xfs.5.html; https://docs.kernel.org/admin-guide/ext4.html",
    change: "Mount with a log on a faster device, or an internal one.",
    look: |place| all([log(place)]),
};

fn log(place: &Place) -> Look {
    let mount = place.mounted_as(&["xfs", "ext4"])?;
    let Some(device) = ["logdev", "journal_path"].iter().find_map(|option| mount_option(mount, option)) else {
        return Ok(Outcome::Fine);
    };
    let disk = device.strip_prefix("/dev/").and_then(|name| Disk::by_name(&place.root, name));
    let turns = disk.as_ref().and_then(|disk| place.turns(disk)) == Some(true);
    let data_turn = place.real_disks().any(|disk| place.turns(disk) == Some(true));
    let subject = mount.point.display().to_string();
    let finding = match (turns, data_turn) {
        (true, false) => Finding::warn(&subject, format!("its log lies on a hard disk, {device}")),
        _ => Finding::note(&subject, format!("its log lies on another device, {device}")),
    };
    finding.saw("proc/self/mountinfo", device).end()
}
