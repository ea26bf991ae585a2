//! Wraps an io_uring with its buffers and files.
//!
//! Transfers enter, each naming a slot; their outcomes leave. A slot in flight belongs to the kernel: nobody can access
//! it, and no memory is freed before the kernel has returned it.

mod bare;
mod command;
mod entry;
mod ring_handle;
mod setup;

pub(crate) use entry::length_in;
pub use setup::{RingForm, available};

use std::io;
use std::mem::ManuallyDrop;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;

use bare::BareRing;
use entry::{Registration, Slot, enqueue, reaped};
use io_uring::opcode;
use io_uring::types::CancelBuilder;
use ring_handle::{EnterCall, RingHandle};
use setup::{refusal, register, set_up};

use crate::transfer::{file_of_slot, refuse_in_flight};
use crate::{Action, Buffers, OsError, Reaped, RunFile, Transfer};

/// Most slots that the kernel allows in a ring.
const MOST_SLOTS: u32 = 32768;
/// The `user_data` of a cancellation, which has no slot.
const CANCELLATION: u64 = u64::MAX;

/// An io_uring with one slot for each entry. It reaches one file, or several that each get an equal share of the slots.
/// Without a file each transfer is a no-op.
///
/// It may be made on one thread and used on another. From the first [`Ring::submit_and_wait`] on it belongs to the
/// thread that made that call.
pub struct Ring {
    ring: ManuallyDrop<BareRing>,
    form: RingForm,
    ring_handle: RingHandle,
    buffers: ManuallyDrop<Buffers>,
    /// The files that the ring uses; they stay open as long as it exists.
    files: Vec<RunFile>,
    slots: Vec<Slot>,
    in_flight: usize,
    queued: u32,
    /// Most entries that one call submits.
    batch: u32,
    /// Whether transfers go to the kernel's workers, which may block: on request, or after one came back with EAGAIN.
    by_workers: bool,
    /// Slots to send again; the next field counts all that were.
    again: Vec<u32>,
    resubmitted: u64,
    /// Number of outcomes that a test treats as EAGAIN.
    #[cfg(test)]
    give_back: u32,
    disabled: bool,
    means: Registration,
}

// SAFETY: the pointers lead into `buffers`, which the ring owns and moves with; nothing is tied to a thread but the
// kernel's own rule on who may enter the ring, and breaking that is an error value.
unsafe impl Send for Ring {}

impl Ring {
    /// Makes a ring of this form with `buffers` as slots, over `files`. The slots are divided equally among the files,
    /// in order. Without a file each transfer is a no-op that is reported as if it had moved all its bytes.
    ///
    /// # Errors
    /// [`OsError::IoUring`] if the kernel has no io_uring, forbids it, or does not allow so many slots.
    pub fn new(form: RingForm, buffers: Buffers, files: impl IntoIterator<Item = RunFile>) -> Result<Self, OsError> {
        Self::within(None, form, buffers, files)
    }

    /// Number of slots of the ring.
    fn slots_of(form: RingForm, buffers: &Buffers) -> Result<u32, OsError> {
        let count = buffers.count();
        let most = if form == RingForm::Sqpoll { MOST_SLOTS / 2 } else { MOST_SLOTS };
        if count > most {
            let why = format!("it holds {most} requests at most, not {count}: use less depth");
            return Err(OsError::IoUring { why });
        }
        Ok(count)
    }

    /// As [`Ring::new`], but registers the buffers only if they have at most `locked_bytes` bytes (`None`: no limit).
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

    /// Makes a ring from an io_uring that has enough entries for every buffer.
    fn over(
        ring: BareRing,
        form: RingForm,
        buffers: Buffers,
        files: Vec<RunFile>,
        may_register: bool,
    ) -> Result<Self, OsError> {
        if form.sends_commands() && files.iter().any(|file| file.namespace().is_none()) {
            return Err(OsError::IoUring { why: "its commands go to NVMe namespaces alone".to_string() });
        }
        let descriptors: Vec<RawFd> = files.iter().map(|file| file.as_fd().as_raw_fd()).collect();
        let is_plain = form == RingForm::Plain;
        if !files.is_empty() && !is_plain {
            ring.submitter().register_files(&descriptors).map_err(|error| refusal(&error))?;
        }
        let payload = buffers.payload_extent();
        let slot = |(slot, index): (u32, u32)| {
            let file = if is_plain { descriptors.get(index as usize).map_or(0, |file| *file as u32) } else { index };
            let bytes = buffers.pointer(slot);
            // The payload is registered after the slots.
            let outgoing_index = if payload.is_some() { buffers.count() } else { slot } as u16;
            let transfer = Transfer { slot, action: Action::Read, offset: 0, length: 0 };
            let mode = files.get(index as usize).map(RunFile::mode).unwrap_or_default();
            let to = files.get(index as usize).and_then(RunFile::namespace);
            let (namespace, block_shift) = to.map_or((0, 0), |to| (to.number, to.block_shift));
            let outgoing = bytes;
            let in_flight = false;
            let may_wait = false;
            Slot { bytes, outgoing, outgoing_index, file, mode, namespace, block_shift, in_flight, transfer, may_wait }
        };
        let count = buffers.count() as usize;
        let slots: Vec<Slot> = (0..).zip(file_of_slot(buffers.count(), files.len())).map(slot).collect();
        let each = slots.iter().map(|slot| (slot.bytes, buffers.bytes_each()));
        let means = match files.is_empty() {
            _ if form.sends_commands() => Registration::Commands,
            true => Registration::Nothing,
            false if is_plain => Registration::Plain,
            false if may_register && register(&ring.submitter(), each.chain(payload)) => Registration::Registered,
            false => Registration::Unregistered,
        };
        Ok(Self {
            form,
            disabled: ring.params().is_setup_single_issuer(),
            ring_handle: RingHandle::new(ring.as_raw_fd()),
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

    /// Limits each submitting call to `batch` transfers (`None`: all that are queued). If one call submits three or
    /// more, the kernel holds them back until it has seen them all (block plug) and may merge them.
    #[must_use]
    pub fn in_batches(mut self, batch: Option<NonZeroU32>) -> Self {
        self.batch = batch.map_or(u32::MAX, NonZeroU32::get);
        self
    }

    /// Hands all transfers to the kernel's workers, which may block, from the first one on.
    #[must_use]
    pub fn by_workers(mut self, by_workers: bool) -> Self {
        self.by_workers = by_workers;
        self
    }

    /// Number of segments of memory that a request lies in, on average; see [`Buffers::segments`].
    pub fn segments(&self) -> Option<f64> {
        self.buffers.segments()
    }

    /// Whether the kernel keeps the buffers mapped, which saves work on each transfer. It does not if the buffers
    /// exceed the limit on locked memory (`ulimit -l`).
    pub fn has_registered_buffers(&self) -> bool {
        self.means == Registration::Registered
    }

    /// Number of transfers pushed and not reaped.
    pub fn in_flight(&self) -> usize {
        self.in_flight
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
    /// As [`Ring::slot`].
    pub fn slot_mut(&mut self, slot: u32) -> &mut [u8] {
        self.assert_free(slot);
        self.buffers.slot_mut(slot)
    }

    /// Prepares the bytes of a write, as [`Buffers::stamp`] does.
    ///
    /// # Panics
    /// If the slot is in flight, does not exist, or is shorter than `length`.
    #[inline]
    pub fn stamp(&mut self, slot: u32, offset: u64, length: u32, serial: u64) {
        self.assert_free(slot);
        self.buffers.stamp(slot, offset, length as usize, serial);
        self.slots[slot as usize].outgoing = self.buffers.outgoing_pointer(slot);
    }

    /// Queues transfers; the next [`Ring::submit_and_wait`] submits them.
    ///
    /// # Panics
    /// If a slot is in flight, does not exist, or is shorter than the transfer.
    #[inline]
    pub fn push(&mut self, transfers: impl IntoIterator<Item = Transfer>) {
        // Separate loops, so that a choice that is the same for all entries is not repeated for each.
        match self.means {
            Registration::Nothing => self.push_as(Registration::Nothing, transfers),
            Registration::Registered => self.push_as(Registration::Registered, transfers),
            Registration::Unregistered => self.push_as(Registration::Unregistered, transfers),
            Registration::Plain => self.push_as(Registration::Plain, transfers),
            Registration::Commands => self.push_commands(transfers),
        }
    }

    #[inline(always)]
    fn push_as(&mut self, means: Registration, transfers: impl IntoIterator<Item = Transfer>) {
        let most_bytes = self.buffers.bytes_each();
        let BareRing::Usual(ring) = &mut *self.ring else { unreachable!("commands have entries of their own") };
        let mut queue = ring.submission();
        for transfer in transfers {
            let slot = lent(&mut self.slots, transfer, most_bytes, self.by_workers);
            enqueue(&mut queue, means, slot);
            slot.in_flight = true;
            self.in_flight += 1;
            self.queued += 1;
        }
    }

    fn push_commands(&mut self, transfers: impl IntoIterator<Item = Transfer>) {
        let most_bytes = self.buffers.bytes_each();
        let BareRing::Commands(ring) = &mut *self.ring else { unreachable!("commands have entries of their own") };
        let mut queue = ring.submission();
        for transfer in transfers {
            let slot = lent(&mut self.slots, transfer, most_bytes, self.by_workers);
            command::enqueue(&mut queue, slot);
            slot.in_flight = true;
            self.in_flight += 1;
            self.queued += 1;
        }
    }

    /// Makes the writes to a slot's file durable with a separate call, because a ring that polls for completions takes
    /// no flush.
    ///
    /// # Errors
    /// The error of the flush; without a file there is nothing to do.
    pub fn flush(&self, slot: u32) -> io::Result<()> {
        self.files.get(self.slots[slot as usize].file as usize).map_or(Ok(()), RunFile::flush)
    }

    /// Submits what is queued and waits until `least` outcomes can be reaped (at most all that are in flight). A signal
    /// may end the wait early.
    ///
    /// # Errors
    /// If the kernel refuses the call itself, for example on another thread than that of the first call.
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
            match unsafe { self.ring_handle.enter(EnterCall { queued: self.queued, least, ..EnterCall::default() }) } {
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

    /// Makes the calls that only submit; the call that waits submits the last batch.
    #[inline]
    fn send_all_but_the_last_batch(&mut self) -> io::Result<()> {
        while self.queued > self.batch {
            // SAFETY: the entries in the queue are good (see `push`).
            match unsafe {
                self.ring_handle.enter(EnterCall { queued: self.batch, goes_on: true, ..EnterCall::default() })
            } {
                Ok(taken) => self.queued -= taken,
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(error) if self.may_try_again(&error) => self.wait_for_one()?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether [`Ring::submit_and_wait_at_most`] is available: from Linux 5.11 on, and never if waiting means polling.
    pub fn can_wait_for_a_time(&self) -> bool {
        self.ring.params().is_feature_ext_arg() && !self.form.polls_device()
    }

    /// Submits what is queued and waits until an outcome can be reaped or `limit` has passed; with nothing in flight it
    /// only lets time pass. A signal, or a kernel short of resources, may end the wait early.
    ///
    /// # Errors
    /// As for [`Ring::submit_and_wait`].
    pub fn submit_and_wait_at_most(&mut self, limit: Duration) -> io::Result<()> {
        self.enable()?;
        if self.form == RingForm::Sqpoll {
            return self.wake_and_wait(1, Some(limit));
        }
        self.send_all_but_the_last_batch()?;
        let visit = EnterCall { queued: self.queued, least: 1, limit: Some(limit), ..EnterCall::default() };
        // SAFETY: the entries in the queue are good (see `push`).
        match unsafe { self.ring_handle.enter(visit) } {
            Ok(taken) => self.queued -= taken,
            Err(error) if is_early(&error) => {}
            Err(error) if self.may_try_again(&error) => self.wait_for_one()?,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Wakes the kernel's polling thread if it sleeps; otherwise that thread takes entries by itself. Outcomes that
    /// have arrived need no call.
    fn wake_and_wait(&mut self, least: usize, limit: Option<Duration>) -> io::Result<()> {
        self.queued = 0;
        let wakes = self.ring.needs_wakeup();
        if !wakes && self.ring.arrived() >= least {
            return Ok(());
        }
        // SAFETY: the entries in the queue are good (see `push`).
        match unsafe { self.ring_handle.enter(EnterCall { least: least as u32, wakes, limit, ..EnterCall::default() }) }
        {
            Err(error) if !is_early(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Enables the ring for the thread that first waits, to which it then belongs.
    #[inline]
    fn enable(&mut self) -> io::Result<()> {
        if self.disabled {
            self.ring.submitter().register_enable_rings()?;
            self.disabled = false;
            if self.form != RingForm::Plain {
                self.ring_handle.register();
            }
        }
        Ok(())
    }

    /// Whether the kernel only lacks a resource that outcomes still in flight will free.
    fn may_try_again(&self, error: &io::Error) -> bool {
        matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY)) && self.in_flight > self.queued as usize
    }

    fn wait_for_one(&self) -> io::Result<()> {
        // SAFETY: nothing is submitted.
        match unsafe { self.ring_handle.enter(EnterCall { least: 1, ..EnterCall::default() }) } {
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

    /// Cancels what can be cancelled and waits for the rest.
    fn call_back(&mut self) -> io::Result<()> {
        self.submit_and_wait(0)?;
        let entry = opcode::AsyncCancel2::new(CancelBuilder::any()).build().user_data(CANCELLATION);
        // SAFETY: a cancellation refers to no memory; everything queued was sent, so there is room for it.
        if unsafe { self.ring.push(entry) } {
            self.queued += 1;
        }
        while self.in_flight > 0 {
            self.submit_and_wait(1)?;
            self.in_flight -= self.ring.drop_all_but(CANCELLATION);
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let returned = self.in_flight == 0 || self.call_back().is_ok();
        if self.means == Registration::Registered {
            // Free the locked memory now instead of when the kernel gets round to it.
            let _ = self.ring.submitter().unregister_buffers();
        }
        self.ring_handle.unregister();
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

/// The slot of a transfer, which now holds it.
///
/// # Panics
/// If the slot is in flight, does not exist, or is shorter than the transfer.
#[inline(always)]
fn lent(slots: &mut [Slot], transfer: Transfer, most_bytes: usize, by_workers: bool) -> &mut Slot {
    let slot = &mut slots[transfer.slot as usize];
    if slot.in_flight {
        refuse_in_flight(transfer.slot);
    }
    assert!(transfer.length as usize <= most_bytes, "a transfer longer than its slot");
    slot.transfer = transfer;
    slot.may_wait = by_workers;
    slot
}

/// Whether a wait ended before its outcome because of a signal or the limit.
fn is_early(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::ETIME))
}

impl Ring {
    /// Hands every outcome that has arrived to `take`, oldest first.
    ///
    /// A transfer that the kernel could not carry out without blocking (EAGAIN) has no outcome yet. It is queued again
    /// for a kernel worker, which may block, and so are all later transfers. The kernel does this by itself if it
    /// notices at once. Behind a cgroup limit (`io.max`) it notices too late, and each returned transfer has already
    /// been counted against the limit.
    #[inline]
    pub fn reap(&mut self, mut take: impl FnMut(Reaped)) {
        let mut count = 0;
        let means = self.means;
        let slots = &mut self.slots;
        let again = &mut self.again;
        #[cfg(test)]
        let give_back = &mut self.give_back;
        let mut settle = |reaped: Reaped| {
            #[cfg(test)]
            let reaped = tests::given_back(give_back, reaped);
            let slot = &mut slots[reaped.slot as usize];
            if reaped.result == Err(libc::EAGAIN) && !slot.may_wait {
                again.push(reaped.slot);
                return;
            }
            slot.in_flight = false;
            count += 1;
            take(reaped);
        };
        match &mut *self.ring {
            BareRing::Usual(ring) => ring.completion().for_each(|outcome| settle(reaped(means, &outcome))),
            BareRing::Commands(ring) => ring.completion().for_each(|outcome| settle(command::reaped(&outcome))),
        }
        self.in_flight -= count;
        if !self.again.is_empty() {
            self.queue_again();
        }
    }

    #[cold]
    fn queue_again(&mut self) {
        self.by_workers = true;
        for slot in self.again.drain(..) {
            let slot = &mut self.slots[slot as usize];
            slot.may_wait = true;
            match &mut *self.ring {
                BareRing::Usual(ring) => enqueue(&mut ring.submission(), self.means, slot),
                BareRing::Commands(ring) => command::enqueue(&mut ring.submission(), slot),
            }
            self.queued += 1;
            self.resubmitted += 1;
        }
    }

    /// Number of transfers that came back with EAGAIN and were sent again.
    pub fn resubmitted(&self) -> u64 {
        self.resubmitted
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::Path;

    use super::entry::entry;
    use super::setup::{LEANEST, available, set_up_as};
    use super::*;
    use crate::skip;
    use crate::{Action, DataFile, Mode, Reaped};

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
        assert!(catch_unwind(AssertUnwindSafe(|| ring.stamp(1, 0, 16, 0))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| ring.push([write(1, 0, 4096)]))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| ring.push([write(0, 0, 4097)]))).is_err(), "longer than a slot");
        assert!(catch_unwind(AssertUnwindSafe(|| ring.push([write(2, 0, 4096)]))).is_err(), "no such slot");
        assert_eq!(ring.slot(0).len(), 4096);
        assert_eq!(outcomes(&mut ring), [Reaped { slot: 1, result: Ok(4096) }]);
        assert_eq!(ring.slot(1).len(), 4096);
    }

    #[test]
    fn every_batch_is_sent_and_the_last_one_waits() {
        for batch in [1, 2, 3, 7, 8, 100] {
            let Some((file, ring)) = ring(8, 512) else { return };
            let mut ring = ring.in_batches(NonZeroU32::new(batch));
            ring.push((0..8).map(|slot| write(slot, u64::from(slot) * 512, 512)));
            ring.submit_and_wait(8).unwrap();
            assert_eq!(ring.queued, 0, "batches of {batch}");
            let mut count = 0;
            ring.reap(|_| count += 1);
            assert_eq!((count, ring.in_flight(), file.size_bytes().unwrap()), (8, 0, 4096), "batches of {batch}");
        }
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

    /// Replaces an outcome by EAGAIN as many times as a test wants.
    pub(super) fn given_back(times: &mut u32, reaped: Reaped) -> Reaped {
        if *times == 0 {
            return reaped;
        }
        *times -= 1;
        Reaped { result: Err(libc::EAGAIN), ..reaped }
    }

    #[test]
    fn what_comes_back_with_eagain_is_sent_again_to_a_worker_and_counted() {
        for form in [RingForm::Registered, RingForm::Plain, RingForm::Sqpoll] {
            if let Err(error) = available(form) {
                skip(&error.to_string());
                continue;
            }
            let (data, run) = file();
            let mut ring = Ring::new(form, Buffers::new(4, 512, 1).unwrap(), [run]).unwrap();
            let is_by_worker = |ring: &Ring, slot: u32| {
                {
                    // With or without a registered file: its flag is 1, a worker's is 16.
                    let reported = format!("{:?}", entry(ring.means, &ring.slots[slot as usize]));
                    reported.contains("flags: 16,") || reported.contains("flags: 17,")
                }
            };
            ring.give_back = 2;
            ring.push([write(0, 0, 512), write(1, 512, 512)]);
            assert!(!is_by_worker(&ring, 0), "{form:?}");
            while ring.ring.arrived() < 2 {
                ring.submit_and_wait(2).unwrap();
            }
            let mut came = Vec::new();
            ring.reap(|reaped| came.push(reaped));
            assert_eq!((came, ring.resubmitted()), (vec![], 2), "{form:?}: they are no outcomes yet");
            assert_eq!(ring.in_flight(), 2, "{form:?}: they are still under way");
            assert!(
                catch_unwind(AssertUnwindSafe(|| ring.slot(0).len())).is_err(),
                "{form:?}: and their slots lent out"
            );
            assert!(is_by_worker(&ring, 0) && is_by_worker(&ring, 1), "{form:?}");
            let mut slots: Vec<u32> = outcomes(&mut ring).iter().map(|reaped| reaped.slot).collect();
            slots.sort_unstable();
            assert_eq!((slots, ring.resubmitted()), (vec![0, 1], 2), "{form:?}: each comes once");
            let mut bytes = [0; 512];
            data.read_at(&mut bytes, 512).unwrap();
            assert_eq!(bytes, ring.slot(1), "{form:?}: and what it carried is there");
            // From now on workers get everything from the start, so EAGAIN is the outcome.
            ring.give_back = 1;
            ring.push([write(2, 0, 512)]);
            assert!(is_by_worker(&ring, 2), "{form:?}");
            assert_eq!(outcomes(&mut ring), [Reaped { slot: 2, result: Err(libc::EAGAIN) }], "{form:?}");
            assert_eq!((ring.resubmitted(), ring.in_flight()), (2, 0), "{form:?}");
        }
    }

    #[test]
    fn a_ring_that_is_let_go_with_a_transfer_to_send_again_ends() {
        let Some((_file, mut ring)) = ring(2, 512) else { return };
        ring.give_back = 1;
        ring.push([write(0, 0, 512)]);
        ring.submit_and_wait(1).unwrap();
        ring.reap(|_| ());
        assert_eq!((ring.resubmitted(), ring.in_flight()), (1, 1));
        drop(ring);
    }
}
