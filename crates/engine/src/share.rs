//! Issues requests to a file on a server, with many in flight on each connection.
//!
//! All work happens in the thread that drives the engine: it sends submitted requests, takes replies, and sleeps in
//! poll(2) when it can do neither.

use std::sync::Arc;
use std::time::Duration;

use halfpower_os::{Buffers, Clock};
use halfpower_share::{Done, LaneOptions, Op, Order, PipelineSource, Pipelines, Purpose, SlotBytes};
use halfpower_spec::{EngineName, Nanos, Sealing, ShareProtocol};

use crate::check::Check;
use crate::config::EngineConfig;
use crate::open::{Opened, refuse_impossible};
use crate::pause::wait_until;
use crate::volume::Volume;
use crate::{
    BufferState, Completion, Engine, EngineError, EngineSettings, Errno, Ledger, Operation, Request, refusal,
    unavailable,
};

/// What requests to a share need besides the engine's settings.
#[derive(Clone, Copy)]
pub struct ShareLane<'a> {
    /// The share, with the file that requests go to.
    pub share: &'a dyn PipelineSource,
    /// The protocol of the share.
    pub protocol: ShareProtocol,
    /// Number of connections that share the slots; if a connection carries one request at a time, each slot gets one.
    pub connections: u32,
    /// Whether messages are signed or encrypted.
    pub sealing: Sealing,
    /// Whether anything is written.
    pub writes: bool,
    /// Whether each write is on the server's disk before it completes.
    pub durable: bool,
    /// What the requests are for.
    pub purpose: Purpose,
    /// The ledger of what was written; `None` if the run does not verify.
    pub ledger: Option<&'a Arc<Ledger>>,
}

/// Opens the engine over the file of a share.
///
/// # Errors
/// [`EngineError::Share`] if the server takes no further connection, [`EngineError::Unavailable`] if such requests
/// cannot be carried.
pub fn open_share(lane: ShareLane<'_>, settings: EngineSettings) -> Result<Opened, EngineError> {
    let EngineSettings { depth, bs, .. } = settings;
    let name = lane.protocol.engine();
    if !matches!(settings.name, EngineName::Auto) && settings.name != name {
        let what = format!("requests to a share go through the engine {name}: leave --engine out");
        return Err(refusal(settings.name, what));
    }
    refuse_impossible(name, depth, bs)?;
    let volume = Volume { ledger: lane.ledger.map(Arc::clone), ..Volume::of(None) };
    let engine = volume.open(settings, |config| {
        let config = EngineConfig { writes: lane.writes, ..config };
        Ok(Box::new(ShareEngine::new(lane, config)?) as Box<dyn Engine>)
    })?;
    Ok(Opened { engine, name, most_in_flight: depth, buffers: BufferState::default() })
}

/// Requests in flight on connections to one file.
struct ShareEngine {
    clock: Clock,
    pipelines: Pipelines,
    /// Whether the protocol has a request that makes writes durable.
    has_flush: bool,
    slots: Slots,
    check: Option<Arc<Check>>,
    serial: u64,
    ended: Vec<Done>,
    in_flight: usize,
}

/// The buffers, accessed by connections.
struct Slots(Buffers);

impl SlotBytes for Slots {
    fn incoming(&mut self, slot: u32) -> &mut [u8] {
        self.0.slot_mut(slot)
    }

    fn outgoing(&self, slot: u32) -> &[u8] {
        self.0.outgoing(slot)
    }
}

impl ShareEngine {
    fn new(lane: ShareLane<'_>, config: EngineConfig) -> Result<Self, EngineError> {
        let slots = config.slots;
        let ShareLane { durable, purpose, sealing, .. } = lane;
        let options = LaneOptions { durable, slots, slot_bytes: config.slot_bytes as u32, purpose, sealing };
        let connections = if lane.protocol.is_one_at_a_time() { slots } else { lane.connections.clamp(1, slots) };
        let pipelines = Pipelines::open(lane.share, connections, options)?;
        let buffers = config.buffers().map_err(unavailable(lane.protocol.engine().word()))?;
        Ok(Self {
            clock: Clock::new(),
            pipelines,
            has_flush: lane.protocol.has_flush(),
            slots: Slots(buffers),
            check: config.check,
            serial: 0,
            ended: Vec::with_capacity(slots as usize),
            in_flight: 0,
        })
    }

    /// Sends requests and takes replies, without waiting.
    fn advance(&mut self, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.pipelines.advance(&mut self.slots, &mut self.ended)?;
        for Done { slot, result } in self.ended.drain(..) {
            self.in_flight -= 1;
            let result = match (result, &self.check) {
                (Ok(moved), Some(check)) => check.verify(slot, self.slots.0.slot(slot), moved),
                (result, _) => result.map_err(Errno),
            };
            done.push(Completion { slot, result });
        }
        Ok(())
    }

    /// Waits until it can send or receive.
    fn wait(&mut self, time: Option<Duration>) -> Result<(), EngineError> {
        self.pipelines.wait(time).map_err(|error| EngineError::Call { call: "poll", error })?;
        Ok(self.pipelines.check_silence()?)
    }
}

impl Engine for ShareEngine {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.clock.now_ns())
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        for request in batch {
            let Request { slot, operation, offset, length } = *request;
            self.serial += 1;
            let op = match operation {
                Operation::Read => Op::Read,
                Operation::Write => Op::Write,
                Operation::Flush => Op::Flush,
                Operation::Trim => unreachable!("a share is asked for no trims (`share_admits`)"),
            };
            if op == Op::Write {
                match &self.check {
                    None => self.slots.0.stamp(slot, offset, length as usize, self.serial),
                    Some(check) => check.write_headers(slot, &mut self.slots.0.slot_mut(slot)[..length as usize]),
                }
            }
            self.in_flight += 1;
            if op == Op::Flush && !self.has_flush {
                // Each write was durable when the server answered it.
                self.ended.push(Done { slot, result: Ok(0) });
                continue;
            }
            self.pipelines.order(Order { slot, op, offset, length });
        }
        Ok(self.pipelines.push(&self.slots)?)
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let wanted = done.len() + least.min(self.in_flight);
        loop {
            self.advance(done)?;
            if done.len() >= wanted {
                return Ok(());
            }
            self.wait(None)?;
        }
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        wait_until(self, until, done, |engine, time, done| {
            if let Some(time) = time {
                engine.wait(Some(time))?;
            }
            engine.advance(done)
        })
    }
}
