//! Defines the interface of real and simulated targets.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use halfpower_engine::{Engine, Errno};
use halfpower_record::{
    Anatomy, Cpu, DeviceUse, Environment, FarEnd, LaneRecord, LaneRole, Noise, Predicted, Record, Tcp,
};
use halfpower_spec::{Bytes, EngineName, Nanos, Pass, Run, Workload};

use crate::MeasureError;
use crate::silence::Silence;

/// One submitter of requests: an engine, its depth, and the part of the target that it works on.
pub struct Lane {
    /// Issues its requests.
    pub engine: Box<dyn Engine>,
    /// Number of requests it keeps in flight.
    pub depth: u32,
    /// Bytes of the target that its offsets are drawn from.
    pub range: Range<u64>,
    /// Whether each block may be used only once, for example because a second visit would find it in the page cache.
    pub once: bool,
    /// Bytes after which its window ends; `None` lets its time alone end it.
    pub most_bytes: Option<u64>,
    /// Whether it carries the workload, or reads in the background.
    pub role: LaneRole,
    /// The processor that it is pinned to; `None` means any.
    pub cpu: Option<usize>,
}

/// The flush that ends a run, which makes all durable that it wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosingFlush {
    /// There is none.
    None,
    /// All of it counts in the time of the run, and so do the requests in flight before it.
    Counts,
    /// Of it counts what it takes beyond the same flush with nothing left to write, which is asked right after it: the way to
    /// a server and back is no part of the rate, and in a short window it would be a large one. Requests in flight when the
    /// window closes do not count, as without a flush.
    CountsBeyondAnswer,
}

impl ClosingFlush {
    /// One that counts, or none.
    pub fn counts_if(flushes: bool) -> Self {
        if flushes { Self::Counts } else { Self::None }
    }
}

/// A target made ready for one run.
pub struct Prepared {
    /// The lanes of the workload's threads and of its background readers.
    pub lanes: Vec<Lane>,
    /// The engine that `auto` became.
    pub engine: EngineName,
    /// Bytes that the run works on, of the target or of memory.
    pub span_bytes: u64,
    /// Bytes of the target over which these are spread in pieces; `None` if they are contiguous.
    pub spread_bytes: Option<u64>,
    /// Bytes of the span in the page cache now; `None` if unknown.
    pub cached_bytes: Option<u64>,
    /// Number of physical memory segments of a direct request's buffer; `None` if unknown.
    pub buffer_segments: Option<f64>,
    /// Least time for which each lane keeps its queue full and turns it over once before the window opens; `None` opens it
    /// with an empty queue.
    pub warms_up: Option<Nanos>,
    /// The flush at the end of the run.
    pub flush: ClosingFlush,
    /// How long the target may be silent after the window before the run is given up; `None` in virtual time.
    pub silence: Option<Silence>,
}

/// The account of one run: processor time, and what else its pass observes.
pub trait Account {
    /// Called right before the first submission.
    ///
    /// # Errors
    /// If the run must not begin, because another process that takes part in it failed.
    fn begin(&mut self) -> Result<(), MeasureError>;
    /// Called right after the last completion.
    fn end(&mut self) -> Spent;
}

/// What was spent and observed between the beginning and the end of an account.
#[derive(Debug, Clone, Default)]
pub struct Spent {
    /// Processor time.
    pub cpu: Cpu,
    /// Activity of others on the machine.
    pub noise: Noise,
    /// What the block devices under the target did.
    pub devices: Vec<DeviceUse>,
    /// TCP statistics, if the run used our own connections.
    pub tcp: Option<Box<Tcp>>,
    /// What the far end spent, if a witness there reports it.
    pub far_end: Option<Box<FarEnd>>,
    /// New notes for the environment.
    pub notes: Vec<String>,
    /// The time that requests spent in each phase, if that was traced.
    pub anatomy: Option<Anatomy>,
    /// Background reads made inside the workload's engine, not by their own lanes.
    pub beside: Option<LaneRecord>,
    /// Failed requests among these, by error.
    pub beside_errors: BTreeMap<Errno, u64>,
    /// Requests among these that moved fewer bytes than asked.
    pub beside_short_transfers: u64,
    /// Time within the run in which this process did not run at all: it or the machine was stopped.
    pub stopped_ns: u64,
}

/// A target, real or simulated, with its environment.
pub trait TargetBackend {
    /// What it is and where it lies.
    fn environment(&self) -> &Environment;
    /// The same, to add what was learnt elsewhere.
    fn environment_mut(&mut self) -> &mut Environment;
    /// Adds a note to the environment, unless it is there already.
    fn note(&mut self, note: &str) {
        let notes = &mut self.environment_mut().notes;
        if !notes.iter().any(|known| known == note) {
            notes.push(note.to_string());
        }
    }
    /// Called if the kernel returned requests of a run unserved (EAGAIN): passes all further requests to kernel
    /// workers, which may wait. Returns whether that changes anything, so that the run is worth repeating.
    fn hand_to_workers(&mut self) -> bool {
        false
    }
    /// How far the rate of `workload` may be from the truth, on a target that predicts it from a calibration.
    fn predicted(&self, _workload: &Workload) -> Option<Predicted> {
        None
    }
    /// Bytes that offsets are drawn from.
    fn span_bytes(&self) -> u64;
    /// Checks that it can run `workload`.
    ///
    /// # Errors
    /// A sentence that says why not.
    fn admits(&self, workload: &Workload) -> Result<(), MeasureError>;
    /// Lays out what the first run needs; `span` asks for exactly the size of an earlier start.
    ///
    /// # Errors
    /// If there is no room, or [`MeasureError::Interrupted`] if `stop` was set.
    fn make_ready(&mut self, span: Option<Bytes>, stop: &AtomicBool) -> Result<(), MeasureError>;
    /// Tells the other processes of this run to begin. Returns this process's part of it: all of it if the process is
    /// alone, `None` if it takes no part.
    ///
    /// # Errors
    /// If the processes that the run names do not exist, or cannot be reached.
    fn share_out(&mut self, run: &Run) -> Result<Option<Run>, MeasureError> {
        Ok(Some(*run))
    }
    /// Merges the parts of a run that all processes made. `made` is this one's part, `None` if it took no part. Returns
    /// `None` if the run must be repeated.
    ///
    /// # Errors
    /// If any of the processes failed.
    fn put_together(
        &mut self,
        _run: &Run,
        made: Option<Result<Record, MeasureError>>,
        _stop: &AtomicBool,
    ) -> Result<Option<Record>, MeasureError> {
        made.transpose()
    }
    /// Makes the target ready for a run and opens its engines.
    ///
    /// # Errors
    /// If that fails, or [`MeasureError::Interrupted`] if `stop` was set; the run is then lost, but the target stays
    /// usable.
    fn prepare(&mut self, run: &Run, stop: &AtomicBool) -> Result<Prepared, MeasureError>;
    /// Called after a direct run that moved `bytes` and began with `cached_before` bytes of the target in the page
    /// cache. If the page cache now holds a large part of them, it adds a note: some file systems take direct requests
    /// through the page cache without a word.
    fn check_direct(&mut self, _run: &Run, _cached_before: Option<u64>, _bytes: u64) {}
    /// Called after a buffered run: bytes of the target that the page cache now holds; `None` if unknown.
    fn cached_after(&self, _run: &Run) -> Option<u64> {
        None
    }
    /// Reads back what a verified run has written, from every copy; returns the number of bad blocks, by kind of error.
    ///
    /// # Errors
    /// If that fails, or [`MeasureError::Interrupted`] if `stop` was set.
    fn read_back(&mut self, _run: &Run, _stop: &AtomicBool) -> Result<BTreeMap<String, u64>, MeasureError> {
        Ok(BTreeMap::new())
    }
    /// Makes the account for a run of this pass; the soaker's pass waits for its baseline here.
    ///
    /// # Errors
    /// If the soaker or the tracer cannot be started.
    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError>;
    /// Time per request of the null engine at this depth, in nanoseconds.
    fn harness_ns_per_io(&mut self, depth: u32) -> f64;
    /// Time per request of one lane of `workload` if only our own client and loopback limit it, in nanoseconds; `None`
    /// if the target uses no client of ours.
    fn client_ns_per_io(&mut self, _workload: &Workload) -> Option<f64> {
        None
    }
    /// The target's own clock, in nanoseconds from an arbitrary start; budgets are counted in it.
    fn clock_ns(&self) -> u64;
    /// Unix time in milliseconds; 0 in virtual time.
    fn unix_ms(&self) -> u64;
}

/// Writes the methods of [`TargetBackend`] that a target leaves to the one inside it, `forwards!(inner: environment clock_ns)`.
#[macro_export]
macro_rules! forwards {
    ($inner:ident: $($method:ident)*) => { $($crate::forwards!(@ $method $inner);)* };
    (@ environment $inner:ident) => {
        fn environment(&self) -> &halfpower_record::Environment {
            self.$inner.environment()
        }
    };
    (@ environment_mut $inner:ident) => {
        fn environment_mut(&mut self) -> &mut halfpower_record::Environment {
            self.$inner.environment_mut()
        }
    };
    (@ predicted $inner:ident) => {
        fn predicted(&self, workload: &halfpower_spec::Workload) -> Option<halfpower_record::Predicted> {
            self.$inner.predicted(workload)
        }
    };
    (@ span_bytes $inner:ident) => {
        fn span_bytes(&self) -> u64 {
            self.$inner.span_bytes()
        }
    };
    (@ make_ready $inner:ident) => {
        fn make_ready(
            &mut self,
            span: Option<halfpower_spec::Bytes>,
            stop: &std::sync::atomic::AtomicBool,
        ) -> Result<(), $crate::MeasureError> {
            self.$inner.make_ready(span, stop)
        }
    };
    (@ prepare $inner:ident) => {
        fn prepare(
            &mut self,
            run: &halfpower_spec::Run,
            stop: &std::sync::atomic::AtomicBool,
        ) -> Result<$crate::Prepared, $crate::MeasureError> {
            self.$inner.prepare(run, stop)
        }
    };
    (@ check_direct $inner:ident) => {
        fn check_direct(&mut self, run: &halfpower_spec::Run, cached_before: Option<u64>, bytes: u64) {
            self.$inner.check_direct(run, cached_before, bytes);
        }
    };
    (@ cached_after $inner:ident) => {
        fn cached_after(&self, run: &halfpower_spec::Run) -> Option<u64> {
            self.$inner.cached_after(run)
        }
    };
    (@ read_back $inner:ident) => {
        fn read_back(
            &mut self,
            run: &halfpower_spec::Run,
            stop: &std::sync::atomic::AtomicBool,
        ) -> Result<std::collections::BTreeMap<String, u64>, $crate::MeasureError> {
            self.$inner.read_back(run, stop)
        }
    };
    (@ harness_ns_per_io $inner:ident) => {
        fn harness_ns_per_io(&mut self, depth: u32) -> f64 {
            self.$inner.harness_ns_per_io(depth)
        }
    };
    (@ hand_to_workers $inner:ident) => {
        fn hand_to_workers(&mut self) -> bool {
            self.$inner.hand_to_workers()
        }
    };
    (@ client_ns_per_io $inner:ident) => {
        fn client_ns_per_io(&mut self, workload: &halfpower_spec::Workload) -> Option<f64> {
            self.$inner.client_ns_per_io(workload)
        }
    };
    (@ clock_ns $inner:ident) => {
        fn clock_ns(&self) -> u64 {
            self.$inner.clock_ns()
        }
    };
    (@ unix_ms $inner:ident) => {
        fn unix_ms(&self) -> u64 {
            self.$inner.unix_ms()
        }
    };
}
