//! Runs systems under loads, each combination once, and keeps the outcomes.

use std::collections::HashMap;

use crate::reproduction::closed_loop::{Load, LoadOrder, Outcome, run};
use crate::reproduction::workload::{PaperPattern, PaperWorkload};
use crate::{Observed, Setting, System, SystemError, systems};

/// Bytes that warm up a buffered run: the cache must be full of written data.
const WARM_UP_BYTES: u64 = 14_000_000;
const SEED: u64 = 1;

/// The result of one run.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Result for the application.
    pub outcome: Outcome,
    /// Traffic on the disks' buses, including the warm-up.
    pub observed: Observed,
    /// Seconds since the first submission, including the warm-up.
    pub whole_seconds: f64,
    /// Requests since the first submission, including the warm-up.
    pub whole_ios: u64,
}

/// The systems and their runs so far.
#[derive(Debug, Default)]
pub struct Bench {
    systems: HashMap<&'static str, System>,
    runs: HashMap<String, Measured>,
    requests: u64,
}

impl Bench {
    /// Requests simulated so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// A system included in the model crate.
    ///
    /// # Errors
    /// If its text is not a system.
    pub fn system(&mut self, name: &'static str) -> Result<&System, SystemError> {
        if !self.systems.contains_key(name) {
            let text = systems().iter().find(|system| system.name == name).map_or("", |system| system.text);
            self.systems.insert(name, System::from_toml(text)?);
        }
        Ok(&self.systems[name])
    }

    /// One run of a workload at one size and depth.
    ///
    /// # Errors
    /// If the system lacks a part that the setting needs.
    pub fn run(
        &mut self,
        workload: &PaperWorkload,
        write: bool,
        bytes: u32,
        depth: u32,
    ) -> Result<Measured, SystemError> {
        let order = match workload.pattern {
            PaperPattern::Sequential => LoadOrder::Sequential,
            PaperPattern::Random => LoadOrder::Random,
            PaperPattern::CacheHit => LoadOrder::Again,
        };
        let separate_disks = if workload.per_disk { workload.setting.disks } else { 0 };
        let load = Load { order, write, bytes, depth, separate_disks, file_bytes: workload.file_bytes };
        self.run_load(workload.system, &workload.setting, &load)
    }

    fn run_load(&mut self, name: &'static str, setting: &Setting, load: &Load) -> Result<Measured, SystemError> {
        let key = format!("{name} {setting:?} {load:?}");
        if let Some(known) = self.runs.get(&key) {
            return Ok(known.clone());
        }
        let mut stack = self.system(name)?.path(setting, SEED)?;
        let separate = load.separate_disks.max(1);
        let count = match load.order {
            LoadOrder::Random => 4000.max(100 * u64::from(load.depth * separate)),
            _ => (40_000_000 / u64::from(load.bytes)).clamp(200, 6000),
        };
        let warm_up = if setting.buffered { WARM_UP_BYTES / u64::from(load.bytes) + 10 } else { count / 4 };
        let outcome = run(&mut stack, load, warm_up, count, SEED);
        self.requests += warm_up + count;
        let whole_seconds = stack.clock().ps() as f64 / 1e12;
        let observed = stack.observed().clone();
        let measured = Measured { outcome, observed, whole_seconds, whole_ios: warm_up + count };
        self.runs.insert(key, measured.clone());
        Ok(measured)
    }
}
