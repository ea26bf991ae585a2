//! Many runs, one study: what to measure next, and doing it until the question is answered or the budget spent.

mod belief;
mod conduct;
mod decisions;
mod fixed;
mod known;
mod order;
mod planner;
mod plans;
mod program;
mod wants;
mod window;

pub use conduct::{Ending, Observer, SoFar, StudyError, conduct};
pub use planner::{Observation, Planner, Step, left, next};
pub use plans::left_out;
pub use program::{fixed_runs, grid_runs};
