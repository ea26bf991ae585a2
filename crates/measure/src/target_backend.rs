//! Defines where runs happen: the one interface of real and simulated targets.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use halfpower_engine::{Engine, Errno};
use halfpower_record::{Anatomy, Cpu, Environment, FarEnd, LaneRecord, LaneRole, Noise, Record, Tcp};
use halfpower_spec::{Bytes, EngineName, Nanos, Pass, Run, Workload};

use crate::MeasureError;

/// One submitter: an engine, the depth it is kept at and the part of the target it works on.
pub struct Lane {
    /// How its requests go out.
    pub engine: Box<dyn Engine>,
    /// Requests it keeps outstanding.
    pub depth: u32,
    /// Bytes of the target that its offsets are drawn from.
    pub range: Range<u64>,
    /// Whether each block may be visited once only, since a second visit would find it in the page cache.
    pub once: bool,
    /// Whether it is one of the workload's, or reads beside them.
    pub role: LaneRole,
    /// The processor that it stays on; `None` is any.
    pub cpu: Option<usize>,
}

/// A target made ready for one run.
pub struct Prepared {
    /// One lane for each thread.
    pub lanes: Vec<Lane>,
    /// The engine that `auto` became.
    pub engine: EngineName,
    /// Bytes that the run works on, of the target or of memory.
    pub span_bytes: u64,
    /// Bytes of the target over which these lie in pieces; `None` where they are one part.
    pub spread_bytes: Option<u64>,
    /// Bytes of the span in the page cache now; `None` where that cannot be told.
    pub cached_bytes: Option<u64>,
    /// In how many segments of memory the buffer of a direct request lies; `None` where that cannot be told.
    pub buffer_segments: Option<f64>,
    /// Whether the queue turns over once before the window opens.
    pub warms_up: bool,
    /// Whether the run ends with a flush inside its clock.
    pub flush: bool,
    /// How long the target may be silent beyond the window before the run is given up; `None` in virtual time.
    pub silence: Option<Nanos>,
}

/// The account of one run: of the processors, and of what else its pass looks at.
pub trait Account {
    /// Called right before the first submission.
    ///
    /// # Errors
    /// Where the run must not begin, since another process that makes it too could not.
    fn begin(&mut self) -> Result<(), MeasureError>;
    /// Called right after the last reaping.
    fn end(&mut self) -> Spent;
}

/// What happened between the two ends of an account.
#[derive(Debug, Clone, Default)]
pub struct Spent {
    /// What the processors spent.
    pub cpu: Cpu,
    /// Who else was there.
    pub noise: Noise,
    /// What TCP did below the requests, where our own connections took part.
    pub tcp: Option<Box<Tcp>>,
    /// What the far end spent, where a witness there tells.
    pub far_end: Option<Box<FarEnd>>,
    /// What was learnt meanwhile, for the environment's notes.
    pub notes: Vec<String>,
    /// Where the requests' time went, where that was traced.
    pub anatomy: Option<Anatomy>,
    /// What was read beside the workload inside its engine, and not by a lane.
    pub beside: Option<LaneRecord>,
    /// Its requests that failed.
    pub beside_errors: BTreeMap<Errno, u64>,
    /// Its requests that moved fewer bytes than asked.
    pub beside_short_transfers: u64,
}

/// A target, real or simulated, with everything that is around it.
pub trait TargetBackend {
    /// What it is.
    fn environment(&self) -> &Environment;
    /// The same, to add what was learnt of it elsewhere.
    fn environment_mut(&mut self) -> &mut Environment;
    /// Adds what was learnt of it while runs were made, once.
    fn note(&mut self, note: &str) {
        let notes = &mut self.environment_mut().notes;
        if !notes.iter().any(|known| known == note) {
            notes.push(note.to_string());
        }
    }
    /// The kernel gave requests of a run back unserved: from now on its workers, which may wait, are to carry all requests.
    /// Gives whether that changes anything, so that the run is worth another window.
    fn hand_to_workers(&mut self) -> bool {
        false
    }
    /// Bytes that offsets are drawn from.
    fn span_bytes(&self) -> u64;
    /// Whether `workload` can be asked of it.
    ///
    /// # Errors
    /// A sentence that says why not.
    fn admits(&self, workload: &Workload) -> Result<(), MeasureError>;
    /// Lays out what has to be there before the first run; `span` asks for exactly the size of an earlier time.
    ///
    /// # Errors
    /// Where there is no room, or [`MeasureError::Interrupted`] when `stop` was set.
    fn make_ready(&mut self, span: Option<Bytes>, stop: &AtomicBool) -> Result<(), MeasureError>;
    /// Tells the processes that make this run too to begin with it; gives this process's own part of it, or `None` where it
    /// takes no part. A process that is alone makes all of it.
    ///
    /// # Errors
    /// Where there are no such processes, or they cannot be told.
    fn share_out(&mut self, run: &Run) -> Result<Option<Run>, MeasureError> {
        Ok(Some(*run))
    }
    /// Puts together what all processes made of a run, `made` by this one (`None` where it took no part); gives `None`
    /// where the run has to be made again.
    ///
    /// # Errors
    /// What kept any of them from making it.
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
    /// Where that fails, or [`MeasureError::Interrupted`] when `stop` was set; the run is lost then, the target is not.
    fn prepare(&mut self, run: &Run, stop: &AtomicBool) -> Result<Prepared, MeasureError>;
    /// Reads back what a run that is verified has written, from every copy; gives what was found wrong, by kind.
    ///
    /// # Errors
    /// Where that cannot be done, or [`MeasureError::Interrupted`] when `stop` was set.
    fn read_back(&mut self, _run: &Run, _stop: &AtomicBool) -> Result<BTreeMap<String, u64>, MeasureError> {
        Ok(BTreeMap::new())
    }
    /// Starts the account for a run of this pass, which may take a moment for the soaker's baseline.
    ///
    /// # Errors
    /// Where the account cannot be had.
    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError>;
    /// What the null engine takes a request at this depth, in nanoseconds.
    fn harness_ns_per_io(&mut self, depth: u32) -> f64;
    /// What one lane of `workload` takes between two requests where only our own client and loopback stand in the way, in
    /// nanoseconds; `None` where no client of ours takes part.
    fn client_ns_per_io(&mut self, _workload: &Workload) -> Option<f64> {
        None
    }
    /// The target's own clock, in nanoseconds from an instant of its own; what the budget is counted in.
    fn clock_ns(&self) -> u64;
    /// Unix time in milliseconds; 0 in virtual time.
    fn unix_ms(&self) -> u64;
}
