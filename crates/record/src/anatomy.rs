//! Records where the time of a run's requests went below the application.

use serde::{Deserialize, Serialize};

/// The way of a run's requests through the kernel, by the tracepoints that they passed.
///
/// A request of the application may become several of the block layer, side by side; its time is that of the one which
/// was done last.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Anatomy {
    /// Requests whose whole way was seen; the means are theirs.
    pub requests: u64,
    /// Mean time in each phase, in the order of the way; their sum is the mean time from the first tracepoint to the
    /// last.
    pub phases: Vec<PhaseTime>,
    /// Requests that these became in the block layer.
    pub block_requests: u64,
    /// Cuts of what was more than the device takes at once.
    pub splits: u64,
    /// Block requests that rode on a neighbour.
    pub merges: u64,
    /// Times that the driver gave a block request back, being full.
    pub requeues: u64,
    /// Requests of which some step was not seen; they count for nothing else.
    pub unseen: u64,
    /// Events that the kernel could not write down.
    pub lost_events: u64,
    /// Events at the beginning of the run that later ones wrote over: the means are over the rest of the run.
    pub overwritten_events: u64,
    /// Why nothing is known, where the trace could not be read.
    pub trouble: Option<String>,
}

/// The mean time in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PhaseTime {
    /// Which.
    pub phase: Phase,
    /// Mean over all requests, in nanoseconds; a request that skipped the phase spent nothing in it.
    pub mean_ns: f64,
    /// Requests that passed the tracepoints at its ends.
    pub requests: u64,
}

/// A stretch of the way between two tracepoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// From being taken off the ring to reaching the block layer: the file system finds the blocks, the pages are
    /// held; where a limit of the cgroup holds requests back, it does so here.
    Submit,
    /// To having a request and a tag: splitting, waiting for a free one.
    Queue,
    /// To leaving the thread's plug, where requests wait for neighbours to merge with.
    Plug,
    /// To being handed to the driver: the scheduler's queue, and waiting while the driver is full.
    Scheduler,
    /// To the device's interrupt, or where none is seen, to the driver's report: the driver's way down, link, device.
    Device,
    /// From the interrupt to the driver's report that the request is done.
    Interrupt,
    /// To the answer on the ring: the file system's end of the request, and waking the thread.
    Completion,
}

impl Phase {
    /// Every phase, in the order of the way.
    pub const ALL: [Self; 7] =
        [Self::Submit, Self::Queue, Self::Plug, Self::Scheduler, Self::Device, Self::Interrupt, Self::Completion];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Queue => "queue",
            Self::Plug => "plug",
            Self::Scheduler => "scheduler",
            Self::Device => "device",
            Self::Interrupt => "interrupt",
            Self::Completion => "completion",
        }
    }
}

impl Anatomy {
    /// Mean time from the first tracepoint to the last, in nanoseconds.
    pub fn total_ns(&self) -> f64 {
        self.phases.iter().map(|phase| phase.mean_ns).sum()
    }

    /// Mean time in a phase, in nanoseconds; 0 where no request passed it.
    pub fn mean_ns(&self, phase: Phase) -> f64 {
        self.phases.iter().find(|time| time.phase == phase).map_or(0.0, |time| time.mean_ns)
    }
}
