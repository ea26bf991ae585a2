//! Checks what ATA disks count of their own faults: sectors that they lost, and transfers that arrived damaged.

use halfpower_probe::Disk;

use crate::check::Check;
use crate::drive::smart;
use crate::outcome::{Finding, Look};
use crate::{Outcome, Place};

const READS: &[&str] = &["SMART data of the disk (root)"];
const APPLIES: &str = "SATA and IDE disks, also behind USB bridges that pass the question on";

pub(crate) const SECTORS: Check = Check {
    code: "smart-sectors",
    title: "Sectors that a disk lost",
    reads: READS,
    applies: APPLIES,
    costs: "A sector that cannot be read is tried again for seconds, and requests behind it wait. Sectors that wait to be \
            replaced (197) or could not be put right (198) are bad; replaced ones (5) are elsewhere on the disk and \
            take a seek of their own. Unknown.",
    source: "https://www.smartmontools.org/wiki/FAQ; \"Failure Trends in a Large Disk Drive Population\", FAST 2007",
    change: "Save the data, and replace the disk: `smartctl -x DEVICE`, `smartctl -t long DEVICE`.",
    look: |place| place.each_disk(sectors),
};

fn sectors(place: &Place, disk: &Disk) -> Look {
    let seen = smart(place, disk)?;
    let lost = [(seen.pending, 197, "wait to be replaced"), (seen.uncorrectable, 198, "could not be put right")];
    let gone =
        lost.into_iter().find_map(|(count, number, what)| Some((count.filter(|count| *count > 0)?, number, what)));
    let replaced = seen.reallocated.filter(|count| *count > 0);
    let (finding, count, number) = match (gone, replaced) {
        (Some((count, number, what)), _) => {
            (Finding::bad(&disk.name, format!("{count} sectors {what}")), count, number)
        }
        (None, Some(count)) => (Finding::warn(&disk.name, format!("{count} sectors were replaced")), count, 5),
        (None, None) => return Ok(Outcome::Fine),
    };
    finding
        .saw(&format!("SMART attribute {number} of {}", disk.name), count)
        .change(format!("save the data; smartctl -x /dev/{}", disk.name))
        .end()
}

pub(crate) const LINK: Check = Check {
    code: "smart-link-errors",
    title: "Transfers that arrived damaged",
    reads: READS,
    applies: APPLIES,
    costs: "Each is sent again (attribute 199), and after many the kernel lowers the speed of the link. The disk counts \
            over all its life, so a few are a note: from 100 on they are named. Unknown.",
    source: "https://www.smartmontools.org/wiki/FAQ",
    change: "Another cable or port; then see whether the figure still grows.",
    look: |place| place.each_disk(link),
};

fn link(place: &Place, disk: &Disk) -> Look {
    let errors = smart(place, disk)?.link_errors.ok_or(Outcome::NotApplicable)?;
    let what = format!("{errors} transfers arrived damaged at the disk");
    let finding = match errors {
        0 => return Ok(Outcome::Fine),
        1..100 => Finding::note(&disk.name, what),
        _ => Finding::warn(&disk.name, what),
    };
    finding.saw(&format!("SMART attribute 199 of {}", disk.name), errors).change("try another cable or port").end()
}
