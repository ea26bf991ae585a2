//! Checks the links of SATA disks: speed, and power saving.

use std::path::Path;

use halfpower_probe::Disk;

use crate::blocks_below::{last_numbered, name};
use crate::check::Check;
use crate::outcome::{Finding, Look, computed, only_if};
use crate::parsed::leading;
use crate::{Outcome, Place};

pub(crate) const SPEED: Check = Check {
    code: "sata-link",
    title: "Speed of the SATA link",
    reads: &[
        "/sys/class/ata_link/linkN/{sata_spd,sata_spd_limit,hw_sata_spd_limit}",
        "/sys/class/ata_device/devN.0/id (word 76: what the disk can do)",
    ],
    applies: "SATA disks; not in a virtual machine",
    costs: "A link slower than port and disk can do, because the kernel lowered it after errors or a cable is poor: \
            up to the difference. A disk that can do more than its port is named too.",
    source: "Linux, drivers/ata/libata-transport.c; ATA/ATAPI Command Set 3, word 76",
    change: "Another cable or port; look at the kernel's log for `limiting SATA link speed`.",
    look: |place| place.each_disk(speed),
};

/// Speeds of the generations of SATA in Gbit/s.
const GENERATIONS: [f64; 3] = [1.5, 3.0, 6.0];

/// The fastest generation that a disk names in word 76 of its identity.
fn of_identity(words: &str) -> Option<f64> {
    let word = u16::from_str_radix(words.split_whitespace().nth(76)?, 16).ok()?;
    let known = |(at, _): &(usize, &f64)| word >> (at + 1) & 1 == 1 && word != 0xffff;
    GENERATIONS.iter().enumerate().filter(known).map(|(_, speed)| *speed).next_back()
}

fn speed(place: &Place, disk: &Disk) -> Look {
    only_if(place.is_by(disk, &["sata"]) && place.guest.is_none())?;
    let port = last_numbered(&disk.sys, "ata").ok_or(Outcome::NotApplicable)?;
    let number = name(&port).trim_start_matches("ata").to_string();
    let link = |file: &str| -> (String, String) {
        let short = format!("sys/class/ata_link/link{number}/{file}");
        let long = port.join(format!("link{number}/ata_link/link{number}/{file}"));
        (place.text(&short).or_else(|| place.text(&long)).unwrap_or_default(), short)
    };
    let (now_text, now_at) = link("sata_spd");
    let now =
        leading(&now_text).ok_or_else(|| Outcome::untold(format!("the speed of the SATA link at ata{number}")))?;
    let id = place.text(Path::new("sys/class/ata_device").join(format!("dev{number}.0/id"))).unwrap_or_default();
    let disk_can = of_identity(&id);
    let port_can = leading(&link("hw_sata_spd_limit").0);
    let able = [disk_can, port_can].into_iter().flatten().fold(f64::INFINITY, f64::min);
    let lost =
        |from: f64, to: f64| computed(0.0, 1.0 - from / to, "what the link carries", format!("{from} of {to} Gbit/s"));
    if able.is_finite() && now < able {
        let (limit, limit_at) = link("sata_spd_limit");
        let lowered = leading(&limit).is_some_and(|limit| limit < able);
        let why = if lowered { "; the kernel lowered it after errors" } else { "" };
        return Finding::bad(&disk.name, format!("the SATA link runs at {now} of {able} Gbit/s{why}"))
            .saw(&now_at, &now_text)
            .saw(&limit_at, &limit)
            .costs(lost(now, able))
            .change("try another cable or port; journalctl -k -g 'SATA link'")
            .end();
    }
    match (disk_can, port_can) {
        (Some(disk_can), Some(port_can)) if disk_can > port_can => {
            Finding::warn(&disk.name, format!("its port can do {port_can} Gbit/s, the disk {disk_can}"))
                .saw(&now_at, &now_text)
                .costs(lost(port_can, disk_can))
                .change("use a faster port")
                .end()
        }
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const POWER: Check = Check {
    code: "link-power",
    title: "Power saving of the SATA link",
    reads: &["/sys/class/scsi_host/hostN/link_power_management_policy"],
    applies: "SATA disks",
    costs: "min_power lets the link sleep deeply whenever it is idle, and the next request waits. Unknown. \
            med_power_with_dipm is usual in laptops: a note.",
    source: "https://docs.kernel.org/admin-guide/abi-testing.html (link_power_management_policy)",
    change: "`echo max_performance > /sys/class/scsi_host/hostN/link_power_management_policy`, and back with the old \
            word.",
    look: |place| place.each_disk(power),
};

fn power(place: &Place, disk: &Disk) -> Look {
    only_if(place.is_by(disk, &["sata"]))?;
    let host = last_numbered(&disk.sys, "host").ok_or(Outcome::NotApplicable)?;
    let file = format!("sys/class/scsi_host/{}/link_power_management_policy", name(&host));
    let policy = place.fact(&file)?;
    let what = format!("the SATA link sleeps when idle: {policy}");
    let finding = match policy.as_str() {
        "min_power" | "min_power_with_partial" => Finding::warn(&disk.name, what),
        "med_power_with_dipm" => Finding::note(&disk.name, what),
        _ => return Ok(Outcome::Fine),
    };
    finding.saw(&file, &policy).try_set(&file, "max_performance", &policy).end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_names_its_generations() {
        let with = |word: &str| format!("{}{word} 0000", "0000 ".repeat(76));
        assert_eq!(of_identity(&with("870e")), Some(6.0));
        assert_eq!(of_identity(&with("0006")), Some(3.0));
        assert_eq!((of_identity(&with("0000")), of_identity(&with("ffff")), of_identity("")), (None, None, None));
    }
}
