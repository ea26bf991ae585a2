//! Tests the crate's public interface in one program, which links only once.

mod faults;
mod machines;
mod outcomes;
mod parts;
#[path = "../../probe/tests/tree/mod.rs"]
mod tree;
mod tries;
