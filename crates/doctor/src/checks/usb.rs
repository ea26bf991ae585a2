//! Checks the bus and the driver of USB disks.

use std::path::{Path, PathBuf};

use halfpower_probe::Disk;

use crate::blocks_below::name;
use crate::check::Check;
use crate::outcome::{Finding, Look, above_bytes, computed, only_if};
use crate::parsed::leading;
use crate::{Outcome, Place};

/// Bytes a second of bulk transfers at most: USB 2.0 specification, table 5-10; line rate of USB 3 after 8b/10b.
const USB2: f64 = 13.0 * 512.0 * 8e3;
const USB3: f64 = 5e9 * 0.8 / 8.0;
/// Speed of USB 3's slowest link in Mbit/s.
const SUPER_MBIT: f64 = 5000.0;

pub(crate) const SPEED: Check = Check {
    code: "usb-speed",
    title: "Speed of the USB bus",
    reads: &["/sys/bus/usb/devices/*/{speed,version}"],
    applies: "USB disks",
    costs: "A device of USB 3 at 480 Mbit/s: 53 MB/s at most in place of 500, computed. It says version 2.10 there, \
            since devices of USB 2 alone say 2.00; for those it is a note.",
    source: "USB 2.0 specification, table 5-10; USB 3.2 specification, 9.2.6.6 and 9.6.2",
    change: "Use a port and a cable of USB 3 (blue, or marked SS), without a hub between.",
    look: |place| place.each_disk(speed),
};

/// The folder of the USB device on the way to a disk: `2-1.4`, neither `usb2` nor the interface `2-1:1.0`.
fn device(disk: &Disk) -> Option<PathBuf> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_device = |folder: &&Path| {
        name(folder).split_once('-').is_some_and(|(bus, ports)| digits(bus) && ports.split('.').all(digits))
    };
    disk.sys.ancestors().find(is_device).map(Path::to_path_buf)
}

fn speed(place: &Place, disk: &Disk) -> Look {
    only_if(place.is_by(disk, &["usb"]))?;
    let device = device(disk).ok_or(Outcome::NotApplicable)?;
    let file = |file: &str| format!("sys/bus/usb/devices/{}/{file}", name(&device));
    let now: f64 = place.figure(device.join("speed"))?;
    if now >= SUPER_MBIT {
        return Ok(Outcome::Fine);
    }
    let version = place.text(device.join("version")).unwrap_or_default();
    let is_newer = leading(&version).is_some_and(|version| version >= 2.1);
    let finding = match is_newer {
        true => Finding::bad(&disk.name, format!("a device of USB 3 runs at {now} Mbit/s"))
            .costs(computed(0.0, 1.0 - USB2 / USB3, "what the bus carries", "53 of 500 MB/s"))
            .change("use a port and a cable of USB 3, without a hub between"),
        false => Finding::note(&disk.name, format!("it runs at {now} Mbit/s, as USB 2 does")).costs(above_bytes(
            USB2.min(now * 1e6 / 8.0),
            "reads and writes",
            "13 packets of 512 bytes every 125 us",
        )),
    };
    finding.saw(&file("speed"), now).saw(&file("version"), version).end()
}

pub(crate) const DRIVER: Check = Check {
    code: "usb-driver",
    title: "Driver of the USB disk",
    reads: &["/sys/bus/usb/devices/*:*/driver"],
    applies: "USB disks at 5 Gbit/s or more",
    costs: "usb-storage sends one command at a time, uas up to 30: depth gains nothing. Unknown; uas is better for \
            small random requests. Some bridges only do usb-storage, or are kept from uas by the kernel since they \
            fail with it.",
    source: "https://www.usb.org/document-library/usb-attached-scsi-protocol-uasp-v10-and-adopters-agreement",
    change: "Another enclosure; look for `usb-storage.quirks=` on the kernel's command line and in /etc/modprobe.d.",
    look: |place| place.each_disk(driver),
};

fn driver(place: &Place, disk: &Disk) -> Look {
    only_if(place.is_by(disk, &["usb"]))?;
    let device = device(disk).ok_or(Outcome::NotApplicable)?;
    only_if(place.figure::<f64>(device.join("speed"))? >= SUPER_MBIT)?;
    let interface = disk.sys.ancestors().find(|folder| name(folder).starts_with(&format!("{}:", name(&device))));
    let link = interface.ok_or(Outcome::NotApplicable)?.join("driver");
    let driver = place.root.resolve(&link).ok_or_else(|| Outcome::untold(format!("/{}", link.display())))?;
    match name(&driver) {
        "usb-storage" => Finding::warn(&disk.name, "driver usb-storage: one command at a time")
            .saw(&format!("sys/bus/usb/devices/{}/driver", interface.map(name).unwrap_or_default()), "usb-storage")
            .change("use an enclosure that does UAS; look for usb-storage.quirks")
            .end(),
        _ => Ok(Outcome::Fine),
    }
}
