//! Checks btrfs: copy on write, compression, work in the background, and its devices.

use halfpower_os::mounts::Mount;
use halfpower_probe::{btrfs_folder, has_option};

use crate::check::Check;
use crate::outcome::{Finding, Look, all, only_if};
use crate::{Outcome, Place};

const BTRFS: &str = "https://btrfs.readthedocs.io/en/latest/btrfs-man5.html";
const MOUNTINFO: &str = "proc/self/mountinfo";

fn mount(place: &Place) -> Result<&Mount, Outcome> {
    place.mounted_as(&["btrfs"])
}

fn point(mount: &Mount) -> String {
    mount.point.display().to_string()
}

/// The folder of this file system below /sys/fs/btrfs.
fn folder(place: &Place) -> Result<String, Outcome> {
    btrfs_folder(&place.root, mount(place)?).ok_or(Outcome::NotApplicable)
}

pub(crate) const COPIES: Check = Check {
    code: "btrfs-copy-on-write",
    title: "Copy on write",
    reads: &["/proc/self/mountinfo"],
    applies: "btrfs",
    costs: "Each write goes to a new place, so a file with random writes falls into pieces, and checksums are made. \
            A note: it is the nature of btrfs. Databases often switch it off for their folder.",
    source: BTRFS,
    change: "`chattr +C FOLDER` for new files, or mount with nodatacow; back with `chattr -C`.",
    look: |place| all([copies(place)]),
};

fn copies(place: &Place) -> Look {
    let mount = mount(place)?;
    match ["nodatacow", "nodatasum"].into_iter().find(|option| has_option(mount, option)) {
        Some("nodatacow") => Ok(Outcome::Fine),
        _ => Finding::note(&point(mount), "each write goes to a new place (copy on write)")
            .saw(MOUNTINFO, "without nodatacow")
            .change("chattr +C FOLDER, for new files")
            .back("chattr -C FOLDER, for new files")
            .end(),
    }
}

pub(crate) const COMPRESSION: Check = Check {
    code: "btrfs-compression",
    title: "Compression",
    reads: &["/proc/self/mountinfo"],
    applies: "btrfs mounted with compression",
    costs: "Processor time for each byte, and rates that depend on the data. compress-force tries it on data that do \
            not shrink. Unknown; compress is a note.",
    source: BTRFS,
    change: "`mount -o remount,compress=none POINT`, and back with the old word.",
    look: |place| all([compression(place)]),
};

fn compression(place: &Place) -> Look {
    let mount = mount(place)?;
    let is_set = |option: &&str| option.starts_with("compress") && !option.ends_with("=none");
    let Some(option) = mount.options.split(',').find(is_set) else { return Ok(Outcome::Fine) };
    let finding = match option.starts_with("compress-force") {
        true => Finding::warn(&point(mount), "all data are compressed, also those that do not shrink"),
        false => Finding::note(&point(mount), "data are compressed: rates depend on them"),
    };
    let at = point(mount);
    finding
        .saw(MOUNTINFO, option)
        .change(format!("mount -o remount,compress=none {at}"))
        .back(format!("mount -o remount,{option} {at}"))
        .end()
}

pub(crate) const OPTIONS: Check = Check {
    code: "btrfs-options",
    title: "Options of btrfs",
    reads: &["/proc/self/mountinfo"],
    applies: "btrfs",
    costs: "autodefrag writes small files and the places around random writes again. The old space cache \
            (space_cache, or none at all) makes each transaction longer on large file systems. Unknown.",
    source: BTRFS,
    change: "`mount -o remount,noautodefrag POINT`, and back; `mount -o space_cache=v2` once, from an unmounted state.",
    look: |place| all([options(place)]),
};

fn options(place: &Place) -> Look {
    let mount = mount(place)?;
    let at = point(mount);
    if has_option(mount, "autodefrag") {
        return Finding::warn(&at, "what is written at random is written again (autodefrag)")
            .saw(MOUNTINFO, "autodefrag")
            .change(format!("mount -o remount,noautodefrag {at}"))
            .back(format!("mount -o remount,autodefrag {at}"))
            .end();
    }
    match ["space_cache", "space_cache=v1", "nospace_cache"].into_iter().find(|option| has_option(mount, option)) {
        Some(option) => Finding::warn(&at, "free space is kept the old way")
            .saw(MOUNTINFO, option)
            .change("unmount, then mount once with -o space_cache=v2")
            .end(),
        None => Ok(Outcome::Fine),
    }
}

pub(crate) const WORK: Check = Check {
    code: "btrfs-work",
    title: "Work in the background",
    reads: &["/sys/fs/btrfs/UUID/exclusive_operation"],
    applies: "btrfs",
    costs: "A balance, a resize, or the removal or replacement of a device moves data while you work. Unknown.",
    source: "https://docs.kernel.org/admin-guide/abi-testing.html; https://btrfs.readthedocs.io/en/latest/Balance.html",
    change: "`btrfs balance pause POINT`, and back with `btrfs balance resume POINT`; or wait.",
    look: |place| all([work(place)]),
};

fn work(place: &Place) -> Look {
    let file = format!("{}/exclusive_operation", folder(place)?);
    let operation = place.fact(&file)?;
    if operation == "none" || operation.contains("paused") {
        return Ok(Outcome::Fine);
    }
    let at = point(mount(place)?);
    Finding::warn(&at, format!("a {operation} is going on"))
        .saw(&file, &operation)
        .change(format!("wait, or btrfs balance pause {at}"))
        .back(format!("btrfs balance resume {at}"))
        .end()
}

pub(crate) const DEVICES: Check = Check {
    code: "btrfs-devices",
    title: "Devices of btrfs",
    reads: &["/sys/fs/btrfs/UUID/devinfo/N/{missing,error_stats}"],
    applies: "btrfs",
    costs: "A missing device leaves its copies to the others; errors of reading, writing or checksums make btrfs \
            read again elsewhere. Unknown.",
    source: "https://docs.kernel.org/admin-guide/abi-testing.html",
    change: "`btrfs replace start`; `btrfs device stats -z POINT` sets the counts back.",
    look: |place| all([devices(place)]),
};

fn devices(place: &Place) -> Look {
    let infos = format!("{}/devinfo", folder(place)?);
    let numbers = place.root.names(&infos);
    only_if(!numbers.is_empty())?;
    let at = point(mount(place)?);
    for number in numbers {
        let missing = format!("{infos}/{number}/missing");
        if place.number::<u32>(&missing) == Some(1) {
            return Finding::bad(&at, format!("device {number} is missing"))
                .saw(&missing, 1)
                .change(format!("btrfs replace start {number} NEW {at}"))
                .end();
        }
        let errors_at = format!("{infos}/{number}/error_stats");
        let errors = place.text(&errors_at).unwrap_or_default();
        let bad = errors.lines().find(|line| line.split_whitespace().nth(1).is_some_and(|count| count != "0"));
        if let Some(line) = bad {
            return Finding::bad(&at, format!("device {number} has errors: {line}"))
                .saw(&errors_at, line)
                .change(format!("btrfs device stats {at}; replace the device"))
                .end();
        }
    }
    Ok(Outcome::Fine)
}
