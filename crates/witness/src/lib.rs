//! Accounts for what a machine spends over a window, here or at the far end of a path.
//!
//! [`serve`] answers requests about its own machine, a line each; [`Witness`] is the other side of that talk. Transport
//! and lock are the command that joins the two, such as ssh: no port is opened. Where it is told so at its start, a witness
//! also measures at its own end ([`Ways`]).

mod clock_offset;
mod counters;
mod disks;
mod error;
mod interfaces;
mod lines;
mod message;
mod noise;
mod processes;
mod server;
mod soaking;
mod ways;
mod witness;

pub use clock_offset::ClockOffset;
pub use counters::processors_since;
pub use error::WitnessError;
pub use message::{Greeting, PROTOCOL, Reply};
pub use noise::{NoiseProbe, NoiseSnapshot};
pub use server::serve;
pub use soaking::Soaking;
pub use ways::{NoWays, Ways};
pub use witness::{Patience, Witness};
