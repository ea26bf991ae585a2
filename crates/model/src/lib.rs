//! Models storage paths in virtual time, as seeded discrete-event simulations.
//!
//! Requests enter a [`PathModel`] at moments of virtual time and leave it as completions; their processor time is
//! counted too. There are three models:
//!
//! - [`DiskPath`], the path of a [`halfpower_spec::SimulatedDisk`]: constants without parts. The prediction functions
//!   give its steady state in closed form, so that a study of it can be checked.
//! - [`Stack`], the path of a [`System`]: a machine made of host, cache, volume, buses, adapters and disks, used as a
//!   [`Setting`] says. The machines of two published studies are included as [`systems`].
//! - [`FittedPath`], the path of a [`Fitted`] device: a model fitted to a study.
//!
//! [`reproduction`] compares the machines of the studies with the figures that were published of them.

mod demand;
mod disk_path;
mod fit_error;
mod fitted;
mod fitted_path;
mod path;
mod path_constants;
mod prediction;
pub mod reproduction;
mod request_fault;
mod setting;
mod sharing;
mod stack;
mod system;
mod variation;

pub use demand::Demand;
pub use disk_path::{Buckets, DiskPath};
pub use fit_error::{FitError, Reach};
pub use fitted::{Fitted, FittedDevice, FittedShared};
pub use fitted_path::{FittedPath, MemberLayout};
pub use path::{Completed, Moment, Operation, PathModel, ProcessorTime, Submission};
pub use path_constants::PathConstants;
pub use prediction::{
    ceiling, half_power_bs, latency, n_half_bytes, peak, processor_time, service_time_ns, throughput,
};
pub use request_fault::{FaultSequence, RequestFault};
pub use setting::{Allocation, Array, Setting};
pub use sharing::lengthened;
pub use stack::{Observed, Stack};
pub use system::{
    Adapter, Bus, BusLayout, Cost, Disk, FileCache, Gather, Host, Network, Pci, PublishedFigures, Relay, Reorder, Rung,
    Shipped, System, SystemError, Volume, systems,
};
pub use variation::{likely_factor, speed_of_run};
