//! Checks the options with which a local file system is mounted.

use halfpower_os::mounts::Mount;
use halfpower_probe::{has_option, mount_option};

use crate::check::Check;
use crate::outcome::{Finding, Look, all, computed, only_if};
use crate::{Outcome, Place};

const MOUNTINFO: &str = "proc/self/mountinfo";
const MOUNT: &str = "https://man7.org/linux/man-pages/man8/mount.8.html";

/// A finding of an option, with the commands that mount anew.
fn remount(finding: Finding, mount: &Mount, option: &str, new: &str) -> Finding {
    let point = mount.point.display();
    finding
        .saw(MOUNTINFO, option)
        .change(format!("mount -o remount,{new} {point}"))
        .back(format!("mount -o remount,{option} {point}"))
}

fn point(mount: &Mount) -> String {
    mount.point.display().to_string()
}

pub(crate) const BARRIERS: Check = Check {
    code: "barriers",
    title: "Flushes of the file system",
    reads: &["/proc/self/mountinfo"],
    applies: "ext3, ext4, btrfs and xfs",
    costs: "Without barriers the file system sends no flushes: durable writes are faster, and lost with the power. \
            Bad for the data, not for the speed.",
    source: "https://docs.kernel.org/admin-guide/ext4.html",
    change: "`mount -o remount,barrier=1 POINT` (btrfs: barrier), and back with the old word.",
    look: |place| all([barriers(place)]),
};

fn barriers(place: &Place) -> Look {
    let mount = place.mounted_as(&["ext3", "ext4", "btrfs", "xfs"])?;
    let off = if has_option(mount, "nobarrier") { Some("nobarrier") } else { None };
    let off = off.or_else(|| has_option(mount, "barrier=0").then_some("barrier=0"));
    let Some(option) = off else { return Ok(Outcome::Fine) };
    let new = if mount.kind == "btrfs" { "barrier" } else { "barrier=1" };
    remount(
        Finding::bad(&point(mount), "no flushes: what was written durably is lost with the power"),
        mount,
        option,
        new,
    )
    .end()
}

pub(crate) const ACCESS: Check = Check {
    code: "access-times",
    title: "Times of access",
    reads: &["/proc/self/mountinfo"],
    applies: "local file systems that can be written to",
    costs: "Without relatime and noatime every read of a file writes its time of access. Unknown.",
    source: MOUNT,
    change: "`mount -o remount,relatime POINT` (or noatime), and back with strictatime.",
    look: |place| all([access(place)]),
};

fn access(place: &Place) -> Look {
    let mount = place.mounted_on_disk()?;
    let keeps =
        ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "reiserfs", "bcachefs"].contains(&mount.kind.as_str());
    only_if(keeps && !has_option(mount, "ro"))?;
    if has_option(mount, "relatime") || has_option(mount, "noatime") {
        return Ok(Outcome::Fine);
    }
    remount(Finding::warn(&point(mount), "every read writes a time of access"), mount, "strictatime", "relatime").end()
}

pub(crate) const DISCARD: Check = Check {
    code: "discard",
    title: "Discards while files are removed",
    reads: &["/proc/self/mountinfo"],
    applies: "local file systems mounted with discard",
    costs: "Each removal waits for discards of the disk. On SATA and USB, where they may empty the queue, and on \
            btrfs, unknown; elsewhere a note. btrfs's discard=async is fine.",
    source: "https://docs.kernel.org/admin-guide/ext4.html; https://man7.org/linux/man-pages/man8/fstrim.8.html",
    change: "`mount -o remount,nodiscard POINT` and `systemctl enable --now fstrim.timer`, and back with discard.",
    look: |place| all([discard(place)]),
};

fn discard(place: &Place) -> Look {
    let mount = place.mounted_on_disk()?;
    let option = if has_option(mount, "discard") { Some("discard") } else { None };
    let option = option.or_else(|| has_option(mount, "discard=sync").then_some("discard=sync"));
    let Some(option) = option else { return Ok(Outcome::Fine) };
    let waits = mount.kind == "btrfs" || place.real_disks().any(|disk| place.is_by(disk, &["sata", "usb"]));
    let what = "removing files sends discards at once";
    let finding = if waits { Finding::warn(&point(mount), what) } else { Finding::note(&point(mount), what) };
    let new = if mount.kind == "btrfs" { "discard=async" } else { "nodiscard" };
    remount(finding, mount, option, new).end()
}

pub(crate) const DATA_JOURNAL: Check = Check {
    code: "data-journal",
    title: "Data in the journal",
    reads: &["/proc/self/mountinfo"],
    applies: "ext3 and ext4",
    costs: "With data=journal all data are written twice: up to half of writes, computed. Direct I/O is not direct \
            there.",
    source: "https://docs.kernel.org/admin-guide/ext4.html (data=)",
    change: "Mount with data=ordered; it cannot be changed while mounted. Back with data=journal.",
    look: |place| all([data_journal(place)]),
};

fn data_journal(place: &Place) -> Look {
    let mount = place.mounted_as(&["ext3", "ext4"])?;
    if mount_option(mount, "data") != Some("journal") {
        return Ok(Outcome::Fine);
    }
    Finding::bad(&point(mount), "all data are written twice (data=journal)")
        .saw(MOUNTINFO, "data=journal")
        .costs(computed(0.0, 0.5, "writes", "each byte is written to the journal and to its place"))
        .change("mount with data=ordered; it has to be unmounted first")
        .back("mount with data=journal")
        .end()
}

pub(crate) const SYNC: Check = Check {
    code: "synchronous-mount",
    title: "Synchronous mount",
    reads: &["/proc/self/mountinfo"],
    applies: "every file system that is not in memory",
    costs: "With sync (xfs: wsync, for metadata) each buffered write waits until it is durable. Unknown: as large as \
            the difference between accepted and durable writes, which a study measures.",
    source: MOUNT,
    change: "`mount -o remount,async POINT`, and back with sync.",
    look: |place| all([sync(place)]),
};

fn sync(place: &Place) -> Look {
    let mount = place.mount.as_ref().ok_or(Outcome::NotApplicable)?;
    only_if(!place.is_in_memory())?;
    match ["sync", "wsync", "dirsync"].into_iter().find(|option| has_option(mount, option)) {
        Some("sync") => remount(
            Finding::bad(&point(mount), "each buffered write waits until it is durable"),
            mount,
            "sync",
            "async",
        )
        .end(),
        Some(option) => {
            let what = "each change of metadata waits until it is durable";
            Finding::warn(&point(mount), what).saw(MOUNTINFO, option).change(format!("mount without {option}")).end()
        }
        None => Ok(Outcome::Fine),
    }
}

pub(crate) const ALLOCATION: Check = Check {
    code: "delayed-allocation",
    title: "Delayed allocation",
    reads: &["/proc/self/mountinfo"],
    applies: "ext4",
    costs: "With nodelalloc blocks are chosen at each write and not when data are written back: files lie in more \
            pieces. Unknown.",
    source: "https://docs.kernel.org/admin-guide/ext4.html (nodelalloc)",
    change: "Mount without nodelalloc, and back with it.",
    look: |place| all([allocation(place)]),
};

fn allocation(place: &Place) -> Look {
    let mount = place.mounted_as(&["ext4"])?;
    if !has_option(mount, "nodelalloc") {
        return Ok(Outcome::Fine);
    }
    Finding::warn(&point(mount), "blocks are chosen at each write (nodelalloc)")
        .saw(MOUNTINFO, "nodelalloc")
        .change("mount without nodelalloc")
        .back("mount with nodelalloc")
        .end()
}

pub(crate) const DAX: Check = Check {
    code: "dax",
    title: "Direct access to memory",
    reads: &["/proc/self/mountinfo"],
    applies: "ext4 and xfs on persistent memory",
    costs: "With dax there is no page cache: buffered and direct requests are the same, and every read is of the \
            medium. A note.",
    source: "https://docs.kernel.org/filesystems/dax.html",
    change: "Mount with dax=never, and back with dax=always.",
    look: |place| all([dax(place)]),
};

fn dax(place: &Place) -> Look {
    let mount = place.mounted_as(&["ext2", "ext4", "xfs"])?;
    match ["dax", "dax=always"].into_iter().find(|option| has_option(mount, option)) {
        Some(option) => {
            Finding::note(&point(mount), "no page cache: requests go to the medium itself").saw(MOUNTINFO, option).end()
        }
        None => Ok(Outcome::Fine),
    }
}
