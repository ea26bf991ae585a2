//! Tests the crate through its public interface, in one program, which links once.

mod fitted;
mod machines;
mod reproduction;
mod shapes;
mod shapes_of_cost;
mod shapes_of_depth;
mod stack;
mod steady;
mod times;
