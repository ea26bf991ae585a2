//! Makes every run of a study a verified one, on a simulated disk.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use halfpower_engine::FaultLog;
use halfpower_measure::{Account, MeasureError, Prepared, SimulatedTarget, TargetBackend};
use halfpower_record::Environment;
use halfpower_spec::{Bytes, Pass, Run, SimulatedDisk, Workload, WorkloadOptions};

pub struct Verifying {
    target: SimulatedTarget,
    verifies: bool,
    /// The date in milliseconds since 1970, which is set back by an hour at each look; `None` for the target's own.
    date_ms: Option<AtomicU64>,
}

impl Verifying {
    pub fn new(disk: SimulatedDisk, verifies: bool) -> Self {
        Self { target: SimulatedTarget::new(disk), verifies, date_ms: None }
    }

    /// The same on a machine whose date somebody sets back again and again.
    pub fn with_a_date_that_is_set_back(self) -> Self {
        Self { date_ms: Some(AtomicU64::new(2_000_000_000_000)), ..self }
    }

    pub fn faults(&self) -> FaultLog {
        self.target.faults()
    }

    fn workload(&self, workload: &Workload) -> Workload {
        let options = WorkloadOptions { verify: self.verifies || workload.options.verify, ..workload.options };
        Workload { options, ..*workload }
    }

    fn run(&self, run: &Run) -> Run {
        Run { workload: self.workload(&run.workload), ..*run }
    }
}

impl TargetBackend for Verifying {
    fn environment(&self) -> &Environment {
        self.target.environment()
    }

    fn environment_mut(&mut self) -> &mut Environment {
        self.target.environment_mut()
    }

    fn span_bytes(&self) -> u64 {
        self.target.span_bytes()
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        self.target.admits(&self.workload(workload))
    }

    fn make_ready(&mut self, span: Option<Bytes>, stop: &AtomicBool) -> Result<(), MeasureError> {
        self.target.make_ready(span, stop)
    }

    fn prepare(&mut self, run: &Run, stop: &AtomicBool) -> Result<Prepared, MeasureError> {
        let run = self.run(run);
        self.target.prepare(&run, stop)
    }

    fn read_back(&mut self, run: &Run, stop: &AtomicBool) -> Result<BTreeMap<String, u64>, MeasureError> {
        let run = self.run(run);
        self.target.read_back(&run, stop)
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        self.target.account(pass)
    }

    fn harness_ns_per_io(&mut self, depth: u32) -> f64 {
        self.target.harness_ns_per_io(depth)
    }

    fn clock_ns(&self) -> u64 {
        self.target.clock_ns()
    }

    fn unix_ms(&self) -> u64 {
        let date_ms = self.date_ms.as_ref().map(|date_ms| date_ms.fetch_sub(3_600_000, Ordering::Relaxed));
        date_ms.unwrap_or_else(|| self.target.unix_ms())
    }
}
