//! Tests of replays.

mod simulated;
