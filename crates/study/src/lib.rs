//! Many runs, one study: what to measure next, and doing it until the question is answered or the budget spent.

mod conduct;
mod order;
mod planner;

pub use conduct::{Ending, Observer, StudyError, conduct};
pub use planner::{Observation, Step, next};
