//! Tests the crate's public interface in one program, which links only once.

mod drives;
mod faults;
mod machines;
mod outcomes;
mod parts;
mod raw;
#[path = "../../probe/tests/tree/mod.rs"]
mod tree;
mod tries;
