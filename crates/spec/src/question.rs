//! Describes the question of a study: the target, the experiments, the settings and the budget.
//!
//! A study file holds one question. The same question resumes it; a different one is refused.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{
    Bytes, Cache, Direction, EngineName, HostFiles, Issuing, Nanos, ParseError, Pattern, Rate, Sealing, Switch,
    WorkloadOptions,
};

words! {
    /// A named plan of cells, and what is made of them.
    Experiment, "experiment":
    /// Offsets one after the other.
    Sequential = "sequential",
    /// Offsets anywhere.
    Random = "random",
    /// Through the page cache against past it: call, copy and lazy writer.
    Buffered = "buffered",
    /// Files new, appended, allocated, written: what extending costs.
    Allocation = "allocation",
    /// Requests on and off the boundaries of chunks and blocks.
    Alignment = "alignment",
    /// One target, two, all: where the shared path takes over.
    Scaling = "scaling",
    /// Two copies against a stripe and a single disk.
    Mirror = "mirror",
    /// Throughput from the first to the last byte.
    Zones = "zones",
    /// The same few blocks again and again: the ceiling of controller and link.
    Burst = "burst",
    /// How fast the processors move memory.
    Memory = "memory",
    /// What it costs to have writes on the medium.
    Durability = "durability",
    /// One workload through every way of issuing it.
    Engines = "engines",
    /// One processor against all, on the interrupt's and off it.
    Processors = "processors",
    /// Several streams at once, and one against random requests.
    Streams = "streams",
    /// Where a request's time goes below the system call.
    Anatomy = "anatomy",
    /// Bytes and accesses for the money.
    Price = "price",
    /// What a limit lets through at once after a rest, and what it sustains.
    Credit = "credit",
    /// One host, two, all at once: what each further one brings.
    Hosts = "hosts",
    /// What a share gives by block size, depth and connections, and what it costs at both ends.
    Network = "network",
}

impl Experiment {
    /// The order of offsets, of the two experiments that walk block size and depth.
    pub fn pattern(self) -> Option<Pattern> {
        match self {
            Self::Sequential => Some(Pattern::Sequential),
            Self::Random => Some(Pattern::Random),
            _ => None,
        }
    }

    /// Whether a change of rate within a run is what it looks for.
    pub fn looks_for_change(self) -> bool {
        self == Self::Credit
    }

    /// The one of these two that walks this order; the first for an order that is not known, which no plan has.
    pub fn walking(pattern: Pattern) -> Self {
        match pattern {
            Pattern::Sequential | Pattern::Unknown => Self::Sequential,
            Pattern::Random => Self::Random,
        }
    }
}

/// What a study is to find out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// The target, in its canonical text.
    pub target: String,
    /// Which plans to run.
    pub experiments: Vec<Experiment>,
    /// Ways the bytes go.
    pub directions: Vec<Direction>,
    /// Block sizes, rising.
    pub bs: Vec<Bytes>,
    /// Depths, rising.
    pub iodepth: Vec<u32>,
    /// Cache settings, the chief one first.
    pub cache: Vec<Cache>,
    /// Submitting threads of every cell.
    pub threads: u32,
    /// Connections to a file server that the requests of each thread are shared out to.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub connections: u32,
    /// Whether messages to a file server are signed or encrypted.
    #[serde(default = "as_asked", skip_serializing_if = "is_as_asked")]
    pub sealing: Sealing,
    /// How requests are issued.
    pub engine: EngineName,
    /// How they are handed to the kernel; `None` where there is none, and for studies of the first releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuing: Option<Issuing>,
    /// How many hosts share it out.
    #[serde(default, skip_serializing_if = "HostFiles::is_usual")]
    pub host_files: HostFiles,
    /// Bytes of the target that are used; `None` takes 1 GiB of a folder, and all of a file or a device.
    pub size: Option<Bytes>,
    /// Whether these bytes lie in pieces over all of the target.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spread: bool,
    /// Time that the whole study may take.
    pub budget: Nanos,
    /// Length of every window; `None` lets the planner choose.
    #[serde(default)]
    pub runtime: Option<Nanos>,
    /// Fewest runs of a cell.
    pub repeats: u32,
    /// What the data sheet says the target can do.
    pub peak: Option<Rate>,
    /// Seed of the plan's order and of every run.
    pub seed: u64,
    /// How the device's own write cache is set for the study; `None` leaves it.
    #[serde(default)]
    pub write_cache: Option<Switch>,
    /// What the target costs, in any currency.
    #[serde(default)]
    pub price: Option<f64>,
}

/// As studies had it before there was a choice.
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
        }
    }

    /// The workload options that all cells of the study have in common, if their experiment does not turn them.
    pub fn options(&self) -> WorkloadOptions {
        WorkloadOptions { connections: self.connections, sealing: self.sealing, ..WorkloadOptions::default() }
    }

    /// The orders of offsets whose block sizes and depths the study walks.
    pub fn patterns(&self) -> impl Iterator<Item = Pattern> + Clone + '_ {
        self.experiments.iter().filter_map(|experiment| experiment.pattern())
    }
}
