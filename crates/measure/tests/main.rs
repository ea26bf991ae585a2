//! Tests the crate as its users see it, in one program, which links once.

mod faults;
mod placement;
mod real;
mod several;
mod simulated;
mod soaker;
mod spread;
mod systems;
mod twists;
