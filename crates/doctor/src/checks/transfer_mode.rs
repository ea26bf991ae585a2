//! Checks whether an ATA disk moves its data itself, or the processor does.

use halfpower_probe::{Disk, transfer_mode};

use crate::check::Check;
use crate::outcome::{Finding, Look, above_bytes};
use crate::{Outcome, Place};

pub(crate) const MODE: Check = Check {
    code: "transfer-mode",
    title: "Transfer mode of an ATA disk",
    reads: &["/sys/class/ata_device/devN.M/xfer_mode"],
    applies: "IDE and SATA disks",
    costs: "In a PIO mode the processor moves every word, and an IDE cable carries no more than the mode's rate: all \
            above it. Multiword DMA and Ultra DMA up to 2 (33 MB/s) are what a cable of 40 wires carries: a note, \
            with the same cost.",
    source: "ATA/ATAPI-7, volume 2, tables 58 to 63; \
             https://docs.kernel.org/admin-guide/kernel-parameters.html (libata.force)",
    change: "A cable of 80 wires, DMA in the firmware's settings, and no `libata.force=pio` or `libata.dma=0` on the \
            kernel's command line.",
    look: |place| place.each_disk(mode),
};

fn mode(place: &Place, disk: &Disk) -> Look {
    let (mode, rate) = transfer_mode(&place.root, disk).ok_or(Outcome::NotApplicable)?;
    let shown = mode.replace('_', " ");
    let is_parallel = place.is_by(disk, &["pata"]);
    let is_slow = ["SW_DMA", "MW_DMA", "UDMA_0", "UDMA_1", "UDMA_2"].iter().any(|slow| mode.starts_with(slow));
    let finding = if mode.starts_with("PIO") {
        Finding::bad(&disk.name, format!("the processor moves every word itself ({shown})")).change(
            "switch DMA on in the firmware, and see that /proc/cmdline has no libata.force=...pio and no libata.dma",
        )
    } else if is_parallel && is_slow {
        Finding::note(&disk.name, format!("a slow mode of IDE ({shown})")).change("use a cable of 80 wires")
    } else {
        return Ok(Outcome::Fine);
    };
    let finding = match rate.filter(|_| is_parallel) {
        Some(rate) => finding.costs(above_bytes(rate.0, "reads and writes", "the mode's rate")),
        None => finding,
    };
    finding.saw(&format!("xfer_mode of {}", disk.name), &mode).end()
}
