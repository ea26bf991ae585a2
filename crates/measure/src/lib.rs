//! Measures one run and gives one record.
//!
//! A [`TargetBackend`] is where runs happen: it prepares the target, opens engines on it and accounts for processor
//! time, in real or virtual time. The window drives the engines and counts what they complete; it does not know which
//! backend it has.

mod admission;
mod anatomy;
mod background;
mod covering;
mod depth_search;
mod drawn_sizes;
mod drive;
mod error;
mod gated;
mod load_threads;
mod measure_run;
mod offered_ways;
mod offsets;
mod option_answers;
mod read_back;
mod real;
mod sampler;
mod schedule;
mod side_by_side;
mod silence;
mod simulated;
mod skewed_blocks;
mod steady_end;
mod target_backend;
mod window;
mod witnessed;
mod zoned_blocks;

pub use admission::coherent;
pub use depth_search::find_depth;
pub use error::MeasureError;
pub use gated::GatedTarget;
pub use measure_run::{LatenciesOf, measure, measure_keeping, measure_own_part, measure_until_stopped};
pub use offered_ways::OfferedWays;
pub use real::{
    HostPart, RealTarget, RealTargetOptions, ShareTarget, USUAL_LAYOUT, USUAL_SILENCE, WriteCache, open_existing,
    probe_share,
};
pub use side_by_side::of_hosts as levels_of_hosts;
pub use silence::{Silence, WriteBack};
pub use simulated::{SimulatedPath, SimulatedTarget, simulated_path};
pub use target_backend::{Account, ClosingFlush, Lane, Prepared, Spent, TargetBackend};
pub use witnessed::WitnessedTarget;
