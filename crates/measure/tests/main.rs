//! Tests the public interface of the crate; one program, so that it links only once.

mod faults;
mod files;
mod placement;
mod real;
mod several;
mod simulated;
mod soaker;
mod spread;
mod systems;
mod twists;
