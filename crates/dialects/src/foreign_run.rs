//! Builds records from another tool's results, and defines what reading its file gives: records, or what is wrong.

use std::collections::{BTreeMap, BTreeSet};

use halfpower_record::{ByDirection, Cpu, CpuTimes, Latency, Origin, Record, Unknown};
use halfpower_spec::{Direction, Experiment, Nanos, Pass, Run, Workload};

/// Largest plausible figure of bytes, requests or nanoseconds; sums of such figures do not overflow.
const MOST: f64 = 1e15;

/// A result of another tool; missing values have defaults and are listed in the origin.
pub struct ForeignRun {
    pub workload: Workload,
    pub experiment: Option<Experiment>,
    pub pass: Pass,
    pub repeat: u32,
    pub runtime_ns: u64,
    pub span_bytes: u64,
    pub started_unix_ms: u64,
    pub elapsed_ns: u64,
    pub read: Moved,
    pub write: Moved,
    /// Latencies of all requests.
    pub latency: Latency,
    pub errors: BTreeMap<String, u64>,
    pub short_transfers: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    pub machine: Vec<CpuTimes>,
    pub origin: Origin,
}

/// The requests of one direction.
#[derive(Debug, Clone, Default)]
pub struct Moved {
    pub bytes: u64,
    pub ios: u64,
    pub latency: Latency,
}

impl ForeignRun {
    /// A result of which only workload and origin are known so far.
    pub fn new(workload: Workload, origin: Origin) -> Self {
        Self {
            workload,
            experiment: None,
            pass: Pass::Plain,
            repeat: 0,
            runtime_ns: 0,
            span_bytes: 0,
            started_unix_ms: 0,
            elapsed_ns: 0,
            read: Moved::default(),
            write: Moved::default(),
            latency: Latency::default(),
            errors: BTreeMap::new(),
            short_transfers: 0,
            user_ns: 0,
            system_ns: 0,
            machine: Vec::new(),
            origin,
        }
    }

    pub fn into_record(mut self) -> Record {
        let unknown: &mut BTreeSet<Unknown> = &mut self.origin.unknown;
        unknown.insert(Unknown::Preparation);
        if self.latency.count() == 0 {
            unknown.insert(Unknown::Latency);
        }
        let knows_mix = !unknown.contains(&Unknown::Mix);
        let run = Run {
            experiment: self.experiment,
            workload: self.workload,
            repeat: self.repeat,
            pass: self.pass,
            runtime: Nanos(self.runtime_ns),
            seed: 0,
        };
        let elapsed_ns = self.elapsed_ns;
        let achieved_depth = self.depth();
        let Self { read, write, user_ns, system_ns, .. } = self;
        let ios = read.ios.saturating_add(write.ios);
        let apart = self.workload.rw.direction().is_none() && knows_mix;
        let sides = ByDirection { read_bytes: read.bytes, read_latency: read.latency, write_latency: write.latency };
        Record {
            span_bytes: self.span_bytes,
            started_unix_ms: self.started_unix_ms,
            spent_ns: elapsed_ns,
            elapsed_ns,
            bytes: read.bytes.saturating_add(write.bytes),
            ios,
            read_ios: read.ios,
            short_transfers: self.short_transfers,
            errors: self.errors,
            latency: self.latency,
            by_direction: apart.then_some(sides),
            achieved_depth,
            cpu: Cpu { span_ns: elapsed_ns, ios, user_ns, system_ns, machine: self.machine, ..Cpu::default() },
            origin: Some(Box::new(self.origin)),
            ..Record::empty(run, self.workload.engine)
        }
    }

    /// Mean number of requests in flight; 0 for a run of zero length.
    fn depth(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.latency.sum_ns() as f64 / self.elapsed_ns as f64 }
    }

    /// Adds the requests of one direction.
    pub fn moved(&mut self, direction: Direction, moved: Moved) {
        match direction {
            Direction::Read => self.read = moved,
            Direction::Write => self.write = moved,
        }
    }
}

/// A figure as a whole number; `None` if it is negative, not a number, or implausibly large.
pub fn whole(value: f64) -> Option<u64> {
    (value.is_finite() && (0.0..=MOST).contains(&value)).then(|| value.round() as u64)
}

/// What is wrong in a file, with the line if known.
pub(crate) struct FileError {
    pub line: Option<usize>,
    pub message: String,
}

impl FileError {
    pub fn at(line: usize, message: impl Into<String>) -> Self {
        Self { line: Some(line), message: message.into() }
    }

    pub fn of_file(message: impl Into<String>) -> Self {
        Self { line: None, message: message.into() }
    }
}

/// The contents of a file that a reader of one format found.
pub(crate) struct Found {
    pub version: Option<String>,
    pub date: Option<String>,
    pub host: Option<String>,
    pub records: Vec<Record>,
    pub left_out: Vec<String>,
}
