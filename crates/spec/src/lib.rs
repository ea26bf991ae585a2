//! What is asked: quantities, targets, workloads and the question of a study, from text and back.
//!
//! Pure: nothing here reads the machine. Text enters, typed values leave; what cannot be read is answered
//! with a [`ParseError`] that points at the character.

mod axis;
mod error;
mod quantity;
mod question;
mod simulated;
mod system;
mod target;
mod twist;
mod words;
mod workload;

pub use axis::{bytes_axis, count_axis, list};
pub use error::ParseError;
pub use quantity::{Bytes, Nanos, Rate};
pub use question::{Experiment, Question};
pub use simulated::SimulatedDisk;
pub use system::{DiskArray, Setup, SimulatedSystem};
pub use target::{Several, Target};
pub use twist::{Region, Twist};
pub use words::{
    Affinity, Arrivals, Cache, Direction, EngineName, Fadvise, Join, Kernel, Layout, PageCache, Pass, Pattern, Rw,
    Switch,
};
pub use workload::{Arrival, Run, Workload};
