//! Simulates a [`SimulatedDisk`]: parallel disks, then a limiter that they share.
//!
//! In order of submission, a request takes the disk that is free first. It starts at max(now, free) and is served for
//! (fixed + length / rate) x jitter / speed. It then passes the limiter, in order of arrival there. The limiter carries
//! the bytes while the disk moves them (cut-through), so a request leaves at max(served, left before + max(length /
//! shared, 1 / iops) / speed): a single request loses nothing, and the limiter paces a stream of them. With a credit or
//! slices it may leave sooner ([`Buckets`]).
//!
//! The limiter is computed when a request leaves, not when it is submitted, because a short request submitted later may
//! arrive there first. Who arrives by a moment is known only once the clock reaches that moment.
//!
//! A flush of known time (`flush=`) is the device's: one at a time, and each serves those that wait when it begins, so
//! that writers share it (group commit). It makes durable what is done by then, and does not wait for other requests.
//!
//! A fast part (`fast_part=`) takes writes at the path's own rate until it is full; from then on all writes together leave at
//! the rate `sustained`. It empties at the rate `drain` while no write is under way, and at no other time, so that its end
//! comes after exactly its bytes. What it holds lasts over runs.
//!
//! A limit is a token bucket as virtual scheduling (the generic cell rate algorithm, ITU-T I.371): it is used up to a
//! moment. Each request extends that moment by its own time, and passes once the result is no later than now plus the
//! credit's time. With slices, all of a slice may pass when it begins.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use halfpower_spec::SimulatedDisk;

use crate::variation::{self, Jitter};
use crate::{Completed, Moment, Operation, PathModel, ProcessorTime, Submission, prediction};

const PS_PER_NS: f64 = 1e3;
const PS_PER_S: f64 = 1e12;

/// A request that has a disk and is on its way to the limiter. The order of the fields is the order of arrival there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Served {
    at: Moment,
    sequence: u64,
    takes: Use,
    token: u32,
    bytes: u32,
    /// Whether it waits for the device's flush that is under way.
    is_of_device_flush: bool,
}

/// Flushes that the device serves together, one flush of its own at a time.
#[derive(Debug, Default)]
struct DeviceFlushes {
    /// Number of flushes that the one under way serves and that have not left yet.
    under_way: usize,
    /// Those that wait for the next one: sequence and token.
    waiting: VecDeque<(u64, u32)>,
}

/// A flush that waits for the requests submitted before it.
#[derive(Debug, Clone, Copy)]
struct WaitingFlush {
    sequence: u64,
    token: u32,
    before: usize,
}

/// The storage path of a [`SimulatedDisk`], for one run.
#[derive(Debug)]
pub struct DiskPath {
    disk: SimulatedDisk,
    fixed_ps: f64,
    ps_per_byte: f64,
    /// When each disk that was ever used is free.
    free: BinaryHeap<Reverse<Moment>>,
    limited_ps_per_byte: f64,
    limited_ps_per_request: f64,
    /// Time of a written byte beyond the fast part; `None` without a fast part.
    sustained_ps_per_byte: Option<f64>,
    limits: Buckets,
    /// Receives the state of the limits at the end of the run.
    kept: Option<Arc<Mutex<Buckets>>>,
    /// When the core of each thread has issued all its requests, if cores are simulated.
    cores: Vec<Moment>,
    served: BinaryHeap<Reverse<Served>>,
    flushes: Vec<WaitingFlush>,
    /// Time of a flush of the device; `None` if a flush is a request like others.
    flush_ps: Option<f64>,
    device_flushes: DeviceFlushes,
    jitter: Jitter,
    sequence: u64,
    /// Requests and bytes that have left; processor time is computed from the sums, so that rounding errors do not add
    /// up.
    requests: u64,
    bytes: u64,
}

impl DiskPath {
    /// The path of `disk` at rest, at the clock's zero; `run_seed` and the disk's own seed determine all randomness.
    pub fn new(disk: &SimulatedDisk, run_seed: u64) -> Self {
        let mut generator = variation::generator(disk.seed, run_seed);
        let speed = variation::factor(disk.noise, &mut generator);
        Self {
            disk: disk.clone(),
            fixed_ps: disk.fixed.0 as f64 * PS_PER_NS / speed,
            ps_per_byte: PS_PER_S / disk.rate.0 / speed,
            free: BinaryHeap::new(),
            limited_ps_per_byte: disk.shared.map_or(0.0, |shared| PS_PER_S / shared.0 / speed),
            limited_ps_per_request: disk.iops.map_or(0.0, |iops| PS_PER_S / iops / speed),
            sustained_ps_per_byte: disk
                .sustained
                .filter(|_| disk.fast_part.0 > 0)
                .map(|sustained| PS_PER_S / sustained.0 / speed),
            limits: Buckets::new(disk),
            kept: None,
            cores: if disk.core_bound { vec![Moment::default()] } else { Vec::new() },
            served: BinaryHeap::new(),
            flushes: Vec::new(),
            flush_ps: disk.flush.map(|flush| flush.0 as f64 * PS_PER_NS / speed),
            device_flushes: DeviceFlushes::default(),
            jitter: Jitter::new(disk.jitter, disk.correlation, generator),
            sequence: 0,
            requests: 0,
            bytes: 0,
        }
    }

    /// The same with the limits in the state of `kept`, which receives their state at the end of the run.
    #[must_use]
    pub fn keeping(mut self, kept: Arc<Mutex<Buckets>>) -> Self {
        self.limits = *kept.lock().unwrap_or_else(PoisonError::into_inner);
        self.kept = Some(kept);
        self
    }

    /// The same with requests from `threads` threads, slot by slot, each on its own core as far as there are cores.
    #[must_use]
    pub fn issued_by(mut self, threads: u32) -> Self {
        if self.disk.core_bound {
            self.cores = vec![Moment::default(); threads.clamp(1, self.disk.cpus) as usize];
        }
        self
    }

    /// When the core of a slot's thread has issued this request; at once if cores are not simulated.
    fn issued(&mut self, now: Moment, token: u32, bytes: u32) -> Moment {
        if self.cores.is_empty() {
            return now;
        }
        let spent_ps = prediction::processor_time(&self.disk, 1_000, u64::from(bytes) * 1_000).charged_ns;
        let place = token as usize % self.cores.len();
        let core = &mut self.cores[place];
        *core = (*core).max(now).after_ps(spent_ps);
        *core
    }

    /// The moment at which the disk that is free first has served a request for `span_ps`.
    fn take_disk(&mut self, now: Moment, span_ps: u64) -> Moment {
        // Disks are created on first use, so that a system with a billion of them needs no memory.
        let all_opened = self.free.len() == self.disk.disks as usize;
        if let Some(mut first) = self.free.peek_mut()
            && (first.0 <= now || all_opened)
        {
            let done = first.0.max(now).after_ps(span_ps);
            *first = Reverse(done);
            return done;
        }
        let done = now.after_ps(span_ps);
        self.free.push(Reverse(done));
        done
    }

    fn submit_transfer(&mut self, now: Moment, request: Submission) {
        let bytes = self.disk.size.0.saturating_sub(request.offset).min(u64::from(request.length)) as u32;
        let length = f64::from(bytes);
        let span_ps = ((self.fixed_ps + length * self.ps_per_byte) * self.jitter.next_factor()).round() as u64;
        let sustained = self.sustained_ps_per_byte.filter(|_| request.operation == Operation::Write);
        let takes = Use {
            bytes_ps: (length * self.limited_ps_per_byte).round() as u64,
            requests_ps: self.limited_ps_per_request.round() as u64,
            written: if sustained.is_some() { u64::from(bytes) } else { 0 },
            written_ps: sustained.map_or(0, |ps_per_byte| (length * ps_per_byte).round() as u64),
        };
        if takes.written > 0 {
            self.limits.fast.begin(now);
        }
        let issued = self.issued(now, request.token, bytes);
        let at = self.take_disk(issued, span_ps);
        let Submission { token, .. } = request;
        let sequence = self.sequence;
        self.served.push(Reverse(Served { at, sequence, takes, token, bytes, is_of_device_flush: false }));
    }

    fn submit_flush(&mut self, now: Moment, token: u32) {
        if self.flush_ps.is_some() {
            self.device_flushes.waiting.push_back((self.sequence, token));
            if self.device_flushes.under_way == 0 {
                self.begin_device_flush(now);
            }
            return;
        }
        let flush = WaitingFlush { sequence: self.sequence, token, before: self.served.len() + self.flushes.len() };
        if flush.before == 0 {
            self.serve_flush(now, flush);
        } else {
            self.flushes.push(flush);
        }
    }

    fn serve_flush(&mut self, now: Moment, flush: WaitingFlush) {
        let at = now.after_ps((self.fixed_ps * self.jitter.next_factor()).round() as u64);
        let WaitingFlush { sequence, token, .. } = flush;
        let takes = Use::default();
        self.served.push(Reverse(Served { at, sequence, takes, token, bytes: 0, is_of_device_flush: false }));
    }

    /// Begins a flush of the device that serves those that wait; does nothing if none does.
    fn begin_device_flush(&mut self, now: Moment) {
        let most = if self.disk.flush_group == 0 { usize::MAX } else { self.disk.flush_group as usize };
        let served = self.device_flushes.waiting.len().min(most);
        let Some(flush_ps) = self.flush_ps.filter(|_| served > 0) else { return };
        let at = now.after_ps((flush_ps * self.jitter.next_factor()).round() as u64);
        for (sequence, token) in self.device_flushes.waiting.drain(..served) {
            let takes = Use::default();
            self.served.push(Reverse(Served { at, sequence, takes, token, bytes: 0, is_of_device_flush: true }));
        }
        self.device_flushes.under_way = served;
    }

    /// Tells the waiting flushes that the request `sequence` left at `at`.
    fn release_flushes(&mut self, sequence: u64, at: Moment) {
        for flush in self.flushes.iter_mut().filter(|flush| flush.sequence > sequence) {
            flush.before -= 1;
        }
        while let Some(ready) = self.flushes.iter().position(|flush| flush.before == 0) {
            let flush = self.flushes.remove(ready);
            self.serve_flush(at, flush);
        }
    }

    fn leaves(&self, next: &Served) -> Moment {
        self.limits.passes(next.at, next.takes)
    }
}

impl Drop for DiskPath {
    fn drop(&mut self) {
        if let Some(kept) = &self.kept {
            // Nothing is under way between two runs.
            self.limits.fast.under_way = 0;
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = self.limits;
        }
    }
}

impl PathModel for DiskPath {
    fn submit(&mut self, now: Moment, request: Submission) {
        match request.operation {
            Operation::Read | Operation::Write => self.submit_transfer(now, request),
            Operation::Flush => self.submit_flush(now, request.token),
        }
        self.sequence += 1;
    }

    fn next_completion(&self) -> Option<Moment> {
        self.served.peek().map(|Reverse(next)| self.leaves(next))
    }

    fn pop(&mut self) -> Option<Completed> {
        let Reverse(next) = self.served.pop()?;
        let at = self.leaves(&next);
        // A flush carries no data, so it does not occupy the limiter.
        if next.takes.any() {
            self.limits.pass(at, next.takes);
        }
        self.requests += 1;
        self.bytes += u64::from(next.bytes);
        if !self.flushes.is_empty() {
            self.release_flushes(next.sequence, at);
        }
        if next.is_of_device_flush {
            self.device_flushes.under_way -= 1;
            if self.device_flushes.under_way == 0 {
                self.begin_device_flush(at);
            }
        }
        Some(Completed { token: next.token, bytes: next.bytes, at })
    }

    fn processor_time(&self) -> ProcessorTime {
        prediction::processor_time(&self.disk, self.requests, self.bytes)
    }
}

/// One limit.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    /// Moment up to which the limit is used; a request may pass `credit_ps` before it.
    used: Moment,
    /// Time that the credit takes to fill.
    credit_ps: u64,
}

/// The limits of a path, and how far they are used.
#[derive(Debug, Clone, Copy, Default)]
pub struct Buckets {
    bytes: Bucket,
    requests: Bucket,
    slice_ps: u64,
    fast: FastPart,
}

/// The part of a path that takes writes at full rate until it is full.
#[derive(Debug, Clone, Copy, Default)]
struct FastPart {
    /// Bytes that it takes, and those that it holds.
    size: u64,
    holds: u64,
    /// Time in which it gives up a byte while no write is under way.
    drain_ps_per_byte: f64,
    /// Writes under way, and since when there has been none.
    under_way: u64,
    idle_since: Moment,
    /// Moment at which the last write beyond it left.
    left: Moment,
}

impl FastPart {
    fn new(disk: &SimulatedDisk) -> Self {
        let drain = disk.drain.or(disk.sustained);
        let drain_ps_per_byte = drain.map_or(f64::INFINITY, |drain| PS_PER_S / drain.0);
        Self { size: disk.fast_part.0, drain_ps_per_byte, ..Self::default() }
    }

    /// Takes note of a write that is submitted.
    fn begin(&mut self, now: Moment) {
        if self.under_way == 0 {
            let idle_ps = now.ps().saturating_sub(self.idle_since.ps());
            self.holds = self.holds.saturating_sub((idle_ps as f64 / self.drain_ps_per_byte) as u64);
        }
        self.under_way += 1;
    }

    /// Whether these bytes have room in it.
    fn has_room(&self, bytes: u64) -> bool {
        self.holds + bytes <= self.size
    }

    /// When a request may leave.
    fn passes(&self, takes: Use) -> Moment {
        if takes.written == 0 || self.has_room(takes.written) {
            Moment::default()
        } else {
            self.left.after_ps(takes.written_ps)
        }
    }

    /// Takes note of a write that left at `at`.
    fn pass(&mut self, at: Moment, takes: Use) {
        if takes.written == 0 {
            return;
        }
        if self.has_room(takes.written) {
            self.holds += takes.written;
        } else {
            self.left = at;
        }
        self.under_way = self.under_way.saturating_sub(1);
        self.idle_since = at;
    }
}

/// Time that a request uses of each limit, and what it writes where there is a fast part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Use {
    pub bytes_ps: u64,
    pub requests_ps: u64,
    /// Bytes that it writes, and their time beyond the fast part.
    pub written: u64,
    pub written_ps: u64,
}

impl Buckets {
    /// The limits of `disk`, with full credit.
    pub fn new(disk: &SimulatedDisk) -> Self {
        let time = |credit: f64, rate: Option<f64>| rate.map_or(0, |rate| (credit / rate * PS_PER_S) as u64);
        let of = |credit_ps| Bucket { used: Moment::default(), credit_ps };
        Self {
            bytes: of(time(disk.credit.0 as f64, disk.shared.map(|shared| shared.0))),
            requests: of(time(disk.credit_ios as f64, disk.iops)),
            slice_ps: disk.slice.0.saturating_mul(PS_PER_NS as u64),
            fast: FastPart::new(disk),
        }
    }

    /// When a request that arrives at `at` passes.
    fn passes(&self, at: Moment, takes: Use) -> Moment {
        let of = |bucket: &Bucket, span_ps: u64| {
            let due_ps = bucket.used.ps().saturating_add(span_ps).saturating_sub(bucket.credit_ps);
            self.slice_of(Moment::from_ps(due_ps))
        };
        let limited = at.max(of(&self.bytes, takes.bytes_ps)).max(of(&self.requests, takes.requests_ps));
        limited.max(self.fast.passes(takes))
    }

    /// Records a request that passed at `at`.
    fn pass(&mut self, at: Moment, takes: Use) {
        let begun = self.slice_of(at);
        self.bytes.used = self.bytes.used.after_ps(takes.bytes_ps).max(begun);
        self.requests.used = self.requests.used.after_ps(takes.requests_ps).max(begun);
        self.fast.pass(at, takes);
    }

    /// The start of the slice that contains a moment.
    fn slice_of(&self, moment: Moment) -> Moment {
        match self.slice_ps {
            0 => moment,
            slice_ps => Moment::from_ps(moment.ps() - moment.ps() % slice_ps),
        }
    }
}

impl Use {
    /// Whether it uses any limit.
    pub fn any(&self) -> bool {
        self.bytes_ps > 0 || self.requests_ps > 0 || self.written > 0
    }
}
