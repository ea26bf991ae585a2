//! Keeps events in order of virtual time.
//!
//! Events of the same moment come out in the order in which they were added, so that a run is the same on every
//! machine.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Moment;

/// An event in a stack. The numbers identify a transfer, a command, a disk or a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// The host hands a transfer to the adapter.
    Issued(u32),
    /// A drive has received and decoded a command.
    AtDrive(u32),
    /// A command's data are ready for the bus.
    Transfer(u32),
    /// A command's data are stored in the adapter and ready for the way to memory.
    Relayed(u32),
    /// A write command's data are in the drive.
    InDrive(u32),
    /// A drive's arm has finished its work.
    ArmFree(u32),
    /// A command is complete.
    Delivered(u32),
    /// The host has finished a transfer.
    Finished(u32),
    /// The host has copied a request's bytes to or from the cache.
    Copied(u32),
    /// A request has arrived over the network.
    Asked(u32),
    /// A request's answer has gone back over the network.
    Answered(u32),
}

/// Moment, order of arrival, event.
type Entry = (Moment, u64, Event);

/// The queue of future events.
#[derive(Debug, Clone, Default)]
pub struct EventQueue {
    events: BinaryHeap<Reverse<Entry>>,
    arrivals: u64,
}

impl EventQueue {
    pub fn add(&mut self, at: Moment, event: Event) {
        self.events.push(Reverse((at, self.arrivals, event)));
        self.arrivals += 1;
    }

    /// The moment of the next event.
    pub fn next_at(&self) -> Option<Moment> {
        self.events.peek().map(|Reverse((at, ..))| *at)
    }

    pub fn take(&mut self) -> Option<(Moment, Event)> {
        self.events.pop().map(|Reverse((at, _, event))| (at, event))
    }
}

/// A part that serves one request at a time, in order of arrival.
#[derive(Debug, Clone, Copy, Default)]
pub struct Server {
    free: Moment,
}

impl Server {
    /// Occupies the server for `span_ps` from the moment at which it is free; returns the end.
    pub fn take(&mut self, now: Moment, span_ps: u64) -> Moment {
        self.free = self.free.max(now).after_ps(span_ps);
        self.free
    }

    /// Paces a stream that passes through while it arrives and has arrived completely at `arrived`: it leaves then, or
    /// `span_ps` after the one before has left, whichever is later.
    pub fn pace(&mut self, arrived: Moment, span_ps: u64) -> Moment {
        self.free = arrived.max(self.free.after_ps(span_ps));
        self.free
    }
}
