//! Wraps a context of Linux's older asynchronous interface (libaio) with its buffers and files.
//!
//! Transfers enter through `io_submit`, each naming a slot; outcomes leave through `io_getevents`. Only direct I/O is
//! asynchronous: through the page cache `io_submit` itself does the work, one request after the other.

use std::num::NonZeroU32;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;
use std::{io, mem, ptr};

use crate::transfer::{file_of_slot, refuse_in_flight};
use crate::{Action, Buffers, FlushCall, OsError, Reaped, RunFile, Transfer};

/// `IOCB_CMD_PREAD`, `IOCB_CMD_PWRITE`, and from Linux 4.18 on `IOCB_CMD_FSYNC` and `IOCB_CMD_FDSYNC`.
const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;

/// `struct iocb` of `linux/aio_abi.h`, which libc has for glibc alone.
#[repr(C)]
struct Block {
    data: u64,
    #[cfg(target_endian = "big")]
    rw_flags: i32,
    key: u32,
    #[cfg(target_endian = "little")]
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_file: u32,
}

const _: () = assert!(size_of::<Block>() == 64 && mem::offset_of!(Block, buffer) == 24);

impl Block {
    /// A block that no call has seen.
    const fn new() -> Self {
        Self {
            data: 0,
            key: 0,
            rw_flags: 0,
            opcode: PREAD,
            priority: 0,
            file: 0,
            buffer: 0,
            length: 0,
            offset: 0,
            reserved: 0,
            flags: 0,
            event_file: 0,
        }
    }
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Event {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

/// A context with one slot for each request that can be in flight.
pub struct Aio {
    context: libc::c_ulong,
    buffers: Buffers,
    files: Vec<RunFile>,
    /// The index of the file that each slot reaches.
    file_of_slot: Vec<u32>,
    /// The last control block of each slot; the kernel copies it.
    blocks: Vec<Block>,
    in_flight: Vec<bool>,
    in_flight_count: usize,
    /// Blocks to submit, oldest first.
    batch: Vec<*mut Block>,
    /// Most blocks that one call submits.
    most_in_a_call: usize,
    events: Vec<Event>,
    /// Outcomes known already: those of refused transfers, and those reaped to make room.
    known: Vec<Reaped>,
}

// SAFETY: the pointers lead into `blocks`, which never grows and moves along, and are only used during a call.
unsafe impl Send for Aio {}

/// Checks whether a context can be created here.
///
/// # Errors
/// [`OsError::Aio`] with the reason and what would help.
pub fn available() -> Result<(), OsError> {
    let context = set_up(1)?;
    // SAFETY: the context was just made and holds nothing.
    unsafe { libc::syscall(libc::SYS_io_destroy, context) };
    Ok(())
}

fn set_up(slots: u32) -> Result<libc::c_ulong, OsError> {
    let mut context: libc::c_ulong = 0;
    // SAFETY: the kernel writes one context number, during the call only.
    if unsafe { libc::syscall(libc::SYS_io_setup, slots, &raw mut context) } == 0 {
        return Ok(context);
    }
    let error = io::Error::last_os_error();
    let why = match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel was built without it (CONFIG_AIO)".to_string(),
        Some(libc::EAGAIN) => {
            "all its requests are taken; a higher sysctl fs.aio-max-nr, or less depth, would help".into()
        }
        Some(libc::EPERM | libc::EACCES) => {
            "it is forbidden here, by the seccomp profile of a container perhaps".into()
        }
        _ => error.to_string(),
    };
    Err(OsError::Aio { why })
}

impl Aio {
    /// Number of segments of memory that a request lies in, on average; see [`Buffers::segments`].
    pub fn segments(&self) -> Option<f64> {
        self.buffers.segments()
    }

    /// Makes a context with `buffers` as slots, over `files`. The slots are divided equally among the files, in order.
    ///
    /// # Errors
    /// [`OsError::Aio`] if the kernel has no libaio, or no more requests to give.
    pub fn new(buffers: Buffers, files: impl IntoIterator<Item = RunFile>) -> Result<Self, OsError> {
        let slots = buffers.count() as usize;
        let files: Vec<RunFile> = files.into_iter().collect();
        let blocks = (0..slots).map(|_| Block::new()).collect();
        Ok(Self {
            context: set_up(buffers.count())?,
            file_of_slot: file_of_slot(buffers.count(), files.len()).collect(),
            buffers,
            files,
            blocks,
            in_flight: vec![false; slots],
            in_flight_count: 0,
            batch: Vec::with_capacity(slots),
            events: vec![Event { data: 0, object: 0, result: 0, result2: 0 }; slots],
            known: Vec::with_capacity(slots),
            most_in_a_call: usize::MAX,
        })
    }

    /// Limits each submitting call to `batch` transfers (`None`: no limit).
    #[must_use]
    pub fn in_batches(mut self, batch: Option<NonZeroU32>) -> Self {
        self.most_in_a_call = batch.map_or(usize::MAX, |batch| batch.get() as usize);
        self
    }

    /// Number of transfers submitted and not reaped.
    pub fn in_flight(&self) -> usize {
        self.in_flight_count
    }

    /// The bytes of a slot.
    ///
    /// # Panics
    /// If the slot is in flight or does not exist.
    pub fn slot(&self, slot: u32) -> &[u8] {
        self.assert_free(slot);
        self.buffers.slot(slot)
    }

    /// The bytes of a slot, mutable.
    ///
    /// # Panics
    /// As [`Aio::slot`].
    pub fn slot_mut(&mut self, slot: u32) -> &mut [u8] {
        self.assert_free(slot);
        self.buffers.slot_mut(slot)
    }

    fn assert_free(&self, slot: u32) {
        if self.in_flight[slot as usize] {
            refuse_in_flight(slot);
        }
    }

    /// Prepares the bytes of a write, as [`Buffers::stamp`] does.
    ///
    /// # Panics
    /// If the slot is in flight, does not exist, or is shorter than `length`.
    #[inline]
    pub fn stamp(&mut self, slot: u32, offset: u64, length: u32, serial: u64) {
        self.assert_free(slot);
        self.buffers.stamp(slot, offset, length as usize, serial);
    }

    /// Submits transfers; a refused transfer has its outcome at once.
    ///
    /// # Errors
    /// If the kernel refuses the call itself.
    ///
    /// # Panics
    /// If a slot is in flight, does not exist, or is shorter than the transfer.
    pub fn submit(&mut self, transfers: impl IntoIterator<Item = Transfer>) -> io::Result<()> {
        self.batch.clear();
        for transfer in transfers {
            let Transfer { slot, action, offset, length } = transfer;
            let index = slot as usize;
            self.assert_free(slot);
            assert!(length as usize <= self.buffers.bytes_each(), "a transfer longer than its slot");
            let block = &mut self.blocks[index];
            block.data = u64::from(slot);
            let file = &self.files[self.file_of_slot[index] as usize];
            block.file = file.as_fd().as_raw_fd() as u32;
            let mode = file.mode();
            let flush = if mode.flush_by == FlushCall::Fsync { FSYNC } else { FDSYNC };
            (block.opcode, block.buffer, block.length, block.offset) = match action {
                Action::Read => (PREAD, self.buffers.pointer(slot) as u64, u64::from(length), offset as i64),
                Action::Write => (PWRITE, self.buffers.outgoing_pointer(slot) as u64, u64::from(length), offset as i64),
                Action::Flush => (flush, 0, 0, 0),
            };
            block.rw_flags = match action {
                Action::Read => mode.read_flags(),
                Action::Write => mode.write_flags(),
                Action::Flush => 0,
            };
            self.batch.push(&raw mut *block);
            self.in_flight[index] = true;
            self.in_flight_count += 1;
        }
        self.send()
    }

    /// Submits the batch, skipping each transfer that the kernel refuses.
    fn send(&mut self) -> io::Result<()> {
        let mut sent = 0;
        while sent < self.batch.len() {
            let end = self.batch.len().min(sent.saturating_add(self.most_in_a_call));
            let rest = &mut self.batch[sent..end];
            // SAFETY: each block is in place during the call, and its buffer is the slot's, at least as long as the
            // transfer; the slot is lent out until the kernel gives it back, which `drop` waits for.
            let taken = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, rest.len() as libc::c_long, rest.as_mut_ptr())
            };
            if taken >= 0 {
                sent += taken as usize;
                continue;
            }
            let error = io::Error::last_os_error();
            let outstanding = self.in_flight_count - self.known.len() - (self.batch.len() - sent);
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The kernel lacks a resource that outcomes still in flight will free.
                Some(libc::EAGAIN) if outstanding > 0 => self.collect(1, None)?,
                Some(number) => {
                    // SAFETY: the pointer leads to one of our own blocks.
                    let slot = unsafe { (*self.batch[sent]).data } as u32;
                    self.known.push(Reaped { slot, result: Err(number) });
                    sent += 1;
                }
                None => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits until `least` outcomes can be reaped (at most all that are in flight) or `limit` has passed, and hands
    /// every outcome that has arrived to `take`. A signal may end the wait early.
    ///
    /// # Errors
    /// If the kernel refuses the call.
    pub fn reap(&mut self, least: usize, limit: Option<Duration>, mut take: impl FnMut(Reaped)) -> io::Result<()> {
        let least = least.min(self.in_flight_count).saturating_sub(self.known.len());
        let outcome = self.collect(least, limit);
        for reaped in self.known.drain(..) {
            self.in_flight[reaped.slot as usize] = false;
            self.in_flight_count -= 1;
            take(reaped);
        }
        outcome
    }

    /// Reaps outcomes into `known`: at least `least`, unless a signal or the limit comes first.
    fn collect(&mut self, least: usize, limit: Option<Duration>) -> io::Result<()> {
        let room = self.events.len() - self.known.len();
        let time = limit.map(|limit| libc::timespec {
            tv_sec: limit.as_secs() as _,
            tv_nsec: libc::c_long::from(limit.subsec_nanos() as i32),
        });
        let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
        let most = room as libc::c_long;
        let events = self.events.as_mut_ptr();
        // SAFETY: there is room for `room` events, and the time lives through the call.
        let came =
            unsafe { libc::syscall(libc::SYS_io_getevents, self.context, least as libc::c_long, most, events, time) };
        if came < 0 {
            let error = io::Error::last_os_error();
            return if error.raw_os_error() == Some(libc::EINTR) { Ok(()) } else { Err(error) };
        }
        self.known.extend(self.events[..came as usize].iter().map(|event| Reaped {
            slot: event.data as u32,
            result: if event.result < 0 { Err(-event.result as i32) } else { Ok(event.result as u32) },
        }));
        Ok(())
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        // SAFETY: the call waits until the kernel has let go of every buffer; the context is not used again.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}
