//! Keeps requests in flight on one connection, in the caller's thread.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use halfpower_spec::Sealing;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::channel::Channel;
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
    /// When something came last, or was asked of a server that owed nothing.
    heard: Instant,
}

impl Pipeline {
    pub(crate) fn new(opened: Opened, slots: u32, slot_bytes: u32) -> Outcome<Self> {
        let Opened { channel, protocol } = opened;
        channel.stream.set_nonblocking(true).map_err(|error| channel.peer.lost(error))?;
        Ok(Self {
            channel,
            protocol,
            waiting: VecDeque::with_capacity(slots as usize),
            outbox: Outbox::new(slots),
            inbox: Inbox::new(slot_bytes),
            orders: vec![None; slots as usize],
            in_flight: 0,
            flushes: 0,
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

    /// Sends what can be sent, takes what has come, and appends what is done; does not wait.
    ///
    /// # Errors
    /// Where the connection is lost, the server is silent for too long, or speaks another protocol.
    pub fn advance(&mut self, slots: &mut dyn SlotBytes, done: &mut Vec<Done>) -> Outcome<()> {
        self.push(slots)?;
        let Self { orders, in_flight, flushes, .. } = self;
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
                *flushes -= usize::from(order.op == Op::Flush);
                done.push(one);
            }
        };
        let protocol = self.protocol.as_mut();
        match self.inbox.receive(&self.channel.stream, protocol, slots, &expected, &mut has_ended) {
            Ok(true) => self.heard = Instant::now(),
            Ok(false) => {}
            Err(Trouble::Lost(error)) => return Err(self.channel.peer.lost(error)),
            Err(Trouble::Garbage(what)) => return Err(self.channel.peer.garbage(what)),
        }
        if self.in_flight < before { self.push(slots) } else { Ok(()) }
    }

    /// Refuses to wait any longer for a server that has been silent for too long.
    ///
    /// # Errors
    /// Then.
    pub fn check_silence(&self) -> Outcome<()> {
        let allowed = self.channel.peer.timeout * if self.flushes > 0 { FLUSH_TIMES } else { 1 };
        let waited = self.heard.elapsed();
        if self.in_flight > 0 && waited > allowed { Err(self.channel.peer.silent(waited)) } else { Ok(()) }
    }

    /// Sends what can be sent; does not wait.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn push(&mut self, slots: &dyn SlotBytes) -> Outcome<()> {
        while let Some(order) = self.waiting.front().copied().filter(|order| self.protocol.admits(order)) {
            self.waiting.pop_front();
            let added = self.outbox.add(&order, self.protocol.as_mut(), slots);
            added.map_err(|what| self.channel.peer.garbage(what))?;
        }
        self.outbox.send(&self.channel.stream, slots).map_err(|error| self.channel.peer.lost(error))
    }
}

/// Waits until one of the pipelines can go on, for so long at most; without a time until then, but no longer than a second.
///
/// # Errors
/// What the system says; a signal is no error.
pub fn wait(pipelines: &[Pipeline], time: Option<Duration>) -> std::io::Result<()> {
    const MOST: usize = 64;
    let time = time.unwrap_or(Duration::from_secs(1)).min(Duration::from_secs(1));
    let interest = |pipeline: &Pipeline| {
        if pipeline.outbox.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT }
    };
    // Without an allocation for as many connections as anyone takes.
    let mut few = std::array::from_fn::<_, MOST, _>(|at| {
        let pipeline = &pipelines[at.min(pipelines.len() - 1)];
        PollFd::from_borrowed_fd(pipeline.channel.stream.as_fd(), interest(pipeline))
    });
    let limit = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
    match poll(&mut few[..pipelines.len().min(MOST)], Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
