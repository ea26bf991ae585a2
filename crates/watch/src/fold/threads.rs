//! Follows what the subject's threads do: run, wait for a processor, or sleep.

use halfpower_record::IssuedBy;

use super::operations::{OpKey, Slots};
use super::spans::Span;

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It runs.
    Running,
    /// It could run, and another does.
    Ready,
    /// It sleeps.
    Blocked,
}

/// A call that hands requests over of which no event tells when they end: to the kernel's older asynchronous I/O, or to a ring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Submitting {
    pub(crate) at_ns: u64,
    /// Requests that have not been seen to reach the block layer.
    pub(crate) owed: u64,
    pub(crate) by: IssuedBy,
}

/// A page fault that may read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) at_ns: u64,
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// A thread.
#[derive(Debug)]
pub(crate) struct Thread {
    /// Its process; `None` if it is not of the subject.
    pub(crate) process: Option<u32>,
    /// When that was looked up.
    pub(crate) looked_ns: u64,
    pub(crate) state: State,
    /// Since when.
    pub(crate) since_ns: u64,
    /// The operation that it waits in.
    pub(crate) op: Option<OpKey>,
    /// The request of a ring that the kernel took up last on it.
    pub(crate) ring: Option<OpKey>,
    pub(crate) submitting: Option<Submitting>,
    pub(crate) fault: Option<Fault>,
}

impl Thread {
    pub(crate) fn new(process: Option<u32>, at_ns: u64) -> Self {
        Self {
            process,
            looked_ns: at_ns,
            state: State::Running,
            since_ns: at_ns,
            op: None,
            ring: None,
            submitting: None,
            fault: None,
        }
    }

    /// Adds the time up to now to its operation, by what it did in that time, and takes up another state.
    pub(crate) fn turn(&mut self, slots: &mut Slots, at_ns: u64, state: State) {
        let at_ns = at_ns.max(self.since_ns);
        if let Some(op) = self.op.and_then(|op| slots.get_mut(op)) {
            let span = Span::new(self.since_ns.max(op.begun.at_ns), at_ns);
            match self.state {
                State::Running => op.running_ns += span.length_ns(),
                State::Ready => op.ready_ns += span.length_ns(),
                State::Blocked if span.length_ns() > 0 => op.blocked.push(span),
                State::Blocked => {}
            }
        }
        self.state = state;
        self.since_ns = at_ns;
    }

    /// Forgets what it is at.
    pub(crate) fn cut(&mut self) {
        self.op = None;
        self.ring = None;
        self.submitting = None;
        self.fault = None;
    }
}
