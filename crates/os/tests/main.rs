//! Tests the crate's public interface in one program, which links only once.

mod ring_forms;
