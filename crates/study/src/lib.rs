//! Conducts a study: decides which run is next, until the question is answered or the budget is spent. Measures two targets, or
//! two settings of one, in turns, too.

mod application_runs;
#[cfg(test)]
#[path = "../../analyse/tests/built/mod.rs"]
mod built;
mod candidates;
mod commit_runs;
mod confirmation;
mod deciding_cells;
mod duet;
mod durable_runs;
mod fixed_plan;
mod issuing_runs;
mod kriging;
mod load_runs;
mod observed_cell;
mod observed_path;
mod own_runs;
mod phase;
mod planner;
mod seeds;
mod sessions;
mod sliced_target;
mod slices;
mod study_loop;
mod study_program;
mod sustain_runs;
mod thread_runs;
mod turns;
mod window_length;

pub use duet::{DuetPlan, DuetProgress, conduct_duet};
pub use observed_cell::Observation;
pub use planner::{Planner, Step, left, next};
pub use sliced_target::{RunSeeds, SliceError, SlicedTarget};
pub use study_loop::{Ending, Observer, SoFar, StudyError, conduct};
pub use study_program::{SessionsSoFar, finished, fixed_runs, grid_runs, sessions_so_far, unfinished_share};
pub use turns::{SeenPairs, Side, Slice, pairs};
