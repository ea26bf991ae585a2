//! Checks that a run is made without the soaker if there is no room for the soaker's threads.

use std::sync::atomic::AtomicBool;

use halfpower_measure::{Account, MeasureError, Prepared, SimulatedTarget, TargetBackend, measure};
use halfpower_record::Environment;
use halfpower_spec::{Bytes, Nanos, Pass, Run, SimulatedDisk, Workload};

/// A simulated disk on a machine that has no room for threads beside the soaker's.
struct Crowded(SimulatedTarget);

impl TargetBackend for Crowded {
    fn environment(&self) -> &Environment {
        self.0.environment()
    }

    fn environment_mut(&mut self) -> &mut Environment {
        self.0.environment_mut()
    }

    fn span_bytes(&self) -> u64 {
        self.0.span_bytes()
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        self.0.admits(workload)
    }

    fn make_ready(&mut self, span: Option<Bytes>, stop: &AtomicBool) -> Result<(), MeasureError> {
        self.0.make_ready(span, stop)
    }

    fn prepare(&mut self, run: &Run, stop: &AtomicBool) -> Result<Prepared, MeasureError> {
        self.0.prepare(run, stop)
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        match pass {
            Pass::Soaker => Err(MeasureError::Thread { what: "could not be started".to_string() }),
            other => self.0.account(other),
        }
    }

    fn harness_ns_per_io(&mut self, depth: u32) -> f64 {
        self.0.harness_ns_per_io(depth)
    }

    fn clock_ns(&self) -> u64 {
        self.0.clock_ns()
    }

    fn unix_ms(&self) -> u64 {
        self.0.unix_ms()
    }
}

#[test]
fn a_run_beside_the_soaker_without_room_for_its_threads_is_made_without_it_and_says_so() {
    let mut backend = Crowded(SimulatedTarget::new(SimulatedDisk::default()));
    for repeat in 0..2 {
        let workload = Workload::default();
        let runtime = Nanos(50_000_000);
        let run = Run { experiment: None, workload, repeat, pass: Pass::Soaker, runtime, seed: 1 };
        let record = measure(&mut backend, &run, &AtomicBool::new(false)).unwrap();
        assert!(record.ios > 0 && record.cpu.soaker.is_none() && record.run.pass == Pass::Soaker);
    }
    let notes = &backend.environment().notes;
    assert_eq!(notes.iter().filter(|note| note.contains("known from below alone")).count(), 1, "{notes:?}");
}
