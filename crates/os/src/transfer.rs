//! Defines what is asked of the kernel's asynchronous interfaces and what comes back.

/// What a transfer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Fill the slot from the file.
    Read,
    /// Write the slot to the file.
    Write,
    /// Make durable what was written; offset and length are without meaning.
    Flush,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The slot it moves; not in flight.
    pub slot: u32,
    /// What it does.
    pub action: Action,
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

/// Which of so many files each slot reaches: the first part of the slots the first, an equal part the next.
pub fn file_of_slot(slots: u32, files: usize) -> impl Iterator<Item = u32> {
    let of_a_file = slots.div_ceil(files.max(1) as u32);
    (0..slots).map(move |slot| slot / of_a_file)
}

/// Apart, and by value, so that the loop around it keeps its transfer in registers.
#[cold]
pub(crate) fn refuse_in_flight(slot: u32) -> ! {
    panic!("slot {slot} is in flight");
}
