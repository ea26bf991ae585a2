//! Tests the crate through its public interface, as one program, so that it links once.

mod duet;
mod early_rows;
mod first_screen;
mod grid;
mod headline;
mod planner;
mod time_to_answer;
