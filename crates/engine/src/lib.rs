//! Carries requests to a target: one contract, one file for each engine.
//!
//! Requests enter in batches, completions leave in batches. A request names a *slot*; each slot owns a buffer
//! inside the engine, so that no memory crosses the boundary and an engine over io_uring is sound behind safe
//! code. The clock belongs to the engine, so that a simulated target runs the same window in virtual time.

mod simulated;

pub use fault_log::{FaultCount, FaultKind, FaultLog};
pub use faulty_disk::FaultyDisk;
pub use medium::SimulatedContents;
pub use simulated::{ProcessorAccount, Simulated};

mod buffer_state;
mod check;
mod config;
mod errno;
mod fault_log;
mod faulty_disk;
mod io_uring;
mod lane_memory;
mod ledger;
mod libaio;
mod medium;
mod memory_engine;
mod mirror;
mod mmap;
mod null;
mod open;
mod pause;
mod pieces;
mod pool;
mod settings;
mod share;
mod spread;
mod stripe;
mod sync;
mod synchronous;
mod transfer;
mod unavailable;
mod unit;
mod verified;
mod volume;

use halfpower_spec::Nanos;

pub use buffer_state::BufferState;
pub use errno::Errno;
pub use lane_memory::LaneMemory;
pub use ledger::{Ledger, MOST_UNDER_WAY};
pub use memory_engine::open_memory;
pub use open::{Opened, available, io_uring_available, open, open_volume};
pub use settings::EngineSettings;
pub use share::{ShareLane, open_share};
pub use spread::SpreadOver;
pub use unit::UNIT_BYTES;
pub use volume::{AddressMap, Volume};

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Fill the slot's buffer from the target.
    Read,
    /// Write the slot's buffer to the target, stamped so that no two blocks are alike.
    Write,
    /// Give the range back: discard it on a device, punch it out of a file. The slot's buffer takes no part, and all of
    /// the range counts as moved. Only engines that make a call for each request carry it out.
    Trim,
    /// Make everything that was written durable; offset and length are without meaning.
    Flush,
}

/// One request: an operation on a range of the target, by way of a slot that is not in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Which of the engine's slots carries it, below the depth that the engine was opened with.
    pub slot: u32,
    /// What it does.
    pub operation: Operation,
    /// First byte of the range.
    pub offset: u64,
    /// Bytes in the range, at most the block size that the engine was opened with.
    pub length: u32,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The slot that is free again.
    pub slot: u32,
    /// Bytes moved (fewer than asked: a short transfer), or the error number of a request that failed.
    pub result: Result<u32, Errno>,
}

/// The engine itself cannot go on; the run is lost, the study is not.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The kernel refused a call that carries no single request.
    #[error("{call} failed: {error}")]
    Call {
        /// The call that was refused.
        call: &'static str,
        /// Why.
        error: std::io::Error,
    },
    /// The file server, or the way to it, cannot go on.
    #[error(transparent)]
    Share(#[from] halfpower_share::ShareError),
    /// This way of issuing requests is not to be had here.
    #[error("the engine {engine} cannot be used here: {why}")]
    Unavailable {
        /// The engine's name.
        engine: &'static str,
        /// Why, and what would help.
        why: String,
    },
}

/// A way for requests to reach a target.
///
/// Whoever drives it keeps at most one request in each slot, and reaps everything before letting go.
pub trait Engine: Send {
    /// The engine's clock; it never goes back.
    fn now(&self) -> Nanos;

    /// Called once by the thread that will drive it, before its window opens: what is better done there (memory lies
    /// near the processor that touches it first) and shall not be measured. Most engines have nothing to do.
    ///
    /// # Errors
    /// Where the engine cannot be used after all.
    fn settle(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// How its buffers lie.
    fn buffers(&self) -> BufferState {
        BufferState::default()
    }

    /// Requests that the kernel gave back unserved (EAGAIN) and that the engine sent again; each is one request with one
    /// completion all the same.
    fn resubmitted_ios(&self) -> u64 {
        0
    }

    /// Takes requests; they may already be under way when this returns, and are at the latest in `reap`.
    ///
    /// # Errors
    /// Only what concerns the engine as a whole; a request that fails is a completion.
    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError>;

    /// Waits until at least `least` requests have completed (none: does not wait) and appends all that have.
    ///
    /// `done` is never asked to grow beyond the depth that the engine was opened with. A signal may end the
    /// wait early, with fewer.
    ///
    /// # Errors
    /// Only what concerns the engine as a whole.
    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError>;

    /// Waits until a request has completed or the clock has come to `until`, whichever is first, and appends all
    /// that have completed. With nothing in flight it only lets the time pass: an open loop waits so for its next
    /// request. This asks again and again, which keeps a processor busy; an engine that can sleep with a time limit does,
    /// but for the last stretch, so that it is exact to some microseconds.
    ///
    /// # Errors
    /// Only what concerns the engine as a whole.
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
