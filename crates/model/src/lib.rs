//! How would a storage path answer? A discrete-event model of it in virtual time, pure and seeded.
//!
//! Requests enter a [`Path`] at moments of virtual time and leave it as completions; what the processor spent
//! on them is kept beside. [`DiskPath`] is the path of a [`spec::SimulatedDisk`]; richer systems (hosts, caches,
//! buses, disks that turn) grow behind the same trait. The prediction functions tell in closed form what a
//! noise-free [`DiskPath`] does once it has settled, so that a study of it has a truth to be held against.

mod disk_path;
mod moment;
mod path;
mod prediction;
mod variation;

pub use disk_path::DiskPath;
pub use moment::Moment;
pub use path::{Completed, Operation, Path, ProcessorTime, Submission};
pub use prediction::{
    ceiling, half_power_bs, latency, n_half_bytes, peak, processor_time, service_time_ns, throughput,
};
