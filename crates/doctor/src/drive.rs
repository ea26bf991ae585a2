//! Asks drives for what the kernel's files do not hold: pages of NVMe drives, SMART data of ATA disks, log pages of others.

use halfpower_probe::{Disk, Missing, NvmeHealth, NvmePage, ScsiLog, SmartCounts};

use crate::outcome::only_if;
use crate::{Outcome, Place};

/// What an NVMe drive tells on a page, taken apart.
///
/// # Errors
/// Not applicable to other disks; unread for other users than root, and if the drive refuses.
pub(crate) fn page<T>(
    place: &Place,
    disk: &Disk,
    page: NvmePage,
    of: impl Fn(&[u8]) -> Option<T>,
) -> Result<T, Outcome> {
    only_if(disk.name.starts_with("nvme"))?;
    let what = source(disk, page);
    let bytes = place.root.nvme_page(&disk.sys, page).map_err(|missing| unread(&missing, disk, &what))?;
    of(&bytes).ok_or_else(|| Outcome::untold(format!("{what}: its answer makes no sense")))
}

/// A page in words.
pub(crate) fn source(disk: &Disk, page: NvmePage) -> String {
    format!("{} of {}", page.name(), disk.name)
}

/// The health of an NVMe drive.
///
/// # Errors
/// As of `page`.
pub(crate) fn health(place: &Place, disk: &Disk) -> Result<NvmeHealth, Outcome> {
    page(place, disk, NvmePage::Health, NvmeHealth::of)
}

/// What an ATA disk lost, also behind a USB bridge.
///
/// # Errors
/// Not applicable to other disks; unread for other users than root, and if disk or bridge refuses.
pub(crate) fn smart(place: &Place, disk: &Disk) -> Result<SmartCounts, Outcome> {
    only_if(place.is_by(disk, &["sata", "pata", "usb"]))?;
    let what = format!("SMART data of {}", disk.name);
    let data = place.root.smart_data(&disk.sys).map_err(|missing| unread(&missing, disk, &what))?;
    SmartCounts::of(&data).ok_or_else(|| Outcome::untold(format!("{what}: it counts none of this")))
}

/// A figure of a SCSI disk's log; `None` if it keeps none.
///
/// # Errors
/// Unread for other users than root.
pub(crate) fn logged(place: &Place, disk: &Disk, log: ScsiLog) -> Result<Option<u64>, Outcome> {
    match place.root.log_page(&disk.sys, log.page()) {
        Ok(answer) => Ok(log.figure(&answer)),
        // A disk refuses the pages that it has not.
        Err(Missing::Refused(_)) => Ok(None),
        Err(missing) => Err(unread(&missing, disk, &format!("log pages of {}", disk.name))),
    }
}

fn unread(missing: &Missing, disk: &Disk, what: &str) -> Outcome {
    match missing {
        Missing::RootOnly => Outcome::Unread { what: what.to_string(), root_can: true },
        Missing::Absent => Outcome::untold(format!("{what}: there is no /dev/{}", disk.name)),
        Missing::Refused(error) => Outcome::untold(format!("{what}: {error}")),
    }
}
