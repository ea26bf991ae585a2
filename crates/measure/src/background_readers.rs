//! Issues random reads in the background of a workload.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use halfpower_engine::{Completion, Engine, EngineError, Errno, Operation, Request};
use halfpower_record::{LaneRecord, LaneRole};
use halfpower_spec::{Bytes, Nanos, Rw, Workload, WorkloadOptions};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// Request size of a background reader: that of random requests in both studies (1998 and 2000).
pub(crate) const BLOCK: Bytes = Bytes(8192);

/// The workload of each background reader: one request at a time, through the same caches as `workload`.
pub(crate) fn reader(workload: &Workload) -> Workload {
    let Workload { cache, engine, .. } = *workload;
    let WorkloadOptions { region, uncached, .. } = workload.options;
    let options = WorkloadOptions { region, uncached, ..WorkloadOptions::default() };
    Workload { rw: Rw::Randread, bs: BLOCK, iodepth: 1, threads: 1, cache, engine, options, ..Workload::default() }
}

/// Adds random readers to an engine. They start with the first submission, and each sends its next request as soon as
/// the last one is done. The driver of the engine sees only that its own requests wait longer.
///
/// Used in virtual time, where all lanes have to share one clock.
pub(crate) struct BackgroundReaders {
    inner: Box<dyn Engine>,
    /// The first slot of the readers; those below belong to the driver.
    first_slot: u32,
    readers: u32,
    span_bytes: u64,
    random: Xoshiro256PlusPlus,
    begun: Option<Nanos>,
    came: Vec<Completion>,
    account: ReaderAccount,
}

/// Counts of what the readers have done so far; clones share the counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReaderAccount(Arc<Done>);

#[derive(Debug, Default)]
struct Done {
    ios: AtomicU64,
    bytes: AtomicU64,
    short_transfers: AtomicU64,
    elapsed_ns: AtomicU64,
    errors: Mutex<BTreeMap<Errno, u64>>,
}

impl ReaderAccount {
    /// All readers as one lane.
    pub(crate) fn lane(&self) -> LaneRecord {
        let ios = self.0.ios.load(Ordering::Relaxed);
        let elapsed_ns = self.0.elapsed_ns.load(Ordering::Relaxed);
        let bytes = self.0.bytes.load(Ordering::Relaxed);
        LaneRecord { role: LaneRole::Random, cpu: None, elapsed_ns, bytes, ios, reads: None, writes: None }
    }

    /// Number of requests that moved fewer bytes than asked.
    pub(crate) fn short_transfers(&self) -> u64 {
        self.0.short_transfers.load(Ordering::Relaxed)
    }

    /// Number of failed requests, by error.
    pub(crate) fn errors(&self) -> BTreeMap<Errno, u64> {
        self.0.errors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, result: Result<u32, Errno>) {
        match result {
            Ok(moved) => {
                self.0.ios.fetch_add(1, Ordering::Relaxed);
                self.0.bytes.fetch_add(u64::from(moved), Ordering::Relaxed);
                self.0.short_transfers.fetch_add(u64::from(u64::from(moved) < BLOCK.0), Ordering::Relaxed);
            }
            Err(errno) => {
                *self.0.errors.lock().unwrap_or_else(PoisonError::into_inner).entry(errno).or_default() += 1;
            }
        }
    }
}

impl BackgroundReaders {
    /// Adds `readers` to `inner`, which must have a slot for each of them beyond the driver's `depth`.
    pub(crate) fn new(inner: Box<dyn Engine>, depth: u32, readers: u32, span_bytes: u64, seed: u64) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x7265_6164_6572_7300);
        let came = Vec::with_capacity((depth + readers) as usize);
        let account = ReaderAccount::default();
        Self { inner, first_slot: depth, readers, span_bytes, random, begun: None, came, account }
    }

    /// A handle to the readers' counts.
    pub(crate) fn account(&self) -> ReaderAccount {
        self.account.clone()
    }

    fn request(&mut self, slot: u32) -> Request {
        let blocks = self.span_bytes / BLOCK.0;
        let block = ((u128::from(self.random.next_u64()) * u128::from(blocks)) >> 64) as u64;
        Request { slot, operation: Operation::Read, offset: block * BLOCK.0, length: BLOCK.0 as u32 }
    }

    /// Resubmits the readers' requests and passes the driver's completions on.
    fn sort_out(&mut self, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        let mut came = std::mem::take(&mut self.came);
        for completion in came.drain(..) {
            if completion.slot < self.first_slot {
                done.push(completion);
            } else {
                self.account.add(completion.result);
                let again = self.request(completion.slot);
                self.inner.submit(&[again])?;
            }
        }
        self.came = came;
        if done.len() > before
            && let Some(begun) = self.begun
        {
            self.account.0.elapsed_ns.store(self.inner.now().0 - begun.0, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Engine for BackgroundReaders {
    fn now(&self) -> Nanos {
        self.inner.now()
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        if self.begun.is_none() {
            self.begun = Some(self.inner.now());
            for reader in 0..self.readers {
                let first = self.request(self.first_slot + reader);
                self.inner.submit(&[first])?;
            }
        }
        self.inner.submit(batch)
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let wanted = done.len() + least;
        loop {
            self.inner.reap(usize::from(done.len() < wanted), &mut self.came)?;
            self.sort_out(done)?;
            if done.len() >= wanted {
                return Ok(());
            }
        }
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        loop {
            self.inner.reap_until(until, &mut self.came)?;
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
            let mut engine = BackgroundReaders::new(inner, 1, readers, 1 << 20, 7);
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
    fn a_reader_reads_the_path_that_the_workload_takes() {
        let workload = Workload { cache: halfpower_spec::Cache::Both, iodepth: 8, ..Workload::default() };
        let reader = reader(&workload);
        assert_eq!(
            (reader.rw, reader.bs, reader.iodepth, reader.cache),
            (Rw::Randread, BLOCK, 1, halfpower_spec::Cache::Both)
        );
    }
}
