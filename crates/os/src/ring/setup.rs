//! Sets up rings of each form with the most efficient flags that this kernel supports.

use std::io;
use std::time::Duration;

use io_uring::{Builder, IoUring};

use crate::OsError;

/// How a ring submits transfers and learns of completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingForm {
    /// File and buffers are registered with the kernel once, and interrupts signal completions.
    Registered,
    /// Nothing is registered.
    Plain,
    /// As registered, and a kernel thread polls the queue: submitting needs no call.
    Sqpoll,
    /// As registered, and the waiting thread polls the device; the file must be direct, and its device must support
    /// polling.
    Iopoll,
}

/// Most buffers that a ring may register.
const MOST_REGISTERED: usize = 16384;

/// Idle time in milliseconds after which the kernel's polling thread sleeps; the kernel's default.
const POLL_IDLE_MS: u32 = 1_000;

/// Checks whether rings of this form are available here.
///
/// # Errors
/// [`OsError::IoUring`] with the reason and what would help.
pub fn available(form: RingForm) -> Result<(), OsError> {
    set_up(form, 1).map(|_| ())
}

/// Sets the flags of a ring.
type Flags = fn(&mut Builder);

/// From the most efficient on. Entries are taken from the queue in order, without an index array (Linux 6.6).
/// Completions are delivered only when we ask and never interrupt us (6.1), or at least not by an inter-processor
/// interrupt (5.19), or in the default way.
pub(crate) const LEANEST: [Flags; 4] = [
    |ring| {
        ring.setup_single_issuer().setup_defer_taskrun().setup_r_disabled().setup_submit_all().setup_no_sqarray();
    },
    |ring| {
        ring.setup_single_issuer().setup_defer_taskrun().setup_r_disabled().setup_submit_all();
    },
    |ring| {
        ring.setup_coop_taskrun().setup_submit_all();
    },
    |_| (),
];

/// The same for rings with a polling kernel thread, which delivers completions itself.
const LEANEST_POLLED: [Flags; 4] = [
    |ring| {
        ring.setup_single_issuer().setup_r_disabled().setup_submit_all().setup_no_sqarray();
    },
    |ring| {
        ring.setup_single_issuer().setup_r_disabled().setup_submit_all();
    },
    |ring| {
        ring.setup_submit_all();
    },
    |_| (),
];

/// Sets up the most efficient ring of this form that this kernel supports.
pub(crate) fn set_up(form: RingForm, slots: u32) -> Result<IoUring, OsError> {
    let mut outcome = Err(io::Error::from_raw_os_error(libc::EINVAL));
    for flags in if form == RingForm::Sqpoll { LEANEST_POLLED } else { LEANEST } {
        if outcome.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL)) {
            outcome = set_up_as(form, flags, slots);
        }
    }
    outcome.map_err(|error| refusal(&error))
}

pub(crate) fn set_up_as(form: RingForm, flags: Flags, slots: u32) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    flags(&mut builder);
    let entries = match form {
        RingForm::Registered | RingForm::Plain => slots,
        RingForm::Sqpoll => {
            builder.setup_sqpoll(POLL_IDLE_MS);
            // The thread reports late which entries it has taken: a slot may be back and sent again before that.
            slots.saturating_mul(2)
        }
        RingForm::Iopoll => {
            builder.setup_iopoll();
            slots
        }
    };
    patiently(|| builder.dontfork().build(entries))
}

/// Retries while locked memory is short: a ring that was just closed frees its memory a moment later.
fn patiently<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..20 {
        match attempt() {
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => std::thread::sleep(Duration::from_millis(5)),
            other => return other,
        }
    }
    attempt()
}

/// Explains why a ring was refused, and what would help.
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

/// Registers these buffers, which keeps them mapped, if the limit on locked memory permits it.
pub(crate) fn register(ring: &IoUring, buffers: impl Iterator<Item = (*mut u8, usize)>) -> bool {
    let vectors: Vec<libc::iovec> =
        buffers.map(|(base, bytes)| libc::iovec { iov_base: base.cast(), iov_len: bytes }).collect();
    if vectors.len() > MOST_REGISTERED {
        return false;
    }
    // SAFETY: they stay where they are until the ring is gone, or for good (see the ring's `drop`).
    let attempt = || unsafe { ring.submitter().register_buffers(&vectors) };
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    let may_succeed = limit.is_none_or(|limit| limit > vectors.iter().map(|vector| vector.iov_len as u64).sum());
    if may_succeed { patiently(attempt).is_ok() } else { attempt().is_ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip;

    #[test]
    fn a_forbidden_io_uring_is_explained() {
        let said = std::thread::spawn(|| {
            if !forbid_io_uring_on_this_thread() {
                return None;
            }
            Some(available(RingForm::Registered).unwrap_err().to_string())
        });
        match said.join().unwrap() {
            Some(said) => assert!(said.contains("forbidden here") && said.contains("seccomp"), "{said}"),
            None => skip("seccomp filters cannot be installed here"),
        }
    }

    /// Imitates the default profile of containers: `io_uring_setup` returns EPERM. Other threads are not affected.
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
