//! Runs systems under loads, each combination once, and keeps the outcomes.
//!
//! The loop does in virtual time what a measured window does: a constant number of requests is in flight, and each
//! completed request is replaced at once. The first part of the run warms up caches and buffers and is not counted.

use std::collections::HashMap;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::reproduction::workload::{PaperPattern, PaperWorkload};
use crate::{
    Moment, Observed, Operation, PathModel, ProcessorTime, Setting, Stack, Submission, System, SystemError, systems,
};

/// Bytes that warm up a buffered run: the cache must be full of written data.
const WARM_UP_BYTES: u64 = 14_000_000;
const SEED: u64 = 1;

/// The result of one run.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Result for the application.
    pub outcome: Outcome,
    /// Traffic on the disks' buses, including the warm-up.
    pub observed: Observed,
    /// Seconds since the first submission, including the warm-up.
    pub whole_seconds: f64,
    /// Requests since the first submission, including the warm-up.
    pub whole_ios: u64,
}

/// The systems and their runs so far.
#[derive(Debug, Default)]
pub struct Bench {
    systems: HashMap<&'static str, System>,
    runs: HashMap<String, Measured>,
    requests: u64,
}

impl Bench {
    /// Requests simulated so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// A system included in the model crate.
    ///
    /// # Errors
    /// If its text is not a system.
    pub fn system(&mut self, name: &'static str) -> Result<&System, SystemError> {
        if !self.systems.contains_key(name) {
            let text = systems().iter().find(|system| system.name == name).map_or("", |system| system.text);
            self.systems.insert(name, System::from_toml(text)?);
        }
        Ok(&self.systems[name])
    }

    /// One run of a workload at one size and depth.
    ///
    /// # Errors
    /// If the system lacks a part that the setting needs.
    pub fn run(
        &mut self,
        workload: &PaperWorkload,
        write: bool,
        bytes: u32,
        depth: u32,
    ) -> Result<Measured, SystemError> {
        let order = match workload.pattern {
            PaperPattern::Sequential => LoadOrder::Sequential,
            PaperPattern::Random => LoadOrder::Random,
            PaperPattern::CacheHit => LoadOrder::Again,
        };
        let separate_disks = if workload.per_disk { workload.setting.disks } else { 0 };
        let load = Load { order, write, bytes, depth, separate_disks, file_bytes: workload.file_bytes };
        self.run_load(workload.system, &workload.setting, &load)
    }

    fn run_load(&mut self, name: &'static str, setting: &Setting, load: &Load) -> Result<Measured, SystemError> {
        let key = format!("{name} {setting:?} {load:?}");
        if let Some(known) = self.runs.get(&key) {
            return Ok(known.clone());
        }
        let mut stack = self.system(name)?.path(setting, SEED)?;
        let separate = load.separate_disks.max(1);
        let count = match load.order {
            LoadOrder::Random => 4000.max(100 * u64::from(load.depth * separate)),
            _ => (40_000_000 / u64::from(load.bytes)).clamp(200, 6000),
        };
        let warm_up = if setting.buffered { WARM_UP_BYTES / u64::from(load.bytes) + 10 } else { count / 4 };
        let outcome = run(&mut stack, load, warm_up, count, SEED);
        self.requests += warm_up + count;
        let whole_seconds = stack.clock().ps() as f64 / 1e12;
        let observed = stack.observed().clone();
        let measured = Measured { outcome, observed, whole_seconds, whole_ios: warm_up + count };
        self.runs.insert(key, measured.clone());
        Ok(measured)
    }
}

/// Order of the offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoadOrder {
    /// One block after the other.
    Sequential,
    /// Blocks drawn from the whole volume.
    Random,
    /// The first block of each disk repeatedly.
    Again,
}

/// The requests of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Load {
    /// Order of the offsets.
    pub order: LoadOrder,
    /// Whether it writes.
    pub write: bool,
    /// Bytes a request.
    pub bytes: u32,
    /// Requests in flight: in total, or on each separate disk.
    pub depth: u32,
    /// Disks that it drives separately; 0 if they form one volume.
    pub separate_disks: u32,
    /// Bytes of the file; 0 for the whole volume.
    pub file_bytes: u64,
}

/// The result of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Counted requests.
    pub ios: u64,
    /// Virtual seconds for the counted requests.
    pub seconds: f64,
    /// Bytes a request.
    pub bytes: u32,
    /// Processor time of the machine with the disks, in seconds.
    pub processor: ProcessorSeconds,
    /// Processor time of a client over a network, in seconds.
    pub client: ProcessorSeconds,
}

/// Processor time in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProcessorSeconds {
    /// Charged to the process.
    pub charged: f64,
    /// All processor time of the machine.
    pub total: f64,
}

impl Outcome {
    /// Throughput in MB/s.
    pub fn mbps(&self) -> f64 {
        self.ios as f64 * f64::from(self.bytes) / self.seconds / 1e6
    }

    /// Requests a second.
    pub fn iops(&self) -> f64 {
        self.ios as f64 / self.seconds
    }

    /// All processor time a request, in microseconds.
    pub fn us_per_request(&self) -> f64 {
        self.processor.total * 1e6 / self.ios as f64
    }
}

/// The offsets of a load.
struct Offsets {
    load: Load,
    generator: Xoshiro256PlusPlus,
    blocks: u64,
    disk_bytes: u64,
    next: Vec<u64>,
}

impl Offsets {
    fn new(load: &Load, stack: &Stack, seed: u64) -> Self {
        let disks = load.separate_disks.max(1);
        let span = if load.separate_disks > 0 { stack.disk_bytes() } else { stack.bytes() };
        let span = if load.file_bytes > 0 { span.min(load.file_bytes) } else { span };
        let blocks = match load.order {
            LoadOrder::Again => 1,
            _ => (span / u64::from(load.bytes)).max(1),
        };
        let generator = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x0ff5_e75e);
        Self { load: *load, generator, blocks, disk_bytes: stack.disk_bytes(), next: vec![0; disks as usize] }
    }

    fn next(&mut self, disk: usize) -> u64 {
        let block = if self.load.order == LoadOrder::Random {
            ((u128::from(self.generator.next_u64()) * u128::from(self.blocks)) >> 64) as u64
        } else {
            let block = self.next[disk];
            self.next[disk] = if block + 1 == self.blocks { 0 } else { block + 1 };
            block
        };
        disk as u64 * self.disk_bytes + block * u64::from(self.load.bytes)
    }
}

/// Runs `load` on `stack` until `count` requests have been counted, after `warm_up` uncounted ones.
pub fn run(stack: &mut Stack, load: &Load, warm_up: u64, count: u64, seed: u64) -> Outcome {
    let mut offsets = Offsets::new(load, stack, seed);
    let disks = load.separate_disks.max(1);
    let operation = if load.write { Operation::Write } else { Operation::Read };
    let mut request = |token: u32| {
        let offset = offsets.next((token % disks) as usize);
        Submission { token, operation, offset, length: load.bytes }
    };
    let mut began = Moment::default();
    for token in 0..load.depth * disks {
        let first = request(token);
        stack.submit(began, first);
    }
    let mut spent = (ProcessorTime::default(), ProcessorTime::default());
    let mut last = began;
    for number in 0..warm_up + count {
        let Some(completed) = stack.pop() else { break };
        last = completed.at;
        if number + 1 == warm_up {
            began = last;
            spent = (stack.processor_time(), stack.client_time());
        }
        let next = request(completed.token);
        stack.submit(last, next);
    }
    Outcome {
        ios: count,
        seconds: (last.ps() - began.ps()) as f64 / 1e12,
        bytes: load.bytes,
        processor: since(stack.processor_time(), spent.0),
        client: since(stack.client_time(), spent.1),
    }
}

fn since(now: ProcessorTime, then: ProcessorTime) -> ProcessorSeconds {
    let seconds = |now: u64, then: u64| (now - then) as f64 / 1e9;
    ProcessorSeconds {
        charged: seconds(now.charged_ns, then.charged_ns),
        total: seconds(now.total_ns(), then.total_ns()),
    }
}
