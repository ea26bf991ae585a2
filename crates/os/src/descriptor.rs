//! Duplicates a descriptor that the process inherited.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Duplicates the descriptor `number`.
///
/// # Errors
/// If there is no descriptor with this number.
pub fn duplicate(number: i32) -> io::Result<File> {
    // SAFETY: the call takes a plain number, and answers EBADF where it is no descriptor.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was made by the call above and belongs to nobody else.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(copy) }))
}
