//! Tests the crate's public interface in one program, which links only once.

mod beneath;
mod interrupts;
mod links;
mod live;
mod memory_nodes;
mod shares;
mod stacks;
mod tree;
