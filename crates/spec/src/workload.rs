//! What is asked of a target: one workload, one run of it, and the words its settings are written in.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Arrivals, Bytes, Cache, EngineName, Experiment, Nanos, Pass, Rw, Twist};

/// One combination of settings; measured several times, it is a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Workload {
    /// Access pattern.
    pub rw: Rw,
    /// Share of reads in percent, where `rw` is mixed; without meaning elsewhere.
    pub rwmixread: u8,
    /// Bytes a request (SQLIO's request size).
    pub bs: Bytes,
    /// Requests kept outstanding by each thread.
    pub iodepth: u32,
    /// Submitting threads.
    pub threads: u32,
    /// Which caches take part.
    pub cache: Cache,
    /// How requests are issued.
    pub engine: EngineName,
    /// Requests a second that come to each thread, whether or not earlier ones are done (open loop); `None` issues
    /// a request as soon as another is done (closed loop).
    #[serde(default)]
    pub rate: Option<Arrival>,
    /// What an experiment turns beside these.
    #[serde(default, skip_serializing_if = "Twist::is_usual")]
    pub twist: Twist,
}

/// Requests that come at a rate of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Arrival {
    /// Requests a second, on the average.
    pub iops: u64,
    /// At which distances.
    pub arrivals: Arrivals,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            rw: Rw::Read,
            rwmixread: 50,
            bs: Bytes(64 * 1024),
            iodepth: 8,
            threads: 1,
            cache: Cache::Device,
            engine: EngineName::Auto,
            rate: None,
            twist: Twist::default(),
        }
    }
}

impl Workload {
    /// Requests outstanding over all threads.
    pub fn total_depth(&self) -> u32 {
        self.iodepth * self.threads
    }
}

/// The workload as the flags of `halfpower run`; equal workloads have equal text.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--rw {} ", self.rw)?;
        if self.rw.direction().is_none() {
            write!(f, "--rwmixread {} ", self.rwmixread)?;
        }
        write!(f, "--bs {} --iodepth {} --threads {} ", self.bs, self.iodepth, self.threads)?;
        write!(f, "--cache {} --engine {}", self.cache, self.engine)?;
        if let Some(Arrival { iops, arrivals }) = self.rate {
            write!(f, " --rate {iops} --arrivals {arrivals}")?;
        }
        write!(f, "{}", self.twist)
    }
}

/// One run: a workload of an experiment, measured once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Run {
    /// The plan it belongs to; `None` for `halfpower run`.
    pub experiment: Option<Experiment>,
    /// What is asked of the target.
    pub workload: Workload,
    /// Which repetition of its cell and pass this is, from 0.
    pub repeat: u32,
    /// What it is measured for.
    pub pass: Pass,
    /// How long the window stays open.
    pub runtime: Nanos,
    /// Seed of its offsets and of its payload.
    pub seed: u64,
}

impl Run {
    /// Whether it stands on the axes that studies walk: of `sequential` or `random` or of none, with nothing turned.
    pub fn walks(&self) -> bool {
        self.experiment.is_none_or(|experiment| experiment.pattern().is_some()) && self.workload.twist.is_usual()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_written_as_flags() {
        let workload = Workload { rw: Rw::Randmixed, ..Workload::default() };
        assert_eq!(
            workload.to_string(),
            "--rw randrw --rwmixread 50 --bs 64KiB --iodepth 8 --threads 1 --cache device --engine auto"
        );
    }
}
