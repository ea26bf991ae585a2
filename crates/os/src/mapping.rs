//! Maps a whole file or device, so that loads and stores replace calls.
//!
//! Copies address the file by offset, never past the mapped end; a missing page makes the copy fail.
//!
//! A missing page of a mapped file (the file was truncated, the medium failed, the disk is full) normally kills the
//! program with SIGBUS. Here the thread registers the range that it copies. The signal handler puts an empty page into
//! the hole and notes that, and the copy returns an error. SIGBUS anywhere else does what it did before.

use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};
use std::{io, mem, ptr};

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::SeekFrom;

use crate::{OsError, RunFile};

/// A file mapped from its first byte to its last, with the size that it had then.
pub struct Mapping {
    file: RunFile,
    /// `None` for an empty file, which cannot be mapped.
    mapped: Option<MmapRaw>,
    bytes: usize,
    page_bytes: usize,
}

impl Mapping {
    /// Maps all of `file`, with write access if the file permits it.
    ///
    /// # Errors
    /// [`OsError::Mapping`] if it cannot be mapped, or was opened direct or durable, which loads and stores cannot be.
    pub fn new(file: RunFile) -> Result<Self, OsError> {
        let refusal = |why: String| OsError::Mapping { why };
        admits(&file)?;
        let bytes = rustix::fs::seek(&file, SeekFrom::End(0)).map_err(|error| refusal(error.to_string()))?;
        let bytes = usize::try_from(bytes).map_err(|_| refusal("it is larger than the address space".to_string()))?;
        guard().map_err(|error| refusal(format!("SIGBUS cannot be handled: {error}")))?;
        let descriptor = file.as_fd().as_raw_fd();
        let mapped = match file.mode().write {
            _ if bytes == 0 => None,
            true => Some(MmapOptions::new().len(bytes).map_raw(descriptor)),
            false => Some(MmapOptions::new().len(bytes).map_raw_read_only(descriptor)),
        };
        let mapped = mapped.transpose().map_err(|error| refusal(error.to_string()))?;
        Ok(Self { file, mapped, bytes, page_bytes: rustix::param::page_size() })
    }

    /// The file behind it.
    pub fn file(&self) -> &RunFile {
        &self.file
    }

    /// Loads from `offset` on; returns the number of bytes loaded.
    ///
    /// # Errors
    /// `EIO` if a page is missing.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some((at, range)) = self.part(bytes.len(), offset) else { return Ok(0) };
        let start = self.page_range(&range);
        let count = range.len();
        // SAFETY: the range lies in the mapping, which nothing refers to, and `bytes` are the caller's alone.
        let whole = unsafe { copy(at, bytes.as_mut_ptr(), count, start.clone()) };
        if whole { Ok(count) } else { self.mend(start) }
    }

    /// Stores from `offset` on; returns the number of bytes that fit, since a mapping does not grow.
    ///
    /// # Errors
    /// `EBADF` if the file may not be written, `ENXIO` past its end, `EIO` if a page is missing.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        if !self.file.mode().write {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        let (at, range) = self.part(bytes.len(), offset).ok_or(io::Error::from_raw_os_error(libc::ENXIO))?;
        let start = self.page_range(&range);
        let count = range.len();
        // SAFETY: the range lies in the mapping, which may be written and which nothing refers to.
        let whole = unsafe { copy(bytes.as_ptr(), at, count, start.clone()) };
        if whole { Ok(count) } else { self.mend(start) }
    }

    /// The address of `offset`, and the mapped part of the `length` bytes from there on; `None` if none is mapped.
    fn part(&self, length: usize, offset: u64) -> Option<(*mut u8, Range<usize>)> {
        let offset = usize::try_from(offset).ok().filter(|offset| *offset < self.bytes)?;
        let range = offset..self.bytes.min(offset.saturating_add(length));
        // SAFETY: the offset is below the length of the mapping.
        let at = unsafe { self.mapped.as_ref()?.as_mut_ptr().add(offset) };
        Some((at, range)).filter(|(_, range)| !range.is_empty())
    }

    /// The addresses of the whole pages around a range of the file.
    fn page_range(&self, range: &Range<usize>) -> Range<usize> {
        let base = self.mapped.as_ref().map_or(0, |mapped| mapped.as_mut_ptr() as usize);
        let begin = range.start & !(self.page_bytes - 1);
        base + begin..base + range.end.next_multiple_of(self.page_bytes)
    }

    /// Maps the file again where empty pages have replaced its pages, and returns the failure of the copy.
    fn mend(&self, pages: Range<usize>) -> io::Result<usize> {
        let base = self.mapped.as_ref().map_or(0, |mapped| mapped.as_mut_ptr() as usize);
        let write = if self.file.mode().write { libc::PROT_WRITE } else { 0 };
        let access = libc::PROT_READ | write;
        let kind = libc::MAP_SHARED | libc::MAP_FIXED;
        let descriptor = self.file.as_fd().as_raw_fd();
        let offset = (pages.start - base) as libc::off_t;
        // SAFETY: the pages belong to this mapping, which nothing refers to; they become what they were.
        unsafe { libc::mmap(pages.start as *mut libc::c_void, pages.len(), access, kind, descriptor, offset) };
        Err(io::Error::from_raw_os_error(libc::EIO))
    }
}

/// Checks whether loads and stores can do what `file` was opened for.
///
/// # Errors
/// [`OsError::Mapping`] with the reason and what would help.
pub fn admits(file: &RunFile) -> Result<(), OsError> {
    let why = match file.mode() {
        mode if mode.direct => "mapped memory is the page cache, and past that there is no way: use --cache both",
        mode if mode.durable => "a store into mapped memory cannot be made durable by itself: use --cache both",
        _ => return Ok(()),
    };
    Err(OsError::Mapping { why: why.to_string() })
}

thread_local! {
    /// The addresses that this thread is copying from or to; empty while it does not copy.
    static BEGIN: AtomicUsize = const { AtomicUsize::new(0) };
    static END: AtomicUsize = const { AtomicUsize::new(0) };
    /// Whether a page of them was missing.
    static PAGE_MISSING: AtomicBool = const { AtomicBool::new(false) };
}

/// The previous action of SIGBUS.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(4096);

/// Installs the handler, once for the process.
///
/// # Errors
/// If the system refuses.
pub(crate) fn guard() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| install().map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL)));
    installed.map_err(io::Error::from_raw_os_error)
}

fn install() -> io::Result<()> {
    PAGE_BYTES.store(rustix::param::page_size(), Ordering::Relaxed);
    // SAFETY: all zeros is a valid sigaction.
    let (mut before, mut action): (libc::sigaction, libc::sigaction) = unsafe { (mem::zeroed(), mem::zeroed()) };
    action.sa_sigaction = on_bus as *const () as usize;
    // Use the alternate signal stack if the thread has one, as the Rust runtime requires of every handler.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the call writes one sigaction.
    if unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut before) } != 0 {
        return Err(io::Error::last_os_error());
    }
    BEFORE.get_or_init(|| before);
    // SAFETY: the call reads one sigaction; the handler keeps to what handlers may do.
    match unsafe { libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Copies `count` bytes; one side lies in the mapped range `mapped`. Returns whether all its pages were present.
///
/// # Safety
/// Both sides are valid for `count` bytes and do not overlap; `mapped` is a mapping of whole pages without references
/// to it; [`guard`] was called.
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, count: usize, mapped: Range<usize>) -> bool {
    PAGE_MISSING.with(|hurt| hurt.store(false, Ordering::Relaxed));
    END.with(|end| end.store(mapped.end, Ordering::Relaxed));
    BEGIN.with(|begin| begin.store(mapped.start, Ordering::Relaxed));
    // The handler runs on this thread, in the middle of the copy.
    compiler_fence(Ordering::SeqCst);
    // SAFETY: the caller vouches for both sides.
    unsafe { ptr::copy_nonoverlapping(from, to, count) };
    compiler_fence(Ordering::SeqCst);
    END.with(|end| end.store(0, Ordering::Relaxed));
    BEGIN.with(|begin| begin.store(0, Ordering::Relaxed));
    PAGE_MISSING.with(|hurt| !hurt.load(Ordering::Relaxed))
}

/// Puts an empty page in place of a missing one if this thread was copying there. Otherwise it restores the previous
/// action, and SIGBUS comes again as soon as this returns.
extern "C" fn on_bus(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo of a fault; only calls that handlers may make are made, and errno is
    // left as it was; the page lies in a mapping whose owner is in the middle of a copy by pointers.
    unsafe {
        let errno = libc::__errno_location();
        let errno_before = *errno;
        let address = (*info).si_addr() as usize;
        let watched = BEGIN.with(|at| at.load(Ordering::Relaxed))..END.with(|at| at.load(Ordering::Relaxed));
        if !(watched.contains(&address) && put_empty_page(address)) {
            libc::sigaction(libc::SIGBUS, BEFORE.get().map_or(ptr::null(), ptr::from_ref), ptr::null_mut());
            // A fault repeats by itself; a signal sent by a process does not.
            if (*info).si_code <= 0 {
                libc::raise(libc::SIGBUS);
            }
        }
        *errno = errno_before;
    }
}

/// # Safety
/// The page at `address` belongs to a mapping that may be replaced.
unsafe fn put_empty_page(address: usize) -> bool {
    let page_bytes = PAGE_BYTES.load(Ordering::Relaxed);
    let page = (address & !(page_bytes - 1)) as *mut libc::c_void;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    PAGE_MISSING.with(|hurt| hurt.store(true, Ordering::Relaxed));
    // SAFETY: the caller vouches for the page.
    unsafe { libc::mmap(page, page_bytes, access, kind, -1, 0) != libc::MAP_FAILED }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{DataFile, Mode};

    fn file(bytes: u64) -> DataFile {
        let file = DataFile::unnamed_in(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        file.set_size(bytes).unwrap();
        file
    }

    fn mapping(file: &DataFile, write: bool) -> Mapping {
        Mapping::new(file.reopen(Mode { write, ..Mode::default() }).unwrap()).unwrap()
    }

    fn code(result: io::Result<usize>) -> i32 {
        result.unwrap_err().raw_os_error().unwrap()
    }

    #[test]
    fn a_page_that_went_away_is_an_error_and_not_the_end() {
        let file = file(65536);
        file.write_all_at(&[7; 65536], 0).unwrap();
        let mapping = mapping(&file, true);
        let mut bytes = vec![0; 16384];
        assert_eq!(mapping.read_at(&mut bytes, 8192).unwrap(), 16384);
        file.set_size(4096).unwrap();
        for _ in 0..2 {
            assert_eq!(code(mapping.read_at(&mut bytes, 8192)), libc::EIO);
            assert_eq!(code(mapping.write_at(&bytes, 32768)), libc::EIO);
        }
        assert_eq!(mapping.read_at(&mut bytes[..4096], 0).unwrap(), 4096, "what is left can still be read");
        assert_eq!(bytes[..4096], [7; 4096]);
        file.set_size(65536).unwrap();
        file.write_all_at(&[9; 16384], 8192).unwrap();
        assert_eq!(mapping.read_at(&mut bytes, 8192).unwrap(), 16384, "the file is mapped there again");
        assert_eq!(bytes, [9; 16384]);
    }

    #[test]
    fn nothing_is_reached_behind_the_end() {
        let file = file(5000);
        let mapping = mapping(&file, true);
        let mut bytes = [1; 4096];
        assert_eq!(mapping.write_at(&bytes, 4096).unwrap(), 904);
        assert_eq!(mapping.read_at(&mut bytes, 4096).unwrap(), 904);
        assert_eq!(mapping.read_at(&mut bytes, 5000).unwrap(), 0);
        assert_eq!(code(mapping.write_at(&bytes, 5000)), libc::ENXIO);
        assert_eq!(code(mapping.write_at(&bytes, u64::MAX)), libc::ENXIO);
        assert_eq!(file.size_bytes().unwrap(), 5000);
    }

    #[test]
    fn an_empty_file_and_one_for_reading_are_no_traps() {
        let empty = mapping(&file(0), true);
        assert_eq!((empty.read_at(&mut [0], 0).unwrap(), code(empty.write_at(&[0], 0))), (0, libc::ENXIO));
        let reading = mapping(&file(4096), false);
        assert_eq!((reading.read_at(&mut [0; 9], 0).unwrap(), code(reading.write_at(&[0], 0))), (9, libc::EBADF));
    }
}
