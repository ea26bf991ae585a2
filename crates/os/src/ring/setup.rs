//! Sets up rings of each form with the most efficient flags that this kernel supports.

use std::io;
use std::time::Duration;

use io_uring::{Builder, IoUring, Parameters, Submitter, cqueue, squeue};

use super::bare::BareRing;
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
    /// As polled; the thread first rests for half of the time that such requests took (Linux 6.13).
    Hybrid,
    /// Transfers are commands to NVMe namespaces, past the block layer (Linux 5.19). Files are registered.
    Commands,
    /// The same, and the waiting thread polls the device (Linux 6.1).
    PolledCommands,
}

impl RingForm {
    /// Whether the waiting thread polls the device for completions.
    pub fn polls_device(self) -> bool {
        matches!(self, Self::Iopoll | Self::Hybrid | Self::PolledCommands)
    }

    /// Whether its transfers are NVMe commands.
    pub fn sends_commands(self) -> bool {
        matches!(self, Self::Commands | Self::PolledCommands)
    }
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

/// How much a ring leaves out of what the kernel does by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leanness {
    /// As the next one; entries are taken from the queue in order, without an index array (Linux 6.6).
    InOrder,
    /// Completions are delivered only when we ask and never interrupt us (6.1).
    Deferred,
    /// Completions come at least not by an inter-processor interrupt (5.19).
    Cooperative,
    /// The default way.
    Default,
}

/// From the most efficient on.
pub(crate) const LEANEST: [Leanness; 4] =
    [Leanness::InOrder, Leanness::Deferred, Leanness::Cooperative, Leanness::Default];

impl Leanness {
    /// Sets the flags of a ring; a ring with a polling kernel thread lets that thread deliver completions.
    fn set<S: squeue::EntryMarker, C: cqueue::EntryMarker>(self, form: RingForm, ring: &mut Builder<S, C>) {
        let has_thread = form == RingForm::Sqpoll;
        match self {
            Self::InOrder | Self::Deferred => {
                ring.setup_single_issuer().setup_r_disabled().setup_submit_all();
                if !has_thread {
                    ring.setup_defer_taskrun();
                }
                if self == Self::InOrder {
                    ring.setup_no_sqarray();
                }
            }
            Self::Cooperative => {
                ring.setup_submit_all();
                if !has_thread {
                    ring.setup_coop_taskrun();
                }
            }
            Self::Default => {}
        }
    }
}

/// Sets up the most efficient ring of this form that this kernel supports.
pub(crate) fn set_up(form: RingForm, slots: u32) -> Result<BareRing, OsError> {
    let mut outcome = Err(io::Error::from_raw_os_error(libc::EINVAL));
    for leanness in LEANEST {
        if outcome.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL)) {
            outcome = set_up_as(form, leanness, slots);
        }
    }
    outcome.map_err(|error| match (form, error.raw_os_error()) {
        (RingForm::Hybrid, Some(libc::EINVAL)) => OsError::IoUring { why: NO_HYBRID.to_string() },
        (RingForm::Commands | RingForm::PolledCommands, Some(libc::EINVAL)) => {
            OsError::IoUring { why: NO_COMMANDS.to_string() }
        }
        _ => refusal(&error),
    })
}

/// What kernels lack that refuse the newer forms.
const NO_HYBRID: &str = "this kernel does not rest before it polls (IORING_SETUP_HYBRID_IOPOLL came with Linux 6.13): take \
                         --engine io_uring_iopoll";
const NO_COMMANDS: &str =
    "the io_uring of this kernel carries no NVMe commands (they came with Linux 5.19): take --engine io_uring";

pub(crate) fn set_up_as(form: RingForm, leanness: Leanness, slots: u32) -> io::Result<BareRing> {
    match form {
        RingForm::Hybrid => patiently(|| hybrid(leanness, slots)).map(BareRing::Usual),
        RingForm::Commands | RingForm::PolledCommands => built(form, leanness, slots).map(BareRing::Commands),
        RingForm::Registered | RingForm::Plain | RingForm::Sqpoll | RingForm::Iopoll => {
            built(form, leanness, slots).map(BareRing::Usual)
        }
    }
}

fn built<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
    form: RingForm,
    leanness: Leanness,
    slots: u32,
) -> io::Result<IoUring<S, C>> {
    let mut builder = IoUring::<S, C>::builder();
    leanness.set(form, &mut builder);
    if form.polls_device() {
        builder.setup_iopoll();
    }
    let mut entries = slots;
    if form == RingForm::Sqpoll {
        builder.setup_sqpoll(POLL_IDLE_MS);
        // The thread reports late which entries it has taken: a slot may be back and sent again before that.
        entries = slots.saturating_mul(2);
    }
    patiently(|| builder.dontfork().build(entries))
}

/// `struct io_uring_params`: numbers of entries, flags, other settings, and where the kernel has put the queues.
#[repr(C)]
struct SetupParameters {
    entries: [u32; 2],
    flags: u32,
    settings: [u32; 7],
    places: [u64; 10],
}

/// Flags of `io_uring_setup`: those of the leanest ring, and hybrid polling (Linux 6.13), which no builder of the library
/// sets.
const IOPOLL: u32 = 1;
const R_DISABLED: u32 = 1 << 6;
const SUBMIT_ALL: u32 = 1 << 7;
const SINGLE_ISSUER: u32 = 1 << 12;
const DEFER_TASKRUN: u32 = 1 << 13;
const NO_SQARRAY: u32 = 1 << 16;
const HYBRID_IOPOLL: u32 = 1 << 17;

/// Sets up a ring that rests before it polls. A kernel that can has all flags of the leanest ring, so there is one way.
fn hybrid(leanness: Leanness, slots: u32) -> io::Result<IoUring> {
    if leanness != Leanness::InOrder {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let flags = IOPOLL | HYBRID_IOPOLL | R_DISABLED | SUBMIT_ALL | SINGLE_ISSUER | DEFER_TASKRUN | NO_SQARRAY;
    let mut parameters = SetupParameters { entries: [0; 2], flags, settings: [0; 7], places: [0; 10] };
    // SAFETY: the kernel reads and writes one structure of that layout, which lives through the call.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, slots, &raw mut parameters) };
    if ring < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both types have the kernel's layout, and any bytes are values of numbers.
    let parameters = unsafe { std::mem::transmute::<SetupParameters, Parameters>(parameters) };
    // SAFETY: the descriptor is a new ring's, owned by nobody else, and the kernel has filled in its parameters.
    unsafe { IoUring::from_fd(ring as i32, parameters) }
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
pub(crate) fn register(ring: &Submitter<'_>, buffers: impl Iterator<Item = (*mut u8, usize)>) -> bool {
    let vectors: Vec<libc::iovec> =
        buffers.map(|(base, bytes)| libc::iovec { iov_base: base.cast(), iov_len: bytes }).collect();
    if vectors.len() > MOST_REGISTERED {
        return false;
    }
    // SAFETY: they stay where they are until the ring is gone, or for good (see the ring's `drop`).
    let attempt = || unsafe { ring.register_buffers(&vectors) };
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    let may_succeed = limit.is_none_or(|limit| limit > vectors.iter().map(|vector| vector.iov_len as u64).sum());
    if may_succeed { patiently(attempt).is_ok() } else { attempt().is_ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip;

    #[test]
    fn the_parameters_of_a_setup_have_the_kernels_layout() {
        assert_eq!((size_of::<SetupParameters>(), align_of::<SetupParameters>()), (120, 8));
        assert_eq!(std::mem::offset_of!(SetupParameters, flags), 8);
        assert_eq!(std::mem::offset_of!(SetupParameters, places), 40);
    }

    #[test]
    fn a_kernel_without_the_newer_forms_says_which_one_it_takes() {
        for form in [RingForm::Hybrid, RingForm::Commands, RingForm::PolledCommands] {
            if let Err(error) = available(form) {
                let said = error.to_string();
                assert!(
                    said.contains("came with Linux") || said.contains("forbidden") || said.contains("none"),
                    "{said}"
                );
            }
        }
    }

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
