//! Tests of replays.

mod real;
