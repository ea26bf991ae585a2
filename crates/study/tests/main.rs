//! Tests the crate as its users see it, in one program, which links once.

mod grid;
mod headline;
mod planner;
mod time_to_answer;
