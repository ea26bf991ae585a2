//! Measures with many processes over MPI: on hosts behind links of known rates, on a throttled device, and with kills
//! at random moments.
//!
//! Needs a program with MPI: `cargo test --features halfpower/mpi --test hosts`. `HALFPOWER_MPICH` names a program
//! built with MPICH, `HALFPOWER_DEFAULT` one without MPI. `HALFPOWER_HOST_KILLS=50` sets the number of kills of each
//! kind.

use std::sync::{Mutex, MutexGuard, PoisonError};

mod lab;
mod processes;
#[path = "../devices/throttled.rs"]
#[allow(dead_code, reason = "the lab of devices uses all of it")]
mod throttled;

/// Lets one test at a time use the processors, because tests that measure would disturb each other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
