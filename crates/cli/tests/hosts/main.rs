//! Measures with many processes over MPI: on hosts behind wires of known rates, on a throttled device, and killed at random
//! moments.
//!
//! `HALFPOWER_MPI` names the program that was built with the feature `mpi`. `HALFPOWER_HOST_KILLS=50` makes as many kills
//! of each kind.

mod kills;
mod lab;
mod processes;
#[path = "../lab/throttled.rs"]
#[allow(dead_code, reason = "the lab of devices uses all of it")]
mod throttled;
