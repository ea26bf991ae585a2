//! Checks how far buffered reads are read ahead.

use crate::check::Check;
use crate::outcome::{Finding, Look, all};
use crate::place::queue;
use crate::{Outcome, Place};

pub(crate) const READ_AHEAD: Check = Check {
    code: "read-ahead",
    title: "Read-ahead",
    reads: &[
        "/sys/block/DISK/queue/read_ahead_kb of the device that is mounted",
        "/sys/class/bdi/MAJOR:MINOR/read_ahead_kb",
    ],
    applies: "every place that is not in memory; buffered reads",
    costs: "With 0 each page of a sequential read waits for itself. Below the usual 128 KiB a sequential read keeps \
            the disk idle between requests. From 16 MiB on, random reads of a disk that does not turn may fetch much \
            that nobody asked for. Unknown: `halfpower study --experiments buffered` measures it.",
    source: "https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block, read_ahead_kb)",
    change: "`blockdev --setra 256 DEVICE` (128 KiB), or `echo 128 > .../read_ahead_kb`, and back with the old figure.",
    look: read_ahead,
};

fn read_ahead(place: &Place) -> Vec<Outcome> {
    all(files(place).into_iter().map(|(subject, file)| of_file(place, &subject, &file)))
}

/// The settings of this place: whose each is, and its file.
pub(crate) fn files(place: &Place) -> Vec<(String, String)> {
    match (&place.mount, &place.tops[..]) {
        // A file system over several devices, on a server or of a program has a setting of its own.
        (Some(mount), tops)
            if mount.number.major == 0
                && !place.is_in_memory()
                && (place.is_on_server() || !tops.is_empty() || mount.kind.starts_with("fuse")) =>
        {
            vec![(mount.point.display().to_string(), format!("sys/class/bdi/{}/read_ahead_kb", mount.number))]
        }
        (_, tops) => tops.iter().map(|disk| (disk.name.clone(), queue(disk, "read_ahead_kb"))).collect(),
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
