//! Tests the crate as its users see it, in one program, which links once.

mod fitted;
mod stack;
mod steady;
mod times;
