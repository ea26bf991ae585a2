//! Tests the crate's public interface in one program, which links only once.

mod conformance;
mod open_loop;
mod payload;
mod registration;
mod simulated;
mod verify;
mod volumes;
