//! Owns an io_uring with its buffers and its files.
//!
//! Transfers enter, each naming a slot; their outcomes leave. A slot in flight belongs to the kernel: nobody can
//! look into it, and nothing is let go of before the kernel has given it back.

mod entrance;
mod entry;
mod form;
mod outcomes;
mod setup;
#[cfg(test)]
mod tests;

pub(crate) use entry::length_in;
pub use form::RingForm;
pub use setup::available;

use std::io;
use std::mem::ManuallyDrop;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;

use io_uring::types::CancelBuilder;
use io_uring::{IoUring, opcode};

use crate::transfer::{file_of_slot, refuse_in_flight};
use crate::{Action, Buffers, OsError, RunFile, Transfer};
use entrance::{Entrance, Visit};
use entry::{Means, Slot, enqueue};
use setup::{refusal, register, set_up};

/// Slots that the kernel lets a ring have.
const MOST_SLOTS: u32 = 32768;
/// The mark of a cancellation, which has no slot.
const CANCELLATION: u64 = u64::MAX;

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
    /// Most entries that go out with one call.
    batch: u32,
    /// Whether transfers go to the kernel's workers, which may wait: what is sent otherwise came back with EAGAIN.
    by_workers: bool,
    /// Slots to send again, and how many were.
    again: Vec<u32>,
    resubmitted: u64,
    /// Outcomes that a test takes for EAGAIN.
    #[cfg(test)]
    give_back: u32,
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
        Self::within(None, form, buffers, files)
    }

    /// How many slots it has.
    fn slots_of(form: RingForm, buffers: &Buffers) -> Result<u32, OsError> {
        let count = buffers.count();
        let most = if form == RingForm::Sqpoll { MOST_SLOTS / 2 } else { MOST_SLOTS };
        if count > most {
            let why = format!("it holds {most} requests at most, not {count}: use less depth");
            return Err(OsError::IoUring { why });
        }
        Ok(count)
    }

    /// The same, that registers its buffers only where they are no more than `locked_bytes` (`None`: however many).
    ///
    /// # Errors
    /// As [`Ring::new`].
    pub fn within(
        locked_bytes: Option<u64>,
        form: RingForm,
        buffers: Buffers,
        files: impl IntoIterator<Item = RunFile>,
    ) -> Result<Self, OsError> {
        let count = Self::slots_of(form, &buffers)?;
        let may_register = locked_bytes.is_none_or(|bytes| buffers.whole_bytes() <= bytes);
        Self::over(set_up(form, count)?, form, buffers, files.into_iter().collect(), may_register)
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
        let payload = buffers.payload_extent();
        let slot = |(slot, index): (u32, u32)| {
            let file = if is_plain { descriptors.get(index as usize).map_or(0, |file| *file as u32) } else { index };
            let bytes = buffers.pointer(slot);
            // A payload is registered behind the slots.
            let outgoing_index = if payload.is_some() { buffers.count() } else { slot } as u16;
            let transfer = Transfer { slot, action: Action::Read, offset: 0, length: 0 };
            Slot { bytes, outgoing: bytes, outgoing_index, file, in_flight: false, transfer, may_wait: false }
        };
        let count = buffers.count() as usize;
        let slots: Vec<Slot> = (0..).zip(file_of_slot(buffers.count(), files.len())).map(slot).collect();
        let each = slots.iter().map(|slot| (slot.bytes, buffers.bytes_each()));
        let means = match files.is_empty() {
            true => Means::Nothing,
            false if is_plain => Means::Plain,
            false if may_register && register(&ring, each.chain(payload)) => Means::Registered,
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
            batch: u32::MAX,
            by_workers: false,
            again: Vec::with_capacity(count),
            resubmitted: 0,
            #[cfg(test)]
            give_back: 0,
            means,
        })
    }

    /// The same, with at most `batch` transfers to a call that submits (`None`: all that are queued). From three in one
    /// call on the kernel holds them back until it has seen them all (block plug), and may merge them.
    #[must_use]
    pub fn in_batches(mut self, batch: Option<NonZeroU32>) -> Self {
        self.batch = batch.map_or(u32::MAX, NonZeroU32::get);
        self
    }

    /// The same, that hands transfers to workers of the kernel, which may wait, from the first one on.
    #[must_use]
    pub fn by_workers(mut self, by_workers: bool) -> Self {
        self.by_workers = by_workers;
        self
    }

    /// In how many segments of memory a request lies, on the average, as [`Buffers::segments`] tells it.
    pub fn segments(&self) -> Option<f64> {
        self.buffers.segments()
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

    /// Makes a write's bytes ready, as [`Buffers::stamp`] does.
    ///
    /// # Panics
    /// Where the slot is in flight, or there is none, or it holds less than `length`.
    #[inline]
    pub fn stamp(&mut self, slot: u32, offset: u64, length: u32, serial: u64) {
        self.assert_free(slot);
        self.buffers.stamp(slot, offset, length as usize, serial);
        self.slots[slot as usize].outgoing = self.buffers.outgoing_pointer(slot);
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
            slot.transfer = transfer;
            slot.may_wait = self.by_workers;
            enqueue(&mut queue, means, slot);
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
        self.send_all_but_the_last_batch()?;
        loop {
            let least = least.min(self.in_flight) as u32;
            // SAFETY: the entries in the queue are good (see `push`).
            match unsafe { self.entrance.enter(Visit { queued: self.queued, least, ..Visit::default() }) } {
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

    /// Makes the calls that only submit; the last batch goes out with the call that waits.
    #[inline]
    fn send_all_but_the_last_batch(&mut self) -> io::Result<()> {
        while self.queued > self.batch {
            // SAFETY: the entries in the queue are good (see `push`).
            match unsafe { self.entrance.enter(Visit { queued: self.batch, goes_on: true, ..Visit::default() }) } {
                Ok(taken) => self.queued -= taken,
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(error) if self.may_try_again(&error) => self.wait_for_one()?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
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
        self.send_all_but_the_last_batch()?;
        let visit = Visit { queued: self.queued, least: 1, limit: Some(limit), ..Visit::default() };
        // SAFETY: the entries in the queue are good (see `push`).
        match unsafe { self.entrance.enter(visit) } {
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
        match unsafe { self.entrance.enter(Visit { least: least as u32, wakes, limit, ..Visit::default() }) } {
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
        match unsafe { self.entrance.enter(Visit { least: 1, ..Visit::default() }) } {
            Err(error) if error.raw_os_error() != Some(libc::EINTR) => Err(error),
            _ => Ok(()),
        }
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
