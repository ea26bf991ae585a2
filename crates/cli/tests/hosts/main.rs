//! Measures with many processes over MPI: on hosts behind wires of known rates, on a throttled device, and killed at random
//! moments.
//!
//! Takes a program with MPI: `cargo test --features halfpower/mpi --test hosts`. `HALFPOWER_MPICH` names one that was
//! built with MPICH, `HALFPOWER_DEFAULT` one without MPI. `HALFPOWER_HOST_KILLS=50` makes as many kills of each kind.

use std::sync::{Mutex, MutexGuard, PoisonError};

mod lab;
mod processes;
#[path = "../devices/throttled.rs"]
#[allow(dead_code, reason = "the lab of devices uses all of it")]
mod throttled;

/// Lets one test after the other use the processors: what measures would see those beside it.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
