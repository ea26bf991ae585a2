//! Accounts for what a machine spends over a window, here or at the far end of a path.
//!
//! [`serve`] answers requests about its own machine, a line each; [`Witness`] is the other side of that talk. Transport
//! and lock are the command that joins the two, such as ssh: no port is opened.

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
mod witness;

pub use clock_offset::ClockOffset;
pub use counters::processors_since;
pub use error::WitnessError;
pub use message::{Greeting, PROTOCOL, Reply};
pub use noise::{NoiseProbe, NoiseSnapshot};
pub use server::serve;
pub use soaking::Soaking;
pub use witness::{Patience, Witness};
