//! Carries out requests on a pool of threads, one for each slot.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::{Builder, JoinHandle};

use halfpower_os::{Buffers, Clock, RunFile};
use halfpower_spec::Nanos;

use crate::check::Check;
use crate::config::EngineConfig;
use crate::pause::wait_until;
use crate::synchronous::carry_out;
use crate::{BufferState, Completion, Engine, EngineError, Request, unavailable};

/// Stack of a worker, which needs little more than the system call itself.
const STACK_BYTES: usize = 128 << 10;
/// Number of slots that are examined to see how the buffers lie.
const LOOKED_AT: u32 = 16;

/// Threads that wait for requests, one for each slot.
pub(crate) struct Pool {
    clock: Clock,
    /// One sender for each slot; dropping them ends the workers.
    requests: Vec<SyncSender<Request>>,
    completions: Receiver<Completion>,
    in_flight: usize,
    workers: Vec<JoinHandle<()>>,
    /// Number of segments of memory that a buffer lies in, on average.
    segments: Option<f64>,
}

impl Pool {
    pub(crate) fn new(config: EngineConfig) -> Result<Self, EngineError> {
        let file_of_slot = config.file_of_slot();
        let memory = config.memory();
        let payload = config.payload().map_err(unavailable("pool"))?;
        let EngineConfig { files, slots, slot_bytes, seed, check, .. } = config;
        let files: Vec<Arc<RunFile>> = files.into_iter().map(Arc::new).collect();
        let (done, completions) = sync_channel(slots as usize);
        let mut pool = Self {
            clock: Clock::new(),
            requests: Vec::with_capacity(slots as usize),
            completions,
            in_flight: 0,
            workers: Vec::with_capacity(slots as usize),
            segments: Some(0.0),
        };
        for (slot, file) in (0..slots).zip(file_of_slot) {
            // An odd multiplier keeps the seeds of all slots apart.
            let seed = seed.wrapping_add(u64::from(slot).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let buffer = Buffers::in_memory(memory, 1, slot_bytes, seed).map_err(unavailable("pool"))?;
            let buffer = payload.iter().fold(buffer, |buffer, payload| buffer.carrying(Arc::clone(payload)));
            if slot < LOOKED_AT {
                let least = slots.min(LOOKED_AT);
                pool.segments = pool.segments.zip(buffer.segments()).map(|(sum, own)| sum + own / f64::from(least));
            }
            let (request, requests) = sync_channel(1);
            let file = Arc::clone(&files[file as usize]);
            let done = done.clone();
            let check = check.clone();
            let worker = Builder::new()
                .name(format!("pool {slot}"))
                .stack_size(STACK_BYTES)
                .spawn(move || work(&file, buffer, check.as_deref(), &requests, &done))
                .map_err(|error| EngineError::Call { call: "starting a thread of the pool", error })?;
            pool.requests.push(request);
            pool.workers.push(worker);
        }
        Ok(pool)
    }

    fn take(&mut self, completion: Completion, done: &mut Vec<Completion>) {
        self.in_flight -= 1;
        done.push(completion);
    }
}

fn work(
    file: &RunFile,
    mut buffer: Buffers,
    check: Option<&Check>,
    requests: &Receiver<Request>,
    done: &SyncSender<Completion>,
) {
    for (serial, request) in (0..).zip(requests) {
        let result = carry_out(file, (&mut buffer, 0), check, &request, serial);
        if done.send(Completion { slot: request.slot, result }).is_err() {
            break;
        }
    }
}

impl Engine for Pool {
    fn now(&self) -> Nanos {
        Nanos(self.clock.now_ns())
    }

    fn buffers(&self) -> BufferState {
        BufferState { segments: self.segments, ..BufferState::default() }
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        for request in batch {
            self.requests[request.slot as usize].send(*request).map_err(|_| worker_lost())?;
            self.in_flight += 1;
        }
        Ok(())
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        for _ in 0..least.min(self.in_flight) {
            let completion = self.completions.recv().map_err(|_| worker_lost())?;
            self.take(completion, done);
        }
        loop {
            match self.completions.try_recv() {
                Ok(completion) => self.take(completion, done),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(worker_lost()),
            }
        }
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        wait_until(self, until, done, |pool, time, done| {
            match time.map(|time| pool.completions.recv_timeout(time)) {
                Some(Ok(completion)) => pool.take(completion, done),
                Some(Err(RecvTimeoutError::Disconnected)) => return Err(worker_lost()),
                Some(Err(RecvTimeoutError::Timeout)) | None => {}
            }
            pool.reap(0, done)
        })
    }
}

fn worker_lost() -> EngineError {
    EngineError::Call { call: "a thread of the pool", error: std::io::Error::other("it has ended") }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.requests.clear();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}
