//! Simulates requests to [`Fitted`] devices: several equal devices, what they share, and the processor.
//!
//! A request, or all of it that a stripe places on one device, takes the time of a single request. The device's work grows
//! by that time over the requests in parallel with each, from the moment when it comes, or when the work before it ends; the
//! request leaves when its own time is over and the work up to it is done. So as many as go side by side do not hold each
//! other up, whatever their sizes. The ceilings are limits of rate: a request passes them no sooner after the one before than
//! they ask, and at once after a rest; or with slices, as soon as a slice begins that has room for it. It leaves the shared
//! part once its bytes have passed there. Last, the submitting processor completes it, after the processor time of the one
//! before. Each stage works while the one before it does (cut-through), so a single request loses nothing.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use halfpower_spec::{Bytes, Cache, Direction, Pattern};

use crate::{Completed, Fitted, Moment, Operation, PathConstants, PathModel, ProcessorTime, Submission};

const PS_PER_US: f64 = 1e6;

/// How a run uses the devices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemberLayout {
    /// Devices in use.
    pub devices: u32,
    /// Stripe chunk in bytes; `None` concatenates the devices: the second begins where the first ends.
    pub chunk: Option<u64>,
    /// Bytes of one device.
    pub bytes: u64,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// Requests kept outstanding.
    pub depth: u32,
    /// Submitting threads.
    pub threads: u32,
}

/// Number of paths through a device: by pattern, cache setting and direction.
const PASSAGES: usize = Pattern::ALL.len() * Cache::ALL.len() * Direction::ALL.len();

/// Place of a path among [`PASSAGES`]; a pattern that is not known is taken as random.
fn place(pattern: Pattern, cache: Cache, writes: bool) -> usize {
    let pattern = usize::from(pattern != Pattern::Sequential);
    (pattern * Cache::ALL.len() + cache as usize) * Direction::ALL.len() + usize::from(writes)
}

/// What devices share in one direction, in the clock's unit.
#[derive(Debug, Clone, Copy, Default)]
struct Shared {
    ps_per_byte: f64,
    /// When it last released a request.
    free: Moment,
}

/// Stages of a part of a request, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    OffDevice,
    OffShared,
    Home,
}

/// A part of a request on one device. The order of the fields is the order of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    at: Moment,
    sequence: u64,
    stage: Stage,
    token: u32,
    device: u32,
    length: u32,
}

/// A request in flight.
#[derive(Debug, Clone, Copy, Default)]
struct InFlight {
    parts: u32,
    bytes: u32,
    writes: bool,
    /// Its path, by [`place`].
    place: usize,
}

/// The path of a [`Fitted`] device under one [`MemberLayout`], for one run.
#[derive(Debug)]
pub struct FittedPath {
    layout: MemberLayout,
    /// By [`place`]; `None` if the study did not measure it.
    passages: [Option<PathConstants>; PASSAGES],
    /// Reads and writes.
    shared: [Shared; 2],
    processors: f64,
    /// When each device has done its work so far.
    devices: Vec<Moment>,
    /// Moment up to which the ceilings of each device are used, by reads and by writes; where they share them, the first.
    used: Vec<[Moment; 2]>,
    ceilings_each_way: bool,
    /// Bytes on each device of the request being laid out.
    shares: Vec<u32>,
    /// When the submitting processors have paid for all completed requests.
    paid: Moment,
    event_queue: BinaryHeap<Reverse<Part>>,
    /// Indexed by token.
    in_flight: Vec<InFlight>,
    count: usize,
    flushes: Vec<u32>,
    done: VecDeque<Completed>,
    clock: Moment,
    sequence: u64,
    spent_us: [f64; 2],
}

impl FittedPath {
    /// The path at rest. Requests of a direction that `fitted` lacks complete at once, so check `fitted` first.
    pub fn new(fitted: &Fitted, layout: MemberLayout) -> Self {
        let shared = |direction| Shared {
            ps_per_byte: fitted.shared.mbps(direction).map_or(0.0, |mbps| PS_PER_US / mbps),
            free: Moment::default(),
        };
        let mut passages = [None; PASSAGES];
        for pattern in Pattern::ALL {
            for cache in Cache::ALL {
                for direction in Direction::ALL {
                    let passage = fitted.passage(*pattern, *cache, *direction).copied();
                    passages[place(*pattern, *cache, *direction == Direction::Write)] = passage;
                }
            }
        }
        Self {
            passages,
            shared: [shared(Direction::Read), shared(Direction::Write)],
            processors: f64::from(layout.threads.min(fitted.device.processors).max(1)),
            devices: vec![Moment::default(); layout.devices.max(1) as usize],
            used: vec![[Moment::default(); 2]; layout.devices.max(1) as usize],
            ceilings_each_way: fitted.device.ceilings_each_way,
            shares: vec![0; layout.devices.max(1) as usize],
            layout,
            paid: Moment::default(),
            event_queue: BinaryHeap::new(),
            in_flight: Vec::new(),
            count: 0,
            flushes: Vec::new(),
            done: VecDeque::new(),
            clock: Moment::default(),
            sequence: 0,
            spent_us: [0.0; 2],
        }
    }

    /// Capacity of all devices together, in bytes.
    pub fn bytes(&self) -> u64 {
        self.layout.bytes * self.devices.len() as u64
    }

    fn alone_ps(&self, place: usize, length: u32) -> u64 {
        let alone = |passage: &PathConstants| (passage.alone_us(Bytes(u64::from(length))) * PS_PER_US).round() as u64;
        self.passages[place].as_ref().map_or(0, alone)
    }

    /// The device of a byte, and the number of bytes from there on that lie on it.
    fn device_of(&self, offset: u64) -> (u32, u64) {
        let devices = self.devices.len() as u64;
        match self.layout.chunk {
            Some(chunk) => ((offset / chunk % devices) as u32, chunk - offset % chunk),
            None => {
                let bytes = self.layout.bytes.max(1);
                (((offset / bytes).min(devices - 1)) as u32, bytes - offset % bytes)
            }
        }
    }

    /// Lays a range out over the devices. The part of a request on one device is one transfer: its chunks are adjacent
    /// there, and the kernel merges them.
    fn lay(&mut self, mut offset: u64, mut left: u32) {
        self.shares.fill(0);
        while left > 0 {
            let (device, reach) = self.device_of(offset);
            let length = u64::from(left).min(reach) as u32;
            self.shares[device as usize] += length;
            (offset, left) = (offset + u64::from(length), left - length);
        }
    }

    fn add(&mut self, part: Part) {
        self.event_queue.push(Reverse(Part { sequence: self.sequence, ..part }));
        self.sequence += 1;
    }

    fn step(&mut self) -> bool {
        let Some(Reverse(part)) = self.event_queue.pop() else { return false };
        self.clock = part.at;
        let InFlight { writes, place, .. } = self.in_flight[part.token as usize];
        let Some(passage) = &self.passages[place] else {
            self.arrive(part);
            return true;
        };
        match part.stage {
            Stage::OffDevice => {
                let passage = *passage;
                let bs = Bytes(u64::from(part.length));
                let work_ps = (passage.work_us(bs) * PS_PER_US).round() as u64;
                let came = Moment::from_ps(part.at.ps().saturating_sub(self.alone_ps(place, part.length)));
                let done = &mut self.devices[part.device as usize];
                *done = came.max(*done).after_ps(work_ps);
                let done = part.at.max(*done);
                let at = self.pass(done, part.device, writes, &passage, bs);
                self.add(Part { at, stage: Stage::OffShared, ..part });
            }
            Stage::OffShared => {
                let shared = &mut self.shared[usize::from(writes)];
                let span_ps = (f64::from(part.length) * shared.ps_per_byte).round() as u64;
                shared.free = part.at.max(shared.free.after_ps(span_ps));
                let at = shared.free;
                self.add(Part { at, stage: Stage::Home, ..part });
            }
            Stage::Home => self.arrive(part),
        }
        true
    }

    /// When a request that is served at `at` has passed the ceilings of its device, which takes note of it.
    fn pass(&mut self, at: Moment, device: u32, writes: bool, passage: &PathConstants, bs: Bytes) -> Moment {
        let limit_ps = (passage.limit_us(bs) * PS_PER_US).round() as u64;
        if limit_ps == 0 {
            return at;
        }
        let slice_ps = (passage.slice_us * PS_PER_US).round() as u64;
        let slice_of = |moment: Moment| match slice_ps {
            0 => moment,
            _ => Moment::from_ps(moment.ps() - moment.ps() % slice_ps),
        };
        let used = &mut self.used[device as usize][usize::from(writes && self.ceilings_each_way)];
        // As in virtual scheduling (ITU-T I.371): with slices, all of a slice may pass when it begins.
        let at = at.max(slice_of(used.after_ps(limit_ps)));
        *used = used.after_ps(limit_ps).max(slice_of(at));
        at
    }

    /// When a flush of the first device has passed its ceiling in requests, as one more request of this path that moves
    /// nothing; at once if there is no such ceiling.
    pub fn pass_flush(&mut self, now: Moment, pattern: Pattern, cache: Cache) -> Moment {
        match self.passages[place(pattern, cache, true)] {
            Some(passage) => self.pass(now, 0, true, &passage, Bytes(0)),
            None => now,
        }
    }

    /// Completes a part. The request completes with its last part, once the processor has handled it.
    fn arrive(&mut self, part: Part) {
        let request = &mut self.in_flight[part.token as usize];
        request.parts -= 1;
        if request.parts > 0 {
            return;
        }
        let InFlight { bytes, place, .. } = *request;
        if let Some(passage) = &self.passages[place] {
            let bs = Bytes(u64::from(bytes));
            let depth = self.layout.depth.div_ceil(self.layout.threads.max(1));
            let charged_us = passage.charged_us(bs, depth);
            self.spent_us[0] += charged_us;
            self.spent_us[1] += passage.unseen_us + passage.unseen_us_per_kib * bs.kib();
            let span_ps = (charged_us / self.processors * PS_PER_US).round() as u64;
            self.paid = part.at.max(self.paid.after_ps(span_ps));
        }
        self.done.push_back(Completed { token: part.token, bytes, at: part.at.max(self.paid) });
    }

    /// As [`PathModel::submit`], for a request with this pattern and cache setting instead of the layout's: an application
    /// has several at once, and the devices, what they share and the processor serve all of them.
    pub fn submit_by(&mut self, now: Moment, request: Submission, pattern: Pattern, cache: Cache) {
        self.clock = self.clock.max(now);
        if request.operation == Operation::Flush {
            self.flushes.push(request.token);
            self.release_flushes();
            return;
        }
        let writes = request.operation == Operation::Write;
        let place = place(pattern, cache, writes);
        let bytes = self.bytes().saturating_sub(request.offset).min(u64::from(request.length)) as u32;
        let token = request.token;
        if self.in_flight.len() <= token as usize {
            self.in_flight.resize(token as usize + 1, InFlight::default());
        }
        self.in_flight[token as usize] = InFlight { parts: 0, bytes, writes, place };
        self.count += 1;
        self.lay(request.offset, bytes);
        for device in 0..self.shares.len() {
            let length = self.shares[device];
            // A request beyond the end moves nothing and completes on the first device.
            if length > 0 || (bytes == 0 && device == 0) {
                let at = now.after_ps(self.alone_ps(place, length));
                self.in_flight[token as usize].parts += 1;
                self.add(Part { at, sequence: 0, stage: Stage::OffDevice, token, device: device as u32, length });
            }
        }
    }

    fn release_flushes(&mut self) {
        if self.count == 0 {
            for token in std::mem::take(&mut self.flushes) {
                self.done.push_back(Completed { token, bytes: 0, at: self.clock.max(self.paid) });
                self.count += 1;
            }
        }
    }
}

impl PathModel for FittedPath {
    fn submit(&mut self, now: Moment, request: Submission) {
        self.submit_by(now, request, self.layout.pattern, self.layout.cache);
    }

    fn next_completion(&self) -> Option<Moment> {
        let first = self.done.front().map(|completed| completed.at);
        first.or_else(|| self.event_queue.peek().map(|Reverse(part)| part.at))
    }

    fn next_by(&mut self, until: Moment) -> Option<Moment> {
        while self.done.is_empty() && self.event_queue.peek().is_some_and(|Reverse(part)| part.at <= until) {
            self.step();
        }
        self.done.front().map(|completed| completed.at).filter(|at| *at <= until)
    }

    fn pop(&mut self) -> Option<Completed> {
        while self.done.is_empty() {
            if !self.step() {
                return None;
            }
        }
        let completed = self.done.pop_front()?;
        self.count -= 1;
        self.clock = self.clock.max(completed.at);
        self.release_flushes();
        Some(completed)
    }

    fn processor_time(&self) -> ProcessorTime {
        ProcessorTime {
            charged_ns: (self.spent_us[0] * 1e3).round() as u64,
            unseen_ns: (self.spent_us[1] * 1e3).round() as u64,
        }
    }
}
