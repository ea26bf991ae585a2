//! Implements `halfpower watch`: watches an application that runs, and says what limits it; shows an earlier watch again.

mod groups;
mod live;
mod offered;
mod recorded;
mod started;
mod whom;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use halfpower_analyse::{WatchFindings, watch_findings};
use halfpower_probe::Root;
use halfpower_record::output::{Destination, Form};
use halfpower_record::{Captured, Watched, read_watch, write_watch};
use halfpower_spec::Nanos;
use halfpower_watch::{Recording, Session, Settings};

use super::again::Written;
use super::report::{Analysed, style_without_a_terminal};
use super::{destination, opened, refuse_beside_json, shut_out, to_output, to_styled_output};
use crate::watch_args::WatchArgs;
use live::Live;
use recorded::Recorded;
use started::Started;

pub use started::CommandFailed;

/// Width without a terminal: rows have several figures.
const WITHOUT_A_TERMINAL: usize = 100;
/// How long a watch takes, unless it is of a command.
const USUAL_LENGTH: Nanos = Nanos(60_000_000_000);
/// Longest time between two looks at what happened.
const STEP: Duration = Duration::from_millis(100);

/// Watches whom the flags name, or shows what an earlier watch wrote.
///
/// # Errors
/// [`CommandFailed`] if the command that was watched failed; a sentence if nobody can be watched, or a file cannot be read
/// or written.
pub fn watch(args: &WatchArgs) -> Result<()> {
    let outputs = outputs(args)?;
    if let Some(file) = &args.subject.show {
        let inputs = [Some(file), args.study.as_ref()];
        shut_out(inputs.into_iter().flatten().map(PathBuf::as_path), args.output.iter().map(PathBuf::as_path));
        let watched = read_watch(file)?;
        let study = studied(args)?;
        return tell(args, &watched, study.as_ref(), &outputs, None);
    }
    let study = studied(args)?;
    let record = recorded::destination_of(args)?;
    // Before a command is started: what ends the watch lets it end the command in order.
    let stop = halfpower_os::interrupt::stop_flag()?;
    let command = &args.subject.command;
    let mut started = if command.is_empty() { None } else { Some(Started::held(command)?) };
    let asked = match &started {
        Some(started) => started.asked(),
        None => whom::asked(&args.subject, &Root::live())?,
    };
    let recording = record.is_some().then_some(Recording { names: args.names });
    let settings = Settings { trace: !args.no_trace, most_cost: args.most_cost, record: recording, probe: args.probe };
    let mut session = Session::begin(&asked, &settings, Path::new("/"))?;
    if let Some(started) = &mut started {
        started.let_go()?;
    }
    let mut live = Live::new(args.json || started.is_some(), length(args));
    let seen = observe(&mut session, started.as_ref(), args, study.as_ref(), &mut live, &stop);
    live.close();
    let seen = seen.and_then(|()| Ok(session.finish()?));
    let answer = |watched: &Watched, captured: Option<Captured>| {
        let recorded = record.zip(captured).map(|(destination, captured)| Recorded { destination, captured });
        tell(args, watched, study.as_ref(), &outputs, recorded.as_ref())
    };
    let Some(mut started) = started else {
        let (watched, captured) = seen?;
        return answer(&watched, captured);
    };
    // Whoever ends the watch ends the command with it; where its time is over, the command goes on.
    if stop.load(Ordering::Relaxed) {
        started.wait(&stop)?;
    }
    let ended = started.ended()?;
    let told = seen.and_then(|(mut watched, captured)| {
        watched.subject.ended = ended.map(started::how);
        answer(&watched, captured)
    });
    if ended.is_none() {
        started.tell_that_it_goes_on();
    }
    // Also if the watch failed: nobody else waits for the command.
    let status = started.wait(&stop)?;
    told?;
    if status.success() || stop.load(Ordering::Relaxed) { Ok(()) } else { Err(CommandFailed::new(status).into()) }
}

/// How long the watch takes; `None` if it ends with the command.
fn length(args: &WatchArgs) -> Option<Duration> {
    let usual = args.subject.command.is_empty().then_some(USUAL_LENGTH);
    args.length.or(usual).map(|length| Duration::from_nanos(length.0))
}

/// Watches until the time is over, those who are watched have ended, or the user wishes to stop.
fn observe(
    session: &mut Session,
    started: Option<&Started>,
    args: &WatchArgs,
    study: Option<&Analysed>,
    live: &mut Live,
    stop: &AtomicBool,
) -> Result<()> {
    let length = length(args);
    let began = Instant::now();
    loop {
        let left = length.map(|length| length.saturating_sub(began.elapsed()));
        if stop.load(Ordering::Relaxed) || left.is_some_and(|left| left.is_zero()) {
            return Ok(());
        }
        let goes_on = session.step(left.unwrap_or(STEP).min(STEP))?;
        let command_ended = match started {
            Some(started) => started.has_ended()?,
            None => false,
        };
        if !goes_on || command_ended {
            return Ok(());
        }
        live.show(began.elapsed(), || session.so_far(), |watched| verdict(watched, study));
    }
}

/// The study whose ceilings the application is held against.
fn studied(args: &WatchArgs) -> Result<Option<Analysed>> {
    args.study.as_deref().map(|path| Analysed::of(&opened(path)?)).transpose()
}

fn verdict(watched: &Watched, study: Option<&Analysed>) -> WatchFindings {
    watch_findings(watched, study.map(|study| &*study.findings))
}

/// A file to write, and as what.
struct Output {
    destination: Destination,
    form: Form,
}

impl Output {
    fn write(&self, findings: &WatchFindings, watched: &Watched) -> Result<()> {
        self.destination.write(|out| -> Result<()> {
            match self.form {
                Form::Page => Ok(halfpower_report::watch_html(findings, watched, out)?),
                _ => Ok(write_watch(watched, out)?),
            }
        })
    }
}

/// The files to write, checked before anything is watched.
fn outputs(args: &WatchArgs) -> Result<Vec<Output>> {
    let of = |path: &PathBuf| -> Result<Output> {
        let form = form(path)?;
        let inputs = [args.subject.show.as_deref(), args.study.as_deref()];
        let destination = destination(path, form, args.force)?.apart_from(inputs.into_iter().flatten())?;
        Ok(Output { destination, form })
    };
    let outputs: Vec<Output> = args.output.iter().map(of).collect::<Result<_>>()?;
    refuse_beside_json(args.json, outputs.iter().map(|output| &output.destination))?;
    Ok(outputs)
}

/// What a file of this name holds.
fn form(path: &Path) -> Result<Form> {
    match path.extension().and_then(|ending| ending.to_str()) {
        _ if path == Path::new("-") => Ok(Form::Watch),
        Some("json") => Ok(Form::Watch),
        Some("html" | "htm") => Ok(Form::Page),
        _ => bail!(
            "{}: its name does not say what to write; name a file that ends in .json, to show it again, or in .html, a page",
            path.display()
        ),
    }
}

/// Writes the files, and prints the answer unless a file goes to standard output.
fn tell(
    args: &WatchArgs,
    watched: &Watched,
    study: Option<&Analysed>,
    outputs: &[Output],
    recorded: Option<&Recorded>,
) -> Result<()> {
    let findings = verdict(watched, study);
    let mut files: Vec<(&Destination, Result<()>)> =
        outputs.iter().map(|output| (&output.destination, output.write(&findings, watched))).collect();
    let kept = recorded.map(|recorded| (&recorded.destination, recorded.write()));
    let is_kept = kept.as_ref().is_some_and(|(_, written)| written.is_ok());
    files.extend(kept.filter(|_| !is_kept));
    let written = Written(files);
    let destinations = outputs.iter().map(|output| &output.destination);
    if destinations.chain(recorded.map(|recorded| &recorded.destination)).any(Destination::is_standard_output) {
        return written.all();
    }
    if args.json {
        to_output(|out| Ok(halfpower_report::watch_json(&findings, watched, out)?))?;
        return written.all();
    }
    let style = style_without_a_terminal(WITHOUT_A_TERMINAL);
    let text = halfpower_report::watch_text(&findings, watched, style.width);
    to_styled_output(&style, |out| Ok(out.write_all(text.as_bytes())?))?;
    let written = written.told();
    if let Some(recorded) = recorded.filter(|_| is_kept) {
        crate::tell::tell!("{}", recorded.sentence(watched));
    }
    written
}
