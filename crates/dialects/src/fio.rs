//! Translates fio's command lines and job files.
//!
//! Words enter and a [`Translation`] leaves. A line is fio's where it has an option that only fio has, or names a job file.
//! Where it names its target as fio does, too (`--filename`, `--directory`, `--name`, a job file), what it leaves out has
//! fio's default.

mod issuing_options;
mod job;
mod job_file;
mod line;
mod options;
mod other_options;
mod take;
mod workload_options;

use std::io::{self, Write};

pub use job::Job;
pub use line::{speaks, translate};
pub(crate) use options::all as options;

use halfpower_record::{NamedRun, RecordError};

use crate::Measured;

/// Prints what was measured as fio's JSON.
pub(crate) fn print_json(measured: &[Measured<'_>], out: &mut dyn Write) -> io::Result<()> {
    let named = measured.iter().map(|run| {
        let target: Vec<String> = run.run.files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
        let listed = run.run.get("--percentiles").unwrap_or_default();
        NamedRun {
            name: &run.run.name,
            target: target.join(":"),
            record: &run.record,
            percentiles: listed.split(',').filter_map(|percent| percent.parse().ok()).collect(),
        }
    });
    halfpower_record::write_fio_jobs(named, out).map_err(|error| match error {
        RecordError::Stream { error, .. } => error,
        other => io::Error::other(other),
    })
}
