//! Finds the marks of volume members on a device, even of volumes that are not active.
//!
//! A volume member holds data that belongs to a larger whole or has a special format, but the kernel claims the device
//! only while the volume is active. A file system or a partition table alone is no such mark, because its data belong
//! to the device itself.

use std::io;

use crate::DataFile;
use crate::device_part::DevicePart;

/// Sector size in the formats below.
const SECTOR_BYTES: u64 = 512;

/// A mark at a fixed place: its offset, its bytes, and what it identifies.
const MARKS: [(u64, &[u8], &str); 10] = [
    // The label of an LVM physical volume is in one of the first four sectors (lvm2, lib/label/label.h).
    (0, b"LABELONE", LVM),
    (SECTOR_BYTES, b"LABELONE", LVM),
    (2 * SECTOR_BYTES, b"LABELONE", LVM),
    (3 * SECTOR_BYTES, b"LABELONE", LVM),
    // Superblocks of md in version 1.1 and 1.2 (linux/raid/md_p.h).
    (0, &MD, AN_ARRAY),
    (4096, &MD, AN_ARRAY),
    (0, b"LUKS\xba\xbe", "an encrypted volume (LUKS)"),
    // Follows the checksum and the address of the superblock (bcache).
    (
        4096 + 24,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
        "a cached device or a cache (bcache)",
    ),
    (4096 + 24, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef", "a file system of bcachefs"),
    (0, b"bluestore block device", "an object store (Ceph)"),
];
const LVM: &str = "a volume group (LVM)";
const AN_ARRAY: &str = "an array (md)";
const MD: [u8; 4] = 0xa92b_4efc_u32.to_le_bytes();
/// Superblock of btrfs: its offset, and within it the offsets of its magic and its number of devices.
const BTRFS: u64 = 0x1_0000;
const BTRFS_MAGIC: (u64, &[u8]) = (0x40, b"_BHRfS_M");
const BTRFS_DEVICES: u64 = 0x88;
/// The two ZFS labels at the beginning: bytes of a label, offset of its uberblocks, and their least spacing (OpenZFS,
/// vdev_impl.h).
const ZFS_LABEL_BYTES: u64 = 256 << 10;
const ZFS_UBERBLOCKS: u64 = 128 << 10;
const ZFS_UBERBLOCK_BYTES: usize = 1 << 10;
const ZFS_MAGIC: u64 = 0x00ba_b10c;
/// The mark of a device in a VMFS volume, and DRBD's of metadata on the device itself: version 8, 8 while it was in use,
/// version 9.
const VMFS: u64 = 1 << 20;
const VMFS_MAGIC: [u8; 4] = 0xc001_d00d_u32.to_le_bytes();
const DRBD_MAGICS: [u32; 3] = [0x8374_026b, 0x8374_026c, 0x8374_026d];

/// The volume type that the opened file or device is a member of, found by its mark. For a whole disk its partitions
/// are searched too, and the result ends with the partition's name. `None` if no mark is found.
///
/// # Errors
/// If it cannot be read.
pub fn member_of(data: &DataFile) -> io::Result<Option<String>> {
    for part in DevicePart::all(data)? {
        if let Some(what) = marked(&part)? {
            let of_part = part.name.map(|name| format!("{what} by its partition {name}"));
            return Ok(Some(of_part.unwrap_or_else(|| what.to_string())));
        }
    }
    Ok(None)
}

/// The mark in a part of a device.
fn marked(part: &DevicePart<'_>) -> io::Result<Option<&'static str>> {
    let size_bytes = part.size_bytes();
    // Bytes past the end hold no mark.
    let head = part.bytes_at(0, 8192)?;
    let has = |(offset, mark, _): &&(u64, &[u8], &str)| {
        head.get(*offset as usize..).is_some_and(|rest| rest.starts_with(mark))
    };
    if let Some((_, _, what)) = MARKS.iter().find(has) {
        return Ok(Some(what));
    }
    for offset in md_at_the_end(size_bytes) {
        if part.has(offset, &MD)? {
            return Ok(Some(AN_ARRAY));
        }
    }
    if part.has(VMFS, &VMFS_MAGIC)? {
        return Ok(Some("a datastore (VMFS)"));
    }
    let replicated = part.bytes_at(drbd_at_the_end(size_bytes), 4)?;
    if DRBD_MAGICS.iter().any(|magic| replicated == magic.to_be_bytes()) {
        return Ok(Some("a replicated device (DRBD)"));
    }
    let devices = part.bytes_at(BTRFS, (BTRFS_DEVICES + 8) as usize)?;
    let (magic_at, magic) = BTRFS_MAGIC;
    if devices.get(magic_at as usize..).is_some_and(|rest| rest.starts_with(magic))
        && devices.get(BTRFS_DEVICES as usize..).is_some_and(|count| number(count) > Some(1))
    {
        return Ok(Some("a file system over several devices (btrfs)"));
    }
    for label in [0, ZFS_LABEL_BYTES] {
        let ring = part.bytes_at(label + ZFS_UBERBLOCKS, (ZFS_LABEL_BYTES - ZFS_UBERBLOCKS) as usize)?;
        let is_uberblock =
            |block: &[u8]| number(block).is_some_and(|magic| magic == ZFS_MAGIC || magic.swap_bytes() == ZFS_MAGIC);
        if ring.chunks(ZFS_UBERBLOCK_BYTES).any(is_uberblock) {
            return Ok(Some("a pool (ZFS)"));
        }
    }
    Ok(None)
}

/// Offset of DRBD's magic in its metadata, which fill the last 4 KiB of a device (drbd, md_on_disk).
fn drbd_at_the_end(size_bytes: u64) -> u64 {
    (size_bytes & !4095).checked_sub(4096).map_or(u64::MAX, |begin| begin + 60)
}

/// Offsets of the md superblocks at the end of a device: version 1.0 and 0.90 (linux/raid/md_p.h, drivers/md/md.c).
fn md_at_the_end(size_bytes: u64) -> impl Iterator<Item = u64> {
    let sectors = size_bytes / SECTOR_BYTES;
    let last = (sectors.checked_sub(16).map(|sector| sector & !7), (sectors & !127).checked_sub(128));
    [last.0, last.1].into_iter().flatten().map(|sector| sector * SECTOR_BYTES)
}

fn number(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_part::partitions;
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    const HERE: &str = env!("CARGO_MANIFEST_DIR");

    /// A sparse file of `size_bytes` bytes with the given bytes at the given offsets.
    fn laid_out(size_bytes: u64, marks: &[(u64, &[u8])]) -> DataFile {
        let file = DataFile::unnamed_in(Path::new(HERE)).unwrap();
        file.set_size(size_bytes).unwrap();
        marks.iter().for_each(|(offset, bytes)| file.write_all_at(bytes, *offset).unwrap());
        file
    }

    #[test]
    fn each_mark_is_found_at_its_place_and_nowhere_else() {
        const SIZE: u64 = (64 << 20) + 5 * 512;
        let zfs = ZFS_MAGIC.to_be_bytes();
        let drbd = 0x8374_026d_u32.to_be_bytes();
        let cases: [(u64, &[u8], &str); 15] = [
            (512, b"LABELONE", "LVM"),
            (1536, b"LABELONE", "LVM"),
            (0, &MD, "md"),
            (4096, &MD, "md"),
            ((SIZE / 512 - 16) / 8 * 8 * 512, &MD, "md"),
            (SIZE / 65536 * 65536 - 65536, &MD, "md"),
            (0, b"LUKS\xba\xbe\0\x02", "LUKS"),
            (4120, MARKS[7].1, "bcache"),
            (4120, MARKS[8].1, "bcachefs"),
            (0, b"bluestore block device\n", "Ceph"),
            (0x1_0088, &[2, 0, 0, 0, 0, 0, 0, 0], ""),
            (128 << 10, &ZFS_MAGIC.to_le_bytes(), "ZFS"),
            ((384 << 10) + 7 * 4096, &zfs, "ZFS"),
            (1 << 20, b"\x0d\xd0\x01\xc0", "VMFS"),
            (SIZE / 4096 * 4096 - 4096 + 60, &drbd, "DRBD"),
        ];
        for (offset, mark, expected) in cases {
            let found = member_of(&laid_out(SIZE, &[(offset, mark)])).unwrap().unwrap_or_default();
            assert_eq!(found.is_empty(), expected.is_empty(), "{offset}: {found:?}");
            assert!(found.contains(expected), "{offset}: {found:?}");
            let moved = member_of(&laid_out(SIZE, &[(offset + 16, mark)])).unwrap();
            assert_eq!(moved, None, "{expected} at another place");
        }
    }

    #[test]
    fn a_btrfs_of_one_device_is_a_file_system_and_of_two_a_member() {
        let magic: (u64, &[u8]) = (0x1_0040, b"_BHRfS_M");
        for (devices, expected) in [(1_u64, false), (2, true)] {
            let found = member_of(&laid_out(1 << 20, &[magic, (0x1_0088, &devices.to_le_bytes())])).unwrap();
            assert_eq!(found.is_some(), expected, "{devices}: {found:?}");
        }
    }

    #[test]
    fn what_is_too_small_for_a_mark_has_none() {
        for size_bytes in [0, 1, 511, 4096, 8192, 65536] {
            assert_eq!(member_of(&laid_out(size_bytes, &[])).unwrap(), None, "{size_bytes}");
        }
        assert!(member_of(&laid_out(520, &[(512, b"LABELONE")])).unwrap().is_some());
    }

    /// Uses a loop device so that the kernel sees the partitions.
    #[test]
    fn a_member_in_a_partition_of_the_disk_is_found_too() {
        let folder = tempfile::tempdir_in(HERE).unwrap();
        let image = folder.path().join("image");
        let mut bytes = vec![0; 8 << 20];
        // An MBR partition table: one Linux partition of 8192 sectors from sector 2048 on.
        bytes[446 + 4] = 0x83;
        bytes[446 + 8..446 + 12].copy_from_slice(&2048_u32.to_le_bytes());
        bytes[446 + 12..446 + 16].copy_from_slice(&8192_u32.to_le_bytes());
        bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
        bytes[2048 * 512 + 512..][..8].copy_from_slice(b"LABELONE");
        fs::write(&image, bytes).unwrap();
        let made = Command::new("losetup").args(["--find", "--show", "--partscan"]).arg(&image).output();
        let Some(made) = made.ok().filter(|made| made.status.success()) else {
            return crate::skip("a loop device needs root and losetup");
        };
        let device = String::from_utf8(made.stdout).unwrap().trim().to_string();
        let found = DataFile::open(Path::new(&device), false).map(|data| (partitions_of(&data), member_of(&data)));
        Command::new("losetup").args(["--detach", &device]).status().unwrap();
        let (partitions, found) = found.unwrap();
        if partitions == 0 {
            // A different kernel cannot be installed as a missing part, so this is never a failure.
            eprintln!("skipped: this kernel shows no partitions of loop devices");
            return;
        }
        let found = found.unwrap().unwrap_or_default();
        assert!(found.starts_with("a volume group (LVM) by its partition loop"), "{found}");
    }

    fn partitions_of(data: &DataFile) -> usize {
        partitions(&data.device().unwrap().sysfs()).len()
    }
}
