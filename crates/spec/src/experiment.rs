//! Names the experiments, and says how the runs of each are decided.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{ParseError, Pattern};

words! {
    /// A named plan of cells and its analysis.
    Experiment, "experiment":
    /// Offsets one after the other.
    Sequential = "sequential",
    /// Offsets anywhere.
    Random = "random",
    /// Buffered against direct I/O: call, copy and writeback.
    Buffered = "buffered",
    /// New, appended, allocated and written files: the cost of extending a file.
    Allocation = "allocation",
    /// Requests on and off the boundaries of chunks and blocks.
    Alignment = "alignment",
    /// One target, two, all: the number at which the shared path becomes the limit.
    Scaling = "scaling",
    /// Two copies against a stripe and a single disk.
    Mirror = "mirror",
    /// Throughput from the first to the last byte.
    Zones = "zones",
    /// The same few blocks repeatedly: the ceiling of controller and link.
    Burst = "burst",
    /// How fast the processors move memory.
    Memory = "memory",
    /// The cost of writes that are on the medium when they complete.
    Durability = "durability",
    /// One workload through every engine and way of issuing.
    Engines = "engines",
    /// One processor against all, on and off the processor that takes the interrupt.
    Processors = "processors",
    /// Several streams at once, and one against random requests.
    Streams = "streams",
    /// Where a request's time goes below the system call.
    Anatomy = "anatomy",
    /// Capacity and accesses for the price.
    Price = "price",
    /// The burst that a limit lets through after a rest, and the rate that it sustains.
    Credit = "credit",
    /// One host, two, all at once: the gain from each further host.
    Hosts = "hosts",
    /// Throughput of a share by block size, depth and connections, and its cost at both ends.
    Network = "network",
    /// Small writes that are made durable one by one, by one writer and by many: commits a second.
    Commits = "commits",
    /// Writes without a pause: the fast part, the rate after it, and what a rest brings back.
    Sustain = "sustain",
    /// The load of one application, what it needs, and what to set: takes a profile (`--for NAME`).
    Application = "application",
    /// The highest rate of an open loop at which a percentile of latency stays below a bound.
    Load = "load",
    /// Small files created, looked at, listed, renamed and removed, by threads and folders.
    Files = "files",
    /// The same bytes through each device of the stack: the time and the processor time that each layer adds.
    Layers = "layers",
    /// Writes of a part of a chunk, a chunk and a full stripe of an array with parity.
    Stripes = "stripes",
}

impl Experiment {
    /// The order of offsets of `sequential` and `random`, which walk block size and depth; `None` for all others.
    pub fn pattern(self) -> Option<Pattern> {
        match self {
            Self::Sequential => Some(Pattern::Sequential),
            Self::Random => Some(Pattern::Random),
            _ => None,
        }
    }

    /// Whether its runs are what it looks for, steady or not: a change of rate within a run, or requests that come at times
    /// of their own.
    pub fn looks_for_change(self) -> bool {
        matches!(self, Self::Credit | Self::Sustain | Self::Load)
    }

    /// Whether its runs have an order and a share of the budget of their own: its plan does not fix them.
    pub fn has_own_runs(self) -> bool {
        matches!(self, Self::Commits | Self::Application | Self::Sustain | Self::Load)
    }

    /// The experiment that walks block size and depth in this order; `sequential` for an unknown order, which no plan
    /// has.
    pub fn walking(pattern: Pattern) -> Self {
        match pattern {
            Pattern::Sequential | Pattern::Unknown => Self::Sequential,
            Pattern::Random => Self::Random,
        }
    }
}
