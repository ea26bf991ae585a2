//! Measures with many processes over MPI: on hosts behind wires of known rates, on a throttled device, and killed at random
//! moments.
//!
//! `HALFPOWER_MPI` names the program that was built with the feature `mpi`, `HALFPOWER_MPICH` one that was built with MPICH. `HALFPOWER_HOST_KILLS=50` makes as many kills
//! of each kind.

use std::sync::{Mutex, MutexGuard, PoisonError};

mod kills;
mod lab;
mod processes;
mod slurm;
#[path = "../lab/throttled.rs"]
#[allow(dead_code, reason = "the lab of devices uses all of it")]
mod throttled;

/// Lets one test after the other use the processors: what measures would see those beside it.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
