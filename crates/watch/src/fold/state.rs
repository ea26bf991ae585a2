//! Follows threads through their calls, rings and faults, and ends operations.

use std::collections::VecDeque;

use halfpower_os::trace::{Call, Seen};
use halfpower_record::{IssuedBy, OperationKind, Wait};

use super::aims::{Aim, Place};
use super::calls::{Asked, asked, asked_of_ring};
use super::capture::Capture;
use super::descriptors::{Descriptors, Opened};
use super::disk_totals::DiskTotals;
use super::files::{FileSeen, Files};
use super::journal::Journals;
use super::keys::ByNumber;
use super::operations::{Begun, Op, OpKey, Slots};
use super::others::Others;
use super::requests::Requests;
use super::seconds::Seconds;
use super::spans::Span;
use super::streams::Streams;
use super::threads::{Fault, State, Submitting, Thread};
use super::totals::{Ended, Totals, is_cached};
use super::waits::Splitter;
use super::writeback::Writeback;

/// A thread that was of nobody we know is looked up again after this time: its number may have been given anew.
const LOOK_AGAIN_NS: u64 = 1_000_000_000;
/// Calls that handed over requests which have sent nothing yet.
const MOST_UNSENT: usize = 1 << 12;
/// Threads that are remembered.
const MOST_THREADS: usize = 1 << 16;

/// Requests of the kernel's older asynchronous I/O that a call handed over and the block layer has not seen yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owed {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) at_ns: u64,
    pub(crate) count: u64,
}

/// All that is in progress, and all that was counted.
#[derive(Debug)]
pub(crate) struct FoldState {
    pub(crate) has_scheduler: bool,
    pub(crate) has_faults: bool,
    pub(crate) has_rings: bool,
    pub(crate) is_limited: bool,
    pub(crate) threads: ByNumber<u32, Thread>,
    pub(crate) slots: Slots,
    /// The operation of each request of a ring.
    pub(crate) rings: ByNumber<u64, OpKey>,
    pub(crate) owed: VecDeque<Owed>,
    /// Those among them that may be syncs, which a worker of the kernel carries out: they had sent nothing when the call ended.
    pub(crate) unsent: VecDeque<Owed>,
    /// The sync that a worker of the kernel carries out for the subject, by its thread.
    pub(crate) workers: ByNumber<u32, OpKey>,
    pub(crate) descriptors: Descriptors,
    pub(crate) requests: Requests,
    /// Where asynchronous operations on each disk ended, whose offsets in their files no event tells.
    pub(crate) disk_streams: Vec<Streams>,
    pub(crate) journals: Journals,
    pub(crate) writeback: Writeback,
    pub(crate) splitter: Splitter,
    pub(crate) totals: Totals,
    pub(crate) disk_totals: DiskTotals,
    pub(crate) others: Others,
    pub(crate) seconds: Seconds,
    /// The operations themselves, if they are to be kept.
    pub(crate) capture: Option<Capture>,
}

impl FoldState {
    pub(crate) fn new(began_ns: u64, has_scheduler: bool, has_faults: bool, has_rings: bool) -> Self {
        Self {
            has_scheduler,
            has_faults,
            has_rings,
            is_limited: false,
            threads: ByNumber::default(),
            slots: Slots::default(),
            rings: ByNumber::default(),
            owed: VecDeque::new(),
            unsent: VecDeque::new(),
            workers: ByNumber::default(),
            descriptors: Descriptors::default(),
            requests: Requests::default(),
            disk_streams: Vec::new(),
            journals: Journals::default(),
            writeback: Writeback::default(),
            splitter: Splitter::default(),
            totals: Totals::default(),
            disk_totals: DiskTotals::default(),
            others: Others::default(),
            seconds: Seconds::new(began_ns),
            capture: None,
        }
    }

    /// The process of a thread of the subject; `None` for others. It is looked up again now and then: the number of a thread that
    /// has ended may become another one's.
    pub(crate) fn process_of(&mut self, thread: u32, at_ns: u64, files: &mut dyn Files) -> Option<u32> {
        let known = self.threads.entry(thread).or_insert_with(|| Thread::new(files.process_of(thread), at_ns));
        if known.op.is_none() && at_ns >= known.looked_ns.saturating_add(LOOK_AGAIN_NS) {
            known.process = files.process_of(thread);
            known.looked_ns = at_ns;
        }
        known.process
    }

    pub(crate) fn call_began(&mut self, seen: &Seen, call: Call, args: &[u64; 6], files: &mut dyn Files) {
        let at_ns = seen.at_ns;
        let Some(process) = self.process_of(seen.thread, at_ns, files) else { return };
        self.end_fault(seen.thread);
        let Some(thread) = self.threads.get_mut(&seen.thread) else { return };
        if let Some(unended) = thread.op.take() {
            self.slots.close(unended);
        }
        thread.cut();
        thread.state = State::Running;
        thread.since_ns = at_ns;
        let by = match call {
            Call::IoSubmit => Some(IssuedBy::Aio),
            Call::IoUringEnter if !self.has_rings => Some(IssuedBy::IoUring),
            _ => None,
        };
        thread.submitting = by.map(|by| Submitting { at_ns, owed: args[1], by });
        let Some(asked) = asked(call, args) else { return };
        let Some(begun) = self.begun(seen, process, call, asked, files) else { return };
        let op = self.slots.open(begun);
        if let Some(thread) = self.threads.get_mut(&seen.thread) {
            thread.op = Some(op);
        }
    }

    /// What is known of a call when it begins; `None` if it goes to something that holds no data.
    fn begun(&mut self, seen: &Seen, process: u32, call: Call, asked: Asked, files: &mut dyn Files) -> Option<Begun> {
        let opened = match asked.fd {
            Some(fd) => Some(self.descriptors.find(process, fd, seen.at_ns, files)?),
            None => None,
        };
        if let Some(fd) = asked.fd.filter(|_| asked.kind != OperationKind::Read) {
            self.descriptors.writes(process, fd);
        }
        let writes = asked.kind == OperationKind::Write;
        let moves = writes || asked.kind == OperationKind::Read;
        let sequential = match (opened, asked.offset, asked.fd) {
            (Some(opened), Some(offset), _) if moves => {
                self.descriptors.at_offset(opened.file, offset, asked.bytes, writes)
            }
            (Some(_), None, Some(fd)) if moves && asked.elsewhere => self.descriptors.elsewhere(process, fd),
            (Some(_), None, Some(fd)) if moves => self.descriptors.at_position(process, fd, asked.bytes),
            _ => false,
        };
        let aim = opened.and_then(|opened| self.aim(process, asked, &opened, files));
        let file = opened.map(|opened| opened.seen);
        let is_durable = asked.durable || file.is_some_and(|file| file.durable);
        let at_position = asked.offset.is_none() && !asked.elsewhere;
        let at_end = |file: FileSeen| file.append || at_position && opened.is_some_and(|it| it.at_end);
        Some(Begun {
            at_ns: seen.at_ns,
            thread: seen.thread,
            process,
            kind: if writes && is_durable { OperationKind::DurableWrite } else { asked.kind },
            by: IssuedBy::Calls,
            call: Some(call),
            file: opened.map(|opened| opened.file),
            place: file.and_then(|file| file.place),
            // A sync of everything waits for all disks.
            disks: file.map_or(u64::MAX, |file| file.disks),
            device: file.map(|file| file.device),
            direct: moves.then(|| file.is_some_and(|file| file.direct)),
            asked: asked.bytes,
            offset: asked.offset,
            elsewhere: asked.elsewhere,
            sequential,
            appends: writes && (asked.appends || file.is_some_and(at_end)),
            aim,
        })
    }

    /// Where a call goes, if operations are kept.
    fn aim(&mut self, process: u32, asked: Asked, opened: &Opened, files: &mut dyn Files) -> Option<Aim> {
        let capture = self.capture.as_mut()?;
        let writes = asked.kind == OperationKind::Write;
        let moves = writes || asked.kind == OperationKind::Read;
        let place = match asked.offset {
            _ if !moves => Place::At(0),
            _ if writes && (asked.appends || opened.seen.append) => Place::End,
            Some(offset) => Place::At(offset),
            None if asked.elsewhere => Place::Unknown,
            None => Place::Position,
        };
        capture.opened((process, asked.fd?), opened, place, files)
    }

    pub(crate) fn call_ended(&mut self, seen: &Seen, call: Call, result: i64) {
        let Some(thread) = self.threads.get_mut(&seen.thread) else { return };
        thread.turn(&mut self.slots, seen.at_ns, State::Running);
        let at_ns = thread.since_ns;
        let submitted = thread.submitting.take().filter(|call| call.owed > 0 && call.by == IssuedBy::Aio);
        thread.ring = None;
        if let Some((submitted, process)) = submitted.zip(thread.process).filter(|_| result > 0) {
            let Submitting { at_ns, owed, .. } = submitted;
            let owed = Owed { process, thread: seen.thread, at_ns, count: owed.min(result as u64) };
            if self.is_limited {
                self.owed.push_back(owed);
            }
            if self.unsent.len() >= MOST_UNSENT {
                self.unsent.pop_front();
            }
            self.unsent.push_back(owed);
        }
        let Some(key) = thread.op.take() else { return };
        let Some(op) = self.slots.get(key) else { return };
        let moves = matches!(op.begun.kind, OperationKind::Read | OperationKind::Write | OperationKind::DurableWrite);
        let failed = result < 0 || moves && result == 0;
        if failed || op.begun.call != Some(call) {
            self.slots.close(key);
            return;
        }
        self.finish(key, at_ns, if moves { result as u64 } else { 0 });
    }

    /// A thread closes a descriptor.
    pub(crate) fn closes(&mut self, seen: &Seen, fd: u32, files: &mut dyn Files) {
        if let Some(process) = self.process_of(seen.thread, seen.at_ns, files) {
            self.descriptors.closes(process, fd);
        }
    }

    pub(crate) fn ring_began(&mut self, seen: &Seen, request: u64, opcode: u8, files: &mut dyn Files) {
        if !self.has_rings {
            return;
        }
        let Some(process) = self.process_of(seen.thread, seen.at_ns, files) else { return };
        let op = asked_of_ring(opcode)
            .map(|kind| self.slots.open(Begun::unnamed(seen.at_ns, seen.thread, process, kind, IssuedBy::IoUring)));
        let before = match op {
            Some(op) => self.rings.insert(request, op),
            None => self.rings.remove(&request),
        };
        if let Some(unended) = before {
            self.slots.close(unended);
        }
        if let Some(thread) = self.threads.get_mut(&seen.thread) {
            thread.ring = op;
        }
    }

    pub(crate) fn ring_file(&mut self, seen: &Seen, request: u64, fd: u32, files: &mut dyn Files) {
        let Some(key) = self.rings.get(&request).copied() else { return };
        let Some(op) = self.slots.get_mut(key) else { return };
        let Some(opened) = self.descriptors.find(op.begun.process, fd, seen.at_ns, files) else {
            self.slots.close(key);
            self.rings.remove(&request);
            return;
        };
        let begun = &mut op.begun;
        let file = opened.seen;
        begun.file = Some(opened.file);
        begun.place = file.place;
        begun.disks = file.disks;
        begun.device = Some(file.device);
        let moves = matches!(begun.kind, OperationKind::Read | OperationKind::Write);
        begun.direct = moves.then_some(file.direct);
        if begun.kind != OperationKind::Read {
            self.descriptors.writes(begun.process, fd);
        }
        if let Some(capture) = &mut self.capture {
            let place = match begun.kind {
                OperationKind::Write if file.append => Place::End,
                _ if moves => Place::Unknown,
                _ => Place::At(0),
            };
            begun.aim = capture.opened((begun.process, fd), &opened, place, files);
        }
        if begun.kind == OperationKind::Write {
            begun.appends = file.append;
            if file.durable {
                begun.kind = OperationKind::DurableWrite;
            }
        }
    }

    pub(crate) fn ring_ended(&mut self, at_ns: u64, request: u64, result: i64) {
        let Some(key) = self.rings.remove(&request) else { return };
        let Some(op) = self.slots.get(key) else { return };
        let moves = matches!(op.begun.kind, OperationKind::Read | OperationKind::Write | OperationKind::DurableWrite);
        // What has neither a file nor requests may be a socket, which cannot be synced.
        let is_unknown = moves && op.begun.file.is_none() && op.parts == 0;
        if result < 0 || moves && result == 0 || is_unknown {
            self.slots.close(key);
            return;
        }
        self.finish(key, at_ns, if moves { result as u64 } else { 0 });
    }

    pub(crate) fn switched_out(&mut self, at_ns: u64, thread: u32, reason: u64) {
        if let Some(known) = self.threads.get_mut(&thread) {
            let state = if reason == 0 { State::Ready } else { State::Blocked };
            known.turn(&mut self.slots, at_ns, state);
            if let Some(capture) = self.capture.as_mut().filter(|_| state == State::Blocked) {
                capture.sleeps(thread);
            }
        }
    }

    pub(crate) fn woken(&mut self, at_ns: u64, thread: u32) {
        // A thread may be woken before it has left the processor: then it goes on.
        if let Some(thread) = self.threads.get_mut(&thread).filter(|thread| thread.state == State::Blocked) {
            thread.turn(&mut self.slots, at_ns, State::Ready);
        }
    }

    /// A thread wakes another one, which may have waited for its sync.
    pub(crate) fn wakes(&mut self, seen: &Seen, thread: u32) {
        let Some(capture) = self.capture.as_mut().filter(|_| !seen.in_interrupt) else { return };
        let Some(waker) = self.threads.get(&seen.thread) else { return };
        let Some(woken) = self.threads.get(&thread).filter(|woken| woken.op.is_none()) else { return };
        let runs_from_ns = if waker.state == State::Running { waker.since_ns } else { seen.at_ns };
        let sleeps_from_ns = (woken.state == State::Blocked).then_some(woken.since_ns);
        // What it did between slices was not seen; now it sleeps.
        let sleeps_from_ns = sleeps_from_ns.or_else(|| capture.slice_after(woken.since_ns));
        if let Some(since_ns) = sleeps_from_ns {
            capture.wakes((seen.thread, runs_from_ns), seen.at_ns, (thread, since_ns));
        }
    }

    pub(crate) fn switched_in(&mut self, at_ns: u64, thread: u32) {
        let Some(known) = self.threads.get_mut(&thread) else { return };
        known.turn(&mut self.slots, at_ns, State::Running);
        if let Some(capture) = &mut self.capture {
            capture.runs(thread, at_ns);
        }
        let Some(key) = known.op else { return };
        let is_over = |op: &Op| op.begun.by == IssuedBy::Mapping && op.open == 0;
        if self.slots.get(key).is_some_and(is_over) {
            let at_ns = known.since_ns;
            known.op = None;
            self.end_slept(key, at_ns);
        }
    }

    /// A page of a mapping is missing; if it has to be read, the thread's next request does that.
    pub(crate) fn faulted(&mut self, seen: &Seen, device: u64, inode: u64, files: &mut dyn Files) {
        if self.process_of(seen.thread, seen.at_ns, files).is_none() {
            return;
        }
        self.end_fault(seen.thread);
        if let Some(thread) = self.threads.get_mut(&seen.thread) {
            thread.fault = Some(Fault { at_ns: seen.at_ns, device, inode });
        }
    }

    /// Ends the fault that a thread is in, since it is seen to do something else.
    fn end_fault(&mut self, thread: u32) {
        let Some(thread) = self.threads.get_mut(&thread) else { return };
        let Some(key) = thread.op else { return };
        if self.slots.get(key).is_some_and(|op| op.begun.by == IssuedBy::Mapping) {
            let at_ns = thread.since_ns;
            thread.op = None;
            self.end_slept(key, at_ns);
        }
    }

    /// Ends a fault; it counts if the thread slept for it.
    fn end_slept(&mut self, key: OpKey, at_ns: u64) {
        let Some(op) = self.slots.get(key) else { return };
        let bytes = op.sent;
        if op.blocked.is_empty() && self.has_scheduler {
            self.slots.close(key);
        } else {
            self.finish(key, at_ns, bytes);
        }
    }

    pub(crate) fn throttled(&mut self, seen: &Seen, pause_ms: u64) {
        let Some(thread) = self.threads.get(&seen.thread) else { return };
        if let Some(op) = thread.op.and_then(|op| self.slots.get_mut(op)) {
            op.add(Wait::Throttle, seen.at_ns, seen.at_ns.saturating_add(pause_ms.saturating_mul(1_000_000)));
        }
    }

    /// Ends an operation and counts it.
    pub(crate) fn finish(&mut self, key: OpKey, at_ns: u64, bytes: u64) {
        let Some(op) = self.slots.get_mut(key) else { return };
        let begun = op.begun;
        let at_ns = at_ns.max(begun.at_ns);
        let is_waited_for = matches!(begun.by, IssuedBy::Calls | IssuedBy::Mapping);
        if !is_waited_for || !self.has_scheduler {
            op.running_ns = 0;
            op.ready_ns = 0;
            op.blocked.clear();
            op.blocked.push(Span::new(begun.at_ns, at_ns));
        }
        if !is_waited_for && op.parts == 0 && !begun.kind.is_durable() {
            op.add(Wait::Processor, begun.at_ns, at_ns);
        }
        let Some(op) = self.slots.close(key) else { return };
        let waits = self.splitter.split(op, &self.journals, &self.writeback);
        let writes = matches!(begun.kind, OperationKind::Write | OperationKind::DurableWrite);
        let mut grew = writes && begun.appends;
        if let Some((file, offset)) = begun.file.zip(begun.offset) {
            if begun.asked.is_none() {
                self.descriptors.ended(file, offset, bytes, writes);
            }
            grew |= writes && self.descriptors.grew(file, offset.saturating_add(bytes));
        }
        let cached = is_cached(op, &waits);
        if let Some(capture) = &mut self.capture {
            capture.ended(op, at_ns, bytes, cached);
        }
        let group = self.totals.add(op, &Ended { at_ns, bytes, waits, cached, grew });
        let span = Span::new(begun.at_ns, at_ns);
        let durable = begun.kind.is_durable();
        if durable {
            let totals = &mut self.totals;
            let journals = &mut self.journals;
            let mut shared = |group: usize, others: u64| totals.shared(group, others);
            if !begun.device.is_some_and(|device| journals.sync(device, span, group, &mut shared)) {
                shared(group, op.flushed_with);
            }
        }
        self.seconds.ended(begun.kind, at_ns, span.length_ns());
        self.seconds.in_progress(begun.at_ns, at_ns);
        let reads = matches!(begun.kind, OperationKind::Read | OperationKind::FaultRead) && !cached;
        if durable || reads {
            self.others.overlap(begun.at_ns, span.length_ns());
        }
    }

    /// Settles what no later event can change.
    pub(crate) fn settle(&mut self, at_ns: u64) {
        let owed_ns = self.owed.front().map(|owed| owed.at_ns);
        let open_ns = self.slots.oldest_ns().into_iter().chain(owed_ns).min();
        self.totals.settle(open_ns.unwrap_or(at_ns).min(at_ns));
        if self.threads.len() > MOST_THREADS {
            self.threads.retain(|_, thread| thread.op.is_some());
        }
    }

    /// Forgets what is in progress; that it began counts. Gives for how long the longest of it was, in nanoseconds.
    pub(crate) fn cut(&mut self, at_ns: u64) -> u64 {
        let mut longest_ns = 0;
        for (_, op) in self.slots.live() {
            let is_operation = op.begun.file.is_some() || op.parts > 0;
            if is_operation && op.begun.at_ns < at_ns {
                self.totals.cut(op, at_ns);
                if let Some(capture) = &mut self.capture {
                    capture.cut(op, at_ns);
                }
                self.seconds.in_progress(op.begun.at_ns, at_ns);
                longest_ns = longest_ns.max(at_ns - op.begun.at_ns);
            }
        }
        self.slots.close_all();
        self.threads.values_mut().for_each(Thread::cut);
        self.rings.clear();
        self.owed.clear();
        self.unsent.clear();
        self.workers.clear();
        self.requests.cut();
        self.journals.cut();
        self.writeback.cut();
        self.others.cut(at_ns);
        self.totals.settle(u64::MAX);
        longest_ns
    }
}
