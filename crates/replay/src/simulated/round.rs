//! Runs the lanes of a capture against a path in virtual time, until each has ended its script.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use halfpower_model::{Demand, Moment, Operation, Submission};
use halfpower_record::{AwaitedSync, CaptureSource, Captured, CapturedOperation, OperationKind, Script};
use halfpower_spec::{Direction, Pattern};

use super::address::{Address, continuing};
use super::dirty::Dirty;
use super::place::{FlushBy, SimulatedPlace};
use super::thinking::Thinking;
use crate::Pace;
use crate::commits::{Commit, Commits, Group, Led, Section};
use crate::waits::{Waits, waits};

/// Most bytes that a call moves (read(2)).
const MOST_BYTES: u64 = 0x7fff_f000;
/// Picoseconds of a nanosecond.
const PS: u64 = 1000;
/// The timer of the device's flush, beside those of the lanes.
const DEVICE: u32 = u32::MAX;
/// Operations and requests of a round, beyond a multiple of those of the capture, after which it ends unfinished.
const MORE_OPERATIONS: u64 = 100_000;
const MORE_REQUESTS: u64 = 2_000_000;

/// What came of a capture on a model.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedRound {
    /// The operations of a round, with the times that they take there; it has one slice.
    pub captured: Captured,
    /// The requests that reached the path, by pattern and direction; those that were never made are left out.
    pub demands: Vec<Demand>,
    /// Bytes in the page cache at the end that no sync has written back.
    pub unsynced_bytes: u64,
    /// Bytes that the files take, if the path holds fewer, so that places were folded into it.
    pub folded_bytes: Option<u64>,
    /// Whether each lane has ended its script; it may be too slow there, or other lanes too fast, to go on for so long.
    pub is_whole: bool,
    /// Pauses of the capture that last until another lane's sync has ended, there too; 0 in an open loop.
    pub waits: u64,
    /// Whether the model's path says how long a flush takes.
    pub path_flushes: bool,
    /// What processors did, if lanes shared them.
    pub processors: Option<UsedProcessors>,
}

/// What processors did in a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsedProcessors {
    /// Processors that the application used when it was captured, with all its lanes at work.
    pub before: f64,
    /// Processors that it uses there.
    pub there: f64,
    /// Processors that it can use.
    pub usable: f64,
    /// How many times its own length computing takes more than when it was captured; below 0 if it takes less.
    pub more: f64,
    /// How many times as long as when it was captured computing takes.
    pub longer: f64,
}

/// Asks `captured` of a place, at this pace, for a round; each lane has processors of its own.
pub fn simulated_round(captured: &Captured, pace: Pace, place: SimulatedPlace) -> SimulatedRound {
    let mut round = Round::new(captured, Thinking::as_captured(pace), place);
    round.run();
    round.into_result()
}

/// What a lane is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Doing {
    /// It rests before its next operation, until its timer, or until the sync has ended that it waits for.
    #[default]
    Rests,
    /// It rests before a commit that others may share, until its timer.
    Comes,
    /// It has come to commit, and others are at work.
    Queues,
    /// Its operation takes the time that was captured, until its timer.
    Works,
    /// Its operation waits for requests, and then for a flush if one follows.
    Waits { flush_follows: bool },
    /// It rests after its last operation, until its timer.
    Closes,
}

#[derive(Debug, Clone, Default)]
struct Lane {
    script: Script,
    doing: Doing,
    /// The step that it does, or does next.
    step: usize,
    /// How often it has ended its script.
    pass: u64,
    round_began: Moment,
    /// When its operation began.
    begun: Moment,
    /// Requests that its operation waits for.
    left: u32,
    has_ended: bool,
    /// Commits that it has done in the present pause.
    committed: usize,
    /// When it came to commit.
    came: Moment,
    /// The steps that it does for all who commit with it, and the one of them that it does, or does next.
    leads: Option<(Section, usize)>,
}

/// A lane that rests until a sync of another one has ended.
#[derive(Debug, Clone, Copy)]
struct Waiter {
    lane: u32,
    /// The pass in which the other one makes that sync.
    pass: u64,
    /// Before this it does not go on.
    thought: Moment,
    /// How long it rests after the sync's end.
    after_ns: u64,
}

/// A request of the path.
#[derive(Debug, Clone, Default)]
struct Request {
    /// The lanes that wait for it.
    waiting: Vec<u32>,
    /// The file whose dirty pages it writes back.
    writes_back: Option<u32>,
    is_flush: bool,
}

#[derive(Debug, Clone, Default)]
struct File {
    dirty: Dirty,
    /// Requests under way that write it back.
    under_way: BTreeSet<u32>,
}

pub(super) struct Round<'a> {
    captured: &'a Captured,
    /// Time that was captured.
    span_ns: u64,
    thinking: Thinking,
    place: SimulatedPlace,
    address: Address,
    continues: Vec<bool>,
    lanes: Vec<Lane>,
    /// Which pauses last until a sync of another lane has ended.
    waits: Waits,
    /// The commits that lanes share, and who is at work on each log.
    commits: Commits,
    groups: BTreeMap<u32, Group>,
    awaited: Vec<AwaitedSync>,
    /// Who waits, by the lane and the step of the sync.
    waiters: BTreeMap<(u32, usize), Vec<Waiter>>,
    /// One of each lane at most, and that of the device.
    timers: BinaryHeap<Reverse<(Moment, u32)>>,
    files: Vec<File>,
    /// By token.
    requests: Vec<Request>,
    free_tokens: Vec<u32>,
    /// Flushes that the path serves, and requests that wait until it has.
    flushes: u32,
    held: VecDeque<(Submission, Pattern)>,
    /// Lanes that the device's flush under way serves, and those that wait for the next.
    flushing: Vec<u32>,
    waits_for_flush: Vec<u32>,
    /// By pattern and direction.
    demands: Vec<Demand>,
    /// Lanes that have not ended their script.
    unfinished: usize,
    /// Operations in progress.
    in_progress: usize,
    /// When the round ended: nothing begins from then on.
    ended: Option<Moment>,
    is_whole: bool,
    operations_left: u64,
    requests_left: u64,
    done: Vec<CapturedOperation>,
}

fn is_sync(kind: OperationKind) -> bool {
    matches!(kind, OperationKind::Fdatasync | OperationKind::Fsync | OperationKind::OtherSync)
}

fn after_ns(moment: Moment, ns: u64) -> Moment {
    moment.after_ps(ns.saturating_mul(PS))
}

impl<'a> Round<'a> {
    pub fn new(captured: &'a Captured, thinking: Thinking, place: SimulatedPlace) -> Self {
        let pace = thinking.pace;
        let scripts = captured.scripts();
        let commits = if pace.open { Commits::default() } else { Commits::of(captured, &scripts) };
        let waits = if pace.open { Waits::default() } else { waits(captured, &scripts, &commits) };
        let lane = |script| Lane { script, ..Lane::default() };
        let lanes: Vec<Lane> = scripts.into_iter().map(lane).collect();
        let unfinished = lanes.iter().filter(|lane| !lane.script.steps.is_empty()).count();
        let both = |pattern| [Direction::Read, Direction::Write].map(|rw| Demand::none(pattern, rw));
        let count = captured.operations.len() as u64;
        Self {
            captured,
            span_ns: captured.span_ns(),
            thinking,
            place,
            address: Address::of(captured),
            continues: continuing(captured),
            lanes,
            waits,
            commits,
            groups: BTreeMap::new(),
            awaited: Vec::new(),
            waiters: BTreeMap::new(),
            timers: BinaryHeap::new(),
            files: vec![File::default(); captured.files.len()],
            requests: Vec::new(),
            free_tokens: Vec::new(),
            flushes: 0,
            held: VecDeque::new(),
            flushing: Vec::new(),
            waits_for_flush: Vec::new(),
            demands: [Pattern::Sequential, Pattern::Random].into_iter().flat_map(both).collect(),
            unfinished,
            in_progress: 0,
            ended: None,
            is_whole: false,
            operations_left: count.saturating_mul(2).saturating_add(MORE_OPERATIONS),
            requests_left: count.saturating_mul(8).saturating_add(MORE_REQUESTS),
            done: Vec::with_capacity(captured.operations.len()),
        }
    }

    /// Until the round has ended and nothing is in progress.
    pub fn run(&mut self) {
        for lane in 0..self.lanes.len() as u32 {
            if !self.lanes[lane as usize].script.steps.is_empty() {
                self.rest(lane, Moment::default());
            }
        }
        while self.ended.is_none() || self.in_progress > 0 {
            let until = self.timers.peek().map_or(Moment::END, |Reverse((at, _))| *at);
            if self.place.path.next_by(until).is_some() {
                let Some(completed) = self.place.path.pop() else { return };
                self.completed(completed.token, completed.at);
            } else if let Some(Reverse((at, lane))) = self.timers.pop() {
                self.timer(lane, at);
            } else {
                return;
            }
        }
    }

    /// Lets a lane rest before its next operation, or after its last one.
    fn rest(&mut self, lane: u32, now: Moment) {
        let state = &mut self.lanes[lane as usize];
        if let Some((section, step)) = state.leads {
            state.doing = Doing::Rests;
            let pause_ns = self.lanes[section.lane as usize].script.steps[step].think_ns;
            self.pause(lane, pause_ns, now);
            return;
        }
        if let Some(commit) = self.commits.next(lane, state.step, state.committed) {
            state.doing = Doing::Comes;
            self.pause(lane, commit.think_ns, now);
            return;
        }
        let (doing, due_ns, pause_ns) = match state.script.steps.get(state.step) {
            Some(step) => (Doing::Rests, step.due_ns, step.think_ns),
            None => (Doing::Closes, self.span_ns, state.script.then_ns),
        };
        state.doing = doing;
        let pause_ns = self.commits.rest_ns(lane, state.step).unwrap_or(pause_ns);
        if let Some(wait) = self.waits.at(lane, state.step) {
            let pass = state.pass;
            let thought = after_ns(now, self.thinking.pause_ns(wait.think_ns, pass));
            let after_ns = self.thinking.pause_ns(wait.after_ns, pass);
            let waiter = Waiter { lane, pass, thought, after_ns };
            self.rest_until_sync(waiter, (wait.lane, wait.step), now);
            return;
        }
        if self.thinking.pace.open {
            let at = after_ns(state.round_began, self.thinking.pace.shortened_ns(due_ns));
            self.rest_until(lane, at, now);
        } else {
            self.pause(lane, pause_ns, now);
        }
    }

    /// Lets a lane rest for a pause that was captured.
    fn pause(&mut self, lane: u32, pause_ns: u64, now: Moment) {
        let pass = self.lanes[lane as usize].pass;
        let lasts_ns = self.thinking.pause_ns(pause_ns, pass);
        self.rest_until(lane, after_ns(now, lasts_ns), now);
    }

    fn rest_until(&mut self, lane: u32, at: Moment, now: Moment) {
        self.lanes[lane as usize].begun = at;
        self.timers.push(Reverse((at.max(now), lane)));
    }

    /// Lets a lane rest until another lane has done a step in the same pass.
    fn rest_until_sync(&mut self, waiter: Waiter, sync: (u32, usize), now: Moment) {
        let other = &self.lanes[sync.0 as usize];
        if (other.pass, other.step) > (waiter.pass, sync.1) {
            self.rest_until(waiter.lane, after_ns(waiter.thought, waiter.after_ns), now);
        } else {
            self.waiters.entry(sync).or_default().push(waiter);
        }
    }

    /// A lane has done a step: those that waited for it go on.
    fn release(&mut self, sync: (u32, usize), now: Moment) {
        let pass = self.lanes[sync.0 as usize].pass;
        let Some(waiters) = self.waiters.remove(&sync) else { return };
        let (due, later): (Vec<Waiter>, Vec<Waiter>) = waiters.into_iter().partition(|waiter| waiter.pass <= pass);
        if !later.is_empty() {
            self.waiters.insert(sync, later);
        }
        for waiter in due {
            self.rest_until(waiter.lane, after_ns(waiter.thought.max(now), waiter.after_ns), now);
        }
    }

    fn timer(&mut self, lane: u32, now: Moment) {
        if lane == DEVICE {
            for lane in std::mem::take(&mut self.flushing) {
                self.finished(lane, now);
            }
            self.begin_device_flush(now);
            return;
        }
        match self.lanes[lane as usize].doing {
            Doing::Rests => self.begin(lane, now),
            Doing::Comes => self.come(lane, now),
            // It has no timer.
            Doing::Queues => {}
            Doing::Closes => self.close(lane, now),
            Doing::Works | Doing::Waits { .. } => self.finished(lane, now),
        }
    }

    /// A lane comes to a commit that others may share.
    fn come(&mut self, lane: u32, now: Moment) {
        if self.ended.is_some() {
            return;
        }
        let state = &mut self.lanes[lane as usize];
        let Some(commit) = self.commits.next(lane, state.step, state.committed) else { return };
        state.came = now;
        if self.groups.entry(commit.log).or_default().come(lane) {
            self.lead(lane, &commit, now);
        } else {
            state.doing = Doing::Queues;
        }
    }

    /// A lane begins to write and sync for all who wait.
    fn lead(&mut self, lane: u32, commit: &Commit, at: Moment) {
        let state = &mut self.lanes[lane as usize];
        state.leads = Some((commit.section, commit.section.first));
        state.doing = Doing::Rests;
        self.rest_until(lane, at, at);
    }

    /// A lane has written and synced for all whose commit this was: they go on, and the next one leads.
    fn committed(&mut self, leader: u32, now: Moment) {
        let Some(Commit { log, .. }) = self.pass(leader) else { return };
        let Led { riders, next } = self.groups.entry(log).or_default().synced();
        for rider in &riders {
            if let Some(Commit { file, .. }) = self.pass(*rider) {
                self.waited(*rider, file, now, true);
            }
        }
        if let Some(next) = next {
            let state = &self.lanes[next as usize];
            if let Some(commit) = self.commits.next(next, state.step, state.committed) {
                self.waited(next, commit.file, now, false);
                let pass = self.lanes[next as usize].pass;
                let handed_ns = self.thinking.pause_ns(self.commits.handed_ns(log), pass);
                self.lead(next, &commit, after_ns(now, handed_ns));
            }
        }
        for lane in std::iter::once(leader).chain(riders) {
            self.rest(lane, now);
        }
    }

    /// A lane's commit is done: its own steps of it, too.
    fn pass(&mut self, lane: u32) -> Option<Commit> {
        let state = &mut self.lanes[lane as usize];
        let commit = self.commits.next(lane, state.step, state.committed)?;
        state.leads = None;
        if commit.section.lane == lane {
            state.step = commit.section.last + 1;
            state.committed = 0;
        } else {
            state.committed += 1;
        }
        Some(commit)
    }

    /// Notes that a lane has waited for others since it came to commit.
    fn waited(&mut self, lane: u32, file: u32, now: Moment, shared: bool) {
        let at_ns = self.lanes[lane as usize].came.nanos().0;
        let took_ns = now.nanos().0.saturating_sub(at_ns);
        self.awaited.push(AwaitedSync { slice: 0, lane, at_ns, took_ns, file, shared });
    }

    /// The operation that a lane does, or does next.
    fn operation(&self, lane: u32) -> usize {
        let state = &self.lanes[lane as usize];
        let (of, step) = match state.leads {
            Some((section, step)) => (&self.lanes[section.lane as usize], step),
            None => (state, state.step),
        };
        of.script.steps[step].operation
    }

    /// A lane has ended its script: it begins again, unless it was the last.
    fn close(&mut self, lane: u32, now: Moment) {
        if self.ended.is_some() {
            return;
        }
        let state = &mut self.lanes[lane as usize];
        // In an open loop, a lane that is late stays so.
        state.round_began = if self.thinking.pace.open { state.begun } else { now };
        state.step = 0;
        state.committed = 0;
        state.pass += 1;
        if !std::mem::replace(&mut state.has_ended, true) {
            self.unfinished -= 1;
        }
        if self.unfinished == 0 {
            self.ended = Some(now);
            self.is_whole = true;
        } else {
            self.rest(lane, now);
        }
    }

    fn begin(&mut self, lane: u32, now: Moment) {
        if self.ended.is_some() {
            return;
        }
        if self.operations_left == 0 || self.requests_left == 0 || now == Moment::END {
            // The round ends before each lane has ended its script.
            self.ended = Some(now);
            return;
        }
        self.operations_left -= 1;
        self.in_progress += 1;
        let number = self.operation(lane);
        let operation = self.captured.operations[number];
        let direct = self.captured.files[operation.file as usize].direct;
        let is_buffered = operation.kind == OperationKind::Write && !direct;
        let flush_is_unknown = self.place.flush == FlushBy::Captured && operation.kind.is_durable();
        if is_buffered {
            self.files[operation.file as usize].dirty.write(operation.offset, operation.bytes.min(MOST_BYTES));
        }
        let asks_nothing = operation.bytes == 0 && !is_sync(operation.kind);
        if self.place.as_captured || operation.cached || is_buffered || flush_is_unknown || asks_nothing {
            if is_sync(operation.kind) {
                self.files[operation.file as usize].dirty.clear();
            }
            self.lanes[lane as usize].doing = Doing::Works;
            let computes = operation.cached || is_buffered || asks_nothing;
            let pass = self.lanes[lane as usize].pass;
            let took_ns = operation.took_ns;
            let takes_ns = if computes { self.thinking.work_ns(took_ns, pass) } else { took_ns };
            self.timers.push(Reverse((after_ns(now, takes_ns), lane)));
            return;
        }
        if is_sync(operation.kind) {
            // `sync_file_range` never flushes the device's cache.
            self.write_back(lane, operation.file, operation.kind.ends_a_commit(), now);
            return;
        }
        let flush_follows = operation.kind == OperationKind::DurableWrite;
        self.wait(lane, 1, flush_follows);
        let pattern = if self.continues[number] { Pattern::Sequential } else { Pattern::Random };
        let writes = matches!(operation.kind, OperationKind::Write | OperationKind::DurableWrite);
        let what = if writes { Operation::Write } else { Operation::Read };
        let request = Request { waiting: vec![lane], ..Request::default() };
        self.transfer(now, what, (operation.file, operation.offset, operation.bytes.min(MOST_BYTES)), pattern, request);
    }

    fn wait(&mut self, lane: u32, requests: u32, flush_follows: bool) {
        let state = &mut self.lanes[lane as usize];
        state.doing = Doing::Waits { flush_follows };
        state.left = requests;
    }

    /// Writes the dirty pages of a file for a sync, which also waits for those that are on their way, and for a flush if one
    /// follows.
    fn write_back(&mut self, lane: u32, file: u32, flush_follows: bool, now: Moment) {
        let state = &mut self.files[file as usize];
        let pieces = state.dirty.write_back();
        let under_way: Vec<u32> = state.under_way.iter().copied().collect();
        self.wait(lane, (pieces.len() + under_way.len()) as u32, flush_follows);
        for token in under_way {
            self.requests[token as usize].waiting.push(lane);
        }
        for piece in &pieces {
            let pattern = if piece.follows { Pattern::Sequential } else { Pattern::Random };
            let request = Request { waiting: vec![lane], writes_back: Some(file), is_flush: false };
            self.transfer(now, Operation::Write, (file, piece.offset, piece.bytes), pattern, request);
        }
        match (self.lanes[lane as usize].left, flush_follows) {
            (0, true) => self.flush(lane, now),
            (0, false) => self.finished(lane, now),
            _ => {}
        }
    }

    /// Hands a request that moves bytes to the path.
    fn transfer(
        &mut self,
        now: Moment,
        operation: Operation,
        (file, offset, bytes): (u32, u64, u64),
        pattern: Pattern,
        request: Request,
    ) {
        let direction = if operation == Operation::Write { Direction::Write } else { Direction::Read };
        let of = |demand: &&mut Demand| (demand.pattern, demand.direction) == (pattern, direction);
        if let Some(demand) = self.demands.iter_mut().find(of) {
            demand.add(bytes);
        }
        let length = bytes as u32;
        let offset = self.address.place(file, offset, length, self.place.capacity);
        self.hand(now, Submission { token: 0, operation, offset, length }, pattern, request);
    }

    /// Hands a request to the path, or holds it back while the path drains for a flush.
    fn hand(&mut self, now: Moment, submission: Submission, pattern: Pattern, request: Request) {
        self.requests_left = self.requests_left.saturating_sub(1);
        let token = self.free_tokens.pop().unwrap_or(self.requests.len() as u32);
        if let Some(file) = request.writes_back {
            self.files[file as usize].under_way.insert(token);
        }
        let is_held = self.flushes > 0 && !request.is_flush && self.place.path.drains();
        if request.is_flush {
            self.flushes += 1;
        }
        if token as usize == self.requests.len() {
            self.requests.push(request);
        } else {
            self.requests[token as usize] = request;
        }
        let submission = Submission { token, ..submission };
        if is_held {
            self.held.push_back((submission, pattern));
        } else {
            self.place.path.submit(now, submission, pattern);
        }
    }

    /// Asks for a flush, the last thing that an operation waits for.
    fn flush(&mut self, lane: u32, now: Moment) {
        match self.place.flush {
            FlushBy::Device { .. } => {
                self.waits_for_flush.push(lane);
                if self.flushing.is_empty() {
                    self.begin_device_flush(now);
                }
            }
            FlushBy::Path | FlushBy::Captured => {
                self.wait(lane, 1, false);
                let request = Request { waiting: vec![lane], writes_back: None, is_flush: true };
                let submission = Submission { token: 0, operation: Operation::Flush, offset: 0, length: 0 };
                self.hand(now, submission, Pattern::Random, request);
            }
        }
    }

    /// Begins a flush of the device that serves those that wait; does nothing if none does.
    fn begin_device_flush(&mut self, now: Moment) {
        let FlushBy::Device { ns, most, counted } = self.place.flush else { return };
        let most = if most == 0 { usize::MAX } else { most as usize };
        let served = self.waits_for_flush.len().min(most);
        if served > 0 {
            self.flushing = self.waits_for_flush.drain(..served).collect();
            let begins = if counted { self.place.path.pass_flush(now) } else { now };
            self.timers.push(Reverse((after_ns(begins, ns), DEVICE)));
        }
    }

    /// A request has left the path.
    fn completed(&mut self, token: u32, now: Moment) {
        let request = std::mem::take(&mut self.requests[token as usize]);
        self.free_tokens.push(token);
        if let Some(file) = request.writes_back {
            self.files[file as usize].under_way.remove(&token);
        }
        if request.is_flush {
            self.flushes -= 1;
            if self.flushes == 0 {
                for (submission, pattern) in std::mem::take(&mut self.held) {
                    self.place.path.submit(now, submission, pattern);
                }
            }
        }
        for lane in request.waiting {
            let state = &mut self.lanes[lane as usize];
            state.left -= 1;
            match (state.left, state.doing) {
                (0, Doing::Waits { flush_follows: true }) => self.flush(lane, now),
                (0, _) => self.finished(lane, now),
                _ => {}
            }
        }
    }

    /// The operation of a lane has ended.
    fn finished(&mut self, lane: u32, now: Moment) {
        let operation = self.captured.operations[self.operation(lane)];
        let state = &mut self.lanes[lane as usize];
        let at_ns = state.begun.nanos().0;
        let took_ns = now.nanos().0.saturating_sub(at_ns);
        self.done.push(CapturedOperation { slice: 0, lane, at_ns, took_ns, ..operation });
        self.in_progress -= 1;
        if self.ended.is_some() {
            return;
        }
        match &mut state.leads {
            Some((section, step)) if *step == section.last => self.committed(lane, now),
            Some((_, step)) => {
                *step += 1;
                self.rest(lane, now);
            }
            None => {
                let step = state.step;
                state.step += 1;
                state.committed = 0;
                self.release((lane, step), now);
                self.rest(lane, now);
            }
        }
    }

    /// How long the round took, in nanoseconds.
    pub fn ended_ns(&self) -> u64 {
        self.ended.unwrap_or_default().nanos().0
    }

    /// Processors that were in use.
    pub fn used(&self) -> f64 {
        self.thinking.used_ns() / self.ended_ns().max(1) as f64
    }

    pub fn into_thinking(self) -> Thinking {
        self.thinking
    }

    pub fn into_result(mut self) -> SimulatedRound {
        let ended = self.ended.unwrap_or_default();
        self.done.retain(|operation| operation.at_ns < ended.nanos().0.max(1));
        self.done.sort_by_key(|operation| (operation.at_ns, operation.lane));
        self.awaited.sort_by_key(|wait| (wait.at_ns, wait.lane));
        let waits = self.awaited.iter().map(|wait| wait.at_ns + wait.took_ns);
        let last_ns =
            self.done.iter().map(|operation| operation.at_ns + operation.took_ns).chain(waits).max().unwrap_or(0);
        let captured = Captured {
            subject: self.captured.subject.clone(),
            source: CaptureSource::Prediction,
            started_unix_ms: self.captured.started_unix_ms,
            slices: vec![ended.nanos().0.max(last_ns)],
            files: self.captured.files.clone(),
            lanes: self.captured.lanes,
            operations: self.done,
            awaited: self.awaited,
            threads: self.captured.threads,
            ..Captured::default()
        };
        let made = |demand: &Demand| demand.requests > 0;
        SimulatedRound {
            captured,
            demands: self.demands.into_iter().filter(made).collect(),
            unsynced_bytes: self.files.iter().map(|file| file.dirty.bytes()).fold(0, u64::saturating_add),
            folded_bytes: (self.address.bytes > self.place.capacity).then_some(self.address.bytes),
            is_whole: self.is_whole,
            waits: self.waits.count(),
            path_flushes: self.place.flush == FlushBy::Path,
            processors: None,
        }
    }
}
