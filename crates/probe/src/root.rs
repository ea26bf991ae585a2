//! Reads small text files of /proc and /sys and the mount table below a given root; a missing or malformed file is `None`.
//!
//! Paths are relative to the root, without a leading slash, in arguments and results.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use halfpower_os::cache_switch::CacheSwitch;
use halfpower_os::extents::Layout;
use halfpower_os::mounts::{Mount, parse};
use halfpower_os::nvme::NvmePage;
use halfpower_os::{DataFile, DeviceNumber, OsError, network_card, nvme, scsi_query};

/// Why a file gives no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// There is no such file.
    Absent,
    /// Only root may read it.
    RootOnly,
    /// The kernel answers with this error.
    Refused(String),
}

impl From<&io::Error> for Missing {
    fn from(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Absent,
            io::ErrorKind::PermissionDenied => Self::RootOnly,
            _ => Self::Refused(error.to_string()),
        }
    }
}

/// The space of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// All bytes.
    pub bytes: u64,
    /// Bytes that are free, those that are reserved for root included.
    pub free: u64,
    /// Bytes that any user may fill.
    pub available: u64,
}

/// The folder that contains /proc, /sys and /run: `/` of the running system, or a tree laid out by a test.
#[derive(Debug, Clone)]
pub struct Root {
    base: PathBuf,
}

impl Root {
    /// The running system.
    pub fn live() -> Self {
        Self::at(Path::new("/"))
    }

    /// A tree laid out below `base`.
    pub fn at(base: &Path) -> Self {
        Self { base: fs::canonicalize(base).unwrap_or_else(|_| base.to_path_buf()) }
    }

    /// The text of a file, with surrounding white space removed.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        self.read(path).ok()
    }

    /// As `text`, with the reason if there is none.
    ///
    /// # Errors
    /// If the file is not there or cannot be read.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<String, Missing> {
        let bytes = fs::read(self.base.join(path)).map_err(|error| Missing::from(&error))?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_string())
    }

    /// The first word of a file, parsed as a number.
    pub fn number<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.split_whitespace().next()?.parse().ok()
    }

    /// The names in a folder, sorted; empty if the folder does not exist.
    pub fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.base.join(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether this file or folder exists.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.base.join(path).exists()
    }

    /// The parts of a mapped device, as `dmsetup table` prints them after start and length; `None` if unknown. A
    /// laid-out tree keeps them in the file `mapping/MAJOR:MINOR`.
    pub fn mapping(&self, number: DeviceNumber) -> Option<Vec<String>> {
        self.mapped("mapping", number, halfpower_os::device_mapper::table).ok()
    }

    /// As `mapping`, with the reason if it is unknown. It may hold keys: show single words of it only.
    ///
    /// # Errors
    /// [`Missing::RootOnly`] for other users, and in a laid-out tree without that file.
    pub fn mapping_or_why(&self, number: DeviceNumber) -> Result<Vec<String>, Missing> {
        self.mapped("mapping", number, halfpower_os::device_mapper::table)
    }

    /// The state of those parts, as `dmsetup status` prints it after start and length. A laid-out tree keeps it in the
    /// file `state/MAJOR:MINOR`.
    ///
    /// # Errors
    /// As of `mapping_or_why`.
    pub fn mapping_state(&self, number: DeviceNumber) -> Result<Vec<String>, Missing> {
        self.mapped("state", number, halfpower_os::device_mapper::state)
    }

    fn mapped(
        &self,
        folder: &str,
        number: DeviceNumber,
        live: fn(DeviceNumber) -> io::Result<Vec<String>>,
    ) -> Result<Vec<String>, Missing> {
        if self.is_live() {
            return live(number).map_err(|error| Missing::from(&error));
        }
        let text = self.text(format!("{folder}/{number}")).ok_or(Missing::RootOnly)?;
        Ok(text.lines().map(str::to_string).collect())
    }

    /// The space of the file system mounted at `point`. A laid-out tree has a line for each in the file `space`: mount
    /// point, all bytes, free bytes, available bytes.
    pub fn space(&self, point: &Path) -> Option<Space> {
        if self.is_live() {
            let seen = rustix::fs::statvfs(point).ok()?;
            let bytes = |blocks: u64| blocks.saturating_mul(seen.f_frsize);
            let (all, free) = (bytes(seen.f_blocks), bytes(seen.f_bfree));
            return Some(Space { bytes: all, free, available: bytes(seen.f_bavail) });
        }
        let text = self.text("space")?;
        let line = text.lines().find(|line| line.split_whitespace().next().map(Path::new) == Some(point))?;
        let mut numbers = line.split_whitespace().skip(1).filter_map(|word| word.parse().ok());
        Some(Space { bytes: numbers.next()?, free: numbers.next()?, available: numbers.next()? })
    }

    /// The position of the write cache of a disk's own controller: `write back` (on) or `write through` (off), or
    /// `none`. A laid-out tree keeps it in the file `cache/NAME`.
    ///
    /// # Errors
    /// If it cannot be asked; of an NVMe controller only root may.
    pub fn write_cache(&self, disk: &Path) -> Result<String, Missing> {
        let name = disk.file_name().unwrap_or_default().to_string_lossy();
        if !self.is_live() {
            return self.read(format!("cache/{name}")).map_err(|_| Missing::RootOnly);
        }
        let Some(switch) = CacheSwitch::of(&self.base.join(disk)) else { return Err(Missing::Absent) };
        match switch.setting() {
            Ok(setting) => Ok(setting),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok("none".to_string()),
            Err(error) => Err(Missing::from(&error)),
        }
    }

    /// What the NVMe drive in this sysfs folder tells of itself. A laid-out tree keeps it in the file `dev/NAME.PAGE`, such
    /// as `dev/nvme0n1.smart-log`.
    ///
    /// # Errors
    /// [`Missing::RootOnly`] for other users, and in a laid-out tree without that file; else if the drive is no NVMe, or
    /// refuses.
    pub fn nvme_page(&self, disk: &Path, page: NvmePage) -> Result<Vec<u8>, Missing> {
        self.answer(disk, page.name(), |folder| nvme::page(folder, page))
    }

    /// The SMART data of the ATA disk in this sysfs folder. A laid-out tree keeps them in the file `dev/NAME.smart`.
    ///
    /// # Errors
    /// As of `nvme_page`.
    pub fn smart_data(&self, disk: &Path) -> Result<Vec<u8>, Missing> {
        self.answer(disk, "smart", scsi_query::smart_data)
    }

    /// A log page of the SCSI disk in this sysfs folder. A laid-out tree keeps it in the file `dev/NAME.log-PAGE`, such as
    /// `dev/sda.log-2f`.
    ///
    /// # Errors
    /// As of `nvme_page`.
    pub fn log_page(&self, disk: &Path, page: u8) -> Result<Vec<u8>, Missing> {
        self.answer(disk, &format!("log-{page:02x}"), |folder| scsi_query::log_page(folder, page))
    }

    /// What only the disk itself can answer.
    fn answer(
        &self,
        disk: &Path,
        what: &str,
        live: impl FnOnce(&Path) -> io::Result<Vec<u8>>,
    ) -> Result<Vec<u8>, Missing> {
        if self.is_live() {
            return live(&self.base.join(disk)).map_err(|error| Missing::from(&error));
        }
        let name = disk.file_name().unwrap_or_default().to_string_lossy();
        fs::read(self.base.join(format!("dev/{name}.{what}"))).map_err(|_| Missing::RootOnly)
    }

    /// What the driver of a network interface tells, a line each as ethtool would: offloads, and the speeds of the link. A
    /// laid-out tree keeps it in the file `ethtool/NAME`.
    ///
    /// # Errors
    /// If there is no such interface, or it may not be asked.
    pub fn network_card(&self, interface: &str) -> Result<String, Missing> {
        if self.is_live() {
            return network_card::told(interface).map_err(|error| Missing::from(&error));
        }
        self.read(format!("ethtool/{interface}"))
    }

    /// How a regular file lies on its device. A laid-out tree has a line for each in the file `layouts`: path, bytes, bytes
    /// with a place, unwritten bytes, pieces.
    ///
    /// # Errors
    /// [`Missing::Absent`] if it is no regular file, or its file system does not tell; else if it may not be opened.
    pub fn layout(&self, file: &Path) -> Result<Layout, Missing> {
        if self.is_live() {
            return live_layout(file);
        }
        let text = self.read("layouts")?;
        let line = text.lines().find(|line| line.split_whitespace().next().map(Path::new) == Some(file));
        let numbers = line.into_iter().flat_map(|line| line.split_whitespace().skip(1)).map(str::parse::<u64>);
        match numbers.collect::<Result<Vec<u64>, _>>().unwrap_or_default()[..] {
            [bytes, placed_bytes, unwritten_bytes, pieces] => {
                Ok(Layout { bytes, placed_bytes, unwritten_bytes, pieces, is_encoded: false })
            }
            _ => Err(Missing::Absent),
        }
    }

    fn is_live(&self) -> bool {
        self.base == Path::new("/")
    }

    /// The path below this root as others open it.
    pub fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base.join(path)
    }

    /// The sysfs folder of the block device with this number, every link resolved.
    pub fn block_device(&self, number: DeviceNumber) -> Option<PathBuf> {
        let found = number.sysfs_below(&self.base);
        self.resolve(found.strip_prefix(&self.base).ok()?)
    }

    /// The path with every symbolic link resolved, if it stays below the root.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let real = fs::canonicalize(self.base.join(path)).ok()?;
        real.strip_prefix(&self.base).ok().map(Path::to_path_buf)
    }
}

fn live_layout(file: &Path) -> Result<Layout, Missing> {
    if !file.is_file() {
        return Err(Missing::Absent);
    }
    let layout = DataFile::open(file, false).and_then(|file| file.layout()).map_err(|error| match error {
        OsError::Denied { .. } => Missing::RootOnly,
        other => Missing::Refused(other.to_string()),
    })?;
    layout.ok_or(Missing::Absent)
}

/// The mount table in mount order; unreadable lines are left out.
pub fn mounts(root: &Root) -> Vec<Mount> {
    // As bytes: the name of a mount point need not be text, and a target is held against it.
    parse(&fs::read(root.base.join("proc/self/mountinfo")).unwrap_or_default())
}
