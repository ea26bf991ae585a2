//! Tests the crate as its users see it, in one program, which links once.

mod talk;
