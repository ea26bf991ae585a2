//! Measures how much of a data file the page cache holds, and drops it.

use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::AsRawFd;

use memmap2::{Mmap, MmapOptions};
use rustix::fs::{Access, Advice, AtFlags, CWD, OFlags};

use crate::data_file::OVERLAYFS_SUPER_MAGIC;
use crate::interrupt::resumed;
use crate::{DataFile, Kind, OsError};

/// Number of the cachestat call, the same on every architecture but Alpha (Linux 6.5, <asm-generic/unistd.h>).
const SYS_CACHESTAT: libc::c_long = 451;
/// Most pages that are checked individually on kernels without cachestat; larger ranges are sampled by windows.
const MOST_PAGES: u64 = 1 << 16;
/// Number of such windows, one in each equal part of the range, and the pages in each.
const WINDOWS: u64 = 1024;
const WINDOW_PAGES: u64 = 16;

/// The kernel's `struct cachestat_range`.
#[repr(C)]
struct CachestatRange {
    offset: u64,
    length: u64,
}

/// The kernel's `struct cachestat`, in pages.
#[repr(C)]
#[derive(Default)]
struct Cachestat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

impl DataFile {
    /// Writes back dirty pages in `range` and asks the page cache to drop the whole range. Check the result with
    /// [`DataFile::cached_bytes`]: mapped or locked pages stay, and so do large folios (up to 2 MiB) that extend beyond
    /// `range`.
    ///
    /// # Errors
    /// The error that the system reports, such as a write-back error.
    pub fn drop_cached(&self, range: Range<u64>) -> Result<(), OsError> {
        let length = range.end.saturating_sub(range.start);
        if length == 0 {
            return Ok(());
        }
        if self.is_on_overlay() {
            // Dirty pages belong to the file beneath, which the call below does not see.
            self.sync()?;
        }
        let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
        let write_back = || {
            // SAFETY: the call takes numbers only, and the descriptor is open as long as `self`.
            match unsafe { libc::sync_file_range(self.as_raw_fd(), range.start as i64, length as i64, flags) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        match resumed(write_back) {
            Err(error) if !matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::ESPIPE)) => {
                return Err(OsError::of("sync_file_range", "written back", self.path(), error));
            }
            _ => {}
        }
        resumed(|| rustix::fs::fadvise(self, range.start, NonZeroU64::new(length), Advice::DontNeed))
            .map_err(|error| OsError::of("posix_fadvise", "dropped from the page cache", self.path(), error))
    }

    /// Bytes of `range` in the page cache. From Linux 6.5 on the kernel counts them. On older kernels and on an
    /// overlay, pages are checked individually; beyond 2^16 pages the figure is an estimate from 2^14 pages, in windows
    /// spread over the range. So the time for this does not grow with the range.
    ///
    /// # Errors
    /// If the kernel does not report it, and for a file system in memory: its pages are the data, not a copy that could
    /// be dropped. It reports it only to who owns the file or may write to it.
    pub fn cached_bytes(&self, range: Range<u64>) -> Result<u64, OsError> {
        let length = range.end.saturating_sub(range.start);
        if length == 0 {
            return Ok(0);
        }
        if self.kind() == Kind::Regular && self.is_in_memory() {
            let error = io::Error::from_raw_os_error(libc::EOPNOTSUPP);
            return Err(OsError::of("cachestat", "looked up in the page cache", self.path(), error));
        }
        // On an overlay cachestat looks at an inode without pages: the pages belong to the file beneath, which a
        // mapping reaches.
        let by_cachestat = if self.is_on_overlay() {
            Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
        } else {
            self.pages_by_cachestat(range.start, length)
        };
        let pages = match by_cachestat {
            Ok(pages) => pages,
            Err(_) => self
                .pages_by_mincore(range)
                .map_err(|error| OsError::of("mincore", "looked up in the page cache", self.path(), error))?,
        };
        Ok(pages.saturating_mul(rustix::param::page_size() as u64).min(length))
    }

    fn is_on_overlay(&self) -> bool {
        rustix::fs::fstatfs(self).is_ok_and(|reported| reported.f_type == OVERLAYFS_SUPER_MAGIC)
    }

    fn pages_by_cachestat(&self, offset: u64, length: u64) -> io::Result<u64> {
        let range = CachestatRange { offset, length };
        let mut answer = Cachestat::default();
        // SAFETY: both structures have the kernel's layout and live through the call.
        let refused =
            unsafe { libc::syscall(SYS_CACHESTAT, self.as_raw_fd(), &raw const range, &raw mut answer, 0) } != 0;
        if refused { Err(io::Error::last_os_error()) } else { Ok(answer.cached) }
    }

    fn pages_by_mincore(&self, range: Range<u64>) -> io::Result<u64> {
        if !self.is_told_of_pages() {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        let page_bytes = rustix::param::page_size() as u64;
        let start = range.start / page_bytes * page_bytes;
        let end = range.end.min(self.end()?);
        if start >= end {
            return Ok(0);
        }
        let pages = (end - start).div_ceil(page_bytes);
        if pages <= MOST_PAGES {
            return self.resident_pages(start, (end - start) as usize);
        }
        let window_bytes = (WINDOW_PAGES * page_bytes) as usize;
        // One mapping serves all windows, if the address space limit (`ulimit -v`) permits it.
        let whole = self.mapped(start, (end - start) as usize);
        let mut resident = 0;
        for first in windows(pages) {
            let from = first * page_bytes;
            let window_bytes = window_bytes.min((end - start - from) as usize);
            resident += match &whole {
                Ok(whole) => resident_in(&whole[from as usize..][..window_bytes])?,
                Err(_) => self.resident_pages(start + from, window_bytes)?,
            };
        }
        Ok((u128::from(resident) * u128::from(pages) / u128::from(WINDOWS * WINDOW_PAGES)) as u64)
    }

    /// Whether the kernel tells this thread which pages are in memory. To who neither owns the file nor may write to it,
    /// mincore answers that all are (Linux 5.2, `can_do_mincore`), without a word.
    fn is_told_of_pages(&self) -> bool {
        let link = format!("/proc/self/fd/{}", self.as_raw_fd());
        // Only who has the rights of its owner may open a file like this.
        let as_owner = OFlags::RDONLY | OFlags::NOATIME | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::open(&link, as_owner, rustix::fs::Mode::empty()).is_ok()
            || rustix::fs::accessat(CWD, &link, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
    }

    fn resident_pages(&self, offset: u64, length: usize) -> io::Result<u64> {
        resident_in(&self.mapped(offset, length)?)
    }

    fn mapped(&self, offset: u64, length: usize) -> io::Result<Mmap> {
        // SAFETY: the mapping's bytes are never looked at, so it does no harm when the file changes meanwhile.
        unsafe { MmapOptions::new().offset(offset).len(length).map(self.as_raw_fd()) }
    }

    fn end(&self) -> io::Result<u64> {
        self.size_bytes().map_err(io::Error::other)
    }

    fn as_raw_fd(&self) -> i32 {
        use std::os::fd::AsFd;
        self.as_fd().as_raw_fd()
    }
}

/// Pages of this part of a mapping that are in memory; it begins at a page boundary, and its bytes are not accessed.
fn resident_in(mapped: &[u8]) -> io::Result<u64> {
    let mut resident = vec![0u8; mapped.len().div_ceil(rustix::param::page_size())];
    // SAFETY: the range lies in a mapping, and the answer has one byte for each of its pages.
    let refused = unsafe { libc::mincore(mapped.as_ptr().cast_mut().cast(), mapped.len(), resident.as_mut_ptr()) } != 0;
    if refused {
        return Err(io::Error::last_os_error());
    }
    Ok(resident.iter().filter(|page| **page & 1 == 1).count() as u64)
}

/// The first page of each window in `pages` pages: one window in each equal part, at a pseudo-random place that is
/// always the same.
fn windows(pages: u64) -> impl Iterator<Item = u64> {
    let bound = move |part: u64| (u128::from(pages) * u128::from(part) / u128::from(WINDOWS)) as u64;
    (0..WINDOWS).map(move |part| {
        let first = bound(part);
        let room = bound(part + 1) - bound(part) - WINDOW_PAGES + 1;
        first + ((u128::from(scattered(part)) * u128::from(room)) >> 64) as u64
    })
}

/// A pseudo-random number, always the same for the same index (the finalizer of SplitMix64, Steele et al. 2014).
fn scattered(index: u64) -> u64 {
    let mut value = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// Pages that the kernel has written back since boot; 0 if it does not say.
pub fn written_back_pages() -> u64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix("nr_written ")?.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_file_system_in_memory_are_no_cache() {
        let Ok(file) = DataFile::unnamed_in(std::path::Path::new("/dev/shm")) else {
            return crate::skip("no file can be made in /dev/shm");
        };
        file.write_all_at(&[1; 4096], 0).unwrap();
        if file.is_in_memory() {
            assert!(file.cached_bytes(0..4096).is_err());
        }
    }

    /// A file of 8 MiB on a disk; `None` in memory, where the page cache cannot drop it.
    fn written() -> Option<DataFile> {
        let file = DataFile::unnamed_in(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        if file.direct_alignment().unwrap().is_none() {
            crate::skip("the source folder is not on a disk");
            return None;
        }
        file.write_all_at(&vec![7; 8 << 20], 0).unwrap();
        Some(file)
    }

    /// Gives what is counted once it is this, or else the last of many counts: the kernel does not drop what it looks at itself
    /// at this moment, and drops what is clean when others need the memory.
    fn counted<T: PartialEq>(expected: T, mut count: impl FnMut() -> T) -> T {
        for _ in 0..50 {
            if count() == expected {
                return expected;
            }
        }
        count()
    }

    #[test]
    fn what_was_written_is_cached_until_it_is_dropped() {
        let Some(file) = written() else { return };
        let parts = counted([8 << 20, 0, 4 << 20], || {
            file.write_all_at(&vec![7; 8 << 20], 0).unwrap();
            let whole = file.cached_bytes(0..8 << 20).unwrap();
            file.drop_cached(0..4 << 20).unwrap();
            [whole, file.cached_bytes(0..4 << 20).unwrap(), file.cached_bytes(0..8 << 20).unwrap()]
        });
        assert_eq!(parts, [8 << 20, 0, 4 << 20], "what was written, the dropped half, and all of it");
        assert_eq!(file.cached_bytes(0..0).unwrap(), 0);
    }

    /// An overlay of folders, unmounted when it is dropped.
    struct Overlay(tempfile::TempDir);

    impl Overlay {
        fn mount() -> Result<Self, String> {
            let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).map_err(|error| error.to_string())?;
            for name in ["lower", "upper", "work", "merged"] {
                std::fs::create_dir(folder.path().join(name)).map_err(|error| error.to_string())?;
            }
            let at = |name: &str| folder.path().join(name).display().to_string();
            let options = format!("lowerdir={},upperdir={},workdir={}", at("lower"), at("upper"), at("work"));
            let mut mount = std::process::Command::new("mount");
            mount.args(["-t", "overlay", "overlay", "-o", &options, &at("merged")]);
            let output = mount.output().map_err(|error| error.to_string())?;
            let reported = String::from_utf8_lossy(&output.stderr).trim().to_string();
            if output.status.success() { Ok(Self(folder)) } else { Err(reported) }
        }
    }

    impl Drop for Overlay {
        fn drop(&mut self) {
            let _ = std::process::Command::new("umount").arg(self.0.path().join("merged")).status();
        }
    }

    #[test]
    fn on_an_overlay_the_pages_of_the_file_beneath_count() {
        let overlay = match Overlay::mount() {
            Ok(overlay) => overlay,
            Err(why) => return crate::skip(&format!("no overlay can be mounted: {why}")),
        };
        let path = overlay.0.path().join("merged/data");
        std::fs::write(&path, vec![7; 8 << 20]).unwrap();
        let file = DataFile::open(&path, true).unwrap();
        assert!(file.is_on_overlay());
        let parts = counted([8 << 20, 0], || {
            file.write_all_at(&vec![7; 8 << 20], 0).unwrap();
            let written = file.cached_bytes(0..8 << 20).unwrap();
            file.drop_cached(0..8 << 20).unwrap();
            [written, file.cached_bytes(0..8 << 20).unwrap()]
        });
        assert_eq!(parts, [8 << 20, 0], "it was just written, then written back and dropped");
        drop(file);
    }

    /// What `asked` gives in a thread of another user, who has no special rights.
    fn as_another_user<T: Send>(asked: impl FnOnce() -> T + Send) -> Option<T> {
        if !rustix::process::geteuid().is_root() {
            crate::skip("only root can become another user");
            return None;
        }
        let nobody = rustix::process::Uid::from_raw(65_534);
        let ask = || {
            // The rights of this thread alone: the others keep theirs.
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            asked()
        };
        std::thread::scope(|scope| Some(scope.spawn(ask).join().unwrap()))
    }

    #[test]
    fn who_may_only_read_a_file_is_not_told_what_is_held_of_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("data");
        std::fs::write(&path, vec![7; 1 << 20]).unwrap();
        let allow = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let file = DataFile::open(&path, false).unwrap();
        if file.direct_alignment().unwrap().is_none() {
            return crate::skip("the source folder is not on a disk");
        }
        let both = || (file.cached_bytes(0..1 << 20).ok(), file.pages_by_mincore(0..1 << 20).ok());
        let pages = (1 << 20) / rustix::param::page_size() as u64;
        let all = (Some(1 << 20), Some(pages));
        let after_a_read = || {
            file.read_at(&mut vec![0; 1 << 20], 0).unwrap();
            both()
        };
        assert_eq!(counted(all, after_a_read), all, "it was just written by its owner");
        allow(0o644);
        let Some(seen) = as_another_user(both) else { return };
        assert_eq!(seen, (None, None));
        allow(0o666);
        assert_eq!(counted(Some(all), || as_another_user(after_a_read)), Some(all), "everybody may write to it");
    }

    #[test]
    fn each_part_has_a_window_that_stays_in_it() {
        for pages in [MOST_PAGES + 1, 1 << 18, 61_035_156, 1 << 52] {
            let firsts: Vec<u64> = windows(pages).collect();
            assert_eq!(firsts.len() as u64, WINDOWS);
            let bound = |part: usize| (part as u128 * u128::from(pages) / u128::from(WINDOWS)) as u64;
            for (part, first) in firsts.iter().enumerate() {
                assert!(*first >= bound(part) && first + WINDOW_PAGES <= bound(part + 1), "{pages}: {part} {first}");
            }
        }
    }

    /// A sparse file of 2^30 pages, more than the memory of a large machine could hold.
    #[test]
    fn what_is_held_of_a_range_is_told_in_a_time_that_does_not_grow_with_it() {
        let Some(file) = written() else { return };
        let page_bytes = rustix::param::page_size() as u64;
        let bytes = (1 << 30) * page_bytes;
        if let Err(error) = file.set_size(bytes) {
            return crate::skip(&error.to_string());
        }
        assert!(file.pages_by_mincore(0..bytes).unwrap() < (8 << 20) / page_bytes * (1 << 12));
        // 2^11 of the first 2^17 pages were written.
        let range = 0..(1 << 17) * page_bytes;
        let truth = (8 << 20) / page_bytes;
        let is_near = counted(true, || {
            file.write_all_at(&vec![7; 8 << 20], 0).unwrap();
            file.pages_by_mincore(range.clone()).unwrap().abs_diff(truth) <= truth / 8
        });
        assert!(is_near, "{} pages instead of {truth}", file.pages_by_mincore(range).unwrap());
    }

    #[test]
    fn both_ways_of_counting_agree() {
        let Some(file) = written() else { return };
        let pages = (6 << 20) / rustix::param::page_size() as u64;
        let by_cachestat = || file.pages_by_cachestat(0, 8 << 20);
        let has_cachestat = by_cachestat().is_ok();
        if !has_cachestat {
            // A different kernel cannot be installed as a missing part, so this is never a failure.
            eprintln!("skipped: this kernel has no cachestat ({:?})", by_cachestat());
        }
        let both = counted([pages; 2], || {
            file.write_all_at(&vec![7; 8 << 20], 0).unwrap();
            file.drop_cached(4 << 20..6 << 20).unwrap();
            let by_mincore = file.pages_by_mincore(0..8 << 20).unwrap();
            [by_mincore, if has_cachestat { by_cachestat().unwrap() } else { by_mincore }]
        });
        assert_eq!(both, [pages; 2], "by mincore and by cachestat");
    }
}
