//! Keeps requests in flight on several connections, and serves only those that are ready.
//!
//! Requests that a busy server refused are resent only while a file is laid out, never in a measured run.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::pipeline::{LaneOptions, Pipeline, PipelineSource, Purpose, wait};
use crate::polling::poll_for;
use crate::protocol::{Done, Order, Outcome, SlotBytes};

/// Up to this many connections are polled one after the other, without epoll.
const FEW: usize = 4;
/// Most ready connections that one epoll call reports.
const AT_ONCE: usize = 64;
/// How often to check for silent servers if there are more than [`FEW`] connections.
const SILENCE_EVERY: Duration = Duration::from_millis(50);

/// Connections that share the slots.
pub struct Pipelines {
    each: Vec<Pipeline>,
    /// Reports which connections are ready; `None` if there are few.
    crowd: Option<EpollSet>,
    /// Resends orders that a busy server refuses; `None` in a measured run.
    again: Option<Resender>,
}

struct EpollSet {
    epoll: OwnedFd,
    /// The connections that are ready.
    ready: Vec<usize>,
    /// Which connections are also watched for room to send.
    sending: Vec<bool>,
    looked: Instant,
}

impl Pipelines {
    /// Opens `count` connections to `source`, at least one.
    ///
    /// # Errors
    /// If the server accepts no further connection.
    pub fn open(source: &dyn PipelineSource, count: u32, options: LaneOptions) -> Outcome<Self> {
        let each: Vec<Pipeline> = (0..count.max(1)).map(|_| source.pipeline(options)).collect::<Result<_, _>>()?;
        let crowd = if each.len() > FEW { Some(EpollSet::of(&each)?) } else { None };
        let again = (options.purpose == Purpose::LayOut).then(Resender::default);
        Ok(Self { each, crowd, again })
    }

    /// Queues an order; `push` sends it.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn order(&mut self, order: Order) {
        if let Some(again) = &mut self.again {
            again.was_sent(order);
        }
        self.enqueue(order);
    }

    fn enqueue(&mut self, order: Order) {
        let count = self.each.len();
        self.each[order.slot as usize % count].order(order);
    }

    /// Sends what can be sent; does not block.
    ///
    /// # Errors
    /// If a connection is lost.
    pub fn push(&mut self, slots: &dyn SlotBytes) -> Outcome<()> {
        let busy = (0..).zip(&mut self.each).filter(|(_, pipeline)| pipeline.in_flight() > 0);
        for (at, pipeline) in busy {
            match &mut self.crowd {
                None => pipeline.push(slots)?,
                Some(crowd) => crowd.push(at, pipeline, slots)?,
            }
        }
        Ok(())
    }

    /// Sends what can be sent, receives what has come, and appends finished orders to `done`; does not block.
    ///
    /// # Errors
    /// As [`Pipeline::advance`].
    pub fn advance(&mut self, slots: &mut dyn SlotBytes, done: &mut Vec<Done>) -> Outcome<()> {
        let Some(mut again) = self.again.take() else { return self.take(slots, done) };
        again.due(Instant::now()).for_each(|order| self.enqueue(order));
        let first = done.len();
        let taken = self.push(slots).and_then(|()| self.take(slots, done));
        again.keep_back(done, first, Instant::now());
        self.again = Some(again);
        taken
    }

    fn take(&mut self, slots: &mut dyn SlotBytes, done: &mut Vec<Done>) -> Outcome<()> {
        let Some(crowd) = &mut self.crowd else {
            let mut busy = self.each.iter_mut().filter(|pipeline| pipeline.in_flight() > 0);
            return busy.try_for_each(|pipeline| pipeline.advance(slots, done));
        };
        crowd.look().map_err(|error| self.each[0].lost(error))?;
        while let Some(at) = crowd.ready.pop() {
            let pipeline = &mut self.each[at];
            pipeline.take(slots, done)?;
            crowd.push(at, pipeline, slots)?;
        }
        Ok(())
    }

    /// Waits until one of them can go on, for at most `time` and at most one second.
    ///
    /// # Errors
    /// If polling fails; a signal is not an error.
    pub fn wait(&self, time: Option<Duration>) -> std::io::Result<()> {
        let again = self.again.as_ref().and_then(|again| again.wait(Instant::now()));
        let time = time.into_iter().chain(again).min();
        match &self.crowd {
            None => wait(&self.each, time),
            Some(crowd) => poll_for(&mut [PollFd::from_borrowed_fd(crowd.epoll.as_fd(), PollFlags::IN)], time),
        }
    }

    /// Checks that no connection goes without a whole answer for too long, and that the user has not asked to stop.
    ///
    /// # Errors
    /// As [`Pipeline::check_silence`].
    pub fn check_silence(&mut self) -> Outcome<()> {
        let now = Instant::now();
        if let Some(crowd) = &mut self.crowd {
            if now.saturating_duration_since(crowd.looked) < SILENCE_EVERY {
                return Ok(());
            }
            crowd.looked = now;
        }
        self.each.iter().try_for_each(|pipeline| pipeline.check_silence_at(now))
    }
}

impl EpollSet {
    fn of(each: &[Pipeline]) -> Outcome<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(|error| each[0].lost(error.into()))?;
        let ready = Vec::with_capacity(AT_ONCE);
        let mut crowd = Self { epoll, ready, sending: vec![false; each.len()], looked: Instant::now() };
        (0..).zip(each).try_for_each(|(at, pipeline)| crowd.enter(at, pipeline))?;
        Ok(crowd)
    }

    /// Asks which connections are ready; does not block.
    fn look(&mut self) -> std::io::Result<()> {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut room = [const { MaybeUninit::<Event>::uninit() }; AT_ONCE];
        match epoll::wait(&self.epoll, &mut room[..], Some(&at_once)) {
            Ok((events, _)) => self.ready.extend(events.iter().map(|event| event.data.u64() as usize)),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Sends what can be sent on one connection; replaces the connection if the server has closed it.
    fn push(&mut self, at: usize, pipeline: &mut Pipeline, slots: &dyn SlotBytes) -> Outcome<()> {
        if pipeline.is_cut() {
            self.forget(pipeline);
            if pipeline.in_flight() == 0 {
                return Ok(());
            }
            pipeline.renew()?;
            self.enter(at, pipeline)?;
        }
        pipeline.push(slots)?;
        self.watch(at, pipeline)
    }

    fn enter(&mut self, at: usize, pipeline: &Pipeline) -> Outcome<()> {
        self.sending[at] = false;
        let data = EventData::new_u64(at as u64);
        let added = epoll::add(&self.epoll, pipeline.socket(), data, EventFlags::IN);
        added.map_err(|error| pipeline.lost(error.into()))
    }

    /// Removes a socket explicitly: epoll would keep it while a duplicate of the descriptor is open.
    fn forget(&self, pipeline: &Pipeline) {
        let _ = epoll::delete(&self.epoll, pipeline.socket());
    }

    /// Watches for room to send only while there is something to send.
    fn watch(&mut self, at: usize, pipeline: &Pipeline) -> Outcome<()> {
        let sends = pipeline.sends();
        if self.sending[at] == sends {
            return Ok(());
        }
        self.sending[at] = sends;
        let flags = if sends { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        let changed = epoll::modify(&self.epoll, pipeline.socket(), EventData::new_u64(at as u64), flags);
        changed.map_err(|error| pipeline.lost(error.into()))
    }
}

/// How many times a request is resent, and the wait before the first time; the wait doubles each time.
const TIMES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(100);
/// The error of such a refusal: EBUSY of <errno.h>.
const BUSY: i32 = 16;

/// Orders that may be resent.
#[derive(Default)]
struct Resender {
    /// The order in each slot, and how many times it was resent.
    orders: Vec<Option<(Order, u32)>>,
    /// Orders to resend, with the time for each.
    due: Vec<(Instant, Order)>,
}

impl Resender {
    /// Remembers an order that is sent for the first time.
    pub fn was_sent(&mut self, order: Order) {
        let at = order.slot as usize;
        if self.orders.len() <= at {
            self.orders.resize(at + 1, None);
        }
        self.orders[at] = Some((order, 0));
    }

    /// Removes from `done`, from index `first` on, the refusals whose orders will be resent.
    pub fn keep_back(&mut self, done: &mut Vec<Done>, first: usize, now: Instant) {
        let fresh = done.split_off(first);
        done.extend(fresh.into_iter().filter(|one| !self.keeps(one, now)));
    }

    fn keeps(&mut self, done: &Done, now: Instant) -> bool {
        let Some(Some((order, times))) = self.orders.get_mut(done.slot as usize) else { return false };
        if done.result != Err(BUSY) || *times == TIMES {
            return false;
        }
        self.due.push((now + PAUSE * 2_u32.pow(*times), *order));
        *times += 1;
        true
    }

    /// The orders whose time has come.
    pub fn due(&mut self, now: Instant) -> impl Iterator<Item = Order> {
        self.due.extract_if(.., move |(at, _)| *at <= now).map(|(_, order)| order)
    }

    /// Time until the next order is due; `None` if there is none.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        self.due.iter().map(|(at, _)| at.saturating_duration_since(now)).min()
    }
}
