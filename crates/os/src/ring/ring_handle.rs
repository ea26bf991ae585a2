//! Makes the calls that enter a ring, by its descriptor or by its index in the thread's table of registered rings.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{io, ptr};

/// Wait until the requested number of outcomes has arrived (`IORING_ENTER_GETEVENTS`).
const GETEVENTS: u32 = 1;
/// Wake the kernel thread that polls the queue (`IORING_ENTER_SQ_WAKEUP`).
const SQ_WAKEUP: u32 = 1 << 1;
/// An [`Argument`] is passed (`IORING_ENTER_EXT_ARG`, Linux 5.11).
const EXT_ARG: u32 = 1 << 3;
/// The number is an index in the thread's table (`IORING_ENTER_REGISTERED_RING`, Linux 5.18).
const REGISTERED_RING: u32 = 1 << 4;
/// `IORING_REGISTER_RING_FDS` and `IORING_UNREGISTER_RING_FDS`.
const REGISTER_RING_FDS: u32 = 20;
const UNREGISTER_RING_FDS: u32 = 21;

/// The next number for a thread with a table; numbers begin at 1.
static THREADS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// This thread's number; 0 while it has no table.
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// How to enter one ring.
pub(crate) struct RingHandle {
    descriptor: RawFd,
    /// Its index in the table of the thread `owner`.
    index: u32,
    /// The thread that may use the index; `None` if there is no index.
    owner: Option<NonZeroU64>,
}

/// `struct io_uring_rsrc_update`: an index of the table and the value to store there.
#[repr(C)]
struct TableEntry {
    offset: u32,
    reserved: u32,
    descriptor: u64,
}

/// `struct io_uring_getevents_arg`: the longest time to wait.
#[repr(C)]
struct Argument {
    signals: u64,
    signals_bytes: u32,
    least_wait_us: u32,
    time: u64,
}

/// `struct __kernel_timespec`.
#[repr(C)]
struct Time {
    seconds: i64,
    nanoseconds: i64,
}

/// What a call should do.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EnterCall {
    /// Entries to submit from the queue.
    pub queued: u32,
    /// Outcomes to wait for.
    pub least: u32,
    /// Whether to wake the kernel thread that polls the queue.
    pub wakes: bool,
    /// Whether another call follows at once; then this one only submits and processes no outcomes.
    pub goes_on: bool,
    /// Longest time to wait; needs a kernel with `EXT_ARG`.
    pub limit: Option<Duration>,
}

impl RingHandle {
    /// Enters by the ring's descriptor.
    pub(crate) fn new(descriptor: RawFd) -> Self {
        Self { descriptor, index: 0, owner: None }
    }

    /// Enters by an index in the calling thread's table from now on. A table has only 16 places, and older kernels have
    /// none; then the descriptor stays in use.
    pub(crate) fn register(&mut self) {
        let mut entry = TableEntry { offset: u32::MAX, reserved: 0, descriptor: self.descriptor as u64 };
        if self.owner.is_none() && self.change_table(REGISTER_RING_FDS, &mut entry) {
            if THREAD.get() == 0 {
                THREAD.set(THREADS.fetch_add(1, Ordering::Relaxed));
            }
            (self.index, self.owner) = (entry.offset, NonZeroU64::new(THREAD.get()));
        }
    }

    /// Gives the table index back. Another thread cannot do that; the kernel does it when the owning thread ends.
    pub(crate) fn unregister(&mut self) {
        if self.is_owner() {
            self.change_table(UNREGISTER_RING_FDS, &mut TableEntry { offset: self.index, reserved: 0, descriptor: 0 });
        }
        self.owner = None;
    }

    /// Whether the index belongs to this thread's table; in another thread's table it may be another ring.
    #[inline]
    fn is_owner(&self) -> bool {
        self.owner.is_some_and(|owner| owner.get() == THREAD.get())
    }

    fn change_table(&self, what: u32, entry: &mut TableEntry) -> bool {
        // SAFETY: the kernel reads one entry and may write to it, during the call only.
        unsafe { libc::syscall(libc::SYS_io_uring_register, self.descriptor, what, &raw mut *entry, 1) == 1 }
    }

    /// Submits entries of the queue and waits; returns the number of entries that the kernel took.
    ///
    /// # Errors
    /// Any error of the kernel; `ETIME` if the limit came first.
    ///
    /// # Safety
    /// Everything that the entries refer to stays in place until their outcomes have arrived.
    #[inline]
    pub(crate) unsafe fn enter(&self, visit: EnterCall) -> io::Result<u32> {
        let EnterCall { queued, least, wakes, goes_on, limit } = visit;
        let (number, flags) = match self.is_owner() {
            true => (self.index as i32, REGISTERED_RING),
            false => (self.descriptor, 0),
        };
        let flags = if goes_on { flags } else { flags | GETEVENTS };
        let flags = if wakes { flags | SQ_WAKEUP } else { flags };
        let call = libc::SYS_io_uring_enter;
        let taken = if let Some(limit) = limit {
            let time = Time { seconds: limit.as_secs() as i64, nanoseconds: i64::from(limit.subsec_nanos()) };
            let time = &raw const time as u64;
            let argument = Argument { signals: 0, signals_bytes: 0, least_wait_us: 0, time };
            let argument = &raw const argument;
            let bytes = size_of::<Argument>();
            // SAFETY: the caller vouches for the entries; argument and time live through the call.
            unsafe { libc::syscall(call, number, queued, least, flags | EXT_ARG, argument, bytes) }
        } else {
            let nothing = ptr::null::<libc::sigset_t>();
            // SAFETY: the caller vouches for the entries, and no further argument is passed.
            unsafe { libc::syscall(call, number, queued, least, flags, nothing, 0usize) }
        };
        if taken < 0 { Err(io::Error::last_os_error()) } else { Ok(taken as u32) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::skip;
    use crate::{Action, Buffers, DataFile, Mode, Reaped, Ring, RingForm, Transfer, io_uring_available};

    const WRITE: Transfer = Transfer { slot: 0, action: Action::Write, offset: 0, length: 4096 };

    fn ring() -> Option<Ring> {
        if let Err(error) = io_uring_available(RingForm::Registered) {
            skip(&error.to_string());
            return None;
        }
        let file = DataFile::unnamed_in(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let run = file.reopen(Mode { write: true, ..Mode::default() }).unwrap();
        Some(Ring::new(RingForm::Registered, Buffers::new(1, 4096, 1).unwrap(), Some(run)).unwrap())
    }

    fn writes(ring: &mut Ring) -> bool {
        ring.push([WRITE]);
        carries_out(ring)
    }

    fn carries_out(ring: &mut Ring) -> bool {
        let mut outcome = None;
        while ring.in_flight() > 0 {
            ring.submit_and_wait(1).unwrap();
            ring.reap(|reaped| outcome = Some(reaped));
        }
        outcome == Some(Reaped { slot: 0, result: Ok(4096) })
    }

    #[test]
    fn threads_do_not_mistake_each_others_rings() {
        let Some(mut ours) = ring() else { return };
        ours.submit_and_wait(0).unwrap();
        std::thread::scope(|scope| {
            let strange = scope.spawn(|| {
                // This thread's first ring has the same table index as ours has in the other thread's table.
                let mut theirs = ring().unwrap();
                theirs.submit_and_wait(0).unwrap();
                ours.push([WRITE]);
                theirs.push([WRITE]);
                // The kernel may refuse or not, but it must not reach the other ring.
                let refused = ours.submit_and_wait(0).is_err();
                assert!(carries_out(&mut theirs));
                assert!(refused || carries_out(&mut ours));
                drop(ours);
                assert!(writes(&mut theirs), "their index was given back instead of ours");
            });
            strange.join().unwrap();
        });
    }

    #[test]
    fn rings_beyond_the_threads_table_serve_as_well() {
        let rings: Vec<Ring> = (0..40).map_while(|_| ring()).collect();
        for mut ring in rings {
            assert!(writes(&mut ring));
        }
    }
}
