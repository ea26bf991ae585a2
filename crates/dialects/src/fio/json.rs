//! Prints records as fio's JSON.

use std::io::{self, Write};

use super::export::{NamedRun, write_fio_jobs};
use crate::{Layout, Measured};

/// fio's JSON.
#[derive(Debug)]
pub(super) struct FioJson;

impl Layout for FioJson {
    fn print(&self, measured: &[Measured<'_>], out: &mut dyn Write) -> io::Result<()> {
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
        write_fio_jobs(named, out)
    }
}
