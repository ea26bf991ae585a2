//! Checks whether loop devices keep everything in the page cache twice.

use halfpower_probe::Volume;

use crate::check::Check;
use crate::outcome::{Finding, Look};
use crate::place::short;
use crate::{Outcome, Place};

pub(crate) const BUFFERED: Check = Check {
    code: "loop-buffered",
    title: "Buffered loop device",
    reads: &["/sys/block/loopN/loop/{dio,backing_file}"],
    applies: "loop devices",
    costs: "The device's file is read and written through the page cache: data are copied and kept twice, and direct \
            I/O to the device is not direct to the disk. Unknown.",
    source: "https://man7.org/linux/man-pages/man8/losetup.8.html (--direct-io)",
    change: "`losetup --direct-io=on /dev/loopN`, and back with off.",
    look: |place| place.each_volume(buffered),
};

fn buffered(place: &Place, volume: &Volume) -> Look {
    let file = format!("{}/loop/dio", short(&volume.disk));
    let device = format!("/dev/{}", volume.disk.name);
    match place.fact(&file)?.as_str() {
        "0" => Finding::warn(
            &volume.disk.name,
            "its file goes through the page cache: a cache may answer in place of the disk",
        )
        .saw(&file, 0)
        .change(format!("losetup --direct-io=on {device}"))
        .back(format!("losetup --direct-io=off {device}"))
        .may_try()
        .end(),
        _ => Ok(Outcome::Fine),
    }
}
