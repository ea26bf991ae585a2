//! The measured window: keep every slot busy until the time is over; submit, reap, account, and nothing else.
//!
//! An engine and a stream of offsets enter, a [`Tally`] leaves. Nothing in the loop allocates, locks, prints or
//! divides, and the clock is read once a batch.

mod pauses;

use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Completion, Engine, EngineError, Errno, Operation, Request};
use record::LatencyCounter;
use spec::Nanos;

use crate::offsets::Offsets;
use crate::schedule::Schedule;

pub(crate) use pauses::Pauses;

/// Different kinds of error that are told apart within a run; the rest is counted as the last of them.
const ERROR_KINDS: usize = 16;

/// Most steps of a series that are kept: two hours of the longest.
const MOST_STEPS: u64 = 1 << 16;

/// The longest sleep between requests: so long may the user's wish to stop go unseen, in nanoseconds.
const PATIENCE_NS: u64 = 100_000_000;

/// What one lane saw.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// First submission.
    pub start: Nanos,
    /// Last reaping that counts, the closing flush included.
    pub end: Nanos,
    /// The closing flush alone.
    pub flush_ns: u64,
    pub bytes: u64,
    pub ios: u64,
    pub read_ios: u64,
    pub short_transfers: u64,
    /// Requests that were in flight when the window closed: they cost processor time, and count for nothing else.
    pub drained_ios: u64,
    /// Open loop: requests that should have come before the window closed and were not completed by then.
    pub overdue_ios: u64,
    pub errors: Vec<(Errno, u64)>,
    pub latency: LatencyCounter,
    /// What the flushes between requests took; `None` where none were asked for.
    pub syncs: Option<LatencyCounter>,
    pub step_ns: u64,
    pub step_bytes: Vec<u64>,
}

/// How long, and how it ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub runtime: Nanos,
    /// Whether a closing flush belongs to the run.
    pub flush: bool,
    /// What it stops for in between.
    pub pauses: Pauses,
}

impl Terms {
    /// Those of a random reader beside the workload, which makes nothing durable and never pauses.
    pub(crate) fn of_reader(self) -> Self {
        Self { flush: false, pauses: Pauses::default(), ..self }
    }
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
    is_read: bool,
}

/// One lane's loop with all that it needs, allocated before the window opens.
pub(crate) struct Window<'a> {
    engine: &'a mut dyn Engine,
    offsets: Offsets,
    /// `None` is a closed loop: a request comes as soon as a slot is free.
    open_loop: Option<OpenLoop>,
    terms: Terms,
    /// Writes that may still go out before the next flush; without flushes as good as endless.
    quota: usize,
    stop: &'a AtomicBool,
    block_bytes: u32,
    /// Slots that are not in flight.
    free: Vec<u32>,
    /// What each slot carried last.
    issued: Vec<Issued>,
    batch: Vec<Request>,
    done: Vec<Completion>,
    tally: Tally,
    /// End of the running step and the bytes in it so far.
    step_end: Nanos,
    bytes_before_step: u64,
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
        let step_ns = (terms.runtime.0 / 100).clamp(1_000_000, 100_000_000);
        let tally = Tally {
            errors: Vec::with_capacity(ERROR_KINDS),
            step_ns,
            step_bytes: Vec::with_capacity((terms.runtime.0 / step_ns + 1).min(MOST_STEPS) as usize),
            syncs: (terms.pauses.fdatasync > 0).then(LatencyCounter::default),
            ..Tally::default()
        };
        Self {
            quota: terms.pauses.quota(),
            engine,
            block_bytes: offsets.block_bytes(),
            offsets,
            open_loop: None,
            terms,
            stop,
            free: (0..depth).collect(),
            issued: vec![Issued { at: Nanos(0), is_read: false }; slots],
            batch: Vec::with_capacity(slots),
            done: Vec::with_capacity(slots),
            tally,
            step_end: Nanos(0),
            bytes_before_step: 0,
        }
    }

    /// Lets requests come when `schedule` says, whatever has become of those before; their latency counts from then.
    pub(crate) fn open_loop(self, schedule: Option<Schedule>) -> Self {
        let intended = Vec::with_capacity(self.issued.len());
        Self { open_loop: schedule.map(|schedule| OpenLoop { schedule, intended }), ..self }
    }

    /// Runs to the end of the time, of the offsets or of the user's patience, and leaves nothing in flight.
    pub(crate) fn run(mut self) -> Result<Tally, EngineError> {
        let mut now = self.engine.now();
        self.tally.start = now;
        self.step_end = Nanos(now.0 + self.tally.step_ns);
        let deadline = Nanos(now.0.saturating_add(self.terms.runtime.0));
        if let Some(open_loop) = &mut self.open_loop {
            open_loop.schedule.begin(now);
        }
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
        self.count_overdue(now);
        self.close()?;
        Ok(self.tally)
    }

    #[inline]
    fn submit(&mut self, now: Nanos) -> Result<(), EngineError> {
        self.batch.clear();
        match &mut self.open_loop {
            None => self.offsets.fill_at_most(self.quota, &mut self.free, &mut self.batch),
            Some(OpenLoop { schedule, intended }) => {
                schedule.take_due(now, self.free.len().min(self.quota), intended);
                self.offsets.fill_at_most(intended.len(), &mut self.free, &mut self.batch);
            }
        }
        for request in &self.batch {
            let is_read = request.operation == Operation::Read;
            self.issued[request.slot as usize] = Issued { at: now, is_read };
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
            _ => self.reap(),
        }
    }

    fn count_overdue(&mut self, now: Nanos) {
        if let Some(OpenLoop { schedule, .. }) = &mut self.open_loop {
            self.tally.overdue_ios = (self.issued.len() - self.free.len()) as u64 + schedule.overdue(now);
        }
    }

    #[inline]
    fn reap(&mut self) -> Result<Nanos, EngineError> {
        self.done.clear();
        self.engine.reap(1, &mut self.done)?;
        Ok(self.engine.now())
    }

    #[inline]
    fn account(&mut self, now: Nanos) {
        if now >= self.step_end {
            self.close_steps(now);
        }
        let (whole, block_bytes) = (Ok(self.block_bytes), u64::from(self.block_bytes));
        let mut has_odd = false;
        self.free.extend(self.done.iter().map(|completion| {
            has_odd |= completion.result != whole;
            completion.slot
        }));
        let lacking_bytes = if has_odd { self.account_odd() } else { 0 };
        self.tally.ios += self.done.len() as u64;
        self.tally.bytes += self.done.len() as u64 * block_bytes - lacking_bytes;
        self.account_latency(now);
    }

    /// Requests that went out together and come back together took equally long: they are counted together.
    #[inline]
    fn account_latency(&mut self, now: Nanos) {
        let Self { tally, done, issued, .. } = self;
        let mut rest = done.iter().map(|completion| issued[completion.slot as usize]);
        let Some(mut of_these) = rest.next() else { return };
        let mut count = 1;
        let mut take = |Issued { at, is_read }: Issued, count: u64| {
            tally.read_ios += if is_read { count } else { 0 };
            tally.latency.add(now.0 - at.0, count);
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

    /// Takes failed requests out of the batch; gives what short transfers lack of their blocks, in bytes.
    #[cold]
    fn account_odd(&mut self) -> u64 {
        let Self { tally, done, block_bytes, .. } = self;
        let mut lacking_bytes = 0;
        done.retain(|completion| {
            match completion.result {
                Ok(moved) if moved < *block_bytes => {
                    tally.short_transfers += 1;
                    lacking_bytes += u64::from(*block_bytes - moved);
                }
                Ok(_) => {}
                Err(errno) => count_error(&mut tally.errors, errno),
            }
            completion.result.is_ok()
        });
        lacking_bytes
    }

    /// Closes every step that ended before `now`; what was reaped now belongs to the step that is open then.
    #[cold]
    fn close_steps(&mut self, now: Nanos) {
        while now >= self.step_end {
            if self.tally.step_bytes.len() < self.tally.step_bytes.capacity() {
                self.tally.step_bytes.push(self.tally.bytes - self.bytes_before_step);
            }
            self.bytes_before_step = self.tally.bytes;
            self.step_end.0 += self.tally.step_ns;
        }
    }

    /// Waits for what is still in flight. With a flush to come it counts, since the flush waits for it too;
    /// otherwise the window has closed without it, as it had opened without a full queue.
    fn close(&mut self) -> Result<(), EngineError> {
        while !self.all_free() {
            let now = self.reap()?;
            if self.terms.flush {
                self.account(now);
                self.tally.end = now;
            } else {
                self.tally.drained_ios += self.done.len() as u64;
                self.free.extend(self.done.iter().map(|completion| completion.slot));
            }
        }
        if self.terms.flush {
            self.tally.flush_ns = self.flush()?;
            self.tally.end = self.engine.now();
        }
        Ok(())
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
            count_error(&mut self.tally.errors, errno);
        }
        Ok(self.engine.now().0 - before.0)
    }

    fn all_free(&self) -> bool {
        self.free.len() == self.issued.len()
    }
}

/// Counts an error without allocating; kinds beyond the last place are counted there.
fn count_error(errors: &mut Vec<(Errno, u64)>, errno: Errno) {
    match errors.iter().position(|(known, _)| *known == errno) {
        Some(kind) => errors[kind].1 += 1,
        None if errors.len() < ERROR_KINDS => errors.push((errno, 1)),
        None => errors[ERROR_KINDS - 1].1 += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::{Bytes, Rw, Workload};

    const BLOCK_BYTES: u32 = 4096;

    /// Reads come whole, each third write short and each fifth request fails; a reap takes a microsecond and gives
    /// back the older half.
    #[derive(Default)]
    struct Wayward {
        clock_ns: u64,
        serial: u64,
        in_flight: Vec<Completion>,
        given: Vec<Completion>,
    }

    impl Engine for Wayward {
        fn now(&self) -> Nanos {
            Nanos(self.clock_ns)
        }

        fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
            for request in batch {
                self.serial += 1;
                let result = match (request.operation, self.serial) {
                    (_, serial) if serial % 5 == 0 => Err(Errno(5)),
                    (Operation::Write, serial) if serial % 3 == 0 => Ok(1000),
                    _ => Ok(BLOCK_BYTES),
                };
                self.in_flight.push(Completion { slot: request.slot, result });
            }
            Ok(())
        }

        fn reap(&mut self, _least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
            self.clock_ns += 1_000;
            let half = self.in_flight.len().div_ceil(2);
            done.extend(self.in_flight.drain(..half));
            self.given.extend(&*done);
            Ok(())
        }
    }

    #[test]
    fn what_is_odd_in_a_batch_is_counted_as_what_it_is() {
        let workload = Workload { rw: Rw::Randmixed, bs: Bytes(u64::from(BLOCK_BYTES)), ..Workload::default() };
        let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
        let (mut engine, stop) = (Wayward::default(), AtomicBool::new(false));
        let terms = Terms { runtime: Nanos(100_000), flush: false, pauses: Pauses::default() };
        let tally = Window::new(&mut engine, offsets, 8, terms, &stop).run().unwrap();

        let counted = &engine.given[..engine.given.len() - tally.drained_ios as usize];
        let moved: Vec<u32> = counted.iter().filter_map(|completion| completion.result.ok()).collect();
        let short = moved.iter().filter(|moved| **moved < BLOCK_BYTES).count();
        assert!(short > 10 && moved.len() - short > 10 && counted.len() - moved.len() > 10, "nothing was odd");
        assert_eq!(tally.ios, moved.len() as u64);
        assert_eq!(tally.bytes, moved.iter().map(|moved| u64::from(*moved)).sum::<u64>());
        assert_eq!(tally.short_transfers, short as u64);
        assert_eq!(tally.errors, [(Errno(5), (counted.len() - moved.len()) as u64)]);
        assert!(tally.read_ios > 10 && tally.read_ios < tally.ios - 10);
        let latency = tally.latency.latency();
        assert_eq!(latency.count(), tally.ios);
        assert_eq!((latency.min_ns(), latency.sum_ns() % 1_000), (1_000, 0));
        assert!(latency.max_ns() >= 2_000, "half of those in flight wait for another turn");
    }
}
