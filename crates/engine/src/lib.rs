//! Carries requests to a target: one trait, one file for each engine.
//!
//! Requests enter in batches and completions leave in batches. A request names a *slot*, and the engine owns each
//! slot's buffer. No memory crosses the boundary, so an engine over io_uring is sound behind safe code. The clock
//! belongs to the engine, so a simulated target runs the same window in virtual time.

mod simulated;

pub use faulty_disk::{FaultCount, FaultKind, FaultLog, FaultyDisk};
pub use medium::SimulatedContents;
pub use simulated::{ProcessorAccount, Simulated};

mod check;
mod config;
mod errno;
mod faulty_disk;
mod file_operations;
mod io_uring;
mod ledger;
mod libaio;
mod medium;
mod memory_engine;
mod mirror;
mod mmap;
mod null;
mod nvme_status;
mod open;
mod pause;
mod pieces;
mod pool;
mod share;
mod simulated_files;
mod spread;
mod stripe;
mod sync;
mod synchronous;
mod unit;
mod volume;

use halfpower_os::{Action, OsError, Transfer};
use halfpower_spec::{EngineName, Nanos};

pub use config::{EngineSettings, LaneMemory};
pub use errno::Errno;
pub use file_operations::{FileWork, open_files};
pub use ledger::{Ledger, MOST_UNDER_WAY};
pub use memory_engine::open_memory;
pub use open::{Opened, available, io_uring_available, open, open_volume};
pub use share::{ShareLane, open_share};
pub use simulated_files::SimulatedFiles;
pub use spread::{PieceList, Places, SpreadOver};
pub use unit::UNIT_BYTES;
pub use volume::{AddressMap, Volume};

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Fill the slot's buffer from the target.
    Read,
    /// Write the slot's buffer to the target, stamped so that no two blocks are equal.
    Write,
    /// Discard the range on a device, or punch it out of a file. The slot's buffer is not used, and the whole range
    /// counts as moved. Only engines that make one call for each request support it.
    Trim,
    /// Make everything written durable; offset and length are ignored.
    Flush,
}

/// One request: an operation on a range of the target, through a slot that is not in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The slot that carries it; less than the depth that the engine was opened with.
    pub slot: u32,
    /// What it does.
    pub operation: Operation,
    /// First byte of the range.
    pub offset: u64,
    /// Bytes in the range, at most the block size that the engine was opened with.
    pub length: u32,
}

impl From<&Request> for Transfer {
    #[inline]
    fn from(request: &Request) -> Self {
        let (action, length) = match request.operation {
            Operation::Read => (Action::Read, request.length),
            Operation::Write => (Action::Write, request.length),
            Operation::Flush => (Action::Flush, 0),
            // Callers send trims only to engines that make a call for each (see `Operation::Trim`).
            Operation::Trim => unreachable!("the kernel's asynchronous interfaces get no trims"),
        };
        Self { slot: request.slot, action, offset: request.offset, length }
    }
}

/// The result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The slot that is free again.
    pub slot: u32,
    /// Bytes moved (fewer than requested in a short transfer), or the error number of a failed request.
    pub result: Result<u32, Errno>,
}

/// The engine cannot go on. The run is lost, but the study continues.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The kernel refused a call that does not belong to a single request.
    #[error("{call} failed: {error}")]
    Call {
        /// The call that was refused.
        call: &'static str,
        /// Why.
        error: std::io::Error,
    },
    /// The file server, or the connection to it, cannot go on.
    #[error(transparent)]
    Share(#[from] halfpower_share::ShareError),
    /// This way of issuing requests is not available here.
    #[error("the engine {engine} cannot be used here: {why}")]
    Unavailable {
        /// The engine's name.
        engine: &'static str,
        /// Why, and what would help.
        why: String,
    },
}

/// The error of an engine that cannot be used, with the reason.
pub(crate) fn refusal(name: EngineName, why: String) -> EngineError {
    EngineError::Unavailable { engine: name.word(), why }
}

/// Converts a refusal of the system to the error of an engine.
pub(crate) fn unavailable(engine: &'static str) -> impl Fn(OsError) -> EngineError {
    move |error| EngineError::Unavailable { engine, why: reason(error) }
}

/// The reason alone, for sentences that already name the engine.
pub(crate) fn reason(error: OsError) -> String {
    match error {
        OsError::IoUring { why }
        | OsError::Aio { why }
        | OsError::Mapping { why }
        | OsError::NoCommands { why, .. } => why,
        other => other.to_string(),
    }
}

/// How the buffers of a lane lie.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BufferState {
    /// Whether the buffers should be registered with the kernel but could not be, which makes each request cost more.
    pub unregistered: bool,
    /// Number of physically contiguous segments that a buffer lies in, on average; `None` if it is unknown.
    pub segments: Option<f64>,
}

impl BufferState {
    /// The state of two lanes together: that of the lane with the worse buffers.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        let segments = self.segments.zip(other.segments).map(|(own, other)| own.max(other));
        Self { unregistered: self.unregistered || other.unregistered, segments }
    }
}

/// A way for requests to reach a target.
///
/// The caller keeps at most one request in each slot, and reaps every request before it drops the engine.
pub trait Engine: Send {
    /// The engine's clock, which never goes back.
    fn now(&self) -> Nanos;

    /// Prepares the engine on the thread that will drive it, before the window opens. The caller calls it once. Use it
    /// for work that must happen on that thread but not be measured: memory is allocated near the processor that
    /// touches it first. Most engines do nothing.
    ///
    /// # Errors
    /// If the engine cannot be used after all.
    fn settle(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// How the engine's buffers lie in memory.
    fn buffers(&self) -> BufferState {
        BufferState::default()
    }

    /// Number of requests that the kernel returned with EAGAIN and that the engine sent again; each still counts as one
    /// request with one completion.
    fn resubmitted_ios(&self) -> u64 {
        0
    }

    /// Number of reads that were to be checked and could not be judged, because their blocks were written meanwhile.
    fn unjudged_reads(&self) -> u64 {
        0
    }

    /// Takes requests. They may be in flight when this returns; the next `reap` sends the rest.
    ///
    /// # Errors
    /// If the engine as a whole fails; a failed request is a completion.
    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError>;

    /// Waits until at least `least` requests have completed (0: does not wait) and appends all completed requests.
    ///
    /// `done` never grows beyond the depth that the engine was opened with. A signal may end the wait early, with fewer
    /// completions.
    ///
    /// # Errors
    /// If the engine as a whole fails.
    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError>;

    /// Waits until a request completes or the clock reaches `until`, whichever comes first, and appends all completed
    /// requests. With nothing in flight it only lets time pass; open loops wait this way for their next request. This
    /// default polls and keeps a processor busy. An engine that can wait with a time limit sleeps instead and polls
    /// only at the end, so that it is exact to some microseconds.
    ///
    /// # Errors
    /// If the engine as a whole fails.
    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        loop {
            self.reap(0, done)?;
            if !done.is_empty() || self.now() >= until {
                return Ok(());
            }
            std::hint::spin_loop();
        }
    }
}
