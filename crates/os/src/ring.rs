//! How do many requests go out with one call? An io_uring that owns its buffers and its file.
//!
//! Transfers enter, each naming a slot; their outcomes leave. A slot in flight belongs to the kernel: nobody can
//! look into it, and nothing is let go of before the kernel has given it back.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use io_uring::types::{CancelBuilder, Fixed, FsyncFlags};
use io_uring::{Builder, EnterFlags, IoUring, opcode, squeue};

use crate::{Buffers, OsError, RunFile};

/// Slots that the kernel lets a ring have.
const MOST_SLOTS: u32 = 32768;
/// Buffers that the kernel lets a ring register.
const MOST_REGISTERED: u32 = 16384;
/// The mark of a cancellation, which has no slot.
const CANCELLATION: u64 = u64::MAX;

/// What a transfer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingOperation {
    /// Fill the slot from the file.
    Read,
    /// Write the slot to the file.
    Write,
    /// Make durable what was written; offset and length are without meaning.
    Flush,
}

/// One request to the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The slot it moves; not in flight.
    pub slot: u32,
    /// What it does.
    pub operation: RingOperation,
    /// First byte in the file.
    pub offset: u64,
    /// Bytes, at most what a slot holds.
    pub length: u32,
}

/// The outcome of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reaped {
    /// The slot, free again.
    pub slot: u32,
    /// Bytes moved, or the error number.
    pub result: Result<u32, i32>,
}

/// An io_uring with one slot for each of its entries and one file, or none: then each transfer is a no-op.
///
/// It may be made on one thread and used on another, but from the first [`Ring::submit_and_wait`] on it belongs to
/// the thread that called it.
pub struct Ring {
    ring: ManuallyDrop<IoUring>,
    buffers: ManuallyDrop<Buffers>,
    file: Option<RunFile>,
    slots: Vec<Slot>,
    in_flight: usize,
    queued: u32,
    disabled: bool,
    registered: bool,
}

/// What a slot is made of for the kernel.
#[derive(Clone, Copy)]
struct Slot {
    bytes: *mut u8,
    in_flight: bool,
}

// SAFETY: the pointers lead into `buffers`, which the ring owns and moves with; nothing is tied to a thread but the
// kernel's own rule on who may enter the ring, and breaking that is an error value.
unsafe impl Send for Ring {}

/// Whether rings can be had here; what the kernel says if not.
///
/// # Errors
/// [`OsError::IoUring`] with the reason and what would help.
pub fn available() -> Result<(), OsError> {
    set_up(1).map(|_| ())
}

impl Ring {
    /// A ring whose slots are `buffers`, over `file`; without a file each transfer is a no-op that moves nothing
    /// and is reported as if it had moved all.
    ///
    /// # Errors
    /// [`OsError::IoUring`] where the kernel has or allows none, or has not so many slots.
    pub fn new(buffers: Buffers, file: Option<RunFile>) -> Result<Self, OsError> {
        let count = buffers.count();
        if count > MOST_SLOTS {
            let why = format!("it holds {MOST_SLOTS} requests at most, not {count}: use less depth");
            return Err(OsError::IoUring { why });
        }
        let ring = set_up(count)?;
        if let Some(file) = &file {
            let descriptors = [file.as_fd().as_raw_fd()];
            ring.submitter().register_files(&descriptors).map_err(|error| refusal(&error))?;
        }
        let slots: Vec<Slot> =
            (0..count).map(|slot| Slot { bytes: buffers.pointer(slot), in_flight: false }).collect();
        let registered = file.is_some() && register(&ring, &slots, buffers.bytes_each());
        Ok(Self {
            disabled: ring.params().is_setup_single_issuer(),
            ring: ManuallyDrop::new(ring),
            buffers: ManuallyDrop::new(buffers),
            file,
            slots,
            in_flight: 0,
            queued: 0,
            registered,
        })
    }

    /// Whether the kernel holds the buffers mapped, which spares it work on each transfer. It does not where the
    /// limit on locked memory (`ulimit -l`) is smaller than the buffers.
    pub fn has_registered_buffers(&self) -> bool {
        self.registered
    }

    /// Transfers pushed and not reaped yet.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The bytes of a slot.
    ///
    /// # Panics
    /// Where the slot is in flight, or there is none.
    pub fn slot(&self, slot: u32) -> &[u8] {
        self.assert_free(slot);
        self.buffers.slot(slot)
    }

    /// Marks the bytes of a slot as [`Buffers::stamp`] does.
    ///
    /// # Panics
    /// Where the slot is in flight, or there is none, or it holds less than `length`.
    #[inline]
    pub fn stamp(&mut self, slot: u32, length: u32, serial: u64) {
        self.assert_free(slot);
        self.buffers.stamp(slot, length as usize, serial);
    }

    /// Queues a transfer; it goes out with the next [`Ring::submit_and_wait`].
    ///
    /// # Panics
    /// Where the slot is in flight, or there is none, or it holds less than `length`.
    #[inline]
    pub fn push(&mut self, transfer: Transfer) {
        self.assert_free(transfer.slot);
        assert!(transfer.length as usize <= self.buffers.bytes_each(), "a transfer longer than its slot");
        let mark = u64::from(transfer.length) << 32 | u64::from(transfer.slot);
        let entry = self.entry(transfer).user_data(mark);
        // SAFETY: the entry's buffer is the slot's, at least as long as the transfer; the slot is lent out until
        // the kernel gives it back, and `drop` waits for that or leaves the buffers in place for good.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the queue has an entry for each slot");
        self.slots[transfer.slot as usize].in_flight = true;
        self.in_flight += 1;
        self.queued += 1;
    }

    fn entry(&self, transfer: Transfer) -> squeue::Entry {
        if self.file.is_none() {
            return opcode::Nop::new().build();
        }
        let (file, bytes) = (Fixed(0), self.slots[transfer.slot as usize].bytes);
        let (index, length, offset) = (transfer.slot as u16, transfer.length, transfer.offset);
        match (transfer.operation, self.registered) {
            (RingOperation::Read, true) => opcode::ReadFixed::new(file, bytes, length, index).offset(offset).build(),
            (RingOperation::Write, true) => opcode::WriteFixed::new(file, bytes, length, index).offset(offset).build(),
            (RingOperation::Read, false) => opcode::Read::new(file, bytes, length).offset(offset).build(),
            (RingOperation::Write, false) => opcode::Write::new(file, bytes, length).offset(offset).build(),
            (RingOperation::Flush, _) => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
        }
    }

    /// Sends out what is queued and waits until `least` outcomes, or all that are in flight if those are fewer, can
    /// be reaped. A signal may end the wait early.
    ///
    /// # Errors
    /// Where the kernel refuses the call itself, such as on another thread than the first call's.
    #[inline]
    pub fn submit_and_wait(&mut self, least: usize) -> io::Result<()> {
        if self.disabled {
            self.ring.submitter().register_enable_rings()?;
            self.disabled = false;
        }
        loop {
            let least = least.min(self.in_flight) as u32;
            // SAFETY: no argument is passed, and the entries in the queue are good (see `push`).
            let entered =
                unsafe { self.ring.submitter().enter::<()>(self.queued, least, EnterFlags::GETEVENTS.bits(), None) };
            match entered {
                Ok(taken) => self.queued -= taken as u32,
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => return Ok(()),
                Err(error) if self.may_try_again(&error) => self.wait_for_one()?,
                Err(error) => return Err(error),
            }
            if self.queued == 0 {
                return Ok(());
            }
        }
    }

    /// Whether the kernel was only short of something that outcomes still under way will free.
    fn may_try_again(&self, error: &io::Error) -> bool {
        matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY)) && self.in_flight > self.queued as usize
    }

    fn wait_for_one(&self) -> io::Result<()> {
        // SAFETY: nothing is submitted, and no argument is passed.
        match unsafe { self.ring.submitter().enter::<()>(0, 1, EnterFlags::GETEVENTS.bits(), None) } {
            Err(error) if error.raw_os_error() != Some(libc::EINTR) => Err(error),
            _ => Ok(()),
        }
    }

    /// Hands every outcome that has arrived to `take`, oldest first.
    #[inline]
    pub fn reap(&mut self, mut take: impl FnMut(Reaped)) {
        let is_no_op = self.file.is_none();
        for outcome in self.ring.completion() {
            let mark = outcome.user_data();
            if mark == CANCELLATION {
                continue;
            }
            let (slot, length) = (mark as u32, (mark >> 32) as u32);
            let result = match outcome.result() {
                error if error < 0 => Err(-error),
                _ if is_no_op => Ok(length),
                moved => Ok(moved as u32),
            };
            self.slots[slot as usize].in_flight = false;
            self.in_flight -= 1;
            take(Reaped { slot, result });
        }
    }

    #[inline]
    fn assert_free(&self, slot: u32) {
        assert!(!self.slots[slot as usize].in_flight, "slot {slot} is in flight");
    }

    /// Cancels what can be cancelled and waits for all the rest.
    fn call_back(&mut self) -> io::Result<()> {
        self.submit_and_wait(0)?;
        let entry = opcode::AsyncCancel2::new(CancelBuilder::any()).build().user_data(CANCELLATION);
        // SAFETY: a cancellation refers to no memory; everything queued was sent, so there is room for it.
        if unsafe { self.ring.submission().push(&entry) }.is_ok() {
            self.queued += 1;
        }
        while self.in_flight > 0 {
            self.submit_and_wait(1)?;
            self.reap(|_| ());
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let returned = self.in_flight == 0 || self.call_back().is_ok();
        if self.registered {
            // The limit on locked memory is given back now and not when the kernel gets round to it.
            let _ = self.ring.submitter().unregister_buffers();
        }
        // SAFETY: neither is used again. Where the kernel may still hold slots, as after a switch of threads, the
        // buffers stay mapped for good: a leak is the only safe way out.
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            if returned {
                ManuallyDrop::drop(&mut self.buffers);
            }
        }
    }
}

/// The leanest ring that this kernel knows: completions are delivered when we ask and never interrupt us (6.1),
/// or at least not by an interrupt between processors (5.19), or as it comes.
fn set_up(entries: u32) -> Result<IoUring, OsError> {
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
fn refusal(error: &io::Error) -> OsError {
    let why = match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel has none, or a container hides it (it came with Linux 5.1)".to_string(),
        Some(libc::EPERM | libc::EACCES) => "it is forbidden here; the sysctl kernel.io_uring_disabled, or the seccomp \
             profile of a container, would have to allow it"
            .to_string(),
        Some(libc::ENOMEM) => format!("{error}; less depth, or a higher `ulimit -l`, would help"),
        Some(libc::EMFILE | libc::ENFILE) => format!("{error}; a higher `ulimit -n` would help"),
        _ => error.to_string(),
    };
    OsError::IoUring { why }
}

/// Lets the kernel map the slots for good, where the limit on locked memory admits it.
fn register(ring: &IoUring, slots: &[Slot], bytes_each: usize) -> bool {
    /// A ring that was just closed gives its locked memory back a moment later.
    const TRIES: u32 = 10;
    if slots.len() > MOST_REGISTERED as usize {
        return false;
    }
    let vectors: Vec<libc::iovec> =
        slots.iter().map(|slot| libc::iovec { iov_base: slot.bytes.cast(), iov_len: bytes_each }).collect();
    let admitted = rustix::process::getrlimit(rustix::process::Resource::Memlock)
        .current
        .is_none_or(|limit| limit >= (slots.len() * bytes_each) as u64);
    let tries = if admitted { TRIES } else { 1 };
    (0..tries).any(|attempt| {
        if attempt > 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        // SAFETY: the slots stay where they are until the ring is gone, or for good (see `drop`).
        unsafe { ring.submitter().register_buffers(&vectors) }.is_ok()
    })
}
