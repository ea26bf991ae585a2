//! Describes the question of a study: the target, the experiments, the settings and the budget.
//!
//! A study file holds one question. The same question resumes it; a different one is refused.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{
    Application, Bytes, Cache, Direction, EngineName, HostFiles, Issuing, LatencyBound, Nanos, ParseError, Pattern,
    Rate, Sealing, Switch, WorkloadOptions,
};

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

/// Everything that a study is asked to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// The target, in its canonical text.
    pub target: String,
    /// Experiments to run.
    pub experiments: Vec<Experiment>,
    /// Directions to measure.
    pub directions: Vec<Direction>,
    /// Block sizes, ascending.
    pub bs: Vec<Bytes>,
    /// Depths, ascending.
    pub iodepth: Vec<u32>,
    /// Cache settings, the main one first.
    pub cache: Vec<Cache>,
    /// Submitting threads of every cell.
    pub threads: u32,
    /// Connections to a file server over which each thread's requests are spread.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub connections: u32,
    /// Whether messages to a file server are signed or encrypted.
    #[serde(default = "as_asked", skip_serializing_if = "is_as_asked")]
    pub sealing: Sealing,
    /// How requests are issued.
    pub engine: EngineName,
    /// How requests are handed to the kernel; `None` if no kernel is involved, and for studies of the first releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuing: Option<Issuing>,
    /// How many hosts divide the target among them.
    #[serde(default, skip_serializing_if = "HostFiles::is_usual")]
    pub host_files: HostFiles,
    /// Bytes of the target that are used; `None` takes 1 GiB of a folder, and all of a file or a device.
    pub size: Option<Bytes>,
    /// Whether these bytes are spread in pieces over the whole target.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spread: bool,
    /// Time that the whole study may take.
    pub budget: Nanos,
    /// Length of every window; `None` lets the planner choose.
    #[serde(default)]
    pub runtime: Option<Nanos>,
    /// Fewest runs of a cell.
    pub repeats: u32,
    /// Peak advertised performance from the data sheet.
    pub peak: Option<Rate>,
    /// Seed of the plan's order and of every run.
    pub seed: u64,
    /// Setting of the device's write cache for the study; `None` leaves it unchanged.
    #[serde(default)]
    pub write_cache: Option<Switch>,
    /// Price of the target, in any currency.
    #[serde(default)]
    pub price: Option<f64>,
    /// Most bytes that the experiment `sustain` may write; `None` leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustain_bytes: Option<Bytes>,
    /// The application that `application` is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
    /// The bound on latency under which the experiment `load` looks for the most load; `None` leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_bound: Option<LatencyBound>,
}

/// The value for studies that were made before this setting existed.
fn one() -> u32 {
    1
}

fn is_one(connections: &u32) -> bool {
    *connections == 1
}

fn as_asked() -> Sealing {
    Sealing::AsAsked
}

fn is_as_asked(sealing: &Sealing) -> bool {
    *sealing == Sealing::AsAsked
}

impl Question {
    /// The default question about `target`: both experiments, every axis, two minutes.
    pub fn about(target: impl Into<String>) -> Self {
        Self {
            target: target.into(),
            experiments: vec![Experiment::Sequential, Experiment::Random],
            directions: vec![Direction::Read, Direction::Write],
            bs: (12..=20).map(|power| Bytes(1 << power)).collect(),
            iodepth: vec![1, 2, 4, 8, 16, 32],
            cache: vec![Cache::Device, Cache::Both],
            threads: 1,
            connections: 1,
            sealing: Sealing::AsAsked,
            host_files: HostFiles::default(),
            engine: EngineName::Auto,
            issuing: None,
            size: None,
            spread: false,
            budget: Nanos(120_000_000_000),
            runtime: None,
            repeats: 3,
            peak: None,
            seed: 1,
            write_cache: None,
            price: None,
            sustain_bytes: None,
            application: None,
            latency_bound: None,
        }
    }

    /// The workload options that all cells of the study share, unless their experiment varies them.
    pub fn options(&self) -> WorkloadOptions {
        WorkloadOptions { connections: self.connections, sealing: self.sealing, ..WorkloadOptions::default() }
    }

    /// The orders of offsets for which the study walks block size and depth.
    pub fn patterns(&self) -> impl Iterator<Item = Pattern> + Clone + '_ {
        self.experiments.iter().filter_map(|experiment| experiment.pattern())
    }
}
