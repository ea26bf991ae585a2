//! Keeps requests in flight on one connection, in the caller's thread.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use halfpower_spec::Sealing;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::channel::Channel;
use crate::error::ShareError;
use crate::inbox::{Inbox, Trouble};
use crate::outbox::Outbox;
use crate::protocol::{Done, Op, Opened, Order, Outcome, Protocol, SlotBytes};

/// Making durable what a server holds in memory may take as many times as long as an answer.
const FLUSH_TIMES: u32 = 10;

/// What a pipeline is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneOptions {
    /// Whether each write is on the server's disk before it is done: SMB's write-through flag, NFS's FILE_SYNC.
    pub durable: bool,
    /// Requests that it may carry, counted from slot 0.
    pub slots: u32,
    /// Bytes of each.
    pub slot_bytes: u32,
    /// Whether messages are signed or encrypted.
    pub sealing: Sealing,
    /// What its requests are for.
    pub purpose: Purpose,
}

/// What requests are for. Where a write is an object of its own, it says which objects they go to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Purpose {
    /// They are measured.
    #[default]
    Measure,
    /// They lay out the file, in its order.
    LayOut,
    /// They read what was written by others that were measured.
    ReadBack,
}

/// Where connections come from on which requests can be in flight.
pub trait PipelineSource {
    /// A connection of its own.
    ///
    /// # Errors
    /// Where the server takes no further one.
    fn pipeline(&self, options: LaneOptions) -> Outcome<Pipeline>;
}

/// Requests in flight on one connection to one file.
pub struct Pipeline {
    channel: Channel,
    protocol: Box<dyn Protocol>,
    /// Orders that the server does not admit yet.
    waiting: VecDeque<Order>,
    outbox: Outbox,
    inbox: Inbox,
    /// The order in each slot.
    orders: Vec<Option<Order>>,
    in_flight: usize,
    flushes: usize,
    /// Whether the server has ended the connection, or is about to: another one has to take its place.
    is_cut: bool,
    /// Answers that came on this connection.
    answered: u64,
    /// Whether its connection has taken the place of another.
    is_renewed: bool,
    /// When something came last, or was asked of a server that owed nothing.
    heard: Instant,
}

impl Pipeline {
    pub(crate) fn new(opened: Opened, slots: u32, slot_bytes: u32) -> Outcome<Self> {
        let Opened { channel, protocol } = opened;
        channel.stream.tcp().set_nonblocking(true).map_err(|error| channel.peer.lost(error))?;
        let (outbox, inbox) = (Outbox::new(slots, protocol.as_ref()), Inbox::new(slot_bytes, protocol.as_ref()));
        Ok(Self {
            channel,
            protocol,
            waiting: VecDeque::with_capacity(slots as usize),
            outbox,
            inbox,
            orders: vec![None; slots as usize],
            in_flight: 0,
            flushes: 0,
            is_cut: false,
            answered: 0,
            is_renewed: false,
            heard: Instant::now(),
        })
    }

    /// Orders that have not come back.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Takes an order; `advance` sends it.
    ///
    /// # Panics
    /// Where there is no such slot.
    pub fn order(&mut self, order: Order) {
        if self.in_flight == 0 {
            self.heard = Instant::now();
        }
        self.orders[order.slot as usize] = Some(order);
        self.in_flight += 1;
        self.flushes += usize::from(order.op == Op::Flush);
        self.waiting.push_back(order);
    }

    /// Sends what can be sent, takes what has come, and appends what is done; does not wait, unless the server has ended the
    /// connection and another one has to take its place.
    ///
    /// # Errors
    /// Where the connection is lost, the server is silent for too long, or speaks another protocol.
    pub fn advance(&mut self, slots: &mut dyn SlotBytes, done: &mut Vec<Done>) -> Outcome<()> {
        self.push(slots)?;
        if self.take(slots, done)? { self.push(slots) } else { Ok(()) }
    }

    /// Takes what has come, and appends what is done; gives whether anything is.
    ///
    /// # Errors
    /// As [`Self::advance`].
    pub(crate) fn take(&mut self, slots: &mut dyn SlotBytes, done: &mut Vec<Done>) -> Outcome<bool> {
        let Self { orders, in_flight, flushes, answered, .. } = self;
        let before = *in_flight;
        let ended = std::cell::RefCell::new(orders);
        let expected = |slot: u32| {
            let orders = ended.borrow();
            orders.get(slot as usize).copied().flatten().map_or(0, |order| order.length)
        };
        let mut has_ended = |one: Done| {
            let order = ended.borrow_mut().get_mut(one.slot as usize).and_then(Option::take);
            if let Some(order) = order {
                *in_flight -= 1;
                *answered += 1;
                *flushes -= usize::from(order.op == Op::Flush);
                done.push(one);
            }
        };
        let protocol = self.protocol.as_mut();
        match self.inbox.receive(&mut self.channel.stream, protocol, slots, &expected, &mut has_ended) {
            Ok(true) => self.heard = Instant::now(),
            Ok(false) => {}
            Err(Trouble::Lost(error)) => self.has_lost(error)?,
            Err(Trouble::Garbage(what)) => return Err(self.channel.peer.garbage(what)),
        }
        // What an answer did not wait for is of no use, and no request may follow it.
        let came_early = self.in_flight < before && self.protocol.most_in_flight() == 1 && !self.outbox.is_empty();
        self.is_cut |= came_early || self.protocol.is_spent();
        Ok(self.in_flight < before)
    }

    /// A connection that ends between two answers may be replaced; elsewhere something is lost.
    fn has_lost(&mut self, error: std::io::Error) -> Outcome<()> {
        // The first one may have waited long for its first request.
        let is_idle = self.in_flight == 0 || self.answered > 0 || !self.is_renewed;
        if is_idle && self.inbox.is_between() && self.protocol.can_renew() {
            self.is_cut = true;
            return Ok(());
        }
        Err(self.channel.peer.lost(error))
    }

    /// Whether another connection has to take the place of this one.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Puts another connection in its place, and sends again what has not been answered.
    ///
    /// # Errors
    /// Where the server takes no further one.
    pub(crate) fn renew(&mut self) -> Outcome<()> {
        self.channel = self.protocol.renewed()?;
        let peer = &self.channel.peer;
        self.channel.stream.tcp().set_nonblocking(true).map_err(|error| peer.lost(error))?;
        self.outbox.clear();
        self.inbox.clear();
        self.waiting.clear();
        self.waiting.extend(self.orders.iter().copied().flatten());
        (self.is_cut, self.answered, self.is_renewed, self.heard) = (false, 0, true, Instant::now());
        Ok(())
    }

    /// Refuses to wait any longer for a server that has been silent for too long.
    ///
    /// # Errors
    /// Then.
    pub fn check_silence(&self) -> Outcome<()> {
        self.check_silence_at(Instant::now())
    }

    /// The same, where it is `now`.
    pub(crate) fn check_silence_at(&self, now: Instant) -> Outcome<()> {
        let allowed = self.channel.peer.timeout * if self.flushes > 0 { FLUSH_TIMES } else { 1 };
        let waited = now.saturating_duration_since(self.heard);
        if self.in_flight > 0 && waited > allowed { Err(self.channel.peer.silent(waited)) } else { Ok(()) }
    }

    /// Sends what can be sent; does not wait.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn push(&mut self, slots: &dyn SlotBytes) -> Outcome<()> {
        if self.is_cut && self.in_flight > 0 {
            self.renew()?;
        }
        while let Some(order) = self.waiting.front().copied().filter(|order| self.protocol.admits(order)) {
            self.waiting.pop_front();
            let added = self.outbox.add(&order, self.protocol.as_mut(), slots);
            added.map_err(|what| self.channel.peer.garbage(what))?;
        }
        match self.outbox.send(&mut self.channel.stream, slots) {
            // Who takes a long message part by part is not silent.
            Ok(true) if self.sends() => {
                self.heard = Instant::now();
                Ok(())
            }
            Ok(_) => Ok(()),
            // Its answer may still come: a server need not read all of what it refuses.
            Err(_) if self.protocol.can_renew() => Ok(()),
            Err(error) => Err(self.channel.peer.lost(error)),
        }
    }

    /// That the connection is lost.
    pub(crate) fn lost(&self, error: std::io::Error) -> ShareError {
        self.channel.peer.lost(error)
    }

    /// Whether there is something to be sent.
    pub(crate) fn sends(&self) -> bool {
        !self.outbox.is_empty() || self.channel.stream.owes()
    }

    /// The connection.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.channel.stream.tcp().as_fd()
    }
}

/// Waits until one of the pipelines can go on, for so long at most; without a time until then, but no longer than a second.
///
/// # Errors
/// What the system says; a signal is no error.
pub fn wait(pipelines: &[Pipeline], time: Option<Duration>) -> std::io::Result<()> {
    const MOST: usize = 64;
    let interest = |pipeline: &Pipeline| match pipeline {
        // What comes then waits for the next order.
        Pipeline { in_flight: 0, .. } => PollFlags::empty(),
        busy if busy.sends() => PollFlags::IN | PollFlags::OUT,
        _ => PollFlags::IN,
    };
    // Without an allocation for as many connections as anyone takes.
    let mut few = std::array::from_fn::<_, MOST, _>(|at| {
        let pipeline = &pipelines[at.min(pipelines.len() - 1)];
        PollFd::from_borrowed_fd(pipeline.socket(), interest(pipeline))
    });
    poll_for(&mut few[..pipelines.len().min(MOST)], time)
}

/// Waits for one of these, for so long at most; without a time until then, but no longer than a second.
pub(crate) fn poll_for(sockets: &mut [PollFd<'_>], time: Option<Duration>) -> std::io::Result<()> {
    let time = time.unwrap_or(Duration::from_secs(1)).min(Duration::from_secs(1));
    let limit = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
    match poll(sockets, Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
