//! `halfpower export`: a study's records, for other programs.

use anyhow::Result;
use record::StudyFile;

use super::to_output;
use crate::args::{ExportArgs, Format};

pub fn export(args: &ExportArgs) -> Result<()> {
    let file = StudyFile::open(&args.study)?;
    let records = file.records()?;
    to_output(args.output.as_deref(), |out| {
        match args.format {
            Format::Sqlio => record::write_trace(&records, out)?,
            Format::Csv => record::write_csv(&records, out)?,
            Format::Json => record::write_json(&file.environments()?, &records, out)?,
        }
        Ok(())
    })
}
