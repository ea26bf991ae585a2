//! Implements `halfpower run --workload`: asks again what an application asked, and compares.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory, Error, Parser};
use halfpower_analyse::{replay_course, replay_findings};
use halfpower_os::Kind;
use halfpower_os::data_file::kind;
use halfpower_record::{Captured, read_capture};
use halfpower_replay::{ReplayError, ReplaySettings, Replayed, laid_out_bytes};
use halfpower_report::ReplayAsked;
use halfpower_spec::format::size;

use super::again::Outputs;
use super::report::style_without_a_terminal;
use super::{outcome, to_output, to_styled_output};
use crate::args::CommandLine;
use crate::replay_args::ReplayArgs;

/// Width of sentences without a terminal.
const WITHOUT_A_TERMINAL: usize = 100;

/// Whether the words after `halfpower run` ask a capture again.
pub fn is_meant(words: &[OsString]) -> bool {
    let names_it =
        |word: &OsString| word == "--workload" || word.to_str().is_some_and(|word| word.starts_with("--workload="));
    words.iter().take_while(|word| *word != "--").any(names_it)
}

/// Asks a capture again, as the words of the whole line say.
///
/// # Errors
/// A sentence if a flag does not go with it, a file cannot be read or written, or the capture cannot be asked again here;
/// [`outcome::FailedRequests`] if requests failed.
pub fn replay(words: &[OsString]) -> Result<()> {
    let args = read(words)?;
    refuse_what_is_no_folder(&args.folder)?;
    let inputs = std::iter::once(args.workload.as_path());
    let outputs = Outputs::of([args.output.as_deref(), args.html.as_deref()], args.force, args.json, inputs)?;
    let captured = read_capture(&args.workload)?;
    let stop = halfpower_os::interrupt::stop_flag()?;
    let bytes = laid_out_bytes(&captured);
    if !args.json && bytes > 0 {
        crate::tell::tell!("halfpower: laying out {} in {}", size(bytes as f64), args.folder.display());
    }
    let settings = ReplaySettings {
        time: args.runtime.map(|runtime| Duration::from_nanos(runtime.0)),
        pace: args.speed.pace(),
        seed: args.seed,
    };
    let replayed = halfpower_replay::replay(&captured, &args.folder, &settings, &stop)?;
    if replayed.last().is_none() {
        if let Some((words, _)) = replayed.failed.first_key_value() {
            bail!("every request failed ({words}), so nothing was measured");
        }
        bail!("nothing was asked again: it was ended, or the time was over, before the first operation was done");
    }
    tell(&args, &captured, &replayed, &outputs)?;
    if stop.load(Ordering::Relaxed) {
        bail!("interrupted after {:.1} s; the figures are of that time", replayed.span_ns() as f64 / 1e9);
    }
    outcome::of_failed(&replayed.failed)
}

/// Parses the words of the whole line. Those of `run` that a capture leaves nothing to say about are refused in a sentence.
fn read(words: &[OsString]) -> Result<ReplayArgs> {
    let name = OsString::from("halfpower run");
    let own = words.get(2..).unwrap_or_default();
    let error = match ReplayArgs::try_parse_from(std::iter::once(&name).chain(own)) {
        Ok(args) => return Ok(args),
        Err(error) => error,
    };
    if let Some(flag) = contradicting(&error) {
        bail!(
            "{flag} does not go with --workload: the capture says what is asked, and files of our own are asked; leave \
             {flag} out"
        );
    }
    crate::misread::taught(crate::misread::with_escaped_words(error), words).exit()
}

/// The flag of `run` that was given and has no meaning here.
fn contradicting(error: &Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_it = |arg: &Arg| {
        let long = flag.strip_prefix("--");
        let mut names = arg.get_long().into_iter().chain(arg.get_all_aliases().unwrap_or_default());
        let short = flag.strip_prefix('-').and_then(|rest| rest.chars().next());
        match long {
            Some(long) => names.any(|name| name == long),
            None => short.is_some() && arg.get_short() == short,
        }
    };
    let line = CommandLine::command();
    line.find_subcommand("run")?.get_arguments().any(is_it).then(|| flag.clone())
}

/// Says what to do with targets of other commands.
fn refuse_what_is_no_folder(folder: &Path) -> Result<()> {
    let text = folder.to_string_lossy();
    if text.starts_with("sim:") {
        bail!("{text}: a model is asked by `halfpower predict FILE --on {text}`; name a folder");
    }
    if text.contains("://") || text == "null:" {
        bail!("{text}: a replay lays out files of its own; name a folder, such as one where the share is mounted");
    }
    match kind(folder)? {
        Kind::Folder => Ok(()),
        _ => Err(ReplayError::NotAFolder { path: folder.to_path_buf() }.into()),
    }
}

/// How it was asked again.
fn asked(args: &ReplayArgs, replayed: &Replayed) -> ReplayAsked {
    ReplayAsked {
        target: args.folder.display().to_string(),
        open: args.speed.open,
        speed: args.speed.speed,
        span_ns: replayed.span_ns(),
        laid_out_bytes: replayed.laid_out_bytes,
        failed: replayed.failed.values().sum(),
        short_reads: replayed.short,
        not_direct_files: replayed.not_direct,
        widened: replayed.widened,
        full: replayed.full,
        waits: replayed.waits,
    }
}

/// Writes what came of the last round and the page, and prints the comparison unless a file goes to standard output.
fn tell(args: &ReplayArgs, captured: &Captured, replayed: &Replayed, outputs: &Outputs) -> Result<()> {
    let findings = replay_findings(captured, &replayed.rounds);
    let asked = asked(args, replayed);
    outputs.write(replayed.last(), |out| {
        let course = replay_course(captured, &replayed.rounds);
        halfpower_report::replay_html(&findings, &course, captured, &asked, &mut &mut *out)
    })?;
    if outputs.take_standard_output() {
        return Ok(());
    }
    if args.json {
        return to_output(|out| Ok(halfpower_report::replay_json(&findings, captured, &asked, out)?));
    }
    let style = style_without_a_terminal(WITHOUT_A_TERMINAL);
    let text = halfpower_report::replay_text(&findings, captured, &asked, style.width);
    to_styled_output(&style, |out| Ok(out.write_all(text.as_bytes())?))?;
    outputs.tell();
    Ok(())
}
