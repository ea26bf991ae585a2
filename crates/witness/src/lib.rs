//! Measures what a machine spends during a window, on this machine or at the far end of a path.
//!
//! [`serve`] answers requests about its own machine, one on each line; [`Witness`] is the client. A command such as ssh
//! joins the two and provides transport and authentication, so no port is opened. If enabled at its start, a witness
//! also measures runs at its own end ([`Ways`]).

mod counters;
mod devices;
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

pub use counters::processors_since;
pub use devices::DeviceCounters;
pub use error::WitnessError;
pub use message::{Greeting, PROTOCOL, Reply};
pub use noise::{NoiseProbe, NoiseSnapshot};
pub use server::{NoWays, Ways, serve};
pub use soaking::Soaking;
pub use witness::{ClockOffset, Patience, Witness};
