//! Tests the crate through its public interface, as one program, so that it links once.

mod crash;
mod damage;
mod export;
mod files;
mod latencies;
mod power_loss;
mod sample;
mod strangers;
mod study_file;
