//! Implements `halfpower import`: reads results of other tools into a study file, and single operations into a capture.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use halfpower_dialects::{CaptureText, Foreign, ImportedCapture, Results, captured, gathered, read_foreign};
use halfpower_record::output::{Destination, Form};
use halfpower_record::{Captured, RecordError, StudyFile, input, write_capture};
use halfpower_spec::format::{thousands, time_ns};
use halfpower_spec::shell_operand;

use super::{destination, line, shut_out, to_output};
use crate::args::ImportArgs;

/// Imports files. Reads all of them before it writes anything, so that a broken one leaves nothing behind.
pub fn import(args: &ImportArgs) -> Result<()> {
    let inputs = || args.files.iter().map(PathBuf::as_path);
    let output = args.output.as_deref();
    // What the files hold is not known yet. A capture may replace one, and a study replaces nothing.
    let place = output.map(|path| Ok(destination(path, Form::Capture, false)?.apart_from(inputs())?));
    if let (Some(path), Some(Err(_))) = (output, &place) {
        refuse_taken(path)?;
    }
    shut_out(inputs(), output);
    let mut results = Vec::new();
    let mut texts = Vec::new();
    for path in &args.files {
        let name = path.display().to_string();
        let bytes = input::read(path, input::MOST_OF_RESULTS).with_context(|| format!("{name} cannot be read"))?;
        match read_foreign(&name, &bytes)? {
            Foreign::Results(found) => results.push(found),
            Foreign::Capture(text) => texts.push(text),
        }
    }
    match (results.first(), texts.first()) {
        (Some(found), Some(text)) => bail!(
            "{} holds results, and {} is {}: import them one after the other",
            found.file.file,
            text.file(),
            text.what()
        ),
        (None, Some(_)) => import_operations(args, &texts, place),
        _ => import_results(args, results),
    }
}

/// Refuses a name that exists.
fn refuse_taken(path: &Path) -> Result<(), RecordError> {
    match path.symlink_metadata() {
        Ok(_) => Err(RecordError::Exists { path: path.to_path_buf() }),
        Err(_) => Ok(()),
    }
}

fn import_results(args: &ImportArgs, results: Vec<Results>) -> Result<()> {
    if args.names {
        bail!("--names: it is for captures, and a study keeps the names of what was measured; leave it out");
    }
    let Some(output) = &args.output else { bail!("name the study file to write, such as -o study.halfpower") };
    refuse_taken(output)?;
    let gathered = gathered(results, args.target.as_deref())?;
    StudyFile::create_whole(output, &gathered.question, &gathered.environment, &gathered.records)?;
    to_output(|out| {
        for note in &gathered.environment.notes {
            line(out, note)?;
        }
        let study = output.display();
        let report = shell_operand(output);
        Ok(line(out, &format!("Study file: {study}   Report: halfpower report {report}"))?)
    })
}

fn import_operations(args: &ImportArgs, texts: &[CaptureText], place: Option<Result<Destination>>) -> Result<()> {
    if args.target.is_some() {
        bail!("--target: it names what results were measured on, and a capture is of no target; leave it out");
    }
    let Some(place) = place else {
        let what = texts.first().map_or("a trace", CaptureText::what);
        bail!("{} is {what}: name the capture to make of it, such as -o app.halfpower", args.files[0].display());
    };
    let place = place?;
    let ImportedCapture { captured, notes } = captured(texts, args.names)?;
    place.write(|out| -> Result<()> { Ok(write_capture(&captured, out)?) })?;
    let said: Vec<String> = notes.into_iter().chain([kept(&captured, place.path())]).collect();
    if place.is_standard_output() {
        said.iter().for_each(|note| crate::tell::tell!("{note}"));
        return Ok(());
    }
    to_output(|out| {
        for note in &said {
            line(out, note)?;
        }
        Ok(())
    })
}

/// What a capture holds, and what can be done with it.
fn kept(captured: &Captured, path: &Path) -> String {
    let many = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{} {one}s", thousands(count as f64)),
    };
    format!(
        "Kept in {}: {} of {} on {}, {}; ask them again with `halfpower run --workload {} FOLDER`",
        path.display(),
        many(captured.operations.len(), "operation"),
        many(captured.lanes as usize, "lane"),
        many(captured.files.len(), "file"),
        time_ns(captured.span_ns() as f64),
        shell_operand(path)
    )
}
