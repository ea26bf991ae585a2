//! Defines requests to the kernel's asynchronous interfaces, and their outcomes.

/// What a transfer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Fill the slot from the file.
    Read,
    /// Write the slot to the file.
    Write,
    /// Make everything written durable; offset and length are ignored.
    Flush,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The slot that it uses; not in flight.
    pub slot: u32,
    /// What it does.
    pub action: Action,
    /// First byte in the file.
    pub offset: u64,
    /// Bytes, at most the size of a slot.
    pub length: u32,
}

/// Added to the status of an NVMe command that failed: such an error is none of the system's, whose numbers end at 4095.
pub const NVME_STATUS: i32 = 0x1_0000;

/// The outcome of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reaped {
    /// The slot, free again.
    pub slot: u32,
    /// Bytes moved, or the error number; from [`NVME_STATUS`] on it is what an NVMe drive said, its type and its code.
    pub result: Result<u32, i32>,
}

/// The index of the file that each slot reaches; the slots are divided equally among the files, in order.
pub fn file_of_slot(slots: u32, files: usize) -> impl Iterator<Item = u32> {
    let of_a_file = slots.div_ceil(files.max(1) as u32);
    (0..slots).map(move |slot| slot / of_a_file)
}

/// A separate function with its argument by value, so that the loop around it keeps its transfer in registers.
#[cold]
pub(crate) fn refuse_in_flight(slot: u32) -> ! {
    panic!("slot {slot} is in flight");
}
