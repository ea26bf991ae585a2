//! Finds the alignment that direct requests to a data file need.

use rustix::fs::{AtFlags, StatxFlags};

use crate::{Buffers, DataFile, Kind, Mode, OsError, RunFile};

/// Direct requests must be multiples of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alignment {
    /// Alignment of the buffer's address, in bytes.
    pub memory_bytes: u32,
    /// Alignment of offset and length, in bytes.
    pub offset_bytes: u32,
}

impl DataFile {
    /// The alignment of direct requests; `None` if there is no direct I/O, or a file system in memory only pretends to
    /// have it. Most reliable once the file has data.
    ///
    /// # Errors
    /// If the file cannot be reopened.
    pub fn direct_alignment(&self) -> Result<Option<Alignment>, OsError> {
        if self.kind() == Kind::Regular && self.is_in_memory() {
            return Ok(None);
        }
        let direct = match self.reopen(Mode { direct: true, ..Mode::default() }) {
            Err(OsError::NoDirect { .. }) => return Ok(None),
            other => other?,
        };
        let reported = rustix::fs::statx(self, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok();
        if let Some(reported) = reported.filter(|reported| reported.stx_mask & StatxFlags::DIOALIGN.bits() != 0) {
            let memory_bytes = reported.stx_dio_mem_align;
            let offset_bytes = reported.stx_dio_offset_align;
            return Ok((offset_bytes > 0).then_some(Alignment { memory_bytes, offset_bytes }));
        }
        let block_bytes = self.logical_block_bytes().or_else(|| smallest_direct_read(&direct)).unwrap_or(4096);
        Ok(Some(Alignment { memory_bytes: block_bytes, offset_bytes: block_bytes }))
    }

    /// Whether the file system lies in main memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        const TMPFS: i64 = 0x0102_1994;
        const RAMFS: i64 = 0x8584_58f6;
        #[allow(clippy::unnecessary_cast, reason = "its type differs between architectures")]
        rustix::fs::fstatfs(self).is_ok_and(|system| matches!(system.f_type as i64, TMPFS | RAMFS))
    }

    fn logical_block_bytes(&self) -> Option<u32> {
        if self.kind() == Kind::Block {
            return rustix::fs::ioctl_blksszget(self).ok();
        }
        let folder = self.device().ok()?.sysfs();
        // A partition has no queue of its own; its whole device is the folder above.
        let texts = ["queue", "../queue"].map(|queue| folder.join(queue).join("logical_block_size"));
        texts.iter().find_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok())
    }
}

/// The smallest direct read that succeeds, for file systems that do not report their alignment.
fn smallest_direct_read(direct: &RunFile) -> Option<u32> {
    let mut buffer = Buffers::new(1, 4096, 0).ok()?;
    [512, 1024, 2048, 4096].into_iter().find(|bytes| {
        let read = direct.read_at(&mut buffer.slot_mut(0)[..*bytes as usize], u64::from(*bytes));
        read.is_ok_and(|came| came == *bytes as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip;
    use std::path::Path;

    const HERE: &str = env!("CARGO_MANIFEST_DIR");

    #[test]
    fn a_file_in_memory_takes_no_direct_io() {
        let Ok(file) = DataFile::unnamed_in(Path::new("/dev/shm")) else {
            return skip("there is no /dev/shm to write to");
        };
        assert_eq!(file.direct_alignment().unwrap(), None);
    }

    #[test]
    fn direct_requests_of_the_told_alignment_go_through() {
        let file = DataFile::unnamed_in(Path::new(HERE)).unwrap();
        file.write_all_at(&[7; 65536], 0).unwrap();
        file.sync().unwrap();
        let Some(alignment) = file.direct_alignment().unwrap() else {
            return skip("the source folder's file system takes no direct I/O");
        };
        let run = file.reopen(Mode { direct: true, write: true, ..Mode::default() }).unwrap();
        let mut buffers = Buffers::new(1, 65536, 0).unwrap();
        let bytes = alignment.offset_bytes as usize;
        assert_eq!(run.read_at(&mut buffers.slot_mut(0)[..bytes], bytes as u64).unwrap(), bytes);
        assert_eq!(buffers.slot(0)[..bytes], vec![7; bytes]);
        let off = run.read_at(&mut buffers.slot_mut(0)[..bytes], 1).unwrap_err();
        assert_eq!(off.raw_os_error(), Some(libc::EINVAL));
        let probed = smallest_direct_read(&run).unwrap();
        assert!(probed as usize >= bytes && probed <= 4096, "told {bytes}, probed {probed}");
        assert!(file.logical_block_bytes().is_none_or(|block| block as usize >= bytes.min(512)));
    }
}
