//! Checks file systems that programs serve, and overlays.

use halfpower_probe::backing_device;

use crate::check::Check;
use crate::outcome::{Finding, Look, all, only_if};
use crate::{Outcome, Place};

pub(crate) const MESSAGES: Check = Check {
    code: "fuse-requests",
    title: "Requests to a FUSE program",
    reads: &["/proc/self/mountinfo (max_read)", "/sys/class/bdi/MAJOR:MINOR/max_ratio"],
    applies: "file systems that a program serves (FUSE)",
    costs: "Reads are cut at max_read, each piece a way to the program and back. Below 128 KiB: unknown. Buffered \
            writes of such file systems may dirty 1% of the dirty limit alone: a note.",
    source: "https://docs.kernel.org/filesystems/fuse/fuse.html; \
            https://docs.kernel.org/admin-guide/abi-testing.html (bdi)",
    change: "Mount with `-o max_read=131072` or more, if the program takes it; `echo 100 > .../max_ratio`, and back \
            with the old figure.",
    look: |place| all([reads(place), writes(place)]),
};

fn fuse(place: &Place) -> Result<&halfpower_os::mounts::Mount, Outcome> {
    place
        .mount
        .as_ref()
        .filter(|mount| mount.kind == "fuse" || mount.kind.starts_with("fuse.") || mount.kind == "fuseblk")
        .ok_or(Outcome::NotApplicable)
}

fn reads(place: &Place) -> Look {
    const ENOUGH: u64 = 128 << 10;
    let mount = fuse(place)?;
    match halfpower_probe::option_size(mount, "max_read") {
        Some(bytes) if bytes.0 < ENOUGH => {
            Finding::warn(&mount.point.display().to_string(), format!("reads are cut at {bytes}"))
                .saw("proc/self/mountinfo", format!("max_read={}", bytes.0))
                .change("mount with -o max_read=131072, if the program takes it")
                .end()
        }
        _ => Ok(Outcome::Fine),
    }
}

fn writes(place: &Place) -> Look {
    let mount = fuse(place)?;
    let device = backing_device(&place.root, mount).ok_or(Outcome::NotApplicable)?;
    let file = format!("{device}/max_ratio");
    match place.figure::<f64>(&file)? {
        few if few < 10.0 => {
            let what = format!("{few}% of the dirty limit is open to its buffered writes");
            Finding::note(&mount.point.display().to_string(), what)
                .saw(&file, few)
                .try_set(&file, "100", &few.to_string())
                .end()
        }
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const OVERLAY: Check = Check {
    code: "overlay",
    title: "Overlay of a container",
    reads: &["/proc/self/mountinfo"],
    applies: "overlay file systems",
    costs: "The first write to a file of a lower layer copies the whole file; which disk lies beneath cannot be \
            told, so most checks do not apply. A note.",
    source: "https://docs.kernel.org/filesystems/overlayfs.html",
    change: "Put data on a volume of their own.",
    look: |place| all([overlay(place)]),
};

fn overlay(place: &Place) -> Look {
    only_if(place.kind() == Some("overlay"))?;
    Finding::note(&place.target_text(), "an overlay: the first write to a file of a lower layer copies all of it")
        .saw("proc/self/mountinfo", "overlay")
        .change("put data on a volume of their own")
        .end()
}
