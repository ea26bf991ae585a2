//! How do many requests go out with one call? An io_uring that owns its buffers and its file.
//!
//! Transfers enter, each naming a slot; their outcomes leave. A slot in flight belongs to the kernel: nobody can
//! look into it, and nothing is let go of before the kernel has given it back.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;

use io_uring::types::CancelBuilder;
use io_uring::{IoUring, opcode};

use crate::ring_entrance::{Entrance, Visit};
use crate::ring_entry::{Means, Slot, entry, reaped};
use crate::ring_setup::{refusal, register, set_up};
use crate::transfer::{file_of_slot, refuse_in_flight};
use crate::{Buffers, OsError, Reaped, RunFile, Transfer};

/// Slots that the kernel lets a ring have.
const MOST_SLOTS: u32 = 32768;
/// The mark of a cancellation, which has no slot.
const CANCELLATION: u64 = u64::MAX;

/// In which form a ring works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingForm {
    /// The kernel is told of file and buffers once, and interrupts tell it of completions.
    Registered,
    /// The kernel is told of nothing beforehand.
    Plain,
    /// As registered, and a thread of the kernel polls the queue: no call submits.
    Sqpoll,
    /// As registered, and whoever waits polls the device; the file is direct, and its device can be polled.
    Iopoll,
}

/// An io_uring with one slot for each of its entries and a file; or several, each with equally many of the slots; or
/// none: then each transfer is a no-op.
///
/// It may be made on one thread and used on another, but from the first [`Ring::submit_and_wait`] on it belongs to
/// the thread that called it.
pub struct Ring {
    ring: ManuallyDrop<IoUring>,
    form: RingForm,
    entrance: Entrance,
    buffers: ManuallyDrop<Buffers>,
    /// What the ring was told of; they stay open as long.
    files: Vec<RunFile>,
    slots: Vec<Slot>,
    in_flight: usize,
    queued: u32,
    disabled: bool,
    means: Means,
}

// SAFETY: the pointers lead into `buffers`, which the ring owns and moves with; nothing is tied to a thread but the
// kernel's own rule on who may enter the ring, and breaking that is an error value.
unsafe impl Send for Ring {}

impl Ring {
    /// A ring of this form whose slots are `buffers`, over `files`: the first part of the slots reaches the first file,
    /// an equal part the next. Without a file each transfer is a no-op that moves nothing and is reported as if it had
    /// moved all.
    ///
    /// # Errors
    /// [`OsError::IoUring`] where the kernel has or allows none, or has not so many slots.
    pub fn new(form: RingForm, buffers: Buffers, files: impl IntoIterator<Item = RunFile>) -> Result<Self, OsError> {
        let count = buffers.count();
        let most = if form == RingForm::Sqpoll { MOST_SLOTS / 2 } else { MOST_SLOTS };
        if count > most {
            let why = format!("it holds {most} requests at most, not {count}: use less depth");
            return Err(OsError::IoUring { why });
        }
        Self::over(set_up(form, count)?, form, buffers, files.into_iter().collect(), true)
    }

    /// A ring over a bare one that has entries enough for each buffer.
    fn over(
        ring: IoUring,
        form: RingForm,
        buffers: Buffers,
        files: Vec<RunFile>,
        may_register: bool,
    ) -> Result<Self, OsError> {
        let descriptors: Vec<RawFd> = files.iter().map(|file| file.as_fd().as_raw_fd()).collect();
        let is_plain = form == RingForm::Plain;
        if !files.is_empty() && !is_plain {
            ring.submitter().register_files(&descriptors).map_err(|error| refusal(&error))?;
        }
        let slot = |(slot, index): (u32, u32)| {
            let file = if is_plain { descriptors.get(index as usize).map_or(0, |file| *file as u32) } else { index };
            Slot { bytes: buffers.pointer(slot), file, in_flight: false }
        };
        let slots: Vec<Slot> = (0..).zip(file_of_slot(buffers.count(), files.len())).map(slot).collect();
        let addresses = slots.iter().map(|slot| slot.bytes);
        let means = match files.is_empty() {
            true => Means::Nothing,
            false if is_plain => Means::Plain,
            false if may_register && register(&ring, addresses, buffers.bytes_each()) => Means::Registered,
            false => Means::Unregistered,
        };
        Ok(Self {
            form,
            disabled: ring.params().is_setup_single_issuer(),
            entrance: Entrance::new(ring.as_raw_fd()),
            ring: ManuallyDrop::new(ring),
            buffers: ManuallyDrop::new(buffers),
            files,
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
        // A loop of its own for each, so that nothing is asked of an entry that holds for all.
        match self.means {
            Means::Nothing => self.push_as(Means::Nothing, transfers),
            Means::Registered => self.push_as(Means::Registered, transfers),
            Means::Unregistered => self.push_as(Means::Unregistered, transfers),
            Means::Plain => self.push_as(Means::Plain, transfers),
        }
    }

    #[inline(always)]
    fn push_as(&mut self, means: Means, transfers: impl IntoIterator<Item = Transfer>) {
        let most_bytes = self.buffers.bytes_each();
        let mut queue = self.ring.submission();
        for transfer in transfers {
            let slot = &mut self.slots[transfer.slot as usize];
            if slot.in_flight {
                refuse_in_flight(transfer.slot);
            }
            assert!(transfer.length as usize <= most_bytes, "a transfer longer than its slot");
            let entry = entry(means, *slot, transfer);
            // SAFETY: the entry's buffer is the slot's, at least as long as the transfer; the slot is lent out, and
            // counted so at once, until the kernel gives it back; `drop` waits for that or leaves the buffers in
            // place for good.
            let has_room = unsafe { queue.push(&entry) }.is_ok();
            assert!(has_room, "the queue has entries enough for each slot");
            slot.in_flight = true;
            self.in_flight += 1;
            self.queued += 1;
        }
    }

    /// Makes durable what was written to the file of a slot, by a call of its own: a ring that polls for completions
    /// takes no flush.
    ///
    /// # Errors
    /// The flush's own outcome; without a file there is nothing to do.
    pub fn flush(&self, slot: u32) -> io::Result<()> {
        self.files.get(self.slots[slot as usize].file as usize).map_or(Ok(()), RunFile::sync_data)
    }

    /// Sends out what is queued and waits until `least` outcomes, or all that are in flight if those are fewer, can
    /// be reaped. A signal may end the wait early.
    ///
    /// # Errors
    /// Where the kernel refuses the call itself, such as on another thread than the first call's.
    #[inline]
    pub fn submit_and_wait(&mut self, least: usize) -> io::Result<()> {
        self.enable()?;
        if self.form == RingForm::Sqpoll {
            return self.wake_and_wait(least.min(self.in_flight), None);
        }
        loop {
            let least = least.min(self.in_flight) as u32;
            // SAFETY: the entries in the queue are good (see `push`).
            match unsafe { self.entrance.enter(Visit { queued: self.queued, least, wakes: false, limit: None }) } {
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

    /// Whether [`Ring::submit_and_wait_at_most`] can be had: from Linux 5.11 on, and never where waiting is polling.
    pub fn can_wait_for_a_time(&self) -> bool {
        self.ring.params().is_feature_ext_arg() && self.form != RingForm::Iopoll
    }

    /// Sends out what is queued and waits until an outcome can be reaped, or so long; with nothing in flight it only
    /// lets the time pass. A signal may end the wait early, and so may a kernel that is short of something.
    ///
    /// # Errors
    /// As of [`Ring::submit_and_wait`].
    pub fn submit_and_wait_at_most(&mut self, limit: Duration) -> io::Result<()> {
        self.enable()?;
        if self.form == RingForm::Sqpoll {
            return self.wake_and_wait(1, Some(limit));
        }
        // SAFETY: the entries in the queue are good (see `push`).
        match unsafe { self.entrance.enter(Visit { queued: self.queued, least: 1, wakes: false, limit: Some(limit) }) }
        {
            Ok(taken) => self.queued -= taken,
            Err(error) if is_early(&error) => {}
            Err(error) if self.may_try_again(&error) => self.wait_for_one()?,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The kernel's thread takes the entries by itself, unless it sleeps; outcomes that are there need no call.
    fn wake_and_wait(&mut self, least: usize, limit: Option<Duration>) -> io::Result<()> {
        self.queued = 0;
        let wakes = self.ring.submission().need_wakeup();
        if !wakes && self.ring.completion().len() >= least {
            return Ok(());
        }
        // SAFETY: the entries in the queue are good (see `push`).
        match unsafe { self.entrance.enter(Visit { queued: 0, least: least as u32, wakes, limit }) } {
            Err(error) if !is_early(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// The thread that first waits is the one that the ring belongs to.
    #[inline]
    fn enable(&mut self) -> io::Result<()> {
        if self.disabled {
            self.ring.submitter().register_enable_rings()?;
            self.disabled = false;
            if self.form != RingForm::Plain {
                self.entrance.register();
            }
        }
        Ok(())
    }

    /// Whether the kernel was only short of something that outcomes still under way will free.
    fn may_try_again(&self, error: &io::Error) -> bool {
        matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY)) && self.in_flight > self.queued as usize
    }

    fn wait_for_one(&self) -> io::Result<()> {
        // SAFETY: nothing is submitted.
        match unsafe { self.entrance.enter(Visit { queued: 0, least: 1, wakes: false, limit: None }) } {
            Err(error) if error.raw_os_error() != Some(libc::EINTR) => Err(error),
            _ => Ok(()),
        }
    }

    /// Hands every outcome that has arrived to `take`, oldest first.
    #[inline]
    pub fn reap(&mut self, mut take: impl FnMut(Reaped)) {
        let mut count = 0;
        for outcome in self.ring.completion() {
            let reaped = reaped(self.means, &outcome);
            self.slots[reaped.slot as usize].in_flight = false;
            count += 1;
            take(reaped);
        }
        self.in_flight -= count;
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

/// Whether a wait only ended before its outcome: a signal, or the limit.
fn is_early(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::ETIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring_setup::{LEANEST, available, set_up_as};
    use crate::skip::skip;
    use crate::{Action, DataFile, Mode};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::Path;

    fn file() -> (DataFile, RunFile) {
        let file = DataFile::unnamed_in(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let run = file.reopen(Mode { write: true, ..Mode::default() }).unwrap();
        (file, run)
    }

    fn ring(count: u32, bytes_each: usize) -> Option<(DataFile, Ring)> {
        if let Err(error) = available(RingForm::Registered) {
            skip(&error.to_string());
            return None;
        }
        let (file, run) = file();
        Some((file, Ring::new(RingForm::Registered, Buffers::new(count, bytes_each, 1).unwrap(), Some(run)).unwrap()))
    }

    fn write(slot: u32, offset: u64, length: u32) -> Transfer {
        Transfer { slot, action: Action::Write, offset, length }
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
            let bare = match set_up_as(RingForm::Registered, flags, 4) {
                Ok(bare) => bare,
                Err(error) => return skip(&refusal(&error).to_string()),
            };
            let (file, run) = file();
            let mut ring =
                Ring::over(bare, RingForm::Registered, Buffers::new(4, 512, 1).unwrap(), vec![run], registered)
                    .unwrap();
            assert!(registered || !ring.has_registered_buffers());
            ring.push([write(3, 512, 512)]);
            assert_eq!(outcomes(&mut ring), [Reaped { slot: 3, result: Ok(512) }]);
            let mut bytes = [0; 512];
            file.read_at(&mut bytes, 512).unwrap();
            assert_eq!(bytes, ring.slot(3));
            ring.push([Transfer { slot: 0, action: Action::Read, offset: 512, length: 512 }]);
            ring.push([Transfer { slot: 1, action: Action::Flush, offset: 0, length: 0 }]);
            assert_eq!(outcomes(&mut ring).len(), 2);
            assert_eq!(bytes, ring.slot(0));
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
