//! Tells whether standard output was closed when the process began.
//!
//! Rust opens `/dev/null` in place of a closed descriptor before `main`, so that writing seems to succeed and what was
//! measured is lost. So it is looked at before that, when the program is loaded.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

// SAFETY: the loader calls each function of this section once, before `main`, in the only thread. `look` needs nothing
// that Rust sets up at its start.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: F_GETFD takes a number only and changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags < 0, Ordering::Relaxed);
}

/// Refuses to write to a standard output that was closed when the process began, as by `>&-`.
///
/// # Errors
/// EBADF, as the kernel says of a write to it.
pub fn refuse_closed() -> io::Result<()> {
    if WAS_CLOSED.load(Ordering::Relaxed) { Err(io::Error::from_raw_os_error(libc::EBADF)) } else { Ok(()) }
}
