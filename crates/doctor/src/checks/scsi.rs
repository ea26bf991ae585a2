//! Checks SCSI and SATA disks for states and errors that slow them down, and RAID cards for arrays that are not whole.

use halfpower_probe::{Disk, ScsiLog};

use crate::blocks_below::name;
use crate::check::Check;
use crate::drive::logged;
use crate::outcome::{Finding, Look, only_if};
use crate::parsed::hexadecimal;
use crate::place::short;
use crate::{Outcome, Place};

const ABI: &str = "https://docs.kernel.org/scsi/scsi_mid_low_api.html";

pub(crate) const STATE: Check = Check {
    code: "scsi-state",
    title: "State of SCSI disks",
    reads: &["/sys/block/DISK/device/state"],
    applies: "SCSI, SAS, SATA and USB disks",
    costs: "A disk that is blocked, offline or in transport-offline serves nothing. Unknown.",
    source: ABI,
    change: "`echo running > /sys/block/DISK/device/state` once the cause is gone.",
    look: |place| place.each_disk(state),
};

fn state(place: &Place, disk: &Disk) -> Look {
    // NVMe has a state of its own at its controller.
    if disk.name.starts_with("nvme") {
        return Err(Outcome::NotApplicable);
    }
    let file = format!("{}/device/state", short(disk));
    let state = place.fact(&file)?;
    match state.as_str() {
        "running" | "live" => Ok(Outcome::Fine),
        other => Finding::bad(&disk.name, format!("the disk is {other}"))
            .saw(&file, other)
            .change(format!("echo running > /{file} once the cause is gone"))
            .end(),
    }
}

pub(crate) const ERRORS: Check = Check {
    code: "scsi-errors",
    title: "Failed commands",
    reads: &["/sys/block/DISK/device/{ioerr_cnt,iotmo_cnt,iodone_cnt}"],
    applies: "SCSI, SAS, SATA and USB disks",
    costs: "A command that fails or times out is tried again, and others wait: one time-out is 30 s. Unknown. Named \
            from one in a thousand on, and at any time-out; a few errors are answers to questions that the disk does \
            not know.",
    source: ABI,
    change: "Look at `smartctl -x DEVICE`, cables and the kernel's log.",
    look: |place| place.each_disk(errors),
};

fn errors(place: &Place, disk: &Disk) -> Look {
    /// Fewer errors come from questions at the start.
    const FEW: u64 = 10;
    let file = |file: &str| format!("{}/device/{file}", short(disk));
    let count = |name: &str| place.text(file(name)).and_then(|text| hexadecimal(&text));
    place.fact(file("ioerr_cnt"))?;
    let failed = count("ioerr_cnt").unwrap_or(0);
    let done = count("iodone_cnt").unwrap_or(0);
    let late = count("iotmo_cnt").unwrap_or(0);
    if late > 0 {
        return Finding::bad(&disk.name, format!("{late} commands timed out"))
            .saw(&file("iotmo_cnt"), late)
            .change(format!("smartctl -x /dev/{}; look at cables and the kernel's log", disk.name))
            .end();
    }
    if failed <= FEW || failed.saturating_mul(1000) < done {
        return Ok(Outcome::Fine);
    }
    Finding::warn(&disk.name, format!("{failed} of {done} commands failed"))
        .saw(&file("ioerr_cnt"), failed)
        .change(format!("smartctl -x /dev/{}; look at cables and the kernel's log", disk.name))
        .end()
}

pub(crate) const LOGS: Check = Check {
    code: "scsi-logs",
    title: "What SAS disks log of themselves",
    reads: &["log pages 0x03, 0x11 and 0x2f of the disk (root)"],
    applies: "SAS disks",
    costs: "A disk that foresees its failure is bad for the data first. One that could not read sectors tried for seconds, \
            and requests behind waited. A rated life that is used up is named, and a note from 90% on. Unknown.",
    source: "SCSI Primary Commands 5, 7.3.8 and 7.3.11; SCSI Block Commands 4, 6.4.6",
    change: "Save the data, and replace the disk: `smartctl -x DEVICE`.",
    look: |place| place.each_disk(logs),
};

fn logs(place: &Place, disk: &Disk) -> Look {
    only_if(place.is_by(disk, &["sas"]))?;
    let figure = |log: ScsiLog| logged(place, disk, log);
    let forecast = figure(ScsiLog::Forecast)?;
    let lost = figure(ScsiLog::ReadErrors)?;
    let used = figure(ScsiLog::Wear)?;
    let name = &disk.name;
    let (finding, log, value) = match (forecast, lost, used) {
        (None, None, None) => return Err(Outcome::untold(format!("log pages of {name}: it keeps none of these"))),
        (Some(code @ 1..), _, _) => {
            let what = format!("the disk foresees its failure (code {:02x} {:02x})", code >> 8, code & 0xff);
            (Finding::bad(name, what), ScsiLog::Forecast, code)
        }
        (_, Some(count @ 1..), _) => {
            (Finding::warn(name, format!("{count} times the disk could not read")), ScsiLog::ReadErrors, count)
        }
        (_, _, Some(percent @ 90..)) => {
            let what = format!("{percent}% of its rated life is used");
            let finding = if percent >= 100 { Finding::warn(name, what) } else { Finding::note(name, what) };
            (finding, ScsiLog::Wear, percent)
        }
        _ => return Ok(Outcome::Fine),
    };
    finding
        .saw(&format!("log page {:#04x} of {name}", log.page()), value)
        .change(format!("save the data; smartctl -x /dev/{name}"))
        .end()
}

pub(crate) const CARD: Check = Check {
    code: "raid-card",
    title: "Array of a RAID card",
    reads: &["/sys/class/raid_devices/*/{state,resync,level}"],
    applies: "arrays of RAID cards whose driver reports their state",
    costs: "A degraded array computes or copies what is missing; a resync takes part of every disk. Unknown.",
    source: "Linux, drivers/scsi/raid_class.c",
    change: "Replace the disk; wait for the resync.",
    look: |place| place.each_disk(card),
};

fn card(place: &Place, disk: &Disk) -> Look {
    // The folder above `block` is named HOST:CHANNEL:TARGET:LUN.
    let address = disk.sys.parent().and_then(|folder| folder.parent()).map(name).unwrap_or_default();
    let file = format!("sys/class/raid_devices/{address}/state");
    let state = place.fact(&file)?;
    let done = place.text(format!("sys/class/raid_devices/{address}/resync")).unwrap_or_default();
    match state.as_str() {
        "active" | "unknown" => Ok(Outcome::Fine),
        "resyncing" => Finding::warn(&disk.name, format!("its array resyncs, {done}% done"))
            .saw(&file, &state)
            .change("wait")
            .end(),
        other => {
            Finding::bad(&disk.name, format!("its array is {other}")).saw(&file, other).change("replace the disk").end()
        }
    }
}
