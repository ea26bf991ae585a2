//! Distinguishes serial from parallel ATA, and reads the speed of either link.
//!
//! libata shows both in the same sysfs folders; the path of a disk goes through `ataN`, its port or channel.

use std::path::{Path, PathBuf};

use halfpower_spec::Rate;

use crate::Root;
use crate::block::Disk;
use crate::sysfs_path::{Link, folders, last_numbered, leading, name, numbered};

/// Peak rate of each mode of parallel ATA in MB/s, named as in libata without `XFER_`. PIO and multiword DMA follow
/// from the shortest cycle time (ATA/ATAPI-7, volume 2, tables 58 to 60), Ultra DMA from its name (2 bytes on each
/// edge; table 63).
const MODES: [(&str, f64); 24] = [
    ("PIO_SLOW", 3.3),
    ("PIO_0", 3.3),
    ("PIO_1", 5.2),
    ("PIO_2", 8.3),
    ("PIO_3", 11.1),
    ("PIO_4", 16.7),
    ("PIO_5", 20.0),
    ("PIO_6", 25.0),
    ("SW_DMA_0", 2.1),
    ("SW_DMA_1", 4.2),
    ("SW_DMA_2", 8.3),
    ("MW_DMA_0", 4.2),
    ("MW_DMA_1", 13.3),
    ("MW_DMA_2", 16.7),
    ("MW_DMA_3", 20.0),
    ("MW_DMA_4", 25.0),
    ("UDMA_0", 16.7),
    ("UDMA_1", 25.0),
    ("UDMA_2", 33.3),
    ("UDMA_3", 44.4),
    ("UDMA_4", 66.7),
    ("UDMA_5", 100.0),
    ("UDMA_6", 133.3),
    ("UDMA_7", 167.0),
];

/// Whether a way ends at a parallel ATA (IDE) disk: its driver serves no other kind, or its link has places for two
/// devices and no speed, which is never true of a SATA link.
pub(crate) fn is_parallel(root: &Root, way: &Path) -> bool {
    let Some(port) = Port::on(root, way) else { return false };
    let by_driver = port.driver.as_deref().is_some_and(|driver| driver.starts_with("pata_"));
    by_driver || port.spd.is_none() && root.exists(port.device(1))
}

/// The ATA link on a way, of either kind.
pub(crate) fn link(root: &Root, way: &Path) -> Option<Link> {
    let port = Port::on(root, way)?;
    if is_parallel(root, way) { Some(parallel(root, way, port)) } else { Some(serial(port)) }
}

/// A SATA port or a parallel ATA channel.
struct Port {
    /// Folder of the port.
    folder: PathBuf,
    /// Number of the port, which also names its links and devices.
    number: String,
    /// Driver of the host adapter.
    driver: Option<String>,
    /// Speed of the link in Gbit/s, if it has one.
    spd: Option<f64>,
}

impl Port {
    fn on(root: &Root, way: &Path) -> Option<Self> {
        let folder = last_numbered(way, "ata")?;
        let number = name(&folder).strip_prefix("ata")?.to_string();
        let link = format!("link{number}");
        let speed = root.text(folder.join(&link).join("ata_link").join(&link).join("sata_spd"));
        let speed = speed.or_else(|| root.text(format!("sys/class/ata_link/{link}/sata_spd")));
        let driver = root.resolve(folder.parent()?.join("driver"));
        let driver = driver.and_then(|driver| Some(driver.file_name()?.to_str()?.to_string()));
        Some(Self { folder, number, driver, spd: speed.as_deref().and_then(leading) })
    }

    /// The folder of the first device (0) or the second (1).
    fn device(&self, place: u32) -> PathBuf {
        let link = format!("link{}", self.number);
        let device = format!("dev{}.{place}", self.number);
        self.folder.join(link).join(&device).join("ata_device").join(&device)
    }
}

/// Serial ATA: 8b/10b at 1.5, 3 and 6 Gbit/s (Serial ATA specification 3.0, 9.2); data go one way at a time.
fn serial(port: Port) -> Link {
    let at = name(&port.folder);
    let source = match port.spd {
        Some(gigabits) => format!("SATA {gigabits} Gbit/s at {at}, 8b/10b"),
        None => format!("the kernel does not tell the speed of the SATA link at {at}"),
    };
    let rate = port.spd.map(|gigabits| Rate(gigabits * 1e9 * 0.8 / 8.0));
    Link { kind: "SATA link", key: port.folder, rate, half_duplex: true, source }
}

/// The transfer mode that was negotiated with an ATA disk, serial or parallel, such as `UDMA_5`, and the rate of that mode
/// on a parallel cable; `None` if it is no such disk or the kernel does not tell.
pub fn transfer_mode(root: &Root, disk: &Disk) -> Option<(String, Option<Rate>)> {
    let mode = mode(root, &disk.sys, &Port::on(root, &disk.sys)?)?;
    let rate = rate_of(&mode);
    Some((mode, rate))
}

fn mode(root: &Root, way: &Path, port: &Port) -> Option<String> {
    // A SCSI target is named HOST:CHANNEL:DEVICE.
    let target = folders(way).into_iter().rev().find(|folder| numbered(name(folder), "target"));
    let place = target.and_then(|target| name(&target).rsplit(':').next()?.parse().ok()).unwrap_or(0);
    let mode = root.text(port.device(place).join("xfer_mode"))?;
    Some(mode.trim_start_matches("XFER_").to_string())
}

fn rate_of(mode: &str) -> Option<Rate> {
    MODES.iter().find(|(word, _)| *word == mode).map(|(_, mbps)| Rate(mbps * 1e6))
}

/// Parallel ATA: the rate of the mode negotiated with this disk. Two disks share a channel.
fn parallel(root: &Root, way: &Path, port: Port) -> Link {
    let at = name(&port.folder);
    let mode = mode(root, way, &port);
    let rate = mode.as_deref().and_then(rate_of);
    let source = match (mode, rate) {
        (Some(mode), Some(_)) => format!("IDE (parallel ATA) at {at} in the mode {}", mode.replace('_', " ")),
        _ => format!("the kernel does not tell the mode of the IDE channel {at}"),
    };
    Link { kind: "IDE channel", key: port.folder, rate, half_duplex: true, source }
}
