//! Implements command lines of other tools: `halfpower sqlio`, `halfpower diskspd`, and fio's options in `halfpower
//! run`.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Result, bail};
use halfpower_dialects::{Dialect, Measured, Refusal, RunWords, Translation};
use halfpower_record::output::{Destination, Form};

use super::{destination, outcome, run, to_output};
use crate::args::CommandLine;
use crate::hosts::join_processes;
use crate::run_args::RunArgs;

/// Runs a line of fio's options after `halfpower run`.
pub fn fio(words: &[OsString]) -> Result<()> {
    conduct(halfpower_dialects::fio::translate(words), Notes::Told)
}

/// Runs a line of a program that calls fio and got halfpower in its place.
pub fn in_place_of_fio(words: &[OsString]) -> Result<()> {
    match words {
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
    words.is_empty() || words.iter().any(|word| word == "--help" || word == "-?")
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

/// Measures the runs of a line one after the other, and prints them.
fn conduct(translated: Result<Translation, Vec<Refusal>>, notes: Notes) -> Result<()> {
    let translation = translated.or_else(|refusals| refused(&refusals))?;
    let asked: Vec<RunArgs> = translation.runs.iter().map(|run| CommandLine::of_run(&run.words)).collect();
    let stop = halfpower_os::interrupt::stop_flag()?;
    let targets = asked.iter().map(run::asked).collect::<Result<Vec<_>>>()?;
    let Some(join_processes) = join_processes(&targets, &stop)? else { return Ok(()) };
    let logs = translation.runs.iter().map(log_places).collect::<Result<Vec<_>>>()?;
    let told = if notes == Notes::InResults && translation.holds_notes() { Vec::new() } else { translation.notes() };
    for note in told {
        crate::tell::tell!("halfpower: {}", halfpower_spec::escaped(note));
    }
    let mut done = Vec::new();
    for (nth, (words, args)) in translation.runs.iter().zip(&asked).enumerate() {
        let (record, environment) = run::measured(args, (nth, &join_processes), &stop)?;
        if translation.is_printed_as_ours() {
            to_output(|out| {
                if !words.name.is_empty() && !args.json {
                    writeln!(out, "{}:", halfpower_spec::escaped(&words.name))?;
                }
                run::print(args, &record, &environment, out)
            })?;
        }
        for (log, destination) in words.logs.iter().zip(&logs[nth]) {
            destination.write(|out| -> Result<()> { Ok(log.write(&record, out)?) })?;
        }
        done.push(Measured { run: words, record, environment });
    }
    to_output(|out| Ok(translation.print(&done, out)?))?;
    let records: Vec<_> = done.into_iter().map(|measured| measured.record).collect();
    outcome::of(&records)
}

/// The places of a run's logs, asked for before anything is measured.
fn log_places(run: &RunWords) -> Result<Vec<Destination>> {
    run.logs.iter().map(|log| Ok(destination(Path::new(&log.path), Form::FioLog, false)?)).collect()
}

/// Prints every refused option, and returns the last as the error.
fn refused<T>(refusals: &[Refusal]) -> Result<T> {
    let (last, rest) = refusals.split_last().expect("a line is refused for a reason");
    for refusal in rest {
        crate::tell::tell!("halfpower: {}", halfpower_spec::escaped(&refusal.to_string()));
    }
    bail!("{last}")
}
