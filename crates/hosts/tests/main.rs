//! Tests runs of many processes.

mod messages;
mod runs;
