//! Checks what NVMe drives say of their health: warnings, wear, lost data, and heat that slowed them down.

use halfpower_probe::{Disk, NvmeHealth, NvmePage};

use crate::check::Check;
use crate::drive::{health, source};
use crate::outcome::{Finding, Look};
use crate::{Outcome, Place};

const READS: &[&str] = &["the log page SMART / Health Information of the drive (root)"];
const APPLIES: &str = "NVMe drives";
const SPECIFICATION: &str = "NVM Express base specification 2.0, 5.16.1.3";

/// Where a finding was seen.
fn log(disk: &Disk) -> String {
    source(disk, NvmePage::Health)
}

pub(crate) const WARNINGS: Check = Check {
    code: "nvme-warnings",
    title: "Critical warnings of NVMe drives",
    reads: READS,
    applies: APPLIES,
    costs: "The drive says itself that it is not well: spare blocks used up, too hot or too cold, not reliable, or \
            without writes. Bad for the data first; the cost is unknown.",
    source: SPECIFICATION,
    change: "Save the data, and replace the drive; if it is heat, cool it.",
    look: |place| place.each_disk(warnings),
};

fn warnings(place: &Place, disk: &Disk) -> Look {
    let seen = health(place, disk)?.warnings;
    let bits = NvmeHealth::WARNINGS.iter().enumerate();
    let said: Vec<&str> = bits.filter(|(bit, _)| seen >> *bit & 1 == 1).map(|(_, text)| *text).collect();
    if said.is_empty() {
        return Ok(Outcome::Fine);
    }
    Finding::bad(&disk.name, format!("the drive warns: {}", said.join("; ")))
        .saw(&log(disk), format!("critical warning {seen:#04x}"))
        .change(format!("save the data; nvme smart-log /dev/{}", disk.name))
        .end()
}

pub(crate) const WEAR: Check = Check {
    code: "nvme-wear",
    title: "Wear of NVMe drives",
    reads: READS,
    applies: APPLIES,
    costs: "With few spare blocks a drive has less room to write to and collects garbage more often; beyond its rated \
            life it may fail. Spare blocks below the drive's own limit are bad; a rated life that is used up is named, \
            and is a note from 90% on. The cost is unknown.",
    source: SPECIFICATION,
    change: "Replace the drive; until then leave part of it unwritten and trimmed (`fstrim`).",
    look: |place| place.each_disk(wear),
};

fn wear(place: &Place, disk: &Disk) -> Look {
    let seen = health(place, disk)?;
    let finding = if seen.spare_percent < seen.spare_least_percent {
        let what =
            format!("{}% of the spare blocks are left, its limit is {}%", seen.spare_percent, seen.spare_least_percent);
        Finding::bad(&disk.name, what).saw(&log(disk), format!("available spare {}%", seen.spare_percent))
    } else {
        let what = format!("{}% of its rated life is used", seen.used_percent);
        let finding = match seen.used_percent {
            100.. => Finding::warn(&disk.name, what),
            90..100 => Finding::note(&disk.name, what),
            _ => return Ok(Outcome::Fine),
        };
        finding.saw(&log(disk), format!("percentage used {}%", seen.used_percent))
    };
    finding.change("replace the drive").end()
}

pub(crate) const MEDIA: Check = Check {
    code: "nvme-media-errors",
    title: "Data that NVMe drives lost",
    reads: READS,
    applies: APPLIES,
    costs: "Each is a time when the drive found data not to be intact. Reads near such places are tried again and take \
            long. Unknown.",
    source: SPECIFICATION,
    change: "Read all of the drive once (`nvme device-self-test -s 2 DEVICE`), and replace it if the figure grows.",
    look: |place| place.each_disk(media),
};

fn media(place: &Place, disk: &Disk) -> Look {
    match health(place, disk)?.media_errors {
        0 => Ok(Outcome::Fine),
        errors => Finding::warn(&disk.name, format!("{errors} times the drive found data not to be intact"))
            .saw(&log(disk), format!("media errors {errors}"))
            .change(format!("nvme device-self-test -s 2 /dev/{}; replace it if the figure grows", disk.name))
            .end(),
    }
}

pub(crate) const HEAT: Check = Check {
    code: "nvme-heat",
    title: "Heat that slowed NVMe drives down",
    reads: READS,
    applies: APPLIES,
    costs: "A drive at its upper limit slows down until it is cooler; the drive counts such minutes and times over all \
            its life. Named from 1% of its hours on, else a note. How much it slows down is unknown.",
    source: SPECIFICATION,
    change: "Cool it: air, a heat sink, another slot.",
    look: |place| place.each_disk(heat),
};

fn heat(place: &Place, disk: &Disk) -> Look {
    /// From this share of its hours on, measurements meet it.
    const OFTEN: f64 = 0.01;
    let seen = health(place, disk)?;
    let minutes = u64::from(seen.warm_minutes) + u64::from(seen.hot_minutes);
    if minutes == 0 && seen.throttled == 0 {
        return Ok(Outcome::Fine);
    }
    let share = minutes as f64 / 60.0 / (seen.hours.max(1) as f64);
    let what = format!(
        "it was at its upper limit for {minutes} minutes of {} hours, and slowed down {} times",
        seen.hours, seen.throttled
    );
    let finding = if share >= OFTEN { Finding::warn(&disk.name, what) } else { Finding::note(&disk.name, what) };
    finding
        .saw(&log(disk), format!("warning {} min, critical {} min", seen.warm_minutes, seen.hot_minutes))
        .change("cool it: air, a heat sink, another slot")
        .end()
}
