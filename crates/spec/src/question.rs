//! The question of a study: what is to be found out, over which settings, in how much time.
//!
//! A study file holds one question; the same question resumes it, a different one is refused.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::workload::words;
use crate::{Bytes, Cache, Direction, EngineName, Nanos, ParseError, Pattern, Rate, Switch};

words! {
    /// A named plan of cells.
    Experiment, "experiment":
    /// Offsets one after the other.
    Sequential = "sequential",
    /// Offsets anywhere.
    Random = "random",
}

impl Experiment {
    /// The order of offsets that it asks for.
    pub fn pattern(self) -> Pattern {
        match self {
            Self::Sequential => Pattern::Sequential,
            Self::Random => Pattern::Random,
        }
    }
}

/// What a study is to find out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// How requests are issued.
    pub engine: EngineName,
    /// Bytes of the target that are used; `None` takes 1 GiB of a folder, and all of a file or a device.
    pub size: Option<Bytes>,
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
            engine: EngineName::Auto,
            size: None,
            budget: Nanos(120_000_000_000),
            runtime: None,
            repeats: 3,
            peak: None,
            seed: 1,
            write_cache: None,
        }
    }
}
