//! Many runs, one study: what to measure next, and doing it until the question is answered or the budget spent.

mod belief;
mod conduct;
mod decisions;
mod fixed;
mod known;
mod memory;
mod order;
mod planner;
mod plans;
mod program;
mod wants;
mod window;

pub use conduct::{Ending, Observer, SoFar, StudyError, conduct};
pub use memory::{memory_runs, memory_workloads};
pub use planner::{Observation, Planner, Step, left, next};
pub use plans::left_out;
pub use program::{fixed_runs, grid_runs};
