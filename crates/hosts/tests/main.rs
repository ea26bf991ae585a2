//! Tests that many processes make runs as one does.

mod messages;
mod runs;
