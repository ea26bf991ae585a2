//! Finds out what requests to a data file may ask for one by one: that their pages are dropped, or that a write is atomic.

use rustix::fs::{AtFlags, StatxFlags};

use crate::{DataFile, Mode, OsError};

/// Sizes of the writes that are on the medium whole or not at all; a size is a power of two, and a write begins at a
/// multiple of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtomicSizes {
    /// The smallest, in bytes.
    pub least_bytes: u32,
    /// The largest, in bytes.
    pub most_bytes: u32,
}

impl AtomicSizes {
    /// The sizes that both take; `None` if there are none.
    pub fn common(self, other: Self) -> Option<Self> {
        let least_bytes = self.least_bytes.max(other.least_bytes);
        let most_bytes = self.most_bytes.min(other.most_bytes);
        (least_bytes <= most_bytes).then_some(Self { least_bytes, most_bytes })
    }

    /// Whether a write of so many bytes can be atomic.
    pub fn admit(self, bytes: u64) -> bool {
        (u64::from(self.least_bytes)..=u64::from(self.most_bytes)).contains(&bytes) && bytes.is_power_of_two()
    }
}

impl DataFile {
    /// Whether buffered requests may ask that their pages are dropped after use (`RWF_DONTCACHE`, Linux 6.14). A read at
    /// the end of the file asks for that: it moves nothing.
    ///
    /// # Errors
    /// If the file cannot be reopened, or the read fails for another reason than its flag.
    pub fn drops_pages(&self) -> Result<bool, OsError> {
        let run = self.reopen(Mode { drop_pages: true, ..Mode::default() })?;
        match run.read_at(&mut [0], self.size_bytes()?) {
            Ok(_) => Ok(true),
            // The kernel does not know the flag, or the file system does not take it.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL | libc::ENOSYS)) => {
                Ok(false)
            }
            Err(error) => Err(OsError::of("preadv2", "read", self.path(), error)),
        }
    }

    /// The sizes of atomic writes (`RWF_ATOMIC`, Linux 6.11), as `statx` tells them; `None` if there are none. Such
    /// writes must be direct.
    pub fn atomic_sizes(&self) -> Option<AtomicSizes> {
        let asked = StatxFlags::from_bits_retain(libc::STATX_WRITE_ATOMIC);
        let told = rustix::fs::statx(self, "", AtFlags::EMPTY_PATH, asked).ok()?;
        let is_told = told.stx_mask & libc::STATX_WRITE_ATOMIC != 0;
        let least_bytes = told.stx_atomic_write_unit_min;
        let most_bytes = told.stx_atomic_write_unit_max;
        (is_told && least_bytes > 0 && least_bytes <= most_bytes).then_some(AtomicSizes { least_bytes, most_bytes })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Buffers, skip};

    const HERE: &str = env!("CARGO_MANIFEST_DIR");

    #[test]
    fn atomic_sizes_are_powers_of_two_within_both_ends() {
        let one = AtomicSizes { least_bytes: 512, most_bytes: 16384 };
        let other = AtomicSizes { least_bytes: 4096, most_bytes: 65536 };
        let both = one.common(other).unwrap();
        assert_eq!(both, AtomicSizes { least_bytes: 4096, most_bytes: 16384 });
        assert_eq!([2048, 4096, 12288, 16384, 32768].map(|bytes| both.admit(bytes)), [false, true, false, true, false]);
        assert_eq!(one.common(AtomicSizes { least_bytes: 32768, most_bytes: 65536 }), None);
    }

    #[test]
    fn a_file_in_memory_takes_neither() {
        let Ok(file) = DataFile::unnamed_in(Path::new("/dev/shm")) else {
            return skip("there is no /dev/shm to write to");
        };
        file.write_all_at(&[7; 8192], 0).unwrap();
        assert!(!file.drops_pages().unwrap());
        assert_eq!(file.atomic_sizes(), None);
    }

    #[test]
    fn pages_that_were_read_are_dropped_where_the_kernel_says_so() {
        let file = DataFile::unnamed_in(Path::new(HERE)).unwrap();
        let bytes = 64 << 10;
        file.write_all_at(&[7; 64 << 10], 0).unwrap();
        file.sync().unwrap();
        if !file.drops_pages().unwrap() {
            return skip("the kernel or the source folder's file system drops no pages after use");
        }
        file.drop_cached(0..bytes).unwrap();
        let run = file.reopen(Mode { drop_pages: true, ..Mode::default() }).unwrap();
        let mut buffers = Buffers::new(1, bytes as usize, 0).unwrap();
        assert_eq!(run.read_at(buffers.slot_mut(0), 0).unwrap(), bytes as usize);
        assert!(buffers.slot(0).iter().all(|byte| *byte == 7));
        let held = file.cached_bytes(0..bytes).unwrap();
        assert!(held < bytes, "{held} of {bytes} stayed");
    }

    #[test]
    fn atomic_writes_of_the_told_sizes_go_through() {
        let file = DataFile::unnamed_in(Path::new(HERE)).unwrap();
        file.write_all_at(&[7; 64 << 10], 0).unwrap();
        file.sync().unwrap();
        let Some(sizes) = file.atomic_sizes() else {
            return eprintln!("left out: the source folder's file system or its device offers no atomic writes");
        };
        let mode = Mode { direct: true, write: true, atomic: true, ..Mode::default() };
        let run = file.reopen(mode).unwrap();
        let bytes = sizes.least_bytes as usize;
        let buffers = Buffers::new(1, bytes, 0).unwrap();
        assert_eq!(run.write_at(buffers.slot(0), 0).unwrap(), bytes);
    }
}
