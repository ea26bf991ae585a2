//! Traces requests on their way through the kernel.
//!
//! `instance` switches tracepoints in a private tracefs instance, `page` reads the kernel's ring buffers, `events`
//! decodes their contents, and `tracer` combines the three for a run.

mod events;
mod instance;
mod page;
mod tracer;

pub(crate) use instance::remove_instance;

pub use events::{RingEntry, Step, TraceEvent, What};
pub use page::events_of_page;
pub use tracer::{Trace, Tracer, available, own_threads};
