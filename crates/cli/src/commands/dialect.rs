//! Implements command lines of other tools: `halfpower sqlio`, `halfpower diskspd`, and fio's options in `halfpower
//! run`.

use std::ffi::OsString;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use halfpower_dialects::{Dialect, Ends, Measured, Refusal, RunWords, Translation};
use halfpower_measure::LatenciesOf;
use halfpower_record::output::{Destination, Form, TEXT_MARK};
use halfpower_record::{Environment, Record};

use super::{at_once, destination, line, outcome, refuse_passwords, replay, run, to_output};
use crate::args::CommandLine;
use crate::hosts::{Processes, join_processes};
use crate::run_args::RunArgs;

/// Runs a line of fio's options after `halfpower run`.
pub fn fio(words: &[OsString]) -> Result<()> {
    conduct(halfpower_dialects::fio::translate(words), Notes::Told)
}

/// Runs a line of a program that calls fio and got halfpower in its place.
pub fn in_place_of_fio(words: &[OsString]) -> Result<()> {
    // A script in fio's place may let each call write to what was there.
    let asked: Vec<&OsString> = words.iter().filter(|word| *word != "--overwrite").collect();
    match asked[..] {
        [only] if only == "--version" || only == "-v" => to_output(|out| {
            // Programs look for the number of the release whose JSON they read.
            Ok(writeln!(
                out,
                "{} (halfpower {} in its place)",
                halfpower_dialects::fio::LIKE,
                env!("CARGO_PKG_VERSION")
            )?)
        }),
        [] => list(Dialect::Fio),
        [only] if only == "--help" || only == "-h" => list(Dialect::Fio),
        _ => conduct(halfpower_dialects::fio::translate(words), Notes::InResults),
    }
}

/// Where the differences from the other tool are said.
#[derive(Clone, Copy, PartialEq)]
enum Notes {
    /// On standard error.
    Told,
    /// In the results, if their layout has a place for them: programs take what fio writes to standard error for a
    /// failure.
    InResults,
}

/// Runs a line of SQLIO's options.
pub fn sqlio(words: &[OsString]) -> Result<()> {
    if asks_for_help(words) {
        return list(Dialect::Sqlio);
    }
    conduct(halfpower_dialects::sqlio::translate(words), Notes::Told)
}

/// Runs a line of diskspd's options.
pub fn diskspd(words: &[OsString]) -> Result<()> {
    if asks_for_help(words) {
        return list(Dialect::Diskspd);
    }
    conduct(halfpower_dialects::diskspd::translate(words), Notes::Told)
}

fn asks_for_help(words: &[OsString]) -> bool {
    let asks = |word: &OsString| word == "--help" || word == "-?";
    // With other words, diskspd's -h is a setting of caches.
    words.is_empty() || words.iter().any(asks) || words == ["-h"]
}

fn list(dialect: Dialect) -> Result<()> {
    to_output(|out| {
        writeln!(out, "Options of {}, and what becomes of each:\n", dialect.name())?;
        for habit in dialect.habits() {
            writeln!(out, "  {:<8} {:<10} {}", habit.names.join(", "), habit.became, habit.says)?;
        }
        Ok(writeln!(out, "\nLong flags of `halfpower run` may stand beside them, such as --overwrite.")?)
    })
}

/// Measures the runs of a line, those of a turn at once, and prints them.
fn conduct(translated: Result<Translation, Vec<Refusal>>, notes: Notes) -> Result<()> {
    let translation = translated.or_else(|refusals| refused(&refusals))?;
    // A job file may hold them too.
    translation.runs.iter().try_for_each(|run| refuse_passwords(&run.words))?;
    if translation.runs.iter().any(|run| replay::is_meant(&run.words)) {
        return conduct_replay(&translation);
    }
    if translation.only_shows {
        return show(&translation);
    }
    let asked: Vec<RunArgs> = translation.runs.iter().map(|run| CommandLine::of_run(&run.words)).collect();
    at_once::refuse(&translation.runs, &asked)?;
    let file = translation.output.as_ref();
    let form = if translation.is_printed_as_ours() { Form::Text } else { Form::Fio };
    let file = file.map(|output| destination(&output.path, form, output.force)).transpose()?;
    let stop = halfpower_os::interrupt::stop_flag()?;
    let targets = asked.iter().map(run::asked).collect::<Result<Vec<_>>>()?;
    let Some(join_processes) = join_processes(&targets, &stop)? else { return Ok(()) };
    let logs = translation.runs.iter().map(log_places).collect::<Result<Vec<_>>>()?;
    let told = if notes == Notes::InResults && translation.holds_notes() { Vec::new() } else { translation.notes() };
    for note in told {
        crate::tell::tell!("halfpower: {note}");
    }
    let mut done: Vec<Measured<'_>> = Vec::new();
    while done.len() < translation.runs.len() && !done.iter().any(|measured| measured.run.ends == Ends::All) {
        let turn = at_once::turn(&translation.runs, done.len());
        let results = measured(&translation, &asked, turn.clone(), &join_processes, &stop)?;
        for (nth, (record, environment)) in turn.zip(results) {
            if notes == Notes::Told {
                run::tell_depth(&record);
            }
            let measured = Measured { run: &translation.runs[nth], record, environment };
            if translation.is_printed_as_ours() && file.is_none() {
                to_output(|out| print_as_ours(&asked[nth], &measured, out))?;
            }
            for (log, destination) in measured.run.logs.iter().zip(&logs[nth]) {
                destination.write(|out| -> Result<()> { Ok(log.write(&measured.record, out)?) })?;
            }
            done.push(measured);
        }
    }
    match file {
        Some(file) => write_to(&file, &translation, &asked, &done)?,
        None => to_output(|out| Ok(translation.print(&done, out)?))?,
    }
    let records: Vec<_> = done.into_iter().map(|measured| measured.record).collect();
    outcome::of(&records)
}

/// Asks the log of a line again, which is the line's only run.
fn conduct_replay(translation: &Translation) -> Result<()> {
    let [run] = &translation.runs[..] else {
        bail!("read_iolog: a log is asked again alone: write its job as a line of its own");
    };
    if translation.output.is_some() {
        bail!("--output: what a replay tells goes to standard output: send that to the file");
    }
    for note in translation.notes() {
        crate::tell::tell!("halfpower: {note}");
    }
    if translation.only_shows {
        return to_output(|out| Ok(writeln!(out, "{}", shown(run))?));
    }
    let front: [OsString; 2] = ["halfpower".into(), "run".into()];
    let words: Vec<OsString> = front.iter().chain(&run.words).cloned().collect();
    replay::replay(&words)
}

/// Measures the runs of a turn.
fn measured(
    translation: &Translation,
    asked: &[RunArgs],
    turn: Range<usize>,
    join_processes: &Processes,
    stop: &AtomicBool,
) -> Result<Vec<(Record, Environment)>> {
    let runs = &translation.runs[turn.clone()];
    let asked = &asked[turn.clone()];
    if let ([run], [args]) = (runs, asked) {
        wait_to_begin(run, stop)?;
        let kept = if run.has_entries_of_threads { LatenciesOf::EachLane } else { LatenciesOf::AllLanes };
        return Ok(vec![run::measured(args, (turn.start, join_processes), kept, stop)?]);
    }
    let results = at_once::measured(runs, asked, stop)?;
    if !stop.load(Ordering::Relaxed) {
        return Ok(results);
    }
    for ((run, args), (record, environment)) in runs.iter().zip(asked).zip(results) {
        let measured = Measured { run, record, environment };
        to_output(|out| print_as_ours(args, &measured, out))?;
    }
    bail!("interrupted; the figures are of the time until then")
}

fn print_as_ours(args: &RunArgs, measured: &Measured<'_>, out: &mut dyn Write) -> Result<()> {
    let Measured { run: words, record, environment } = measured;
    if !words.name.is_empty() && !args.json {
        line(out, &format!("{}:", words.name))?;
    }
    run::print(args, record, environment, out)
}

/// Writes all results to the file that the line names.
fn write_to(file: &Destination, translation: &Translation, asked: &[RunArgs], done: &[Measured<'_>]) -> Result<()> {
    file.write(|out| {
        if !translation.is_printed_as_ours() {
            return Ok(translation.print(done, out)?);
        }
        if !asked.iter().any(|args| args.json) {
            writeln!(out, "{TEXT_MARK}{}", env!("CARGO_PKG_VERSION"))?;
        }
        asked.iter().zip(done).try_for_each(|(args, measured)| print_as_ours(args, measured, out))?;
        Ok(translation.print(done, out)?)
    })
}

/// The command of a run.
fn shown(run: &RunWords) -> String {
    let words: Vec<String> = run.words.iter().map(halfpower_spec::shell_word).collect();
    format!("halfpower run {}", words.join(" "))
}

/// Prints the commands that the runs of a line became, those that are measured at once in one line.
fn show(translation: &Translation) -> Result<()> {
    for run in &translation.runs {
        let args = CommandLine::of_run(&run.words);
        args.target()?;
        halfpower_measure::coherent(&run::checked(&args)?)?;
    }
    for note in translation.notes() {
        crate::tell::tell!("halfpower: {note}");
    }
    to_output(|out| {
        let mut first = 0;
        while first < translation.runs.len() {
            let turn = at_once::turn(&translation.runs, first);
            first = turn.end;
            let lines: Vec<String> = translation.runs[turn].iter().map(shown).collect();
            match &lines[..] {
                [line] => writeln!(out, "{line}")?,
                lines => writeln!(out, "{} & wait", lines.join(" & "))?,
            }
        }
        Ok(())
    })
}

/// Lets the time pass that a run is to wait for.
fn wait_to_begin(run: &RunWords, stop: &AtomicBool) -> Result<()> {
    match run.start_delay {
        Some(delay) if !at_once::passed(delay, stop) => bail!("interrupted before the run began"),
        _ => Ok(()),
    }
}

/// The places of a run's logs, asked for before anything is measured.
fn log_places(run: &RunWords) -> Result<Vec<Destination>> {
    run.logs.iter().map(|log| Ok(destination(Path::new(&log.path), Form::FioLog, false)?)).collect()
}

/// Prints every refused option, and returns the last as the error.
fn refused<T>(refusals: &[Refusal]) -> Result<T> {
    let (last, rest) = refusals.split_last().expect("a line is refused for a reason");
    for refusal in rest {
        crate::tell::tell!("halfpower: {refusal}");
    }
    bail!("{last}")
}
