//! Implements `halfpower import`: reads results of other tools into a study file.

use std::path::PathBuf;

use anyhow::{Context, Result};
use halfpower_dialects::{gathered, read_results};
use halfpower_record::{StudyFile, input};
use halfpower_spec::shell_operand;

use super::{line, shut_out, to_output};
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
        let bytes = input::read(path, input::MOST_OF_RESULTS).with_context(|| format!("{name} cannot be read"))?;
        all.push(read_results(&name, &bytes)?);
    }
    let gathered = gathered(all, args.target.as_deref())?;
    StudyFile::create_whole(&args.output, &gathered.question, &gathered.environment, &gathered.records)?;
    to_output(|out| {
        for note in &gathered.environment.notes {
            line(out, note)?;
        }
        let study = args.output.display();
        let report = shell_operand(&args.output);
        Ok(line(out, &format!("Study file: {study}   Report: halfpower report {report}"))?)
    })
}
