//! Translates transfers into a ring's entries, and its outcomes back.

use io_uring::types::{Fd, Fixed, FsyncFlags};
use io_uring::{cqueue, opcode, squeue};

use crate::{Action, Reaped, Transfer};

/// What a ring's transfers are made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Means {
    /// There is no file: no-ops.
    Nothing,
    /// The file and the buffers, both registered.
    Registered,
    /// The registered file, and buffers that the kernel maps for each transfer.
    Unregistered,
    /// A descriptor that the kernel looks up and buffers that it maps for each transfer.
    Plain,
}

/// What a slot is made of for the kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub bytes: *mut u8,
    /// Where the bytes of a write begin.
    pub outgoing: *mut u8,
    /// Which of the registered buffers those are in.
    pub outgoing_index: u16,
    /// Which file it reaches: its place among the registered ones, its descriptor where none are registered.
    pub file: u32,
    pub in_flight: bool,
    /// What it carries, or carried last.
    pub transfer: Transfer,
    /// Whether that was handed to a worker of the kernel, which may wait.
    pub may_wait: bool,
}

/// A transfer by way of the slot `place`, in the kernel's words.
#[inline(always)]
pub(crate) fn entry(means: Means, place: &Slot) -> squeue::Entry {
    let Transfer { slot, action, offset, length } = place.transfer;
    let (file, bytes, index) = (Fixed(place.file), place.bytes, slot as u16);
    let outgoing = place.outgoing;
    let descriptor = Fd(place.file as i32);
    let entry = match (means, action) {
        (Means::Nothing, _) => opcode::Nop::new().build(),
        (Means::Plain, Action::Flush) => opcode::Fsync::new(descriptor).flags(FsyncFlags::DATASYNC).build(),
        (_, Action::Flush) => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
        (Means::Registered, Action::Read) => opcode::ReadFixed::new(file, bytes, length, index).offset(offset).build(),
        (Means::Registered, Action::Write) => {
            opcode::WriteFixed::new(file, outgoing, length, place.outgoing_index).offset(offset).build()
        }
        (Means::Unregistered, Action::Read) => opcode::Read::new(file, bytes, length).offset(offset).build(),
        (Means::Unregistered, Action::Write) => opcode::Write::new(file, outgoing, length).offset(offset).build(),
        (Means::Plain, Action::Read) => opcode::Read::new(descriptor, bytes, length).offset(offset).build(),
        (Means::Plain, Action::Write) => opcode::Write::new(descriptor, outgoing, length).offset(offset).build(),
    };
    let entry = entry.user_data(u64::from(length) << 32 | u64::from(slot));
    if place.may_wait { entry.flags(squeue::Flags::ASYNC) } else { entry }
}

/// Puts what a slot carries into the queue.
#[inline(always)]
pub(crate) fn enqueue(queue: &mut squeue::SubmissionQueue<'_>, means: Means, slot: &Slot) {
    let entry = entry(means, slot);
    // SAFETY: the entry's buffer is the slot's, at least as long as the transfer; the slot is lent out, and counted so
    // at once, until the kernel gives it back; the ring's `drop` waits for that or leaves the buffers in place for good.
    let has_room = unsafe { queue.push(&entry) }.is_ok();
    assert!(has_room, "the queue has entries enough for each slot");
}

/// The outcome of a transfer; a no-op is taken as if it had moved all.
#[inline]
pub(crate) fn reaped(means: Means, outcome: &cqueue::Entry) -> Reaped {
    let (slot, length) = (outcome.user_data() as u32, length_in(outcome.user_data()));
    let result = match outcome.result() {
        error if error < 0 => Err(-error),
        _ if means == Means::Nothing => Ok(length),
        moved => Ok(moved as u32),
    };
    Reaped { slot, result }
}

/// Bytes of a transfer, from its mark.
pub(crate) fn length_in(mark: u64) -> u32 {
    (mark >> 32) as u32
}
