//! Tests the crate through its public interface, in one program, which links once.

mod built;
mod busy_machine;
mod calibrate;
mod chosen_peak;
mod coverage;
mod far_end;
mod fleet;
mod judgement;
mod met_limit;
mod network;
mod no_witness;
mod odd_records;
mod percentiles;
mod predicted;
mod recovery;
mod replayed;
mod sessions;
mod small_span;
mod steadiness;
mod wandering;
mod watched;
mod watched_built;
mod windows;
