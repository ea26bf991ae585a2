//! Issues requests beside a workload: random reads, or another load.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use halfpower_engine::{Completion, Engine, EngineError, Errno, Operation, Request};
use halfpower_record::{LaneRecord, LaneRole};
use halfpower_spec::{Bytes, Nanos, Rw, Workload, WorkloadOptions};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::load_threads::LoadThreads;

/// Request size of a background reader: that of random requests in both studies (1998 and 2000).
pub(crate) const BLOCK: Bytes = Bytes(8192);

/// The workload of each background reader: one request at a time, through the same caches as `workload`.
pub(crate) fn reader(workload: &Workload) -> Workload {
    let Workload { cache, engine, .. } = *workload;
    let WorkloadOptions { region, uncached, .. } = workload.options;
    let options = WorkloadOptions { region, uncached, ..WorkloadOptions::default() };
    Workload { rw: Rw::Randread, bs: BLOCK, iodepth: 1, threads: 1, cache, engine, options, ..Workload::default() }
}

/// Adds requests beside the driver's to an engine. They start with the first submission, and go on as what is beside
/// says. The driver of the engine sees only that its own requests wait longer.
///
/// Used in virtual time, where all lanes have to share one clock.
pub(crate) struct Background {
    inner: Box<dyn Engine>,
    /// The first slot beside the driver's, which are those below.
    first_slot: u32,
    beside: Issuers,
    begun: Option<Nanos>,
    came: Vec<Completion>,
    /// Requests beside that are to go out.
    batch: Vec<Request>,
    account: BackgroundAccount,
}

/// Who issues requests beside the driver.
enum Issuers {
    /// Random readers, each of which sends its next request as soon as the last one is done.
    Readers { readers: u32, used: Range<u64>, random: Xoshiro256PlusPlus },
    /// The threads of a load.
    Load(LoadThreads),
}

/// Counts of what was done beside the driver so far; clones share the counts.
#[derive(Debug, Clone)]
pub(crate) struct BackgroundAccount {
    role: LaneRole,
    done: Arc<Done>,
}

#[derive(Debug, Default)]
struct Done {
    ios: AtomicU64,
    bytes: AtomicU64,
    short_transfers: AtomicU64,
    elapsed_ns: AtomicU64,
    errors: Mutex<BTreeMap<Errno, u64>>,
}

impl BackgroundAccount {
    fn of(role: LaneRole) -> Self {
        Self { role, done: Arc::default() }
    }

    /// All that is beside as one lane.
    pub(crate) fn lane(&self) -> LaneRecord {
        let ios = self.done.ios.load(Ordering::Relaxed);
        let elapsed_ns = self.done.elapsed_ns.load(Ordering::Relaxed);
        let bytes = self.done.bytes.load(Ordering::Relaxed);
        LaneRecord { role: self.role, cpu: None, elapsed_ns, bytes, ios, reads: None, writes: None }
    }

    /// Number of requests that moved fewer bytes than asked.
    pub(crate) fn short_transfers(&self) -> u64 {
        self.done.short_transfers.load(Ordering::Relaxed)
    }

    /// Number of failed requests, by error.
    pub(crate) fn errors(&self) -> BTreeMap<Errno, u64> {
        self.done.errors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a request that asked for so many bytes.
    fn add(&self, result: Result<u32, Errno>, asked: Bytes) {
        match result {
            Ok(moved) => {
                self.done.ios.fetch_add(1, Ordering::Relaxed);
                self.done.bytes.fetch_add(u64::from(moved), Ordering::Relaxed);
                self.done.short_transfers.fetch_add(u64::from(u64::from(moved) < asked.0), Ordering::Relaxed);
            }
            Err(errno) => self.count_error(errno),
        }
    }

    fn count_error(&self, errno: Errno) {
        *self.done.errors.lock().unwrap_or_else(PoisonError::into_inner).entry(errno).or_default() += 1;
    }
}

impl Background {
    /// Adds `readers` of the bytes `used` to `inner`, which must have a slot for each of them beyond the driver's `depth`.
    pub(crate) fn readers(inner: Box<dyn Engine>, depth: u32, readers: u32, used: &Range<u64>, seed: u64) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x7265_6164_6572_7300);
        let beside = Issuers::Readers { readers, used: used.clone(), random };
        Self::of(inner, depth, readers, beside, LaneRole::Random)
    }

    /// Adds the threads of `load` in the bytes `used` to `inner`, which must have a slot for each of their requests beyond
    /// the driver's `depth`.
    pub(crate) fn load(inner: Box<dyn Engine>, depth: u32, load: &Workload, used: &Range<u64>, seed: u64) -> Self {
        let beside = Issuers::Load(LoadThreads::new(load, used, depth, seed));
        Self::of(inner, depth, load.total_depth(), beside, LaneRole::Beside)
    }

    fn of(inner: Box<dyn Engine>, depth: u32, slots: u32, beside: Issuers, role: LaneRole) -> Self {
        let came = Vec::with_capacity((depth + slots) as usize);
        let batch = Vec::with_capacity(slots as usize);
        Self { inner, first_slot: depth, beside, begun: None, came, batch, account: BackgroundAccount::of(role) }
    }

    /// A handle to the counts of what is beside.
    pub(crate) fn account(&self) -> BackgroundAccount {
        self.account.clone()
    }

    /// The first requests beside the driver's.
    fn begin(&mut self, now: Nanos) -> Result<(), EngineError> {
        self.begun = Some(now);
        match &mut self.beside {
            Issuers::Readers { readers, used, random } => {
                for reader in 0..*readers {
                    let first = read_at_random(random, used, self.first_slot + reader);
                    self.inner.submit(&[first])?;
                }
                Ok(())
            }
            Issuers::Load(_) => self.send(now),
        }
    }

    /// Sends what the threads of a load issue by now.
    fn send(&mut self, now: Nanos) -> Result<(), EngineError> {
        let Issuers::Load(threads) = &mut self.beside else { return Ok(()) };
        self.batch.clear();
        threads.issue(now, &mut self.batch);
        if self.batch.is_empty() { Ok(()) } else { self.inner.submit(&self.batch) }
    }

    /// Passes the driver's completions on, and lets what is beside go on.
    fn sort_out(&mut self, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        let now = self.inner.now();
        let mut came = std::mem::take(&mut self.came);
        for completion in came.drain(..) {
            if completion.slot < self.first_slot {
                done.push(completion);
                continue;
            }
            match &mut self.beside {
                Issuers::Readers { used, random, .. } => {
                    self.account.add(completion.result, BLOCK);
                    let again = read_at_random(random, used, completion.slot);
                    self.inner.submit(&[again])?;
                }
                Issuers::Load(threads) => match (threads.take(completion.slot, now), completion.result) {
                    (Some(asked), result) => self.account.add(result, asked),
                    (None, Err(errno)) => self.account.count_error(errno),
                    (None, Ok(_)) => {}
                },
            }
        }
        self.came = came;
        self.send(now)?;
        if done.len() > before
            && let Some(begun) = self.begun
        {
            self.account.done.elapsed_ns.store(now.0 - begun.0, Ordering::Relaxed);
        }
        Ok(())
    }

    /// When a thread of the load next wakes up; `None` if none sleeps.
    fn next_wake(&self) -> Option<Nanos> {
        match &self.beside {
            Issuers::Readers { .. } => None,
            Issuers::Load(threads) => threads.next_wake(),
        }
    }
}

fn read_at_random(random: &mut Xoshiro256PlusPlus, used: &Range<u64>, slot: u32) -> Request {
    let blocks = (used.end - used.start) / BLOCK.0;
    let block = ((u128::from(random.next_u64()) * u128::from(blocks)) >> 64) as u64;
    Request { slot, operation: Operation::Read, offset: used.start + block * BLOCK.0, length: BLOCK.0 as u32 }
}

impl Engine for Background {
    fn now(&self) -> Nanos {
        self.inner.now()
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        if self.begun.is_none() {
            self.begin(self.inner.now())?;
        }
        self.inner.submit(batch)
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let wanted = done.len() + least;
        loop {
            match self.next_wake().filter(|_| done.len() < wanted) {
                Some(wake) => self.inner.reap_until(wake, &mut self.came)?,
                None => self.inner.reap(usize::from(done.len() < wanted), &mut self.came)?,
            }
            self.sort_out(done)?;
            if done.len() >= wanted {
                return Ok(());
            }
        }
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        loop {
            let until_wake = self.next_wake().map_or(until, |wake| wake.min(until));
            self.inner.reap_until(until_wake, &mut self.came)?;
            self.sort_out(done)?;
            if done.len() > before || self.inner.now() >= until {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_engine::Simulated;
    use halfpower_spec::SimulatedDisk;

    /// One disk serves in order of submission: with k readers and a driver of depth 1, each request of the driver waits
    /// for k requests of the readers.
    #[test]
    fn readers_take_their_turns_on_the_same_path() {
        let disk = SimulatedDisk::from_constants("fixed=100us,rate=1000GB/s").unwrap();
        for readers in [1, 3] {
            let inner = Box::new(Simulated::new(&disk, 1 + readers, 1, Nanos(0)));
            let mut engine = Background::readers(inner, 1, readers, &(0..1 << 20), 7);
            let account = engine.account();
            let mut done = Vec::new();
            for _ in 0..100 {
                engine.submit(&[Request { slot: 0, operation: Operation::Read, offset: 0, length: 512 }]).unwrap();
                done.clear();
                engine.reap(1, &mut done).unwrap();
                assert_eq!((done.len(), done[0].slot), (1, 0), "the driver sees its own alone");
            }
            let lane = account.lane();
            assert_eq!(lane.ios, 100 * u64::from(readers));
            assert_eq!(engine.now().0 / 100_000, 100 * u64::from(1 + readers));
            assert_eq!(lane.elapsed_ns, engine.now().0);
        }
    }

    #[test]
    fn readers_reach_what_the_workload_reaches_and_no_more() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let used = 3 * BLOCK.0 + 512..7 * BLOCK.0;
        for _ in 0..100 {
            let Request { offset, length, .. } = read_at_random(&mut random, &used, 0);
            assert!(offset >= used.start && offset + u64::from(length) <= used.end, "{offset}");
        }
    }

    #[test]
    fn a_reader_reads_the_path_that_the_workload_takes() {
        let workload = Workload { cache: halfpower_spec::Cache::Both, iodepth: 8, ..Workload::default() };
        let reader = reader(&workload);
        assert_eq!(
            (reader.rw, reader.bs, reader.iodepth, reader.cache),
            (Rw::Randread, BLOCK, 1, halfpower_spec::Cache::Both)
        );
    }

    /// One server: beside a stream of writes of 1 ms each, one at a time, a read of 100 us waits for the write before it.
    #[test]
    fn beside_a_stream_each_request_waits_for_one_of_the_stream() {
        let disk = SimulatedDisk::from_constants("fixed=100us,rate=1MB/s").unwrap();
        let load = Workload { rw: Rw::Write, bs: Bytes(1000), iodepth: 1, ..Workload::default() };
        let inner = Box::new(Simulated::new(&disk, 2, 1, Nanos(0)));
        let mut engine = Background::load(inner, 1, &load, &(0..1 << 20), 7);
        let account = engine.account();
        let mut done = Vec::new();
        for _ in 0..100 {
            engine.submit(&[Request { slot: 0, operation: Operation::Read, offset: 0, length: 0 }]).unwrap();
            done.clear();
            engine.reap(1, &mut done).unwrap();
        }
        // A write takes 100 us + 1000 bytes at 1 MB/s, which is 1.1 ms.
        assert_eq!(engine.now().0, 100 * (1_100_000 + 100_000));
        let lane = account.lane();
        assert_eq!((lane.role, lane.ios, lane.bytes), (LaneRole::Beside, 100, 100_000));
    }
}
