//! What was measured: records, the environment they were taken in, and the files that keep them.
//!
//! A [`Record`] is one run with everything that was seen of it. Nothing here interprets: intervals, fits and
//! advice are `analyse`'s. Files: [`StudyFile`] (SQLite), the SQLIO trace both ways, CSV and JSON.

mod environment;
mod latency;
mod run_record;

pub use environment::{Device, Environment, FileSystem, Level, Machine};
pub use latency::Latency;
pub use run_record::{Cpu, CpuTimes, Record, Series, Soaker};
