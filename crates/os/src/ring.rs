//! How do many requests go out with one call? An io_uring that owns its buffers and its file.
//!
//! Transfers enter, each naming a slot; their outcomes leave. A slot in flight belongs to the kernel: nobody can
//! look into it, and nothing is let go of before the kernel has given it back.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd};

use io_uring::types::{CancelBuilder, Fixed, FsyncFlags};
use io_uring::{IoUring, opcode, squeue};

use crate::ring_entrance::Entrance;
use crate::ring_setup::{refusal, register, set_up};
use crate::{Buffers, OsError, RunFile};

/// Slots that the kernel lets a ring have.
const MOST_SLOTS: u32 = 32768;
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

/// An io_uring with one slot for each of its entries and a file; or several, each with equally many of the slots; or
/// none: then each transfer is a no-op.
///
/// It may be made on one thread and used on another, but from the first [`Ring::submit_and_wait`] on it belongs to
/// the thread that called it.
pub struct Ring {
    ring: ManuallyDrop<IoUring>,
    entrance: Entrance,
    buffers: ManuallyDrop<Buffers>,
    /// Keeps open what the ring was told of.
    _files: Vec<RunFile>,
    slots: Vec<Slot>,
    in_flight: usize,
    queued: u32,
    disabled: bool,
    means: Means,
}

/// What its transfers are made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    /// There is no file: no-ops.
    Nothing,
    /// The file and the buffers, both registered.
    Registered,
    /// The registered file, and buffers that the kernel maps for each transfer.
    Unregistered,
}

/// What a slot is made of for the kernel.
#[derive(Clone, Copy)]
struct Slot {
    bytes: *mut u8,
    /// Which of the registered files it reaches.
    file: u32,
    in_flight: bool,
}

// SAFETY: the pointers lead into `buffers`, which the ring owns and moves with; nothing is tied to a thread but the
// kernel's own rule on who may enter the ring, and breaking that is an error value.
unsafe impl Send for Ring {}

impl Ring {
    /// A ring whose slots are `buffers`, over `files`: the first part of the slots reaches the first file, an equal
    /// part the next. Without a file each transfer is a no-op that moves nothing and is reported as if it had moved
    /// all.
    ///
    /// # Errors
    /// [`OsError::IoUring`] where the kernel has or allows none, or has not so many slots.
    pub fn new(buffers: Buffers, files: impl IntoIterator<Item = RunFile>) -> Result<Self, OsError> {
        let count = buffers.count();
        if count > MOST_SLOTS {
            let why = format!("it holds {MOST_SLOTS} requests at most, not {count}: use less depth");
            return Err(OsError::IoUring { why });
        }
        Self::over(set_up(count)?, buffers, files, true)
    }

    /// A ring over a bare one that has an entry for each buffer.
    fn over(
        ring: IoUring,
        buffers: Buffers,
        files: impl IntoIterator<Item = RunFile>,
        may_register: bool,
    ) -> Result<Self, OsError> {
        let files: Vec<RunFile> = files.into_iter().collect();
        if !files.is_empty() {
            let descriptors: Vec<_> = files.iter().map(|file| file.as_fd().as_raw_fd()).collect();
            ring.submitter().register_files(&descriptors).map_err(|error| refusal(&error))?;
        }
        let of_a_file = buffers.count().div_ceil(files.len().max(1) as u32);
        let slot = |slot| Slot { bytes: buffers.pointer(slot), file: slot / of_a_file, in_flight: false };
        let slots: Vec<Slot> = (0..buffers.count()).map(slot).collect();
        let addresses = slots.iter().map(|slot| slot.bytes);
        let means = match files.is_empty() {
            true => Means::Nothing,
            false if may_register && register(&ring, addresses, buffers.bytes_each()) => Means::Registered,
            false => Means::Unregistered,
        };
        Ok(Self {
            disabled: ring.params().is_setup_single_issuer(),
            entrance: Entrance::new(ring.as_raw_fd()),
            ring: ManuallyDrop::new(ring),
            buffers: ManuallyDrop::new(buffers),
            _files: files,
            slots,
            in_flight: 0,
            queued: 0,
            means,
        })
    }

    /// Whether the kernel holds the buffers mapped, which spares it work on each transfer. It does not where the
    /// limit on locked memory (`ulimit -l`) is smaller than the buffers.
    pub fn has_registered_buffers(&self) -> bool {
        self.means == Means::Registered
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

    /// The bytes of a slot, to be changed.
    ///
    /// # Panics
    /// As [`Ring::slot`].
    pub fn slot_mut(&mut self, slot: u32) -> &mut [u8] {
        self.assert_free(slot);
        self.buffers.slot_mut(slot)
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

    /// Queues transfers; they go out with the next [`Ring::submit_and_wait`].
    ///
    /// # Panics
    /// Where a slot is in flight, or there is none, or it holds less than `length`.
    #[inline]
    pub fn push(&mut self, transfers: impl IntoIterator<Item = Transfer>) {
        let (most_bytes, means) = (self.buffers.bytes_each(), self.means);
        let mut queue = self.ring.submission();
        let mut pushed = 0;
        for transfer in transfers {
            let slot = &mut self.slots[transfer.slot as usize];
            if slot.in_flight {
                refuse_in_flight(transfer.slot);
            }
            assert!(transfer.length as usize <= most_bytes, "a transfer longer than its slot");
            let entry = entry(means, *slot, transfer);
            // SAFETY: the entry's buffer is the slot's, at least as long as the transfer; the slot is lent out until
            // the kernel gives it back, and `drop` waits for that or leaves the buffers in place for good. Where an
            // assertion fails, those before it are queued but not counted, and so never sent beyond the count.
            let has_room = unsafe { queue.push(&entry) }.is_ok();
            assert!(has_room, "the queue has an entry for each slot");
            slot.in_flight = true;
            pushed += 1;
        }
        self.in_flight += pushed as usize;
        self.queued += pushed;
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
            self.entrance.register();
        }
        loop {
            let least = least.min(self.in_flight) as u32;
            // SAFETY: the entries in the queue are good (see `push`).
            match unsafe { self.entrance.enter(self.queued, least) } {
                Ok(taken) => self.queued -= taken,
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
        // SAFETY: nothing is submitted.
        match unsafe { self.entrance.enter(0, 1) } {
            Err(error) if error.raw_os_error() != Some(libc::EINTR) => Err(error),
            _ => Ok(()),
        }
    }

    /// Hands every outcome that has arrived to `take`, oldest first.
    #[inline]
    pub fn reap(&mut self, mut take: impl FnMut(Reaped)) {
        let is_no_op = self.means == Means::Nothing;
        let mut reaped = 0;
        for outcome in self.ring.completion() {
            let (slot, length) = (outcome.user_data() as u32, (outcome.user_data() >> 32) as u32);
            let result = match outcome.result() {
                error if error < 0 => Err(-error),
                _ if is_no_op => Ok(length),
                moved => Ok(moved as u32),
            };
            self.slots[slot as usize].in_flight = false;
            reaped += 1;
            take(Reaped { slot, result });
        }
        self.in_flight -= reaped;
    }

    #[inline]
    fn assert_free(&self, slot: u32) {
        if self.slots[slot as usize].in_flight {
            refuse_in_flight(slot);
        }
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
            self.in_flight -= self.ring.completion().filter(|outcome| outcome.user_data() != CANCELLATION).count();
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let returned = self.in_flight == 0 || self.call_back().is_ok();
        if self.means == Means::Registered {
            // The limit on locked memory is given back now and not when the kernel gets round to it.
            let _ = self.ring.submitter().unregister_buffers();
        }
        self.entrance.unregister();
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

/// Apart, and by value, so that the loop around it keeps its transfer in registers.
#[cold]
fn refuse_in_flight(slot: u32) -> ! {
    panic!("slot {slot} is in flight");
}

/// A transfer in the kernel's words.
#[inline]
fn entry(means: Means, place: Slot, transfer: Transfer) -> squeue::Entry {
    let Transfer { slot, operation, offset, length } = transfer;
    let (file, bytes, index) = (Fixed(place.file), place.bytes, slot as u16);
    let entry = match (means, operation) {
        (Means::Nothing, _) => opcode::Nop::new().build(),
        (_, RingOperation::Flush) => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
        (Means::Registered, RingOperation::Read) => {
            opcode::ReadFixed::new(file, bytes, length, index).offset(offset).build()
        }
        (Means::Registered, RingOperation::Write) => {
            opcode::WriteFixed::new(file, bytes, length, index).offset(offset).build()
        }
        (Means::Unregistered, RingOperation::Read) => opcode::Read::new(file, bytes, length).offset(offset).build(),
        (Means::Unregistered, RingOperation::Write) => opcode::Write::new(file, bytes, length).offset(offset).build(),
    };
    entry.user_data(u64::from(length) << 32 | u64::from(slot))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring_setup::{LEANEST, available, set_up_as};
    use crate::skip::skip;
    use crate::{DataFile, Mode};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::Path;

    fn file() -> (DataFile, RunFile) {
        let file = DataFile::unnamed_in(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let run = file.reopen(Mode { write: true, ..Mode::default() }).unwrap();
        (file, run)
    }

    fn ring(count: u32, bytes_each: usize) -> Option<(DataFile, Ring)> {
        if let Err(error) = available() {
            skip(&error.to_string());
            return None;
        }
        let (file, run) = file();
        Some((file, Ring::new(Buffers::new(count, bytes_each, 1).unwrap(), Some(run)).unwrap()))
    }

    fn write(slot: u32, offset: u64, length: u32) -> Transfer {
        Transfer { slot, operation: RingOperation::Write, offset, length }
    }

    fn outcomes(ring: &mut Ring) -> Vec<Reaped> {
        let mut outcomes = Vec::new();
        while ring.in_flight() > 0 {
            ring.submit_and_wait(1).unwrap();
            ring.reap(|reaped| outcomes.push(reaped));
        }
        outcomes
    }

    #[test]
    fn a_slot_in_flight_can_be_neither_seen_nor_sent_again() {
        let Some((_file, mut ring)) = ring(2, 4096) else { return };
        ring.push([write(1, 0, 4096)]);
        assert!(catch_unwind(AssertUnwindSafe(|| ring.slot(1).len())).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| ring.stamp(1, 16, 0))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| ring.push([write(1, 0, 4096)]))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| ring.push([write(0, 0, 4097)]))).is_err(), "longer than a slot");
        assert!(catch_unwind(AssertUnwindSafe(|| ring.push([write(2, 0, 4096)]))).is_err(), "no such slot");
        assert_eq!(ring.slot(0).len(), 4096);
        assert_eq!(outcomes(&mut ring), [Reaped { slot: 1, result: Ok(4096) }]);
        assert_eq!(ring.slot(1).len(), 4096);
    }

    #[test]
    fn rings_of_older_kernels_and_small_limits_serve_as_well() {
        for (flags, registered) in LEANEST.into_iter().flat_map(|flags| [(flags, false), (flags, true)]) {
            let bare = match set_up_as(flags, 4) {
                Ok(bare) => bare,
                Err(error) => return skip(&refusal(&error).to_string()),
            };
            let (file, run) = file();
            let mut ring = Ring::over(bare, Buffers::new(4, 512, 1).unwrap(), Some(run), registered).unwrap();
            assert!(registered || !ring.has_registered_buffers());
            ring.push([write(3, 512, 512)]);
            assert_eq!(outcomes(&mut ring), [Reaped { slot: 3, result: Ok(512) }]);
            let mut bytes = [0; 512];
            file.read_at(&mut bytes, 512).unwrap();
            assert_eq!(bytes, ring.slot(3));
            ring.push([Transfer { slot: 0, operation: RingOperation::Read, offset: 512, length: 512 }]);
            ring.push([Transfer { slot: 1, operation: RingOperation::Flush, offset: 0, length: 0 }]);
            assert_eq!(outcomes(&mut ring).len(), 2);
            assert_eq!(bytes, ring.slot(0));
        }
    }

    #[test]
    fn each_of_many_rings_gets_the_same_treatment() {
        let Some((_file, first)) = ring(1, 1 << 20) else { return };
        let registered = first.has_registered_buffers();
        drop(first);
        for _ in 0..30 {
            let (_file, mut ring) = ring(1, 1 << 20).unwrap();
            assert_eq!(ring.has_registered_buffers(), registered);
            // Driven elsewhere, so that its memory is given back when the kernel gets round to it.
            std::thread::scope(|scope| scope.spawn(|| ring.submit_and_wait(0).unwrap()).join().unwrap());
        }
    }

    #[test]
    fn a_ring_on_a_strange_thread_is_an_error_and_leaves_no_dangling_buffer() {
        let Some((file, mut ring)) = ring(4, 65536) else { return };
        ring.submit_and_wait(0).unwrap();
        let lean = ring.ring.params().is_setup_single_issuer();
        let refused = std::thread::scope(|scope| {
            let strange = scope.spawn(|| {
                ring.push([write(0, 0, 65536)]);
                let refused = ring.submit_and_wait(1).is_err();
                drop(ring);
                refused
            });
            strange.join().unwrap()
        });
        assert_eq!(refused, lean);
        assert_eq!(file.size_bytes().unwrap(), if lean { 0 } else { 65536 });
    }
}
