//! How would a storage path answer? A discrete-event model of it in virtual time, pure and seeded.
//!
//! Requests enter a [`Path`] at moments of virtual time and leave it as completions; what the processor spent
//! on them is kept beside. [`DiskPath`] is the path of a [`spec::SimulatedDisk`], constants without parts; the
//! prediction functions tell in closed form what it does once it has settled, so that a study of it has a truth to be
//! held against. [`Stack`] is the path of a [`System`], a machine made of parts: host, cache, volume, buses, adapters
//! and disks that turn, used as a [`Setting`] says. The machines of two published studies ship as [`systems`]. [`FittedPath`] is the path of a
//! [`Fitted`] device, of which a study alone is known.

mod disk_path;
mod fitted;
mod fitted_path;
mod moment;
mod path;
mod prediction;
pub mod reproduce;
mod setting;
mod stack;
mod system;
mod variation;

pub use disk_path::DiskPath;
pub use fitted::{Fitted, FittedDevice, FittedShared, Passage};
pub use fitted_path::{Arrangement, FittedPath};
pub use moment::Moment;
pub use path::{Completed, Operation, Path, ProcessorTime, Submission};
pub use prediction::{
    ceiling, half_power_bs, latency, n_half_bytes, peak, processor_time, service_time_ns, throughput,
};
pub use setting::{Allocation, Array, Setting};
pub use stack::{Observed, Stack};
pub use system::{
    Adapter, Bus, Cost, Disk, Evidence, FileCache, Gather, Host, Layout, Network, Pci, Relay, Reorder, Rung, Shipped,
    System, SystemError, Volume, systems,
};
