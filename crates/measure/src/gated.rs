//! Lets the windows of a target's runs open when a gate does, as for jobs that are measured at once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use halfpower_record::{Environment, Record};
use halfpower_spec::{Bytes, Pass, Run, Workload};

use crate::MeasureError;
use crate::target_backend::{Account, Prepared, Spent, TargetBackend};

/// Waits until a window may open; an error keeps the run from beginning.
type Gate = Box<dyn FnMut() -> Result<(), MeasureError>>;

/// A target whose runs are prepared, and then begin when a gate opens.
pub struct GatedTarget {
    target: Box<dyn TargetBackend>,
    gate: Rc<RefCell<Gate>>,
}

impl GatedTarget {
    /// Lets each run on `target` call `gate` when it is ready, right before its first submission.
    pub fn new(target: Box<dyn TargetBackend>, gate: impl FnMut() -> Result<(), MeasureError> + 'static) -> Self {
        let gate: Gate = Box::new(gate);
        Self { target, gate: Rc::new(RefCell::new(gate)) }
    }
}

impl TargetBackend for GatedTarget {
    fn environment(&self) -> &Environment {
        self.target.environment()
    }

    fn environment_mut(&mut self) -> &mut Environment {
        self.target.environment_mut()
    }

    // A window is never opened a second time: those beside it would be over.
    fn hand_to_workers(&mut self) -> bool {
        false
    }

    fn span_bytes(&self) -> u64 {
        self.target.span_bytes()
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        self.target.admits(workload)
    }

    fn make_ready(&mut self, span: Option<Bytes>, stop: &AtomicBool) -> Result<(), MeasureError> {
        self.target.make_ready(span, stop)
    }

    fn share_out(&mut self, run: &Run) -> Result<Option<Run>, MeasureError> {
        self.target.share_out(run)
    }

    fn put_together(
        &mut self,
        run: &Run,
        made: Option<Result<Record, MeasureError>>,
        stop: &AtomicBool,
    ) -> Result<Option<Record>, MeasureError> {
        self.target.put_together(run, made, stop)
    }

    fn prepare(&mut self, run: &Run, stop: &AtomicBool) -> Result<Prepared, MeasureError> {
        self.target.prepare(run, stop)
    }

    fn check_direct(&mut self, run: &Run, cached_before: Option<u64>, bytes: u64) {
        self.target.check_direct(run, cached_before, bytes);
    }

    fn read_back(&mut self, run: &Run, stop: &AtomicBool) -> Result<BTreeMap<String, u64>, MeasureError> {
        self.target.read_back(run, stop)
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        let account = self.target.account(pass)?;
        Ok(Box::new(GatedAccount { account, gate: Rc::clone(&self.gate) }))
    }

    fn harness_ns_per_io(&mut self, depth: u32) -> f64 {
        self.target.harness_ns_per_io(depth)
    }

    fn client_ns_per_io(&mut self, workload: &Workload) -> Option<f64> {
        self.target.client_ns_per_io(workload)
    }

    fn clock_ns(&self) -> u64 {
        self.target.clock_ns()
    }

    fn unix_ms(&self) -> u64 {
        self.target.unix_ms()
    }
}

/// An account that begins when the gate has opened.
struct GatedAccount {
    account: Box<dyn Account>,
    gate: Rc<RefCell<Gate>>,
}

impl Account for GatedAccount {
    fn begin(&mut self) -> Result<(), MeasureError> {
        let mut gate = self.gate.borrow_mut();
        (*gate)()?;
        self.account.begin()
    }

    fn end(&mut self) -> Spent {
        self.account.end()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use halfpower_spec::{Nanos, SimulatedDisk};

    use super::*;
    use crate::{SimulatedTarget, measure_until_stopped};

    fn run() -> Run {
        let workload = Workload::default();
        let runtime = Nanos(5_000_000);
        Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 1 }
    }

    #[test]
    fn a_run_begins_when_the_gate_has_opened() {
        let calls = Rc::new(Cell::new(0));
        let seen = Rc::clone(&calls);
        let disk = Box::new(SimulatedTarget::new(SimulatedDisk::default()));
        let mut target = GatedTarget::new(disk, move || {
            seen.set(seen.get() + 1);
            Ok(())
        });
        let record = measure_until_stopped(&mut target, &run(), &AtomicBool::new(false)).unwrap();
        assert!(record.ios > 0);
        assert_eq!(calls.get(), 1);
    }

    #[test]
    fn a_run_whose_gate_stays_shut_is_none() {
        let disk = Box::new(SimulatedTarget::new(SimulatedDisk::default()));
        let mut target = GatedTarget::new(disk, || Err(MeasureError::Interrupted));
        let refused = measure_until_stopped(&mut target, &run(), &AtomicBool::new(false));
        assert!(matches!(refused, Err(MeasureError::Interrupted)));
    }
}
