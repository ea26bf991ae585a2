//! Checks how far buffered reads are read ahead.

use halfpower_os::mounts::Mount;
use halfpower_probe::backing_device;

use crate::check::Check;
use crate::outcome::{Finding, Look, all};
use crate::place::queue;
use crate::{Outcome, Place};

pub(crate) const READ_AHEAD: Check = Check {
    code: "read-ahead",
    title: "Read-ahead",
    reads: &[
        "/sys/block/DISK/queue/read_ahead_kb of the device that is mounted",
        "/sys/class/bdi/DEVICE/read_ahead_kb of other mounts (DEVICE is MAJOR:MINOR for NFS and FUSE, and for btrfs what \
         /sys/fs/btrfs/UUID/bdi leads to)",
    ],
    applies: "every place that is not in memory; buffered reads. Of SMB and other file servers the kernel does not tell which \
              device is that of a mount",
    costs: "With 0 each page of a sequential read waits for itself. Below the usual 128 KiB a sequential read keeps \
            the disk idle between requests. From 16 MiB on, random reads of a disk that does not turn may fetch much \
            that nobody asked for. Unknown: `halfpower study --experiments buffered` measures it.",
    source: "https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block, read_ahead_kb)",
    change: "`blockdev --setra 256 DEVICE` (128 KiB), or `echo 128 > .../read_ahead_kb`, and back with the old figure.",
    look: read_ahead,
};

fn read_ahead(place: &Place) -> Vec<Outcome> {
    all(settings(place).into_iter().map(|setting| setting.and_then(|(subject, file)| of_file(place, &subject, &file))))
}

/// The settings of this place that are known: whose each is, and its file.
pub(crate) fn files(place: &Place) -> Vec<Setting> {
    settings(place).into_iter().flatten().collect()
}

/// Whose a setting is, and its file.
type Setting = (String, String);

/// The settings of this place.
fn settings(place: &Place) -> Vec<Result<Setting, Outcome>> {
    match (&place.mount, &place.tops[..]) {
        // A file system of a program, over several devices or on a server has a setting of its own.
        (Some(mount), tops)
            if mount.kind.starts_with("fuse")
                || mount.number.major == 0 && (place.is_on_server() || !tops.is_empty()) =>
        {
            vec![of_mount(place, mount)]
        }
        (_, tops) => tops.iter().map(|disk| Ok((disk.name.clone(), queue(disk, "read_ahead_kb")))).collect(),
    }
}

/// The setting of a mounted file system.
fn of_mount(place: &Place, mount: &Mount) -> Result<Setting, Outcome> {
    let point = mount.point.display().to_string();
    match backing_device(&place.root, mount) {
        Some(device) => Ok((point, format!("{device}/read_ahead_kb"))),
        None => Err(Outcome::untold(format!("which device of /sys/class/bdi is that of {} on {point}", mount.kind))),
    }
}

fn of_file(place: &Place, subject: &str, file: &str) -> Look {
    let kib: u64 = place.figure(file)?;
    let never_turns = place.real_disks().all(|disk| place.turns(disk) == Some(false));
    let finding = match kib {
        0 => Finding::bad(subject, "nothing is read ahead"),
        1..128 => Finding::warn(subject, format!("only {kib} KiB are read ahead")),
        16_384.. if never_turns => Finding::warn(subject, format!("{} MiB are read ahead", kib >> 10)),
        _ => return Ok(Outcome::Fine),
    };
    finding.saw(file, kib).try_set(file, "128", &kib.to_string()).end()
}
