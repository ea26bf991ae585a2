//! Defines the contract of a storage path in virtual time: requests in, completions out, processor time counted.
//!
//! The outermost part of every system is a [`PathModel`]; a part that passes requests on contains another one.
//!
//! A [`Moment`] counts picoseconds, because whole nanoseconds would round the pace of a fast path by up to one percent;
//! it is an integer, because the order of events must be the same on every machine. Sums saturate at the end of time
//! (213 days), so no constants overflow.

use halfpower_spec::Nanos;

const PS_PER_NS: u64 = 1000;

/// A point of virtual time; it never exceeds [`Moment::END`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(u64);

impl Moment {
    /// The last moment: 213 days from the clock's zero.
    pub const END: Self = Self(u64::MAX);

    /// The moment `ps` picoseconds from the clock's zero.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds from the clock's zero.
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// The moment `span_ps` picoseconds later, at most the end of time.
    #[must_use]
    pub const fn after_ps(self, span_ps: u64) -> Self {
        Self(self.0.saturating_add(span_ps))
    }

    /// The moment as a clock shows it: whole nanoseconds that have passed.
    pub const fn nanos(self) -> Nanos {
        Nanos(self.0 / PS_PER_NS)
    }
}

impl From<Nanos> for Moment {
    fn from(instant: Nanos) -> Self {
        Self(instant.0.saturating_mul(PS_PER_NS))
    }
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Moves bytes from the path.
    Read,
    /// Moves bytes to the path.
    Write,
    /// Makes durable what was written; completes after every request submitted before it, unless the path's flush has a
    /// time of its own. Offset and length are ignored.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_whole_nanoseconds_that_have_passed() {
        let moment = Moment::from(Nanos(7)).after_ps(1999);
        assert_eq!((moment.ps(), moment.nanos()), (8999, Nanos(8)));
    }

    #[test]
    fn time_ends_and_does_not_wrap() {
        assert_eq!(Moment::from(Nanos(u64::MAX)), Moment::END);
        assert_eq!(Moment::END.after_ps(1), Moment::END);
    }
}
