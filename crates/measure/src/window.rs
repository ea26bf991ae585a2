//! Drives one lane through its measured window: submits, reaps and accounts until the time is over.
//!
//! An engine and a stream of offsets enter, a [`Tally`] leaves. Nothing in the loop allocates, locks, prints or
//! divides, and the clock is read once a batch.

mod pauses;
mod tally;
#[cfg(test)]
mod tests;
mod writers;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use halfpower_engine::{Completion, Engine, EngineError, Errno, Operation, Request};
use halfpower_record::LatencyCounter;
use halfpower_spec::{Nanos, Run, Workload};

use crate::offsets::Offsets;
use crate::sampler::Sampler;
use crate::schedule::Schedule;
use crate::steady_end::Teller;
use crate::target_backend::ClosingFlush;
use pauses::Burst;
pub(crate) use pauses::Pauses;
pub(crate) use tally::Tally;
use writers::Writers;

/// Most steps of a series that are kept.
const MOST_STEPS: u64 = 1 << 16;

/// The longest step, as long as a window has no more than so many of them: limits hand out slices of 100 ms, and each
/// may last for more than half of that and has to be seen apart.
const LONGEST_STEP_NS: u64 = 10_000_000;
const LONG_STEPS: u64 = 4_000;

/// Most steps of a run that may end early, whose length is not known before: with more, two become one.
const MOST_STEPS_OF_BYTES: usize = 1 << 13;

/// The longest sleep between requests: so long may the user's wish to stop go unseen, and answers untold, in nanoseconds.
const PATIENCE_NS: u64 = 100_000_000;

/// Most windows, and most time in nanoseconds, that a queue may take to turn over beyond the length of a window before
/// the window opens. Requests of a slow, deep queue wait for longer than a window lasts; counted before their queue has
/// turned over, they would be those that waited least.
const TURNOVER_WINDOWS: u64 = 3;
const TURNOVER_NS: u64 = 10_000_000_000;

/// How long, and how it ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub runtime: Nanos,
    /// The flush at its end.
    pub flush: ClosingFlush,
    /// What it stops for in between.
    pub pauses: Pauses,
    /// Time that requests go out before the window opens.
    pub ramp: Nanos,
}

impl Terms {
    /// Those of the workload's own lanes, with this flush at their end.
    pub(crate) fn of(run: &Run, flush: ClosingFlush) -> Self {
        let options = &run.workload.options;
        Self { runtime: run.runtime, flush, pauses: Pauses::of(options), ramp: options.ramp_time }
    }

    /// Those of a writer beside those that flush.
    pub(crate) fn without_flushes(self) -> Self {
        Self { pauses: Pauses { fdatasync: 0, ..self.pauses }, ..self }
    }

    /// Those of a random reader beside the workload, which makes nothing durable and never pauses.
    pub(crate) fn of_reader(self) -> Self {
        Self { flush: ClosingFlush::None, pauses: Pauses::default(), ..self }
    }

    /// Those of the load `workload` beside another, which goes on until that ends: its window may open later than this
    /// one, when its queue has turned over. What it leaves in the page cache is written before the next run.
    pub(crate) fn of_load(self, workload: &Workload) -> Self {
        let Nanos(runtime_ns) = self.runtime;
        let more_ns = runtime_ns.saturating_mul(TURNOVER_WINDOWS).min(TURNOVER_NS);
        Self {
            runtime: Nanos(runtime_ns.saturating_mul(2).saturating_add(more_ns)),
            flush: ClosingFlush::counts_if(is_flushed(workload)),
            pauses: Pauses::of(&workload.options),
            ..self
        }
    }
}

/// Whether the load `workload` beside another leaves something in the page cache, or flushes by itself.
pub(crate) fn is_flushed(workload: &Workload) -> bool {
    workload.rw.writes() && (!workload.cache.direct() || workload.options.fdatasync > 0)
}

/// Requests that come by themselves, and when those of the running batch should have come.
struct OpenLoop {
    schedule: Schedule,
    intended: Vec<Nanos>,
}

/// What is remembered of a request in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Issued {
    /// When its latency began.
    at: Nanos,
    /// Bytes that it asked for.
    length: u32,
    is_read: bool,
}

/// One lane's loop with all that it needs, allocated before the window opens.
pub(crate) struct Window<'a> {
    engine: &'a mut dyn Engine,
    offsets: Offsets,
    /// `None` is a closed loop: a request comes as soon as a slot is free.
    open_loop: Option<OpenLoop>,
    terms: Terms,
    /// What every request asks for, in bytes; `None` where they differ.
    one_length: Option<u32>,
    /// Writes that may still go out before the next flush; without flushes as good as endless.
    quota: usize,
    /// When the first write since the last flush went out, and the errors that there had been by the end of that flush.
    commit_began: Nanos,
    errors_before_commit: u64,
    /// Requests that may still go out before the lane thinks; without bursts as good as endless.
    burst_left: usize,
    /// When the last batch of a burst went out.
    burst_sent: Nanos,
    /// Whether the window has opened: what completes before does not count.
    is_open: bool,
    /// The writers of this lane, if each flushes after its own writes; `None` if the lane flushes as one.
    writers: Option<Writers>,
    /// Bytes to ask for within the window, which then ends; `None` lets its time alone end it.
    most_bytes: Option<u64>,
    stop: &'a AtomicBool,
    /// Slots that are not in flight.
    free: Vec<u32>,
    /// What each slot carried last.
    issued: Vec<Issued>,
    batch: Vec<Request>,
    done: Vec<Completion>,
    tally: Tally,
    /// When to look at what is due: the end of the running step, what is told each second, or that answers come.
    look_at: Nanos,
    /// End of the running step and the bytes in it so far.
    step_end: Nanos,
    bytes_before_step: u64,
    /// Counts steps and late answers, for whoever watches.
    progress: Option<&'a AtomicU64>,
    /// Lanes whose queue has not turned over yet; `None` opens the window with an empty queue.
    cold_lanes: Option<&'a AtomicUsize>,
    /// The least time for which it is turned over.
    turnover: Nanos,
    /// Tells what was counted, for whoever judges whether the run is steady.
    teller: Option<Teller>,
}

impl<'a> Window<'a> {
    pub(crate) fn new(
        engine: &'a mut dyn Engine,
        offsets: Offsets,
        depth: u32,
        terms: Terms,
        stop: &'a AtomicBool,
    ) -> Self {
        let slots = depth as usize;
        let step_ns = (terms.runtime.0 / 100).clamp(1_000_000, LONGEST_STEP_NS).max(terms.runtime.0 / LONG_STEPS);
        let tally = Tally {
            step_ns,
            step_bytes: Vec::with_capacity((terms.runtime.0 / step_ns + 1).min(MOST_STEPS) as usize),
            sampler: Sampler::new(terms.runtime.0, step_ns),
            syncs: (terms.pauses.fdatasync > 0).then(LatencyCounter::default),
            commits: (terms.pauses.fdatasync > 0).then(LatencyCounter::default),
            ..Tally::with_room()
        };
        Self {
            one_length: offsets.one_length(),
            quota: terms.pauses.quota(),
            commit_began: Nanos(0),
            errors_before_commit: 0,
            burst_left: terms.pauses.burst.map_or(usize::MAX, |burst| burst.requests),
            burst_sent: Nanos(0),
            is_open: false,
            writers: None,
            most_bytes: None,
            engine,
            offsets,
            open_loop: None,
            terms,
            stop,
            free: (0..depth).collect(),
            issued: vec![Issued { at: Nanos(0), length: 0, is_read: false }; slots],
            batch: Vec::with_capacity(slots),
            done: Vec::with_capacity(slots),
            tally,
            step_end: Nanos(0),
            look_at: Nanos(0),
            bytes_before_step: 0,
            progress: None,
            cold_lanes: None,
            turnover: Nanos(0),
            teller: None,
        }
    }

    /// Lets requests come when `schedule` says, whatever has become of those before; their latency counts from then.
    pub(crate) fn open_loop(self, schedule: Option<Schedule>) -> Self {
        let intended = Vec::with_capacity(self.issued.len());
        Self { open_loop: schedule.map(|schedule| OpenLoop { schedule, intended }), ..self }
    }

    /// Ends the window when so many bytes have been asked for and are there, or when its time is over.
    pub(crate) fn ends_after(self, most_bytes: Option<u64>) -> Self {
        Self { most_bytes, ..self }.with_steps()
    }

    /// Makes each slot a writer of its own, of which the first `flushers` flush after each of their writes: in virtual
    /// time one lane stands for all threads. `None` lets the lane flush as one.
    pub(crate) fn each_slot_commits(mut self, flushers: Option<u32>) -> Self {
        if let Some(flushers) = flushers {
            self.quota = usize::MAX;
            self.writers = Some(Writers::new(self.issued.len(), flushers));
        }
        self
    }

    /// Shows in `progress` that answers come.
    pub(crate) fn watched(self, progress: &'a AtomicU64) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// Tells each second what was counted so far, to somebody who may end the window before its time.
    pub(crate) fn told_by(self, teller: Option<Teller>) -> Self {
        Self { teller, ..self }.with_steps()
    }

    /// Whether the window may end long before its time is over.
    fn may_end_early(&self) -> bool {
        self.most_bytes.is_some() || self.teller.is_some()
    }

    /// Makes steps short, however long the window may last, if it may end early.
    fn with_steps(mut self) -> Self {
        if self.may_end_early() {
            self.tally.step_ns = self.tally.step_ns.min(LONGEST_STEP_NS);
            self.tally.step_bytes = Vec::with_capacity(MOST_STEPS_OF_BYTES);
            let most_ns = MOST_STEPS_OF_BYTES as u64 * self.tally.step_ns;
            self.tally.sampler = Sampler::new(most_ns.min(self.terms.runtime.0), self.tally.step_ns);
        }
        self
    }

    /// Lets `time` pass with nothing in flight, before the window opens; returns whether nobody wanted to stop meanwhile.
    pub(crate) fn rests(&mut self, time: Nanos) -> Result<bool, EngineError> {
        let mut now = self.engine.now();
        let until = Nanos(now.0.saturating_add(time.0));
        while now < until {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            self.done.clear();
            self.engine.reap_until(until.min(Nanos(now.0 + PATIENCE_NS)), &mut self.done)?;
            now = self.engine.now();
        }
        Ok(true)
    }

    /// Runs to the end of the time, of the offsets or of the user's patience, and leaves nothing in flight.
    pub(crate) fn run(mut self) -> Result<Tally, EngineError> {
        let began = self.engine.now();
        if let Some(open_loop) = &mut self.open_loop {
            open_loop.schedule.begin(began);
        }
        let mut now = if self.terms.ramp > Nanos(0) { self.ramp_up(began)? } else { self.turn_over(began)? };
        if let Some(most_bytes) = self.most_bytes {
            self.offsets.end_after(most_bytes.saturating_sub(self.in_flight_bytes()));
        }
        self.is_open = true;
        self.tally.start = now;
        self.step_end = Nanos(now.0 + self.tally.step_ns);
        self.set_look(now);
        let deadline = Nanos(now.0.saturating_add(self.terms.runtime.0));
        while now < deadline && !self.stop.load(Ordering::Relaxed) {
            self.submit(now)?;
            if self.all_free() && self.offsets.ended() {
                break;
            }
            now = self.wait(now, deadline)?;
            self.account(now);
            if self.terms.pauses.any() {
                now = self.pause(now, deadline)?;
            }
        }
        self.tally.end = now;
        if self.terms.flush != ClosingFlush::Counts {
            self.tally.in_flight_beyond_latency_ns += self.in_flight_ns(now);
        }
        self.count_overdue(now);
        self.close()?;
        self.tally.resubmitted_ios = self.engine.resubmitted_ios();
        self.tally.unjudged_reads = self.engine.unjudged_reads();
        Ok(self.tally)
    }

    #[inline]
    fn submit(&mut self, now: Nanos) -> Result<(), EngineError> {
        self.batch.clear();
        match &mut self.open_loop {
            None => self.offsets.fill_at_most(self.quota.min(self.burst_left), &mut self.free, &mut self.batch),
            Some(OpenLoop { schedule, intended }) => {
                schedule.take_due(now, self.free.len().min(self.quota), intended);
                self.offsets.fill_at_most(intended.len(), &mut self.free, &mut self.batch);
            }
        }
        if self.terms.pauses.burst.is_some() && !self.batch.is_empty() {
            self.burst_left = self.burst_left.saturating_sub(self.batch.len());
            self.burst_sent = now;
        }
        let apart = self.offsets.apart();
        for request in &self.batch {
            let is_read = request.operation == apart;
            self.issued[request.slot as usize] = Issued { at: now, length: request.length, is_read };
        }
        if let Some(OpenLoop { intended, .. }) = &self.open_loop {
            for (request, at) in self.batch.iter().zip(intended) {
                self.issued[request.slot as usize].at = *at;
            }
        }
        self.engine.submit(&self.batch)
    }

    /// Waits for a completion; in an open loop with slots to spare only until the next request comes.
    #[inline]
    fn wait(&mut self, now: Nanos, deadline: Nanos) -> Result<Nanos, EngineError> {
        match &self.open_loop {
            Some(OpenLoop { schedule, .. }) if self.free.len().min(self.quota) > 0 && !self.offsets.ended() => {
                let until = schedule.next().min(deadline).min(Nanos(now.0 + PATIENCE_NS));
                self.done.clear();
                self.engine.reap_until(until, &mut self.done)?;
                Ok(self.engine.now())
            }
            // The pause takes in what completes meanwhile; one that follows a flush waits for that.
            None if self.burst_left == 0
                && self.quota > 0
                && self.terms.pauses.burst.is_some_and(Burst::counts_from_sending) =>
            {
                self.done.clear();
                Ok(now)
            }
            _ => self.reap(),
        }
    }

    fn count_overdue(&mut self, now: Nanos) {
        if let Some(OpenLoop { schedule, .. }) = &mut self.open_loop {
            // No more were to come when all had gone out.
            let (not_issued, waited_ns) = if self.offsets.ended() { (0, 0) } else { schedule.overdue(now) };
            self.tally.in_flight_beyond_latency_ns += waited_ns;
            self.tally.overdue_ios = (self.issued.len() - self.free.len()) as u64 + not_issued;
        }
    }

    #[inline]
    fn reap(&mut self) -> Result<Nanos, EngineError> {
        self.done.clear();
        self.engine.reap(1, &mut self.done)?;
        if self.writers.is_some() {
            self.take_flushes();
        }
        Ok(self.engine.now())
    }

    #[inline]
    fn account(&mut self, now: Nanos) {
        if now >= self.look_at {
            self.look(now);
        }
        let mut has_exceptions = false;
        // Whether lengths differ is asked once a batch and not for each request.
        match (self.one_length, &self.issued) {
            (Some(length), _) => self.free.extend(self.done.iter().map(|completion| {
                has_exceptions |= completion.result != Ok(length);
                completion.slot
            })),
            (None, issued) => self.free.extend(self.done.iter().map(|completion| {
                has_exceptions |= completion.result != Ok(issued[completion.slot as usize].length);
                completion.slot
            })),
        }
        let [lacking, lacking_reads] = if has_exceptions { self.account_exceptions(now) } else { [0, 0] };
        self.account_whole(now);
        self.tally.bytes -= lacking;
        self.tally.read_bytes -= lacking_reads;
    }

    /// Counts what went well. Requests that went out together and come back together took equally long: they are
    /// counted together.
    #[inline]
    fn account_whole(&mut self, now: Nanos) {
        let Self { tally, done, issued, .. } = self;
        let mut rest = done.iter().map(|completion| issued[completion.slot as usize]);
        let Some(mut of_these) = rest.next() else { return };
        let mut count = 1;
        let mut take = |Issued { at, length, is_read }: Issued, count: u64| {
            let bytes = count * u64::from(length);
            tally.ios += count;
            tally.bytes += bytes;
            let latency = if is_read {
                tally.read_ios += count;
                tally.read_bytes += bytes;
                &mut tally.read_latency
            } else {
                &mut tally.write_latency
            };
            latency.add(now.0 - at.0, count);
        };
        for issued in rest {
            if issued != of_these {
                take(of_these, count);
                (of_these, count) = (issued, 0);
            }
            count += 1;
        }
        take(of_these, count);
    }

    /// Takes failed requests out of the batch; gives the bytes that short transfers lack of what they asked for: of
    /// all, and of reads.
    #[cold]
    fn account_exceptions(&mut self, now: Nanos) -> [u64; 2] {
        let Self { tally, done, issued, .. } = self;
        let mut lacking = [0, 0];
        done.retain(|completion| {
            let Issued { at, length, is_read } = issued[completion.slot as usize];
            let outcome = outcome(completion.result, length);
            match outcome {
                Ok(moved) => {
                    let lacks = u64::from(length.saturating_sub(moved));
                    tally.short_transfers += u64::from(lacks > 0);
                    lacking[0] += lacks;
                    lacking[1] += if is_read { lacks } else { 0 };
                }
                Err(errno) => {
                    tally.in_flight_beyond_latency_ns += i128::from(now.0 - at.0);
                    tally.count_error(errno);
                }
            }
            outcome.is_ok()
        });
        lacking
    }

    /// Closes every step that ended before `now`; what was reaped now belongs to the step that is open then.
    #[cold]
    fn close_steps(&mut self, now: Nanos) {
        while now >= self.step_end {
            if self.may_end_early() && self.tally.step_bytes.len() == MOST_STEPS_OF_BYTES {
                self.step_end.0 += self.tally.join_steps();
                continue;
            }
            if self.tally.step_bytes.len() < self.tally.step_bytes.capacity() {
                self.tally.step_bytes.push(self.tally.bytes - self.bytes_before_step);
            }
            self.bytes_before_step = self.tally.bytes;
            let counts = self.tally.counts();
            self.tally.sampler.end_step(counts);
            self.step_end.0 += self.tally.step_ns;
        }
    }

    /// Closes steps and tells what was counted, if it is time to; what was reaped now is not counted yet.
    #[cold]
    fn look(&mut self, now: Nanos) {
        self.show_progress();
        if now >= self.step_end {
            self.close_steps(now);
        }
        if let Some(teller) = &mut self.teller {
            let [reads, others] = self.tally.counts();
            teller.tell(now.0 - self.tally.start.0, reads.with(others));
        }
        self.set_look(now);
    }

    /// Sets when to look next: often enough for whoever watches, however long steps are by now.
    fn set_look(&mut self, now: Nanos) {
        let start = self.tally.start.0;
        let told_next = self.teller.as_ref().map(|teller| Nanos(start.saturating_add(teller.next_ns())));
        let look_at = told_next.map_or(self.step_end, |told_next| told_next.min(self.step_end));
        self.look_at = look_at.min(Nanos(now.0.saturating_add(PATIENCE_NS)));
    }

    /// Waits for what is still in flight. With a flush that counts in whole it counts, since the flush waits for it too;
    /// otherwise the window has closed without its bytes, as it had opened without those that came before, but not without its
    /// errors.
    fn close(&mut self) -> Result<(), EngineError> {
        while !self.all_free() {
            let now = self.reap()?;
            self.show_progress();
            if self.terms.flush == ClosingFlush::Counts {
                self.account(now);
                self.tally.end = now;
            } else {
                self.drain();
            }
        }
        if self.terms.flush != ClosingFlush::None {
            let flush_ns = self.flush()?;
            let answer_ns = if self.terms.flush == ClosingFlush::CountsBeyondAnswer { self.flush()? } else { 0 };
            self.tally.flush_ns = flush_ns.saturating_sub(answer_ns);
            self.tally.end.0 += self.tally.flush_ns;
        }
        Ok(())
    }

    /// Counts what completes outside of the window: what went wrong with it as what it is, all else as drained.
    fn drain(&mut self) {
        for completion in &self.done {
            let asked = self.issued[completion.slot as usize].length;
            match outcome(completion.result, asked) {
                Err(errno) => self.tally.count_error(errno),
                Ok(moved) => {
                    self.tally.short_transfers += u64::from(moved < asked);
                    self.tally.drained_ios += 1;
                }
            }
            self.free.push(completion.slot);
        }
    }

    /// Flushes when the writes since the last flush are all there and done, then thinks; gives the time after that.
    #[cold]
    fn pause(&mut self, now: Nanos, deadline: Nanos) -> Result<Nanos, EngineError> {
        let Pauses { fdatasync, thinktime, burst } = self.terms.pauses;
        let thinks = burst.is_none() && thinktime.0 > 0 && !self.done.is_empty();
        let mut now = now;
        if self.writers.is_some() {
            self.flush_each()?;
        } else if fdatasync > 0 {
            // The batch that went out last; nothing else was submitted since the last pause.
            let writes = self.batch.iter().filter(|request| request.operation == Operation::Write);
            if self.quota == self.terms.pauses.quota()
                && let Some(first) = writes.clone().next()
            {
                self.commit_began = self.issued[first.slot as usize].at;
            }
            self.quota -= writes.count();
            if self.quota == 0 && self.all_free() {
                now = self.flush_all()?;
                self.quota = self.terms.pauses.quota();
            }
        }
        // A flush that is due comes first: it would wait for the end of the pause, and its commit with it.
        if self.quota == 0 {
            return Ok(now);
        }
        match burst.filter(|_| self.burst_left == 0) {
            Some(burst) if burst.counts_from_sending() => self.think_after(burst, self.burst_sent, now, deadline),
            Some(burst) if self.all_free() => self.think_after(burst, now, now, deadline),
            None if thinks => self.think(now, now, deadline),
            _ => Ok(now),
        }
    }

    /// Flushes all writes of a commit; gives the time after that. A flush that failed has made nothing durable and is none, and
    /// neither is the commit then, or if one of its requests failed.
    fn flush_all(&mut self) -> Result<Nanos, EngineError> {
        let errors = self.tally.error_count();
        let took_ns = self.flush()?;
        let now = self.engine.now();
        let errors_now = self.tally.error_count();
        if self.is_open && errors_now == errors {
            self.tally.syncs.iter_mut().for_each(|syncs| syncs.add(took_ns, 1));
            if errors == self.errors_before_commit {
                let commit_ns = now.0 - self.commit_began.0;
                self.tally.commits.iter_mut().for_each(|commits| commits.add(commit_ns, 1));
            }
        }
        self.errors_before_commit = errors_now;
        Ok(now)
    }

    /// Thinks after a burst, from `from` on, and lets the next one begin.
    fn think_after(&mut self, burst: Burst, from: Nanos, now: Nanos, deadline: Nanos) -> Result<Nanos, EngineError> {
        self.burst_left = burst.requests;
        self.think(from, now, deadline)
    }

    /// Sends a flush for each writer whose write is done.
    #[cold]
    fn flush_each(&mut self) -> Result<(), EngineError> {
        let now = self.engine.now();
        let Self { writers, done, free, batch, .. } = self;
        let Some(writers) = writers else { return Ok(()) };
        batch.clear();
        for slot in done.iter().map(|completion| completion.slot).filter(|slot| writers.flushes(*slot)) {
            batch.push(Request { slot, operation: Operation::Flush, offset: 0, length: 0 });
        }
        batch.iter().for_each(|flush| writers.begin(flush.slot, now));
        free.retain(|slot| !writers.is_flushing(*slot));
        self.engine.submit(&self.batch)
    }

    /// Takes the flushes of single writers out of what completed, and counts them and their commits.
    #[cold]
    fn take_flushes(&mut self) {
        let now = self.engine.now();
        let Self { writers, done, free, issued, tally, is_open, .. } = self;
        let Some(writers) = writers else { return };
        done.retain(|completion| {
            let Some(began) = writers.end(completion.slot) else { return true };
            match completion.result {
                Err(errno) => tally.count_error(errno),
                Ok(_) if !*is_open => {}
                Ok(_) => {
                    let commit_ns = now.0 - issued[completion.slot as usize].at.0;
                    tally.syncs.iter_mut().for_each(|syncs| syncs.add(now.0 - began.0, 1));
                    tally.commits.iter_mut().for_each(|commits| commits.add(commit_ns, 1));
                }
            }
            free.push(completion.slot);
            false
        });
    }

    /// Lets the time pass, counted from `from`, and takes in what completes meanwhile.
    fn think(&mut self, from: Nanos, now: Nanos, deadline: Nanos) -> Result<Nanos, EngineError> {
        let until = Nanos(from.0.saturating_add(self.terms.pauses.thinktime.0)).min(deadline);
        let mut now = now;
        while now < until && !self.stop.load(Ordering::Relaxed) {
            self.done.clear();
            self.engine.reap_until(until.min(Nanos(now.0 + PATIENCE_NS)), &mut self.done)?;
            now = self.engine.now();
            if self.is_open {
                self.account(now);
            } else {
                self.drain();
                self.show_progress();
            }
        }
        Ok(now)
    }

    /// Makes everything durable, with nothing in flight; gives the time that it took, in nanoseconds.
    fn flush(&mut self) -> Result<u64, EngineError> {
        let before = self.engine.now();
        let flush = Request { slot: 0, operation: Operation::Flush, offset: 0, length: 0 };
        self.engine.submit(&[flush])?;
        self.done.clear();
        while self.done.is_empty() {
            self.engine.reap(1, &mut self.done)?;
        }
        if let Err(errno) = self.done[0].result {
            self.tally.count_error(errno);
        }
        Ok(self.engine.now().0 - before.0)
    }

    fn show_progress(&self) {
        if let Some(progress) = self.progress {
            progress.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn all_free(&self) -> bool {
        self.free.len() == self.issued.len()
    }
}

/// What a request came to: one that moved nothing, as beyond the end of a target that shrank or went away, is no I/O.
fn outcome(result: Result<u32, Errno>, asked: u32) -> Result<u32, Errno> {
    if result == Ok(0) && asked > 0 { Err(Errno::END_OF_FILE) } else { result }
}

impl<'a> Window<'a> {
    /// Opens the window only when as many requests have completed as the queue holds, here and in all other lanes of the
    /// workload, and the queue has been full for so long; `cold_lanes` says in how many they have not.
    pub(crate) fn warmed_up(self, cold_lanes: Option<&'a AtomicUsize>, turnover: Nanos) -> Self {
        Self { cold_lanes, turnover, ..self }
    }

    /// Keeps the queue full until the window may open, for the length of a few windows at most; gives the time. What
    /// completes meanwhile counts as drained, and with what goes wrong.
    fn turn_over(&mut self, began: Nanos) -> Result<Nanos, EngineError> {
        let Some(cold_lanes) = self.cold_lanes else { return Ok(began) };
        let Nanos(runtime_ns) = self.terms.runtime;
        let more_ns = runtime_ns.saturating_mul(TURNOVER_WINDOWS).min(TURNOVER_NS);
        let deadline = Nanos(began.0.saturating_add(runtime_ns).saturating_add(more_ns));
        let mut now = began;
        let mut completed = 0;
        let mut is_cold = true;
        while now < deadline && !self.stop.load(Ordering::Relaxed) {
            self.submit(now)?;
            now = self.reap()?;
            completed += self.done.len();
            self.drain();
            self.show_progress();
            if is_cold && completed >= self.issued.len() && now.0 >= began.0.saturating_add(self.turnover.0) {
                cold_lanes.fetch_sub(1, Ordering::Relaxed);
                is_cold = false;
            }
            if cold_lanes.load(Ordering::Relaxed) == 0 {
                break;
            }
        }
        if is_cold {
            cold_lanes.fetch_sub(1, Ordering::Relaxed);
        }
        // Latencies of what is in flight now began before the window.
        self.tally.in_flight_beyond_latency_ns -= self.in_flight_ns(now);
        Ok(now)
    }

    /// Lets requests go out for the ramp, counted as drained; gives the time at which the window opens.
    fn ramp_up(&mut self, began: Nanos) -> Result<Nanos, EngineError> {
        let opens = Nanos(began.0.saturating_add(self.terms.ramp.0));
        let mut now = began;
        while now < opens && !self.stop.load(Ordering::Relaxed) {
            self.submit(now)?;
            if self.all_free() && self.offsets.ended() {
                break;
            }
            now = self.wait(now, opens)?;
            self.drain();
            self.show_progress();
            if self.terms.pauses.any() {
                now = self.pause(now, opens)?;
            }
        }
        self.tally.in_flight_beyond_latency_ns -= self.in_flight_ns(now) + self.waiting_ns(now);
        Ok(now)
    }

    /// Time that the requests of an open loop that have come and not gone out have waited, all together.
    fn waiting_ns(&self, now: Nanos) -> i128 {
        match &self.open_loop {
            Some(OpenLoop { schedule, .. }) if !self.offsets.ended() => schedule.clone().overdue(now).1,
            _ => 0,
        }
    }

    /// Bytes that the requests in flight ask for.
    fn in_flight_bytes(&self) -> u64 {
        let of_all: u64 = self.issued.iter().map(|issued| u64::from(issued.length)).sum();
        let of_free: u64 = self.free.iter().map(|slot| u64::from(self.issued[*slot as usize].length)).sum();
        of_all - of_free
    }

    /// Time that the requests in flight have been so, all together.
    fn in_flight_ns(&self, now: Nanos) -> i128 {
        let since = |at: Nanos| i128::from(now.0) - i128::from(at.0);
        let of_all: i128 = self.issued.iter().map(|issued| since(issued.at)).sum();
        let of_free: i128 = self.free.iter().map(|slot| since(self.issued[*slot as usize].at)).sum();
        of_all - of_free
    }
}
