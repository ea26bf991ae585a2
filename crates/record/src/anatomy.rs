//! Records where a run's requests spent their time below the application.

use serde::{Deserialize, Serialize};

/// The path of a run's requests through the kernel, from the tracepoints that they passed.
///
/// A request of the application may become several parallel requests of the block layer; its time is that of the last
/// one to finish.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Anatomy {
    /// Requests that were traced from end to end; the means are over these.
    pub requests: u64,
    /// Mean time in each phase, in the order of the path; their sum is the mean time from the first to the last
    /// tracepoint.
    pub phases: Vec<PhaseTime>,
    /// Block-layer requests that these became.
    pub block_requests: u64,
    /// Splits of requests larger than the device accepts at once.
    pub splits: u64,
    /// Block requests that were merged with a neighbour.
    pub merges: u64,
    /// Times that the driver returned a block request because it was full.
    pub requeues: u64,
    /// Requests with a missing tracepoint; they are in no other figure.
    pub unseen: u64,
    /// Events that the kernel could not record.
    pub lost_events: u64,
    /// Events at the start of the run that later ones overwrote; the means are over the rest of the run.
    pub overwritten_events: u64,
    /// Why there are no figures, if the trace could not be read.
    pub trouble: Option<String>,
}

/// The mean time in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PhaseTime {
    /// The phase.
    pub phase: Phase,
    /// Mean over all requests, in nanoseconds; a request that skipped the phase counts as 0.
    pub mean_ns: f64,
    /// Requests that passed the tracepoints at both its ends.
    pub requests: u64,
}

/// A section of the path between two tracepoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// From the ring to the block layer: the file system finds the blocks and pins the pages. A cgroup limit delays
    /// requests here.
    Submit,
    /// Until it has a block request and a tag: splitting, waiting for a free tag.
    Queue,
    /// Until it leaves the thread's plug, where requests wait for neighbours to merge with.
    Plug,
    /// Until it is handed to the driver: the scheduler's queue, and waiting while the driver is full.
    Scheduler,
    /// Until the device's interrupt, or without one until the driver's report: driver, link, device.
    Device,
    /// From the interrupt to the driver's report that the request is done.
    Interrupt,
    /// Until the completion on the ring: the file system ends the request and the thread is woken.
    Completion,
}

impl Phase {
    /// Every phase, in the order of the path.
    pub const ALL: [Self; 7] =
        [Self::Submit, Self::Queue, Self::Plug, Self::Scheduler, Self::Device, Self::Interrupt, Self::Completion];

    /// Its spelling.
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

    /// Mean time in a phase, in nanoseconds; 0 if no request passed it.
    pub fn mean_ns(&self, phase: Phase) -> f64 {
        self.phases.iter().find(|time| time.phase == phase).map_or(0.0, |time| time.mean_ns)
    }
}
