//! `halfpower export`: a study's records, for other programs.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use record::{Entry, StudyFile};

use super::{to_file, to_output};
use crate::args::{ExportArgs, Format};

pub fn export(args: &ExportArgs) -> Result<()> {
    let file = StudyFile::open(&args.study)?;
    let mut entries = Vec::new();
    file.each(|entry| entries.push(entry))?;
    if let (Format::Fio, Some(folder)) = (args.format, &args.output) {
        return fio_folder(&entries, &file.question().target, folder);
    }
    let records = entries.iter().map(|entry| &entry.record);
    to_output(args.output.as_deref(), |out| {
        match args.format {
            Format::Sqlio => record::write_trace(records, out)?,
            Format::Csv => record::write_csv(records, out)?,
            Format::Json => {
                let environments = file.environments();
                record::write_json(entries.iter().map(|entry| (&entry.record, &environments[entry.environment])), out)?;
            }
            Format::Fio => record::write_fio(records, &file.question().target, out)?,
        }
        Ok(())
    })
}

/// Writes a file a cell below a new or empty folder: fio-plot looks at one job a file.
fn fio_folder(entries: &[Entry], target: &str, folder: &Path) -> Result<()> {
    if folder.exists() && !folder.is_dir() {
        bail!(
            "{} is a file, and fio's form is a folder with a file a cell; name a folder, or leave --output out for one \
             document with all cells",
            folder.display()
        );
    }
    if fs::read_dir(folder).is_ok_and(|mut inside| inside.next().is_some()) {
        bail!("{} is not empty and is left as it is; name a new folder", folder.display());
    }
    for document in record::fio_documents(entries.iter().map(|entry| &entry.record), target) {
        let place = folder.join(&document.folder);
        fs::create_dir_all(&place)
            .with_context(|| format!("{} cannot be made; name another place, or make room", place.display()))?;
        to_file(&place.join(&document.file), |out| Ok(serde_json::to_writer_pretty(out, &document.json)?))?;
    }
    Ok(())
}
