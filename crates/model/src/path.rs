//! Defines the contract of a storage path in virtual time: requests in, completions out, processor time counted.
//!
//! The outermost part of every system is a [`PathModel`]; a part that passes requests on contains another one.

use crate::Moment;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Moves bytes from the path.
    Read,
    /// Moves bytes to the path.
    Write,
    /// Completes after every request submitted before it; offset and length are ignored.
    Flush,
}

/// A request on its way into a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submission {
    /// The caller's number for it, returned when it completes.
    pub token: u32,
    /// What it does.
    pub operation: Operation,
    /// First byte of its range.
    pub offset: u64,
    /// Bytes in its range.
    pub length: u32,
}

/// A request that has left the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// The number that the caller gave it.
    pub token: u32,
    /// Bytes that were moved: those of the range within the path's capacity; 0 for a flush.
    pub bytes: u32,
    /// When it left.
    pub at: Moment,
}

/// Processor time of the completed requests, since the path was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessorTime {
    /// Charged to the submitting process, in nanoseconds.
    pub charged_ns: u64,
    /// Charged to no process (interrupts, kernel threads), in nanoseconds.
    pub unseen_ns: u64,
}

impl ProcessorTime {
    /// All processor time of the machine, in nanoseconds.
    pub fn total_ns(self) -> u64 {
        self.charged_ns + self.unseen_ns
    }
}

/// A storage path in virtual time.
///
/// The caller keeps the clock, which never goes back: no submission or pop is earlier than the ones before, and a pop
/// happens at the moment of its completion.
pub trait PathModel: Send {
    /// Takes a request at the moment `now`.
    fn submit(&mut self, now: Moment, request: Submission);

    /// A moment before which no request leaves, if none is submitted before then; `None` when none is in flight.
    ///
    /// It may be earlier than the next completion, because a path of many parts finds that only by simulating up to it,
    /// as [`PathModel::next_by`] does.
    fn next_completion(&self) -> Option<Moment>;

    /// When the next request leaves, if that is by `until` and none is submitted before then; `None` otherwise.
    ///
    /// The caller's clock may advance to that moment, or to `until` for `None`.
    fn next_by(&mut self, until: Moment) -> Option<Moment> {
        self.next_completion().filter(|at| *at <= until)
    }

    /// Removes the request that leaves next; `None` when none is in flight.
    fn pop(&mut self) -> Option<Completed>;

    /// Processor time of the requests completed so far.
    fn processor_time(&self) -> ProcessorTime;
}
