//! Translates fio's command lines and job files, and prints records as fio's JSON.
//!
//! A line is fio's if it has an option that only fio has, or names a job file. If it also names its target as fio does
//! (`--filename`, `--directory`, `--name`, a job file), missing options get fio's defaults.

mod amounts;
mod distribution;
mod engines;
mod export;
mod flushes;
mod job;
mod job_file;
mod job_sum;
mod keywords;
mod latency_options;
mod line;
mod logs;
mod numa_nodes;
mod options;
mod output_options;
mod printed;
mod process_options;
mod rates;
mod replay;
mod replay_options;
pub(crate) mod results;
mod sizes;
mod steady;
mod take;
pub(crate) mod terse;
mod turns;
mod verify_options;

pub use export::{FioDocument, fio_documents, fio_issuing, write_fio};
pub use job::Job;
pub use line::{speaks, translate};
pub use logs::{FioLog, LogKind};
pub(crate) use options::all as options;

/// The release of fio whose results ours are like.
pub const LIKE: &str = "fio-3.33";
