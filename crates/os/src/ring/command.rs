//! Converts transfers to NVMe commands in a ring's entries, and their completions to outcomes.

use io_uring::types::Fixed;
use io_uring::{cqueue, opcode, squeue};

use super::entry::{Slot, length_in, mark};
use crate::nvme::{COMMAND_BYTES, Command, FLUSH, FORCE_UNIT_ACCESS, READ, URING_IO, WRITE};
use crate::transfer::NVME_STATUS;
use crate::{Action, Reaped};

/// Bytes of an entry that hold a command.
const ROOM_BYTES: usize = 80;
/// The bits of a completion's status that tell what failed: the type and the code. Above them are whether more is known, and
/// whether to try again is of no use.
const STATUS_BITS: i32 = 0x7ff;
/// The status of a command that the driver gave up.
const ABORTED_BY_THE_HOST: i32 = 0x371;

/// The ring entry of the command for the transfer in a slot.
#[inline]
fn entry(place: &Slot) -> squeue::Entry128 {
    let mut room = [0; ROOM_BYTES];
    room[..COMMAND_BYTES].copy_from_slice(&command(place).bytes());
    let entry = opcode::UringCmd80::new(Fixed(place.file), URING_IO).cmd(room).build().user_data(mark(place.transfer));
    if place.may_wait { entry.flags(squeue::Flags::ASYNC) } else { entry }
}

/// The command for the transfer in a slot.
#[inline]
fn command(place: &Slot) -> Command {
    let bytes = place.transfer.length;
    let (opcode, address) = match place.transfer.action {
        Action::Flush => return Command { namespace: place.namespace, ..Command::new(FLUSH, 0, 0) },
        Action::Read => (READ, place.bytes),
        Action::Write => (WRITE, place.outgoing),
    };
    // The drive moves as many bytes as the blocks have: their number must be the buffer's.
    assert!(bytes > 0 && (bytes >> place.block_shift) << place.block_shift == bytes, "a command moves whole blocks");
    let first = place.transfer.offset >> place.block_shift;
    let is_durable = place.mode.durable && place.transfer.action == Action::Write;
    // The first block is not counted.
    let others = (bytes >> place.block_shift) - 1;
    let word_12 = if is_durable { others | FORCE_UNIT_ACCESS } else { others };
    Command {
        namespace: place.namespace,
        address: address as u64,
        data_bytes: bytes,
        words_10_15: [first as u32, (first >> 32) as u32, word_12, 0, 0, 0],
        ..Command::new(opcode, 0, 0)
    }
}

/// Adds the command for the transfer of a slot to the queue.
#[inline(always)]
pub(crate) fn enqueue(queue: &mut squeue::SubmissionQueue<'_, squeue::Entry128>, slot: &Slot) {
    let entry = entry(slot);
    // SAFETY: as for the entries of the usual size; the command names the slot's buffer with as many bytes as its blocks have.
    let has_room = unsafe { queue.push(&entry) }.is_ok();
    assert!(has_room, "the queue has entries enough for each slot");
}

/// The outcome of a command: all its bytes, the drive's status as an error beyond those of the system, or the system's
/// error.
#[inline]
pub(crate) fn reaped(outcome: &cqueue::Entry32) -> Reaped {
    let slot = outcome.user_data() as u32;
    Reaped { slot, result: result(outcome.result(), length_in(outcome.user_data())) }
}

/// What the kernel's answer to a command of so many bytes says. No signal interrupts a command: with EINTR the driver tells
/// that it gave it up, as after a time-out.
#[inline]
fn result(answer: i32, bytes: u32) -> Result<u32, i32> {
    const GIVEN_UP: i32 = -libc::EINTR;
    match answer {
        0 => Ok(bytes),
        GIVEN_UP => Err(NVME_STATUS | ABORTED_BY_THE_HOST),
        error if error < 0 => Err(-error),
        status => Err(NVME_STATUS | (status & STATUS_BITS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, Transfer};

    fn slot(action: Action, durable: bool) -> Slot {
        let [bytes, outgoing] = [0x1000 as *mut u8, 0x2000 as *mut u8];
        Slot {
            bytes,
            outgoing,
            outgoing_index: 0,
            file: 3,
            mode: Mode { durable, ..Mode::default() },
            namespace: 9,
            block_shift: 9,
            in_flight: false,
            transfer: Transfer { slot: 5, action, offset: 0x1_0000_0000 << 9, length: 4096 },
            may_wait: false,
        }
    }

    #[test]
    fn reads_and_writes_name_their_blocks_and_their_bytes() {
        let read = command(&slot(Action::Read, false));
        assert_eq!((read.opcode, read.namespace, read.address, read.data_bytes), (2, 9, 0x1000, 4096));
        assert_eq!(
            read.words_10_15,
            [0, 1, 7, 0, 0, 0],
            "from block 2^32 on, eight blocks, of which one is not counted"
        );
        let write = command(&slot(Action::Write, false));
        assert_eq!((write.opcode, write.address, write.words_10_15[2]), (1, 0x2000, 7));
        assert_eq!(command(&slot(Action::Write, true)).words_10_15[2], 7 | 1 << 30, "forced to the medium");
        assert_eq!(command(&slot(Action::Read, true)).words_10_15[2], 7, "a read is as it was");
        let flush = command(&slot(Action::Flush, false));
        assert_eq!(flush, Command { namespace: 9, ..Command::default() });
    }

    #[test]
    fn an_answer_is_all_bytes_a_status_or_an_error_of_the_system() {
        assert_eq!(result(0, 4096), Ok(4096));
        assert_eq!(result(0x4281, 4096), Err(NVME_STATUS | 0x281), "without the bit that says not to try again");
        assert_eq!(result(-libc::EIO, 4096), Err(libc::EIO));
        assert_eq!(result(-libc::EINTR, 4096), Err(NVME_STATUS | 0x371), "given up by the driver");
    }

    #[test]
    #[should_panic(expected = "whole blocks")]
    fn no_command_is_made_of_no_blocks() {
        let none = slot(Action::Read, false);
        command(&Slot { transfer: Transfer { length: 0, ..none.transfer }, ..none });
    }

    #[test]
    fn an_entry_holds_the_command_and_the_mark_of_its_transfer() {
        let entry = entry(&slot(Action::Read, false));
        assert_eq!(entry.get_user_data(), 4096 << 32 | 5);
        assert_eq!(entry.get_opcode(), u32::from(opcode::UringCmd80::CODE));
        assert_eq!(size_of_val(&entry), 128);
    }
}
