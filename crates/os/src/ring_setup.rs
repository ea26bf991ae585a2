//! What will this kernel grant a ring? The leanest flags it knows, and buffers that it keeps mapped.

use std::io;
use std::time::Duration;

use io_uring::{Builder, IoUring};

use crate::OsError;

/// Buffers that the kernel lets a ring register.
pub(crate) const MOST_REGISTERED: u32 = 16384;

/// Whether rings can be had here; what the kernel says if not.
///
/// # Errors
/// [`OsError::IoUring`] with the reason and what would help.
pub fn available() -> Result<(), OsError> {
    set_up(1).map(|_| ())
}

/// The leanest ring that this kernel knows: completions are delivered when we ask and never interrupt us (6.1),
/// or at least not by an interrupt between processors (5.19), or as it comes.
pub(crate) fn set_up(entries: u32) -> Result<IoUring, OsError> {
    let leanest: [fn(&mut Builder); 3] = [
        |ring| {
            ring.setup_single_issuer().setup_defer_taskrun().setup_r_disabled().setup_submit_all();
        },
        |ring| {
            ring.setup_coop_taskrun().setup_submit_all();
        },
        |_| (),
    ];
    let mut refused = None;
    for flags in leanest {
        let mut builder = IoUring::builder();
        flags(&mut builder);
        match builder.dontfork().build(entries) {
            Ok(ring) => return Ok(ring),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refused = Some(error),
            Err(error) => return Err(refusal(&error)),
        }
    }
    Err(refusal(&refused.expect("each way was tried")))
}

/// What a refused ring means, and what would help.
pub(crate) fn refusal(error: &io::Error) -> OsError {
    let why = match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel has none, or a container hides it (it came with Linux 5.1)".to_string(),
        Some(libc::EPERM | libc::EACCES) => {
            "it is forbidden here; the sysctl kernel.io_uring_disabled, or the seccomp \
             profile of a container, would have to allow it"
                .to_string()
        }
        Some(libc::ENOMEM) => format!("{error}; less depth, or a higher `ulimit -l`, would help"),
        Some(libc::EMFILE | libc::ENFILE) => format!("{error}; a higher `ulimit -n` would help"),
        _ => error.to_string(),
    };
    OsError::IoUring { why }
}

/// Lets the kernel map the slots for good, where the limit on locked memory admits it.
pub(crate) fn register(ring: &IoUring, slots: impl Iterator<Item = *mut u8>, bytes_each: usize) -> bool {
    /// A ring that was just closed gives its locked memory back a moment later.
    const TRIES: u32 = 10;
    let vectors: Vec<libc::iovec> =
        slots.map(|slot| libc::iovec { iov_base: slot.cast(), iov_len: bytes_each }).collect();
    if vectors.len() > MOST_REGISTERED as usize {
        return false;
    }
    let admitted = rustix::process::getrlimit(rustix::process::Resource::Memlock)
        .current
        .is_none_or(|limit| limit >= (vectors.len() * bytes_each) as u64);
    let tries = if admitted { TRIES } else { 1 };
    (0..tries).any(|attempt| {
        if attempt > 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        // SAFETY: the slots stay where they are until the ring is gone, or for good (see `drop`).
        unsafe { ring.submitter().register_buffers(&vectors) }.is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skip;

    #[test]
    fn a_forbidden_io_uring_is_explained() {
        let said = std::thread::spawn(|| {
            if !forbid_io_uring_on_this_thread() {
                return None;
            }
            Some(available().unwrap_err().to_string())
        });
        match said.join().unwrap() {
            Some(said) => assert!(said.contains("forbidden here") && said.contains("seccomp"), "{said}"),
            None => skip("seccomp filters cannot be installed here"),
        }
    }

    /// As the default profile of containers does: `io_uring_setup` gives EPERM. Other threads are not touched.
    fn forbid_io_uring_on_this_thread() -> bool {
        let load_number = libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
        let is_setup = libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: libc::SYS_io_uring_setup as u32 };
        let give = |value| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: value };
        let refuse = give(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32);
        let mut filter = [load_number, is_setup, refuse, give(libc::SECCOMP_RET_ALLOW)];
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: the program and its filter live through the calls, which concern this thread alone.
        unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
        }
    }
}
