//! Simulates a whole storage stack: requests pass every part of the system.
//!
//! The stack is a discrete-event model. A request becomes one transfer; through the file system's cache, it becomes
//! copies and transfers of the cache. A transfer is laid out as commands to disks. A command takes the bus to reach its
//! drive, the drive to be served, the bus and the adapter to move its data, and the host to complete.

mod drive;
mod event_queue;
mod file_cache;
mod geometry;
mod host;
mod network;
mod slab;
mod transport;
mod volume;

use std::collections::VecDeque;

pub use transport::Observed;

use crate::system::{System, SystemError};
use crate::variation::generator;
use crate::{Allocation, Array, Completed, Moment, Operation, PathModel, ProcessorTime, Setting, Submission};
use event_queue::{Event, EventQueue};
use file_cache::{FileCache, Purpose};
use host::Host;
use network::Network;
use slab::Slab;
use transport::{Sent, Transport};
use volume::{Piece, Volume};

/// Bytes of new blocks zeroed at once before the first of them is written.
const ZEROED_AT_ONCE: u64 = 4 << 20;

/// A request of the application.
#[derive(Debug, Clone, Copy)]
struct Request {
    token: u32,
    operation: Operation,
    offset: u64,
    length: u32,
    /// Its number among all requests and flushes.
    sequence: u64,
}

/// A flush that waits for the requests submitted before it, and then until all that was written is on the medium.
#[derive(Debug, Clone, Copy)]
struct WaitingFlush {
    token: u32,
    sequence: u64,
    /// Requests before it that are in flight.
    before: usize,
}

/// What a transfer is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Request(u32),
    /// Zeroing of new blocks before this request writes them.
    Zeroing(u32),
    Cache(Purpose),
}

/// One transfer as the host counts it.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    owner: Owner,
    operation: Operation,
    offset: u64,
    length: u32,
    ahead: bool,
    /// Unfinished commands.
    left: u32,
}

/// The path of a [`System`] under one [`Setting`], for one run.
#[derive(Debug, Clone)]
pub struct Stack {
    clock: Moment,
    event_queue: EventQueue,
    host: Host,
    network: Option<Network>,
    cache: Option<FileCache>,
    volume: Volume,
    transport: Transport,
    split: u32,
    adapter_splits: bool,
    allocation: Allocation,
    /// Requests that wait because only one may be outstanding.
    serial: VecDeque<u32>,
    serial_busy: bool,
    /// Zeroed range of new blocks: its start, its end so far, and its planned end.
    zeroed: Option<(u64, u64, u64)>,
    requests: Slab<Request>,
    transfers: Slab<Transfer>,
    outstanding_bytes: u64,
    in_flight: usize,
    flushes: Vec<WaitingFlush>,
    sequence: u64,
    pieces: Vec<Piece>,
    /// End of the last read of a mirror, and its disk.
    mirror_last: (u64, u32),
    done: VecDeque<Completed>,
}

impl Stack {
    pub(crate) fn new(system: &System, setting: &Setting, seed: u64) -> Result<Self, SystemError> {
        if setting.pio && system.host.pio_clocks_per_byte.is_none() {
            return Err(SystemError::Lacks("programmed input and output"));
        }
        let volume = Volume::new(system, setting)?;
        let cache = setting
            .buffered
            .then(|| FileCache::new(&system.cache, setting.allocation, volume.bytes(), generator(0, seed)));
        Ok(Self {
            clock: Moment::default(),
            event_queue: EventQueue::default(),
            host: Host::new(&system.host, setting),
            network: system.network.as_ref().map(Network::new),
            cache,
            transport: Transport::new(system, setting),
            split: system.volume.split_kib as u32 * 1024,
            adapter_splits: matches!(setting.array, Array::HardwareStripe | Array::Mirror),
            allocation: setting.allocation,
            serial: VecDeque::new(),
            serial_busy: false,
            zeroed: None,
            requests: Slab::default(),
            transfers: Slab::default(),
            outstanding_bytes: 0,
            in_flight: 0,
            flushes: Vec::new(),
            sequence: 0,
            pieces: Vec::new(),
            mirror_last: (0, 0),
            done: VecDeque::new(),
            volume,
        })
    }

    /// Capacity of the volume in bytes; of separate disks, each begins [`Stack::disk_bytes`] after the one before.
    pub fn bytes(&self) -> u64 {
        self.volume.bytes()
    }

    /// Bytes of one of several separate disks.
    pub fn disk_bytes(&self) -> u64 {
        self.volume.stride()
    }

    /// The moment up to which the path has been simulated.
    pub fn clock(&self) -> Moment {
        self.clock
    }

    /// What passed over the disks' buses so far.
    pub fn observed(&self) -> &Observed {
        self.transport.observed()
    }

    /// Processor time on the client's side of a network; zero without a network.
    pub fn client_time(&self) -> ProcessorTime {
        self.network.as_ref().map_or_else(ProcessorTime::default, Network::client_time)
    }

    fn run_until(&mut self, until: Moment) {
        while self.event_queue.next_at().is_some_and(|at| at <= until) {
            self.step();
        }
    }

    fn step(&mut self) -> bool {
        let Some((at, event)) = self.event_queue.take() else { return false };
        self.clock = at;
        match event {
            Event::Issued(transfer) => self.lay_out(transfer),
            Event::Finished(transfer) => self.finished(transfer),
            Event::Copied(request) => {
                if let Some(cache) = &mut self.cache {
                    cache.copied();
                }
                self.answer(request);
                self.tend_cache();
            }
            Event::Asked(request) => self.enter(request),
            Event::Answered(request) => self.complete(request),
            Event::Delivered(command) => {
                let number = self.transport.over(at, command);
                self.transfers[number].left -= 1;
                if self.transfers[number].left == 0 {
                    let transfer = self.transfers[number];
                    let charged = !matches!(transfer.owner, Owner::Cache(_));
                    let end = self.host.complete(at, transfer.operation, u64::from(transfer.length), charged);
                    self.event_queue.add(end, Event::Finished(number));
                }
            }
            other => {
                self.transport.happen(at, other, &mut self.host, &mut self.event_queue);
                self.release_flushes();
            }
        }
        true
    }

    /// A request reaches the machine with the disks.
    fn enter(&mut self, number: u32) {
        let Request { operation, offset, length, .. } = self.requests[number];
        if let Some(cache) = &mut self.cache {
            cache.ask(number, operation, offset, length);
            self.tend_cache();
        } else if operation == Operation::Write && self.allocation != Allocation::Existing {
            self.serial.push_back(number);
            self.next_serial();
        } else {
            self.send(Owner::Request(number), operation, offset, length, true);
        }
    }

    fn next_serial(&mut self) {
        if self.serial_busy {
            return;
        }
        if let Some(number) = self.serial.pop_front() {
            self.serial_busy = true;
            self.zero_or_write(number);
        }
    }

    /// Zeroes blocks first if a request reaches beyond the zeroed ones, then writes it.
    fn zero_or_write(&mut self, number: u32) {
        let Request { operation, offset, length, .. } = self.requests[number];
        let end = offset + u64::from(length);
        if self.allocation == Allocation::Zeroing {
            // A write before the zeroed range starts a new one: the last block, for example, may be written first.
            let kept = self.zeroed.filter(|(first, ..)| *first <= offset);
            let (first, done, wanted) = kept.unwrap_or((offset, offset, offset));
            let most = self.volume.bytes().max(end);
            let wanted = if end > wanted { (done + ZEROED_AT_ONCE).clamp(end, most) } else { wanted };
            self.zeroed = Some((first, done, wanted));
            if done < wanted {
                let part = u64::from(self.split).min(wanted - done) as u32;
                self.zeroed = Some((first, done + u64::from(part), wanted));
                self.send(Owner::Zeroing(number), operation, done, part, true);
                return;
            }
        }
        self.send(Owner::Request(number), operation, offset, length, true);
    }

    fn send(&mut self, owner: Owner, operation: Operation, offset: u64, length: u32, ahead: bool) {
        let charged = !matches!(owner, Owner::Cache(_));
        self.outstanding_bytes += u64::from(length);
        let number = self.transfers.add(Transfer { owner, operation, offset, length, ahead, left: 0 });
        let at = self.host.issue(self.clock, operation, offset, u64::from(length), charged);
        self.event_queue.add(at, Event::Issued(number));
    }

    /// Splits a transfer into pieces of at most the split size, each laid out over the disks.
    fn lay_out(&mut self, number: u32) {
        let transfer = self.transfers[number];
        let mut pieces = std::mem::take(&mut self.pieces);
        let mut at = transfer.offset;
        let mut rest = transfer.length;
        let mut first = true;
        while rest > 0 || first {
            let part = rest.min(self.split);
            self.volume.lay(transfer.operation, at, part, self.outstanding_bytes, &mut pieces);
            if self.volume.either(transfer.operation, self.outstanding_bytes) {
                let disk = self.mirror_disk(at, part);
                pieces.iter_mut().for_each(|piece| piece.disk = disk);
            }
            self.transfers[number].left += pieces.len() as u32;
            for (place, piece) in pieces.iter().enumerate() {
                // An adapter that forms the array splits what the host sent as one command.
                let lead = place == 0 || !self.adapter_splits;
                let sent = Sent { transfer: number, operation: transfer.operation, ahead: transfer.ahead, first, lead };
                self.transport.send(self.clock, sent, *piece, &mut self.event_queue);
            }
            first = false;
            at += u64::from(part);
            rest -= part;
        }
        self.pieces = pieces;
    }

    /// The disk of a mirror that reads a range: the one that just read up to it, or the less busy one.
    fn mirror_disk(&mut self, offset: u64, length: u32) -> u32 {
        let (next, last) = self.mirror_last;
        let other = 1 - last;
        let idler = if self.transport.waiting(other) <= self.transport.waiting(last) { other } else { last };
        let disk = if next == offset { last } else { idler };
        self.mirror_last = (offset + u64::from(length), disk);
        disk
    }

    fn finished(&mut self, number: u32) {
        let Transfer { owner, offset, length, .. } = self.transfers[number];
        self.transfers.release(number);
        self.outstanding_bytes -= u64::from(length);
        match owner {
            Owner::Request(request) => {
                self.serial_busy = false;
                self.answer(request);
                self.next_serial();
            }
            Owner::Zeroing(request) => self.zero_or_write(request),
            Owner::Cache(purpose) => {
                if let Some(cache) = &mut self.cache {
                    cache.finished(purpose, offset, length);
                }
                self.tend_cache();
            }
        }
    }

    fn tend_cache(&mut self) {
        while let Some(cache) = &mut self.cache {
            if let Some((request, span_ps)) = cache.next_copy() {
                let end = self.host.processors.spend(self.clock, span_ps, 1.0);
                self.event_queue.add(end, Event::Copied(request));
            } else if let Some(wanted) = cache.next_wanted() {
                let owner = Owner::Cache(wanted.purpose);
                self.send(owner, wanted.operation, wanted.offset, wanted.length, wanted.ahead);
            } else {
                break;
            }
        }
        self.release_flushes();
    }

    /// A request is finished at the disks.
    fn answer(&mut self, number: u32) {
        let Request { operation, length, .. } = self.requests[number];
        match &mut self.network {
            None => self.complete(number),
            Some(network) => {
                let mut at = self.clock;
                if let Some(packet_ps) = network.packet_ps().filter(|_| operation == Operation::Read) {
                    at = self.transport.cross(at, length, packet_ps);
                }
                let at = network.answer(at, operation, length, &mut self.host.processors);
                self.event_queue.add(at, Event::Answered(number));
            }
        }
    }

    fn complete(&mut self, number: u32) {
        let Request { token, length, sequence, .. } = self.requests[number];
        self.requests.release(number);
        self.in_flight -= 1;
        for flush in self.flushes.iter_mut().filter(|flush| flush.sequence > sequence) {
            flush.before -= 1;
        }
        self.done.push_back(Completed { token, bytes: length, at: self.clock });
        self.release_flushes();
    }

    fn release_flushes(&mut self) {
        if !self.flushes.iter().any(|flush| flush.before == 0) {
            return;
        }
        if let Some(cache) = &mut self.cache
            && !cache.is_clean()
        {
            cache.flush();
            if let Some(wanted) = cache.next_wanted() {
                let owner = Owner::Cache(wanted.purpose);
                self.send(owner, wanted.operation, wanted.offset, wanted.length, wanted.ahead);
            }
            return;
        }
        if !self.transport.is_clean() {
            self.transport.flush(self.clock, &mut self.host, &mut self.event_queue);
            return;
        }
        if let Some(cache) = &mut self.cache {
            cache.end_flush();
        }
        let Self { flushes, done, clock, .. } = self;
        flushes.retain(|flush| {
            let is_ready = flush.before == 0;
            if is_ready {
                done.push_back(Completed { token: flush.token, bytes: 0, at: *clock });
            }
            !is_ready
        });
    }
}

impl System {
    /// The path of this system at rest under `setting`; `seed` determines all randomness.
    ///
    /// # Errors
    /// [`SystemError::Lacks`] if the setting needs a part that the system lacks.
    pub fn path(&self, setting: &Setting, seed: u64) -> Result<Stack, SystemError> {
        Stack::new(self, setting, seed)
    }
}

impl PathModel for Stack {
    fn submit(&mut self, now: Moment, request: Submission) {
        self.run_until(now);
        self.clock = self.clock.max(now);
        let Submission { token, operation, offset, length } = request;
        if operation == Operation::Flush {
            self.flushes.push(WaitingFlush { token, sequence: self.sequence, before: self.in_flight });
            self.sequence += 1;
            self.release_flushes();
            return;
        }
        let length = self.volume.bytes().saturating_sub(offset).min(u64::from(length)) as u32;
        self.in_flight += 1;
        let number = self.requests.add(Request { token, operation, offset, length, sequence: self.sequence });
        self.sequence += 1;
        match &mut self.network {
            None => self.enter(number),
            Some(network) => {
                let mut at = network.ask(self.clock, operation, length, &mut self.host.processors);
                if let Some(packet_ps) = network.packet_ps().filter(|_| operation == Operation::Write) {
                    at = self.transport.cross(at, length, packet_ps);
                }
                self.event_queue.add(at, Event::Asked(number));
            }
        }
        self.run_until(now);
    }

    fn next_completion(&self) -> Option<Moment> {
        match self.done.front() {
            Some(completed) => Some(completed.at),
            None if self.in_flight == 0 && self.flushes.is_empty() => None,
            None => self.event_queue.next_at(),
        }
    }

    fn next_by(&mut self, until: Moment) -> Option<Moment> {
        while self.done.is_empty() && self.event_queue.next_at().is_some_and(|at| at <= until) {
            if self.in_flight == 0 && self.flushes.is_empty() {
                return None;
            }
            self.step();
        }
        self.done.front().map(|completed| completed.at)
    }

    fn pop(&mut self) -> Option<Completed> {
        while self.done.is_empty() {
            if self.in_flight == 0 && self.flushes.is_empty() || !self.step() {
                return None;
            }
        }
        self.run_until(self.clock);
        self.done.pop_front()
    }

    fn processor_time(&self) -> ProcessorTime {
        self.host.processors.time()
    }
}
