//! Tests the crate as its users see it, in one program, which links once.

mod interrupts;
mod links;
mod live;
mod shares;
mod stacks;
mod tree;
