//! Carries out operations on small files of a simulated file system, in virtual time.
//!
//! Each slot is a thread. Its operation takes `file_op` (a listing takes it for every 64 files of the folder), of which one
//! that changes a folder spends `folder_lock` under the lock of its folder, at the end and one after the other. One that is
//! made durable waits for a flush after that: the device flushes once at a time, and each flush serves all that wait for one
//! when it begins.

use halfpower_model::{Moment, ProcessorTime, speed_of_run};
use halfpower_spec::{FileOperation, Folders, Nanos, SimulatedDisk, Workload};

use crate::simulated::ProcessorAccount;
use crate::{Completion, Engine, EngineError, Operation, Request};

/// Files of a folder that are listed in the time of one operation.
const LISTED: u32 = 64;

/// The engine of file operations on `sim:` targets.
pub struct SimulatedFiles {
    /// Time of an operation before its lock, under it, and of a flush after it; in nanoseconds.
    before_ns: u64,
    locked_ns: u64,
    flush_ns: Option<u64>,
    /// When the lock of each folder is free.
    free_at: Vec<u64>,
    device: Flushes,
    under_way: Vec<UnderWay>,
    clock: u64,
    /// Processor time of each operation, and of all so far.
    each: ProcessorTime,
    spent: ProcessorTime,
    account: ProcessorAccount,
}

/// An operation that ends at a known time.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    ends: u64,
    slot: u32,
    length: u32,
}

/// The flushes of the device.
#[derive(Debug, Default)]
struct Flushes {
    /// When the last one that began ends.
    ends: u64,
    /// Whether one waits for that, with all that it will serve.
    is_awaited: bool,
}

impl Flushes {
    /// When what asks for a flush at `asked` is durable.
    fn serve(&mut self, asked: u64, flush_ns: u64) -> u64 {
        loop {
            if asked < self.ends {
                self.is_awaited = true;
                return self.ends + flush_ns;
            }
            if !self.is_awaited {
                self.ends = asked + flush_ns;
                return self.ends;
            }
            // The one that was awaited has begun meanwhile.
            self.is_awaited = false;
            self.ends += flush_ns;
        }
    }
}

impl SimulatedFiles {
    /// The operations of `workload` on an idle `disk`; the clock begins at `start`. A disk without `file_op` takes no time
    /// for them.
    pub fn new(disk: &SimulatedDisk, workload: &Workload, run_seed: u64, start: Nanos) -> Self {
        let speed = speed_of_run(disk, run_seed);
        let of_run = |time: Nanos| (time.0 as f64 / speed).round() as u64;
        let changes = workload.options.file_operation.is_some_and(FileOperation::changes);
        let locked = if changes { disk.folder_lock } else { Nanos(0) };
        let whole = Nanos(disk.file_op.unwrap_or_default().0 * operations_of(workload));
        let folders = if workload.options.folders == Folders::Own { workload.threads.max(1) } else { 1 };
        let unseen_ns = (disk.cpu_fixed.0 as f64 * disk.unseen).round() as u64;
        let files = Self {
            before_ns: of_run(Nanos(whole.0.saturating_sub(locked.0))),
            locked_ns: of_run(locked),
            flush_ns: workload.cache.durable().then(|| of_run(disk.flush.unwrap_or_default())),
            free_at: vec![start.0; folders as usize],
            device: Flushes::default(),
            under_way: Vec::with_capacity(workload.threads as usize),
            clock: start.0,
            each: ProcessorTime { charged_ns: disk.cpu_fixed.0 - unseen_ns, unseen_ns },
            spent: ProcessorTime::default(),
            account: ProcessorAccount::default(),
        };
        files.account.write(start.into(), files.spent);
        files
    }

    /// A handle that reads the processor time, even while the engine is owned elsewhere.
    pub fn processor_time(&self) -> ProcessorAccount {
        self.account.clone()
    }

    /// When an operation of this slot ends that begins now.
    fn end_of(&mut self, slot: u32) -> u64 {
        let folders = self.free_at.len();
        let lock = &mut self.free_at[slot as usize % folders];
        let arrives = self.clock + self.before_ns;
        let done = if self.locked_ns == 0 {
            arrives
        } else {
            *lock = arrives.max(*lock) + self.locked_ns;
            *lock
        };
        self.flush_ns.map_or(done, |flush_ns| self.device.serve(done, flush_ns))
    }
}

/// Operations whose time one of `workload` takes.
fn operations_of(workload: &Workload) -> u64 {
    let in_one = if workload.options.folders == Folders::Own { 1 } else { workload.threads.max(1) };
    match workload.options.file_operation {
        Some(FileOperation::List) => u64::from(workload.options.file_count * in_one).div_ceil(u64::from(LISTED)),
        _ => 1,
    }
}

impl Engine for SimulatedFiles {
    fn now(&self) -> Nanos {
        Nanos(self.clock)
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        for Request { slot, operation, length, .. } in batch.iter().copied() {
            let ends = if operation == Operation::Flush { self.clock } else { self.end_of(slot) };
            self.under_way.push(UnderWay { ends, slot, length });
        }
        Ok(())
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let mut reaped = 0;
        while let Some(next) = self.first() {
            let UnderWay { ends, slot, length } = self.under_way[next];
            if reaped >= least && ends > self.clock {
                break;
            }
            self.under_way.swap_remove(next);
            self.clock = self.clock.max(ends);
            self.spent.charged_ns += self.each.charged_ns;
            self.spent.unseen_ns += self.each.unseen_ns;
            done.push(Completion { slot, result: Ok(length) });
            reaped += 1;
        }
        self.account.write(Moment::from(Nanos(self.clock)), self.spent);
        Ok(())
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let first = self.first().map_or(until.0, |next| self.under_way[next].ends.min(until.0));
        self.clock = self.clock.max(first);
        self.reap(0, done)
    }
}

impl SimulatedFiles {
    /// The operation that ends first.
    fn first(&self) -> Option<usize> {
        (0..self.under_way.len()).min_by_key(|at| (self.under_way[*at].ends, self.under_way[*at].slot))
    }
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Cache, FileOperation, WorkloadOptions};

    use super::*;

    /// Operations a second of `threads` threads, over a tenth of a second of virtual time.
    fn rate(constants: &str, operation: FileOperation, folders: Folders, threads: u32, cache: Cache) -> f64 {
        let disk = SimulatedDisk::from_constants(constants).unwrap();
        let options = WorkloadOptions { file_operation: Some(operation), folders, ..WorkloadOptions::default() };
        let workload = Workload { threads, cache, options, ..Workload::default() };
        let mut engine = SimulatedFiles::new(&disk, &workload, 1, Nanos(5_000));
        let mut free: Vec<u32> = (0..threads).collect();
        let mut count = 0;
        let mut done = Vec::new();
        while engine.now() < Nanos(100_005_000) {
            let batch: Vec<Request> = free
                .drain(..)
                .map(|slot| Request { slot, operation: Operation::Write, offset: 0, length: 4096 })
                .collect();
            engine.submit(&batch).unwrap();
            engine.reap(1, &mut done).unwrap();
            count += done.len();
            free.extend(done.drain(..).map(|completion| completion.slot));
        }
        count as f64 / (engine.now().0 - 5_000) as f64 * 1e9
    }

    #[test]
    fn a_lock_limits_the_threads_of_one_folder_and_no_other() {
        let disk = "file_op=20us,folder_lock=15us,flush=1ms";
        let near = |rate: f64, truth: f64| assert!((rate / truth - 1.0).abs() < 0.01, "{rate}: {truth}");
        near(rate(disk, FileOperation::Create, Folders::Own, 1, Cache::Both), 50e3);
        near(rate(disk, FileOperation::Create, Folders::Own, 8, Cache::Both), 400e3);
        near(rate(disk, FileOperation::Create, Folders::Shared, 8, Cache::Both), 1e6 / 15.0);
        near(rate(disk, FileOperation::Stat, Folders::Shared, 8, Cache::Both), 400e3);
        // Alone each waits for its own flush; together they share one.
        near(rate(disk, FileOperation::Create, Folders::Own, 1, Cache::Os), 1e6 / 1020.0);
        let together = rate(disk, FileOperation::Create, Folders::Own, 8, Cache::Os);
        assert!(together > 3.5e6 / 1020.0 && together < 8.1e6 / 1020.0, "{together}");
    }
}
