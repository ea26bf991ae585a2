//! Keeps requests in flight on one connection, in the caller's thread.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use halfpower_spec::Sealing;
use rustix::event::{PollFd, PollFlags};

use crate::channel::Channel;
use crate::error::ShareError;
use crate::inbox::{Inbox, ReceiveError};
use crate::outbox::Outbox;
use crate::peer::AFTER_STOP;
use crate::polling::poll_for;
use crate::protocol::{Done, Op, Opened, Order, Outcome, Protocol, SlotBytes};

/// A flush may take this many times as long as any other request.
const FLUSH_TIMES: u32 = 10;
/// Bytes of requests that the server must take within each timeout while they are sent. Fewer are no progress: a server
/// could take them one at a time.
const LEAST_SENT: usize = 256 << 10;

/// Options for opening a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneOptions {
    /// Whether each write is on the server's disk before it completes: SMB's write-through flag, NFS's FILE_SYNC.
    pub durable: bool,
    /// Number of slots, which count from 0; each holds one request.
    pub slots: u32,
    /// Bytes of each slot.
    pub slot_bytes: u32,
    /// Whether messages are signed or encrypted.
    pub sealing: Sealing,
    /// What its requests are for.
    pub purpose: Purpose,
}

/// What requests are for. On S3, where each write makes an object, it decides which objects requests use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Purpose {
    /// A measured run.
    #[default]
    Measure,
    /// Laying out the file, in order.
    LayOut,
    /// Reading back what a measured run has written.
    ReadBack,
}

/// Opens pipelines.
pub trait PipelineSource {
    /// Opens a pipeline on a new connection.
    ///
    /// # Errors
    /// If the server accepts no further connection.
    fn pipeline(&self, options: LaneOptions) -> Outcome<Pipeline>;
}

/// Requests in flight on one connection to one file.
pub struct Pipeline {
    channel: Channel,
    protocol: Box<dyn Protocol>,
    /// Orders that the protocol cannot send yet.
    waiting: VecDeque<Order>,
    outbox: Outbox,
    inbox: Inbox,
    /// The order in each slot.
    orders: Vec<Option<Order>>,
    in_flight: usize,
    flushes: usize,
    /// Whether the server has closed the connection or is about to, so that it must be replaced.
    is_cut: bool,
    /// Number of answers on this connection.
    answered: u64,
    /// Whether this connection has replaced another one.
    is_renewed: bool,
    /// When there was progress: a whole answer came, [`LEAST_SENT`] bytes were sent, or an order came while none was in
    /// flight.
    progress: Instant,
    /// Bytes sent since then.
    sent: usize,
}

impl Pipeline {
    pub(crate) fn new(opened: Opened, slots: u32, slot_bytes: u32) -> Outcome<Self> {
        let Opened { channel, protocol } = opened;
        let outbox = Outbox::new(slots, protocol.as_ref());
        let inbox = Inbox::new(slot_bytes, protocol.as_ref());
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
            progress: Instant::now(),
            sent: 0,
        })
    }

    /// Number of orders that are not done.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Queues an order; `advance` sends it.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn order(&mut self, order: Order) {
        if self.in_flight == 0 {
            (self.progress, self.sent) = (Instant::now(), 0);
        }
        self.orders[order.slot as usize] = Some(order);
        self.in_flight += 1;
        self.flushes += usize::from(order.op == Op::Flush);
        self.waiting.push_back(order);
    }

    /// Sends what can be sent, receives what has come, and appends finished orders to `done`. Does not block, unless
    /// the server has closed the connection and it must be replaced.
    ///
    /// # Errors
    /// If the connection is lost or cannot be replaced, or the server violates the protocol.
    pub fn advance(&mut self, slots: &mut dyn SlotBytes, done: &mut Vec<Done>) -> Outcome<()> {
        self.push(slots)?;
        if self.take(slots, done)? { self.push(slots) } else { Ok(()) }
    }

    /// Receives what has come, and appends finished orders to `done`; returns whether there are any.
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
            Ok(()) => {}
            Err(ReceiveError::Lost(error)) => self.has_lost(error)?,
            Err(ReceiveError::Garbage(what)) => return Err(self.channel.peer.garbage(what)),
        }
        let has_answered = self.in_flight < before;
        if has_answered {
            (self.progress, self.sent) = (Instant::now(), 0);
        }
        // An answer that came before its request was sent whole leaves the connection unusable for another request.
        let came_early = has_answered && self.protocol.most_in_flight() == 1 && !self.outbox.is_empty();
        self.is_cut |= came_early || self.protocol.is_spent();
        Ok(has_answered)
    }

    /// Handles a lost connection: it may be replaced if it ended between two answers; otherwise this is an error.
    fn has_lost(&mut self, error: std::io::Error) -> Outcome<()> {
        // The first connection may have waited so long for its first request that the server closed it.
        let is_idle = self.in_flight == 0 || self.answered > 0 || !self.is_renewed;
        if is_idle && self.inbox.is_between() && self.protocol.can_renew() {
            self.is_cut = true;
            return Ok(());
        }
        Err(self.channel.peer.lost(error))
    }

    /// Whether the connection must be replaced.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Replaces the connection, and resends orders that were not answered.
    ///
    /// # Errors
    /// If the server accepts no further connection.
    pub(crate) fn renew(&mut self) -> Outcome<()> {
        self.channel = self.protocol.renewed()?;
        self.outbox.clear();
        self.inbox.clear();
        self.waiting.clear();
        self.waiting.extend(self.orders.iter().copied().flatten());
        (self.is_cut, self.answered, self.is_renewed) = (false, 0, true);
        Ok(())
    }

    /// Checks that the server does not go without a whole answer for too long, and that the user has not asked to stop.
    ///
    /// # Errors
    /// If it does, or the user has and answers do not come soon.
    pub fn check_silence(&self) -> Outcome<()> {
        self.check_silence_at(Instant::now())
    }

    /// The same, at the time `now`.
    pub(crate) fn check_silence_at(&self, now: Instant) -> Outcome<()> {
        if self.in_flight == 0 {
            return Ok(());
        }
        let peer = &self.channel.peer;
        let allowed = peer.timeout.saturating_mul(if self.flushes > 0 { FLUSH_TIMES } else { 1 });
        let waited = now.saturating_duration_since(self.progress);
        match () {
            () if waited > allowed => Err(peer.silent(allowed)),
            () if waited > AFTER_STOP && peer.is_stopped() => Err(ShareError::Interrupted),
            () => Ok(()),
        }
    }

    /// Sends what can be sent; does not block.
    ///
    /// # Errors
    /// If the connection is lost.
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
            Ok(sent) => {
                self.sent += sent;
                if self.sent >= LEAST_SENT {
                    (self.progress, self.sent) = (Instant::now(), 0);
                }
                Ok(())
            }
            // The answer may still come: a server need not read all of a request that it refuses.
            Err(_) if self.protocol.can_renew() => Ok(()),
            Err(error) => Err(self.channel.peer.lost(error)),
        }
    }

    /// The error for a lost connection.
    pub(crate) fn lost(&self, error: std::io::Error) -> ShareError {
        self.channel.peer.lost(error)
    }

    /// Whether there is something to send.
    pub(crate) fn sends(&self) -> bool {
        !self.outbox.is_empty() || self.channel.stream.owes()
    }

    /// The connection.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.channel.stream.tcp().as_fd()
    }
}

/// Waits until one of the pipelines can go on, for at most `time` and at most one second.
///
/// # Errors
/// If polling fails; a signal is not an error.
pub fn wait(pipelines: &[Pipeline], time: Option<Duration>) -> std::io::Result<()> {
    const MOST: usize = 64;
    let interest = |pipeline: &Pipeline| match pipeline {
        // Data on an idle connection waits for the next order.
        Pipeline { in_flight: 0, .. } => PollFlags::empty(),
        busy if busy.sends() => PollFlags::IN | PollFlags::OUT,
        _ => PollFlags::IN,
    };
    // A fixed array avoids an allocation.
    let mut few = std::array::from_fn::<_, MOST, _>(|at| {
        let pipeline = &pipelines[at.min(pipelines.len() - 1)];
        PollFd::from_borrowed_fd(pipeline.socket(), interest(pipeline))
    });
    poll_for(&mut few[..pipelines.len().min(MOST)], time)
}
