//! Implements `halfpower import`: reads results of other tools into a study file.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use halfpower_dialects::{gathered, read_results};
use halfpower_record::StudyFile;
use halfpower_spec::escaped;

use super::{shut_out, to_output};
use crate::args::ImportArgs;

/// Imports files. Reads all of them before it writes anything, so that a broken one leaves nothing behind.
pub fn import(args: &ImportArgs) -> Result<()> {
    if args.output.symlink_metadata().is_ok() {
        return Err(halfpower_record::RecordError::Exists { path: args.output.clone() }.into());
    }
    shut_out(args.files.iter().map(PathBuf::as_path), [args.output.as_path()]);
    let mut all = Vec::new();
    for path in &args.files {
        let name = path.display().to_string();
        let bytes = fs::read(path).with_context(|| format!("{name} cannot be read"))?;
        all.push(read_results(&name, &bytes)?);
    }
    let gathered = gathered(all, args.target.as_deref())?;
    StudyFile::create_whole(&args.output, &gathered.question, &gathered.environment, &gathered.records)?;
    to_output(|out| {
        for note in &gathered.environment.notes {
            writeln!(out, "{}", escaped(note))?;
        }
        let study = args.output.display();
        Ok(writeln!(out, "Study file: {study}   Report: halfpower report {study}")?)
    })
}
