//! Adds a witness at the far end to a target: it reports what its machine spends over each window, and measures the
//! runs that do not go over the network.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halfpower_record::Record;
use halfpower_spec::{Bytes, Pass, Run, Way, Workload};
use halfpower_witness::{Witness, WitnessError};

use crate::target_backend::{Account, Spent, TargetBackend};
use crate::{MeasureError, forwards};

/// A target with a witness at its far end.
pub struct WitnessedTarget {
    target: Box<dyn TargetBackend>,
    witness: Arc<Mutex<Witness>>,
}

impl WitnessedTarget {
    /// Adds `witness`, at the far end of `target`.
    pub fn new(mut target: Box<dyn TargetBackend>, witness: Witness) -> Self {
        target.environment_mut().far_end = Some(witness.machine().clone());
        Self { target, witness: Arc::new(Mutex::new(witness)) }
    }
}

fn locked(witness: &Mutex<Witness>) -> MutexGuard<'_, Witness> {
    witness.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TargetBackend for WitnessedTarget {
    forwards!(target: environment environment_mut predicted span_bytes make_ready prepare check_direct cached_after
        read_back hand_to_workers harness_ns_per_io client_ns_per_io clock_ns unix_ms);

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        let way = workload.options.way;
        if way == Way::Wire {
            return self.target.admits(workload);
        }
        let offered = self.environment().far_end.as_ref().is_some_and(|far_end| far_end.ways.contains(&way));
        let start = if way == Way::Local { "--local FOLDER" } else { "--share ADDRESS" };
        let what = format!("--way {way}: the witness at the far end does not measure so; start it with {start}");
        if offered { Ok(()) } else { Err(MeasureError::Unfit { what }) }
    }

    fn share_out(&mut self, run: &Run) -> Result<Option<Run>, MeasureError> {
        if run.workload.options.way == Way::Wire {
            return self.target.share_out(run);
        }
        // This end takes no part.
        self.admits(&run.workload).map(|()| None)
    }

    fn put_together(
        &mut self,
        run: &Run,
        made: Option<Result<Record, MeasureError>>,
        stop: &AtomicBool,
    ) -> Result<Option<Record>, MeasureError> {
        if run.workload.options.way == Way::Wire {
            return self.target.put_together(run, made, stop);
        }
        // The far end's clock may differ.
        let started_unix_ms = self.unix_ms();
        let measured = locked(&self.witness).measure(run, Bytes(self.span_bytes()), stop);
        measured.map(|record| Some(Record { started_unix_ms, ..record })).map_err(|error| match error {
            WitnessError::Interrupted => MeasureError::Interrupted,
            // Ctrl-C on a terminal also stops the command that connects to the witness, which then fails.
            _ if stop.load(Ordering::Relaxed) => MeasureError::Interrupted,
            error => MeasureError::Elsewhere { what: error.to_string() },
        })
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        locked(&self.witness).prepare(pass == Pass::Soaker);
        let near = self.target.account(pass)?;
        Ok(Box::new(BothEnds { near, witness: Arc::clone(&self.witness) }))
    }
}

/// The account of this end, within that of the far end.
struct BothEnds {
    near: Box<dyn Account>,
    witness: Arc<Mutex<Witness>>,
}

impl Account for BothEnds {
    fn begin(&mut self) -> Result<(), MeasureError> {
        locked(&self.witness).begin();
        self.near.begin()
    }

    fn end(&mut self) -> Spent {
        let near = self.near.end();
        let mut witness = locked(&self.witness);
        let far_end = witness.end().map(Box::new);
        Spent { far_end, notes: witness.take_notes(), ..near }
    }
}
