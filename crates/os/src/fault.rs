//! Copies to and from mapped memory, and returns an error if the kernel sends SIGBUS.
//!
//! A missing page of a mapped file (the file was truncated, the medium failed, the disk is full) normally kills the
//! program. Here the thread registers the range that it copies. The signal handler puts an empty page into the hole and
//! notes that, and the copy returns an error. SIGBUS anywhere else does what it did before.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};
use std::{io, mem, ptr};

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
