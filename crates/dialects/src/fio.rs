//! Translates fio's command lines and job files.
//!
//! Words enter and a `Translation` leaves. A line is fio's where it has an option that only fio has, or names a job file.
//! Where it names its target as fio does, too (`--filename`, `--directory`, `--name`, a job file), what it leaves out has
//! fio's default.

mod issuing_options;
mod job;
mod job_file;
mod json;
mod line;
mod options;
mod other_options;
pub(crate) mod results;
mod take;
mod workload_options;

pub use job::Job;
pub use line::{speaks, translate};
pub(crate) use options::all as options;
