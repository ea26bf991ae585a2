//! `halfpower export`: a study's records, for other programs.

use anyhow::Result;
use record::StudyFile;

use super::to_output;
use crate::args::{ExportArgs, Format};

pub fn export(args: &ExportArgs) -> Result<()> {
    let file = StudyFile::open(&args.study)?;
    let mut entries = Vec::new();
    file.each(|entry| entries.push(entry))?;
    let records = entries.iter().map(|entry| &entry.record);
    to_output(args.output.as_deref(), |out| {
        match args.format {
            Format::Sqlio => record::write_trace(records, out)?,
            Format::Csv => record::write_csv(records, out)?,
            Format::Json => {
                let environments = file.environments();
                record::write_json(entries.iter().map(|entry| (&entry.record, &environments[entry.environment])), out)?;
            }
        }
        Ok(())
    })
}
