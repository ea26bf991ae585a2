//! Lets the windows of a target's runs open when a gate does, as for jobs that are measured at once.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use halfpower_record::Record;
use halfpower_spec::{Pass, Run, Workload};

use crate::target_backend::{Account, Spent, TargetBackend};
use crate::{MeasureError, forwards};

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
    forwards!(target: environment environment_mut predicted span_bytes make_ready prepare check_direct cached_after
        read_back harness_ns_per_io client_ns_per_io clock_ns unix_ms);

    // A window is never opened a second time: those beside it would be over.
    fn hand_to_workers(&mut self) -> bool {
        false
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        self.target.admits(workload)
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

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        let account = self.target.account(pass)?;
        Ok(Box::new(GatedAccount { account, gate: Rc::clone(&self.gate) }))
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
