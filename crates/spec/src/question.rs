//! Describes the question of a study: the target, the experiments, the settings and the budget.
//!
//! A study file holds one question. The same question resumes it; a different one is refused.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Application, Bytes, Cache, Direction, EngineName, Experiment, HostFiles, Issuing, LatencyBound, Nanos, Pattern,
    Rate, Sealing, Switch, WorkloadOptions,
};

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
    /// Sessions: 1 is the ordinary study. Each further one measures the cells of the answer again, with a fresh layout and
    /// in a process of its own.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub sessions: u32,
}

/// The value for studies that were made before this setting existed.
fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
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
            sessions: 1,
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
