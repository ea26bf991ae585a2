//! Tests of replays.

mod real;
mod simulated;
