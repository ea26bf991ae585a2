//! Traces the way of requests through the kernel.
//!
//! `instance` switches tracepoints in a tracefs of our own, `page` reads the kernel's ring buffers, `events` decodes
//! what they hold, and `tracer` does all three for a run.

mod events;
mod instance;
mod page;
mod tracer;

pub(crate) use instance::remove_instance;

pub use events::{RingEntry, Step, TraceEvent, What};
pub use page::events_of_page;
pub use tracer::{Trace, Tracer, available, own_threads};
