//! Names what lies on a device, by the marks that file systems, partition tables and swap areas have in fixed places.
//!
//! The members of volumes have marks of their own: [`crate::member_mark`].

use std::io;

use crate::DataFile;
use crate::device_part::DevicePart;

/// A mark: its offset and its bytes, what it identifies, and where a label lies: its offset and its most bytes.
struct Mark(u64, &'static [u8], &'static str, Option<(u64, usize)>);

/// Marks of at least four bytes, which nothing else has by chance; shorter ones are looked for with what lies around.
const MARKS: [Mark; 36] = [
    Mark(0, b"XFSB", "a file system (XFS)", Some((108, 12))),
    Mark(0x1_0040, b"_BHRfS_M", "a file system (btrfs)", Some((0x1_012b, 256))),
    Mark(3, b"NTFS    ", "a file system (NTFS)", None),
    Mark(3, b"EXFAT   ", "a file system (exFAT)", None),
    Mark(3, b"-FVE-FS-", "an encrypted volume (BitLocker)", None),
    Mark(3, b"ReFS\0\0\0\0", "a file system (ReFS)", None),
    Mark(82, b"FAT32   ", "a file system (FAT32)", Some((71, 11))),
    Mark(54, b"FAT16   ", "a file system (FAT16)", Some((43, 11))),
    Mark(54, b"FAT12   ", "a file system (FAT12)", Some((43, 11))),
    Mark(1024, b"\x10\x20\xf5\xf2", "a file system (F2FS)", None),
    Mark(1024, b"\xe2\xe1\xf5\xe0", "a file system (EROFS)", Some((1024 + 64, 16))),
    Mark(0, b"hsqs", "a file system (SquashFS)", None),
    Mark(0, b"sqsh", "a file system (SquashFS)", None),
    Mark(0, b"\x45\x3d\xcd\x28", "a file system (cramfs)", Some((48, 16))),
    Mark(0x8001, b"CD001", "a file system (ISO 9660)", Some((0x8028, 32))),
    Mark(0x8001, b"BEA01", "a file system (UDF)", None),
    Mark(0x8000, b"JFS1", "a file system (JFS)", Some((0x8000 + 152, 16))),
    Mark(0x1_0034, b"ReIsEr", "a file system (ReiserFS)", None),
    Mark(0x1_0000, b"\x01\x16\x19\x70", "a file system (GFS2)", None),
    Mark(0x1_0000 + 1372, b"\x19\x01\x54\x19", "a file system (UFS2)", None),
    Mark(1024, b"OCFSV2", "a file system (OCFS2)", None),
    Mark(2048, b"OCFSV2", "a file system (OCFS2)", None),
    Mark(4096, b"OCFSV2", "a file system (OCFS2)", None),
    Mark(8192, b"OCFSV2", "a file system (OCFS2)", None),
    Mark(32, b"NXSB", "a container of file systems (APFS)", None),
    Mark(1024, b"H+\0\x04", "a file system (HFS+)", None),
    Mark(1024, b"HX\0\x05", "a file system (HFSX)", None),
    Mark(2 << 20, b"\x5e\xf1\xab\x2f", "a file system (VMFS)", None),
    Mark(4096 - 10, SWAP, "a swap area", SWAP_LABEL),
    Mark(8192 - 10, SWAP, "a swap area", SWAP_LABEL),
    Mark(16384 - 10, SWAP, "a swap area", SWAP_LABEL),
    Mark(65536 - 10, SWAP, "a swap area", SWAP_LABEL),
    Mark(4096 - 10, b"S1SUSPEND\0", "an image of a machine that sleeps", None),
    Mark(512, GPT, A_GPT, None),
    Mark(4096, GPT, A_GPT, None),
    Mark(0, b"ER\x02\x00", "a partition table (Apple)", None),
];
const SWAP: &[u8] = b"SWAPSPACE2";
const SWAP_LABEL: Option<(u64, usize)> = Some((1052, 16));
const GPT: &[u8] = b"EFI PART";
const A_GPT: &str = "a partition table (GPT)";
/// The superblock of ext2 to ext4 and, within it, its magic, the logarithm of its block size, its features, its label.
const EXT: u64 = 1024;
const EXT_MAGIC: (usize, [u8; 2]) = (56, [0x53, 0xef]);
const EXT_BLOCK: usize = 24;
const EXT_FEATURES: [usize; 2] = [92, 96];
const EXT_LABEL: (u64, usize) = (EXT + 120, 16);
/// The table of partitions of a PC: its place, the bytes of an entry, and the mark after it.
const MBR: usize = 446;
const MBR_ENTRY: usize = 16;
const MBR_MAGIC: [u8; 2] = [0x55, 0xaa];

/// What lies on the opened device or file: a file system, a swap area, a partition table, with its label or its number
/// of partitions. `None` if no mark is found.
///
/// # Errors
/// If it cannot be read.
pub fn content_of(data: &DataFile) -> io::Result<Option<String>> {
    let parts = DevicePart::all(data)?;
    let Some((whole, partitions)) = parts.split_first() else { return Ok(None) };
    let found = marked(whole)?;
    Ok(match (found, partitions.len()) {
        (found, 0) => found,
        (Some(found), 1) => Some(format!("{found} with 1 partition")),
        (Some(found), count) => Some(format!("{found} with {count} partitions")),
        (None, count) => Some(format!("a partition table with {count} partitions")),
    })
}

fn marked(part: &DevicePart<'_>) -> io::Result<Option<String>> {
    if let Some(kind) = ext(part)? {
        return named(part, kind, Some(EXT_LABEL)).map(Some);
    }
    for Mark(offset, bytes, what, label) in &MARKS {
        if part.has(*offset, bytes)? {
            return named(part, what, *label).map(Some);
        }
    }
    if is_pc_table(&part.bytes_at(0, 512)?) {
        return Ok(Some("a partition table (MBR)".to_string()));
    }
    // The copy of a table whose beginning was lost; repair tools need it.
    for sector in [512, 4096] {
        if let Some(offset) = (part.size_bytes() & !(sector - 1)).checked_sub(sector)
            && part.has(offset, GPT)?
        {
            return Ok(Some(A_GPT.to_string()));
        }
    }
    Ok(None)
}

/// What was found, with its label if it has one.
fn named(part: &DevicePart<'_>, what: &str, label: Option<(u64, usize)>) -> io::Result<String> {
    let Some((offset, most)) = label else { return Ok(what.to_string()) };
    let bytes = part.bytes_at(offset, most)?;
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let label = String::from_utf8_lossy(bytes);
    Ok(match label.trim_end() {
        "" | "NO NAME" => what.to_string(),
        label => format!("{what} with the label \"{label}\""),
    })
}

/// Which of ext2, ext3 and ext4 it is.
fn ext(part: &DevicePart<'_>) -> io::Result<Option<&'static str>> {
    let superblock = part.bytes_at(EXT, 128)?;
    let (at, magic) = EXT_MAGIC;
    let word = |at: usize| {
        superblock.get(at..at + 4).map_or(0, |bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    let has_magic = superblock.get(at..).is_some_and(|rest| rest.starts_with(&magic));
    if !has_magic || word(EXT_BLOCK) > 6 {
        return Ok(None);
    }
    // A journal is ext3's; extents, 64 bits and flexible groups are ext4's.
    let [compatible, incompatible] = EXT_FEATURES.map(word);
    Ok(Some(match (compatible & 0x4, incompatible & 0x2c0) {
        (_, 1..) => "a file system (ext4)",
        (1.., _) => "a file system (ext3)",
        _ => "a file system (ext2)",
    }))
}

/// Whether a first sector holds a partition table of a PC: its mark, and entries as they may be, at least one in use.
fn is_pc_table(sector: &[u8]) -> bool {
    let Some((table, magic)) = sector.get(MBR..512).map(|rest| rest.split_at(4 * MBR_ENTRY)) else { return false };
    let may_be = |entry: &[u8]| entry[0] & 0x7f == 0;
    let is_used = |entry: &[u8]| entry[4] != 0 && entry[12..].iter().any(|byte| *byte != 0);
    let mut entries = table.chunks(MBR_ENTRY);
    magic == MBR_MAGIC && entries.clone().all(may_be) && entries.any(is_used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    const HERE: &str = env!("CARGO_MANIFEST_DIR");
    const SIZE: u64 = (16 << 20) + 7 * 512;

    /// What is found on a sparse file with the given bytes at the given offsets.
    fn found(marks: &[(u64, &[u8])]) -> Option<String> {
        let file = DataFile::unnamed_in(Path::new(HERE)).unwrap();
        file.set_size(SIZE).unwrap();
        marks.iter().for_each(|(offset, bytes)| file.write_all_at(bytes, *offset).unwrap());
        content_of(&file).unwrap()
    }

    #[test]
    fn each_mark_is_found_at_its_place_and_nowhere_else() {
        for Mark(offset, bytes, what, label) in &MARKS {
            assert_eq!(found(&[(*offset, *bytes)]).as_deref(), Some(*what));
            assert_eq!(found(&[(*offset + 7, *bytes)]), None, "{what} at another place");
            if let Some((place, most)) = label {
                let label = vec![b'l'; *most];
                let said = found(&[(*offset, *bytes), (*place, &label[..])]).unwrap();
                assert_eq!(said, format!("{what} with the label \"{}\"", "l".repeat(*most)));
            }
        }
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[(SIZE - 512, GPT)]).as_deref(), Some(A_GPT), "the copy at the end");
    }

    #[test]
    fn short_marks_need_what_lies_around_them() {
        assert_eq!(found(&[(1080, &[0x53, 0xef])]).as_deref(), Some("a file system (ext2)"));
        assert_eq!(found(&[(1080, &[0x53, 0xef]), (1116, &[4])]).as_deref(), Some("a file system (ext3)"));
        assert_eq!(found(&[(1080, &[0x53, 0xef]), (1120, &[0x40])]).as_deref(), Some("a file system (ext4)"));
        assert_eq!(found(&[(1080, &[0x53, 0xef]), (1048, &[0, 1])]), None, "no such block size");
        let entry = [0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0x20, 0, 0];
        assert_eq!(found(&[(446, &entry), (510, &MBR_MAGIC)]).as_deref(), Some("a partition table (MBR)"));
        assert_eq!(found(&[(510, &MBR_MAGIC)]), None, "a boot sector without partitions");
        assert_eq!(found(&[(446, &[0x11; 16]), (510, &MBR_MAGIC)]), None, "no such entry");
    }

    #[test]
    fn what_the_usual_programs_make_is_named() {
        let folder = tempfile::tempdir_in(HERE).unwrap();
        let image = folder.path().join("image");
        for (program, words, expected) in [
            ("mkfs.ext4", &["-q", "-F", "-L", "letters"][..], "a file system (ext4) with the label \"letters\""),
            ("mkfs.ext2", &["-q", "-F"], "a file system (ext2)"),
            ("mkfs.xfs", &["-q", "-f", "-L", "letters"], "a file system (XFS) with the label \"letters\""),
            ("mkfs.btrfs", &["-q", "-f", "-L", "letters"], "a file system (btrfs) with the label \"letters\""),
            ("mkfs.vfat", &["-F", "32", "-n", "LETTERS"], "a file system (FAT32) with the label \"LETTERS\""),
            ("mkswap", &["-L", "letters"], "a swap area with the label \"letters\""),
        ] {
            let _ = std::fs::remove_file(&image);
            std::fs::File::create(&image).unwrap().set_len(320 << 20).unwrap();
            // A program that is not there is no failure: the table above was tested without it.
            let made = Command::new(program).args(words).arg(&image).output();
            if !made.is_ok_and(|made| made.status.success()) {
                eprintln!("left out: {program}");
                continue;
            }
            let data = DataFile::open(&image, false).unwrap();
            assert_eq!(content_of(&data).unwrap().as_deref(), Some(expected), "{program}");
        }
    }
}
