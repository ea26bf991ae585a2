//! Converts transfers to a ring's entries, and its completions to outcomes.

use io_uring::types::{Fd, Fixed, FsyncFlags};
use io_uring::{cqueue, opcode, squeue};

use crate::run_file::WHOLE_RANGE;
use crate::{Action, FlushCall, Mode, Reaped, Transfer};

/// The resources that a ring's transfers use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registration {
    /// No file: transfers are no-ops.
    Nothing,
    /// Registered file and registered buffers.
    Registered,
    /// Registered file; the kernel maps the buffers for each transfer.
    Unregistered,
    /// Registered generic devices of NVMe namespaces; transfers are commands, and the kernel maps their buffers for each.
    Commands,
    /// The kernel looks up the descriptor and maps the buffers for each transfer.
    Plain,
}

/// The kernel's view of a slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub bytes: *mut u8,
    /// Start of the bytes of a write.
    pub outgoing: *mut u8,
    /// Index of the registered buffer that contains those bytes.
    pub outgoing_index: u16,
    /// The file that the slot reaches: its index among the registered files, or its descriptor if none are registered.
    pub file: u32,
    /// What its writes and flushes ask for beside the bytes.
    pub mode: Mode,
    /// The number of the namespace that its commands go to, and the logarithm of the bytes of a block there.
    pub namespace: u32,
    pub block_shift: u8,
    pub in_flight: bool,
    /// The current transfer, or the last one.
    pub transfer: Transfer,
    /// Whether that transfer went to a kernel worker, which may block.
    pub may_wait: bool,
}

/// The entry of a flush of a file, given by its descriptor or by its index among the registered files, which are two
/// types without a common name.
macro_rules! flush {
    ($file:expr, $call:expr) => {
        match $call {
            FlushCall::Fdatasync => opcode::Fsync::new($file).flags(FsyncFlags::DATASYNC).build(),
            FlushCall::Fsync => opcode::Fsync::new($file).build(),
            FlushCall::SyncFileRange => opcode::SyncFileRange::new($file, 0).flags(WHOLE_RANGE).build(),
        }
    };
}

/// The ring entry for the transfer in a slot.
#[inline(always)]
pub(crate) fn entry(means: Registration, place: &Slot) -> squeue::Entry {
    let Transfer { slot, action, offset, length } = place.transfer;
    let file = Fixed(place.file);
    let bytes = place.bytes;
    let index = slot as u16;
    let outgoing = place.outgoing;
    let descriptor = Fd(place.file as i32);
    let entry = match (means, action) {
        (Registration::Commands, _) => unreachable!("commands have entries of their own"),
        (Registration::Nothing, _) => opcode::Nop::new().build(),
        (Registration::Plain, Action::Flush) => flush!(descriptor, place.mode.flush_by),
        (_, Action::Flush) => flush!(file, place.mode.flush_by),
        (Registration::Registered, Action::Read) => {
            opcode::ReadFixed::new(file, bytes, length, index).offset(offset).rw_flags(place.mode.read_flags()).build()
        }
        // The kernel takes atomic writes from plain memory alone, and refuses them from registered buffers (EINVAL).
        (Registration::Registered, Action::Write) if !place.mode.atomic => {
            opcode::WriteFixed::new(file, outgoing, length, place.outgoing_index)
                .offset(offset)
                .rw_flags(place.mode.write_flags())
                .build()
        }
        (Registration::Unregistered, Action::Read) => {
            opcode::Read::new(file, bytes, length).offset(offset).rw_flags(place.mode.read_flags()).build()
        }
        (Registration::Registered | Registration::Unregistered, Action::Write) => {
            opcode::Write::new(file, outgoing, length).offset(offset).rw_flags(place.mode.write_flags()).build()
        }
        (Registration::Plain, Action::Read) => {
            opcode::Read::new(descriptor, bytes, length).offset(offset).rw_flags(place.mode.read_flags()).build()
        }
        (Registration::Plain, Action::Write) => {
            opcode::Write::new(descriptor, outgoing, length).offset(offset).rw_flags(place.mode.write_flags()).build()
        }
    };
    let entry = entry.user_data(mark(place.transfer));
    if place.may_wait { entry.flags(squeue::Flags::ASYNC) } else { entry }
}

/// Adds the transfer of a slot to the queue.
#[inline(always)]
pub(crate) fn enqueue(queue: &mut squeue::SubmissionQueue<'_>, means: Registration, slot: &Slot) {
    let entry = entry(means, slot);
    // SAFETY: the entry's buffer is the slot's, at least as long as the transfer; the slot is lent out, and counted so
    // at once, until the kernel gives it back; the ring's `drop` waits for that or leaves the buffers in place for good.
    let has_room = unsafe { queue.push(&entry) }.is_ok();
    assert!(has_room, "the queue has entries enough for each slot");
}

/// The outcome of a transfer; a no-op counts as if it had moved all its bytes.
#[inline]
pub(crate) fn reaped(means: Registration, outcome: &cqueue::Entry) -> Reaped {
    let slot = outcome.user_data() as u32;
    let length = length_in(outcome.user_data());
    let result = match outcome.result() {
        error if error < 0 => Err(-error),
        _ if means == Registration::Nothing => Ok(length),
        moved => Ok(moved as u32),
    };
    Reaped { slot, result }
}

/// The `user_data` of a transfer.
#[inline(always)]
pub(crate) fn mark(transfer: Transfer) -> u64 {
    u64::from(transfer.length) << 32 | u64::from(transfer.slot)
}

/// Bytes of a transfer, decoded from its `user_data`.
pub(crate) fn length_in(mark: u64) -> u32 {
    (mark >> 32) as u32
}
