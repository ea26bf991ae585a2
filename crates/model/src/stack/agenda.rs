//! Keeps events in order of virtual time.
//!
//! Events of one moment come out in the order in which they went in, so that a run is the same on every machine.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Moment;

/// What can happen in a stack. The numbers name a transfer, a command, a disk or a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// The host hands a transfer to the adapter.
    Issued(u32),
    /// A command is at the drive, which has understood it.
    AtDrive(u32),
    /// A command's data want the bus.
    Transfer(u32),
    /// A command's data have been stored in the adapter and want the way to memory.
    Relayed(u32),
    /// A written command's data are in the drive.
    InDrive(u32),
    /// A drive's arm has finished what it was about.
    ArmFree(u32),
    /// A command is over.
    Delivered(u32),
    /// The host has finished a transfer.
    Finished(u32),
    /// The host has copied a request's bytes to or from the cache.
    Copied(u32),
    /// A request has come over the network.
    Asked(u32),
    /// A request's answer has gone back over the network.
    Answered(u32),
}

/// Moment, order of arrival, event.
type Entry = (Moment, u64, Event);

/// Events to come.
#[derive(Debug, Default)]
pub struct Agenda {
    events: BinaryHeap<Reverse<Entry>>,
    arrivals: u64,
}

impl Agenda {
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

/// A part that serves one at a time, in order of arrival.
#[derive(Debug, Clone, Copy, Default)]
pub struct Server {
    free: Moment,
}

impl Server {
    /// Takes the server for `span_ps` from the moment at which it is free; gives the end.
    pub fn take(&mut self, now: Moment, span_ps: u64) -> Moment {
        self.free = self.free.max(now).after_ps(span_ps);
        self.free
    }

    /// Paces a stream that has been passing through while it arrived and is all here at `arrived`: it leaves then,
    /// or `span_ps` after the one before has left.
    pub fn pace(&mut self, arrived: Moment, span_ps: u64) -> Moment {
        self.free = arrived.max(self.free.after_ps(span_ps));
        self.free
    }
}
