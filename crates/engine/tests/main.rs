//! Tests the crate as its users see it, in one program, which links once.

mod conformance;
mod open_loop;
mod payload;
mod registration;
mod simulated;
mod verify;
mod volumes;
