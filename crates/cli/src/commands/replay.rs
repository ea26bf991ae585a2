//! Implements `halfpower run --workload`: asks again what an application asked, and compares.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory, Error, Parser};
use halfpower_analyse::{replay_course, replay_findings};
use halfpower_dialects::{Foreign, ImportedCapture, read_foreign};
use halfpower_measure::RealTargetOptions;
use halfpower_os::Kind;
use halfpower_os::data_file::kind;
use halfpower_record::{CaptureSource, Captured, input, read_capture};
use halfpower_replay::{Pace, ReplayPlace, ReplaySettings, Replayed, has_one_file, laid_out_bytes};
use halfpower_report::ReplayAsked;
use halfpower_spec::format::size;
use halfpower_spec::{Cache, Nanos};

use super::again::Outputs;
use super::report::style_without_a_terminal;
use super::{outcome, to_output, to_styled_output};
use crate::args::CommandLine;
use crate::measuring_args::MayWriteArgs;
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
    let kind = kind_of_place(&args.place)?;
    let inputs = std::iter::once(args.workload.as_path());
    let outputs = Outputs::of([args.output.as_deref(), args.html.as_deref()], args.force, args.json, inputs)?;
    let captured = as_asked(&args, capture_of(&args)?)?;
    let stop = halfpower_os::interrupt::stop_flag()?;
    let place = opened(&args, kind, &captured)?;
    let bytes = laid_out_bytes(&captured);
    if !args.json && bytes > 0 && kind == Kind::Folder {
        crate::tell::tell!("halfpower: laying out {} in {}", size(bytes as f64), args.place.display());
    }
    let settings = ReplaySettings {
        time: args.runtime.map(|runtime| Duration::from_nanos(runtime.0)),
        pace: if args.no_pauses { Pace::WITHOUT_PAUSES } else { args.speed.pace() },
        seed: args.seed,
    };
    let replayed = halfpower_replay::replay(&captured, place, &settings, &stop)?;
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

/// What the place is; says what to do with targets of other commands.
fn kind_of_place(place: &Path) -> Result<Kind> {
    let text = place.to_string_lossy();
    if text.starts_with("sim:") {
        bail!("{text}: a model is asked by `halfpower predict FILE --on {text}`; name a folder");
    }
    if text.contains("://") || text == "null:" {
        bail!("{text}: a replay lays out files of its own; name a folder, such as one where the share is mounted");
    }
    Ok(kind(place)?)
}

/// The capture to ask: halfpower's own, or what another tool listed.
fn capture_of(args: &ReplayArgs) -> Result<Captured> {
    let path = &args.workload;
    let refusal = match read_capture(path) {
        Ok(captured) => return Ok(captured),
        Err(refusal) => refusal,
    };
    let name = path.display().to_string();
    let bytes = input::read(path, input::MOST_OF_RESULTS);
    let Some(Ok(Foreign::Capture(text))) = bytes.ok().map(|bytes| read_foreign(&name, &bytes)) else {
        return Err(refusal.into());
    };
    let ImportedCapture { captured, notes } = halfpower_dialects::captured(std::slice::from_ref(&text), false)?;
    if !args.json {
        notes.iter().for_each(|note| crate::tell::tell!("halfpower: {note}"));
    }
    Ok(captured)
}

/// The capture with what the flags say of it: how many operations are in progress at once, and whether they use the page
/// cache.
fn as_asked(args: &ReplayArgs, mut captured: Captured) -> Result<Captured> {
    if let Some(depth) = args.iodepth {
        if captured.source != CaptureSource::FioLog {
            bail!(
                "--iodepth {depth}: the capture says who issued each operation, which only fio's logs do not: leave it out"
            );
        }
        captured.lanes = u32::try_from(captured.operations.len()).unwrap_or(u32::MAX).min(depth);
        captured
            .operations
            .iter_mut()
            .zip((0..captured.lanes).cycle())
            .for_each(|(operation, lane)| operation.lane = lane);
    }
    let direct = match args.cache {
        None => return Ok(captured),
        Some(Cache::Both) => false,
        Some(Cache::Device) => true,
        Some(other) => bail!("--cache {other}: the capture says which writes are durable; take both or device"),
    };
    captured.files.iter_mut().for_each(|file| file.direct = direct);
    Ok(captured)
}

/// The folder, or the file or device that is there, under the rules of runs.
fn opened<'a>(args: &'a ReplayArgs, kind: Kind, captured: &Captured) -> Result<ReplayPlace<'a>> {
    let place = args.place.as_path();
    if kind == Kind::Folder {
        return match args.may_write.given().next() {
            Some(flag) => {
                bail!("{flag}: files of our own are laid out in a folder, and no others are touched: leave it out")
            }
            None => Ok(ReplayPlace::Folder(place)),
        };
    }
    has_one_file(captured, place)?;
    let MayWriteArgs { overwrite, force_in_use, force_content } = args.may_write;
    let wanted = RealTargetOptions {
        writes: captured.writes(),
        overwrite,
        force_in_use,
        force_content,
        seed: args.seed,
        layout_limit: Nanos(0),
        ..RealTargetOptions::default()
    };
    Ok(ReplayPlace::There(halfpower_measure::open_existing(place, &wanted)?))
}

/// How it was asked again.
fn asked(args: &ReplayArgs, replayed: &Replayed) -> ReplayAsked {
    ReplayAsked {
        target: args.place.display().to_string(),
        open: args.speed.open,
        pauses: !args.no_pauses,
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
    let written = outputs.write(replayed.last(), |out| {
        let course = replay_course(captured, &replayed.rounds);
        halfpower_report::replay_html(&findings, &course, captured, &asked, out)
    });
    if outputs.take_standard_output() {
        return written.all();
    }
    if args.json {
        to_output(|out| Ok(halfpower_report::replay_json(&findings, captured, &asked, out)?))?;
        return written.all();
    }
    let style = style_without_a_terminal(WITHOUT_A_TERMINAL);
    let text = halfpower_report::replay_text(&findings, captured, &asked, style.width);
    to_styled_output(&style, |out| Ok(out.write_all(text.as_bytes())?))?;
    written.told()
}
