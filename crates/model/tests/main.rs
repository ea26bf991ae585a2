//! Tests the crate through its public interface, in one program, which links once.

mod fitted;
mod stack;
mod steady;
mod times;
