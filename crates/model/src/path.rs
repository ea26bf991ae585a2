//! Defines the contract of a storage path in virtual time: requests in, completions out, processor time counted.
//!
//! Whatever a system is made of, its outermost part is a [`PathModel`]; a part that passes requests on holds another.

use crate::Moment;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Moves bytes from the path.
    Read,
    /// Moves bytes to the path.
    Write,
    /// Completes after every request that was submitted before it; offset and length are without meaning.
    Flush,
}

/// A request on its way into a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submission {
    /// The caller's name for it, given back when it completes.
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
    /// The name that the caller gave it.
    pub token: u32,
    /// Bytes that were moved: what of the range lies within the path's capacity; 0 for a flush.
    pub bytes: u32,
    /// When it left.
    pub at: Moment,
}

/// Processor time that completed requests have cost, since the path was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessorTime {
    /// What the submitting process was charged, in nanoseconds.
    pub charged_ns: u64,
    /// What was charged to nobody (interrupts, kernel threads), in nanoseconds.
    pub unseen_ns: u64,
}

impl ProcessorTime {
    /// All that the machine spent, in nanoseconds.
    pub fn total_ns(self) -> u64 {
        self.charged_ns + self.unseen_ns
    }
}

/// A storage path in virtual time.
///
/// The caller keeps the clock and never lets it go back: each submission and each pop happens at a moment no
/// earlier than the ones before, a pop at the moment of its completion.
pub trait PathModel: Send {
    /// Takes a request at the moment `now`.
    fn submit(&mut self, now: Moment, request: Submission);

    /// A moment before which no request leaves, if none is submitted before then; `None` when none is in flight.
    ///
    /// It may be earlier than the next completion, since a path of many parts finds that moment only by going there:
    /// [`PathModel::next_by`] does.
    fn next_completion(&self) -> Option<Moment>;

    /// When the next request leaves, if that is by `until` and none is submitted before then; `None` otherwise.
    ///
    /// The caller's clock may go on to that moment, or to `until` where there is none.
    fn next_by(&mut self, until: Moment) -> Option<Moment> {
        self.next_completion().filter(|at| *at <= until)
    }

    /// Takes out the request that leaves next; `None` when none is in flight.
    fn pop(&mut self) -> Option<Completed>;

    /// What the requests completed so far have cost the processors.
    fn processor_time(&self) -> ProcessorTime;
}
