//! Implements `halfpower export`: writes the records of a study for other programs.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use halfpower_dialects::fio::{fio_documents, write_fio};
use halfpower_dialects::sqlio::write_trace;
use halfpower_record::Entry;
use halfpower_record::output::Form;

use super::{destination, opened, shut_out, to_output, to_output_as_file};
use crate::args::{ExportArgs, Format};

pub fn export(args: &ExportArgs) -> Result<()> {
    let folder = args.output.as_deref().filter(|path| args.format == Format::Fio && *path != Path::new("-"));
    let output = args.output.as_deref().filter(|_| folder.is_none());
    let output = output.map(|path| destination(path, form(args.format), args.force)).transpose()?;
    shut_out([args.study.as_path()], args.output.as_deref());
    let file = opened(&args.study)?;
    let mut entries = Vec::new();
    file.each(|entry| entries.push(entry))?;
    if let Some(folder) = folder {
        return fio_folder(&entries, &file.question().target, (folder, args.force));
    }
    let records = entries.iter().map(|entry| &entry.record);
    let environments = file.environments();
    let placed = entries.iter().map(|entry| (&entry.record, &environments[entry.environment]));
    let write = |out: &mut dyn Write| -> Result<()> {
        match args.format {
            Format::Sqlio => write_trace(records, out)?,
            Format::Csv => halfpower_record::write_csv(placed, &file.question().target, out)?,
            Format::Json => halfpower_record::write_json(placed, out)?,
            Format::Fio => write_fio(records, &file.question().target, out)?,
        }
        Ok(())
    };
    match output {
        Some(output) => output.write(write),
        // JSON stays what it is when it is escaped.
        None if matches!(args.format, Format::Json | Format::Fio) => to_output(write),
        None => to_output_as_file(write),
    }
}

fn form(format: Format) -> Form {
    match format {
        Format::Sqlio => Form::Trace,
        Format::Csv => Form::Csv,
        Format::Json => Form::Json,
        Format::Fio => Form::Fio,
    }
}

/// Writes one file per cell below a new or empty folder, because fio-plot reads one job per file.
fn fio_folder(entries: &[Entry], target: &str, (folder, force): (&Path, bool)) -> Result<()> {
    if folder.exists() && !folder.is_dir() {
        bail!(
            "{} is a file; --format fio writes a folder with one file a cell; name a folder, or leave --output out for \
             one document with all cells",
            folder.display()
        );
    }
    if force {
        bail!("--force replaces no folder, and --format fio makes one of {}: leave --force out", folder.display());
    }
    if fs::read_dir(folder).is_ok_and(|mut inside| inside.next().is_some()) {
        bail!("{} is not empty; name a new folder", folder.display());
    }
    for document in fio_documents(entries.iter().map(|entry| &entry.record), target) {
        let place = folder.join(&document.folder);
        fs::create_dir_all(&place).with_context(|| {
            format!("{} cannot be created; name another folder or free some space", place.display())
        })?;
        let output = destination(&place.join(&document.file), Form::Fio, false)?;
        output.write(|out| -> Result<()> { Ok(serde_json::to_writer_pretty(out, &document.json)?) })?;
    }
    Ok(())
}
