//! Reads parts of a device or file, such as its partitions.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use crate::{DataFile, DeviceNumber, Kind};

/// Sector size in sysfs.
const SECTOR_BYTES: u64 = 512;

/// A part of an opened device or file.
pub(crate) struct DevicePart<'a> {
    data: &'a DataFile,
    range: Range<u64>,
    /// The partition that it is; `None` for all of the device.
    pub name: Option<String>,
}

impl<'a> DevicePart<'a> {
    /// All of it, and after it each partition that the kernel sees on it.
    ///
    /// # Errors
    /// If its size is unknown.
    pub fn all(data: &'a DataFile) -> io::Result<Vec<Self>> {
        let size_bytes = data.size_bytes().map_err(io::Error::other)?;
        let mut parts = vec![Self { data, range: 0..size_bytes, name: None }];
        if data.kind() == Kind::Block {
            let found = partitions(&data.device().map_err(io::Error::other)?.sysfs());
            parts.extend(found.into_iter().map(|(name, range)| {
                let end = range.end.min(size_bytes);
                Self { data, range: range.start.min(end)..end, name: Some(name) }
            }));
        }
        Ok(parts)
    }

    pub fn size_bytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// The bytes from `offset` of the part on: `length` of them, or fewer at its end.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn bytes_at(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut held = 0;
        let most = usize::try_from(self.size_bytes().saturating_sub(offset)).map_or(length, |most| most.min(length));
        while held < most {
            let from = self.range.start + offset + held as u64;
            match self.data.read_at(&mut bytes[held..most], from).map_err(io::Error::other)? {
                0 => break,
                more => held += more,
            }
        }
        bytes.truncate(held);
        Ok(bytes)
    }

    /// Whether these bytes lie at `offset`.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn has(&self, offset: u64, mark: &[u8]) -> io::Result<bool> {
        Ok(self.bytes_at(offset, mark.len())? == mark)
    }
}

/// Names and byte ranges of the partitions that the kernel sees on a disk.
pub(crate) fn partitions(sysfs: &Path) -> Vec<(String, Range<u64>)> {
    let entries = fs::read_dir(sysfs).into_iter().flatten().flatten();
    let mut parts: Vec<(String, Range<u64>)> = entries
        .filter_map(|entry| {
            let number = |file: &str| fs::read_to_string(entry.path().join(file)).ok()?.trim().parse::<u64>().ok();
            DeviceNumber::in_folder(&entry.path())?;
            number("partition")?;
            let start = number("start")?.checked_mul(SECTOR_BYTES)?;
            let end = start.checked_add(number("size")?.checked_mul(SECTOR_BYTES)?)?;
            Some((entry.file_name().into_string().ok()?, start..end))
        })
        .collect();
    parts.sort_by_key(|(_, part)| part.start);
    parts
}
