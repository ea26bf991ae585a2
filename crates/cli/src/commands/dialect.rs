//! Implements command lines of other tools: `halfpower sqlio`, `halfpower diskspd`, and fio's options in `halfpower
//! run`.

use std::ffi::OsString;

use anyhow::{Result, bail};
use halfpower_dialects::{Dialect, Measured, Refusal, Translation};

use super::{line, outcome, refuse_passwords, run, to_output};
use crate::args::CommandLine;
use crate::hosts::join_processes;
use crate::run_args::RunArgs;

/// Runs a line of fio's options after `halfpower run`.
pub fn fio(words: &[OsString]) -> Result<()> {
    conduct(halfpower_dialects::fio::translate(words))
}

/// Runs a line of SQLIO's options.
pub fn sqlio(words: &[OsString]) -> Result<()> {
    if asks_for_help(words) {
        return list(Dialect::Sqlio);
    }
    conduct(halfpower_dialects::sqlio::translate(words))
}

/// Runs a line of diskspd's options.
pub fn diskspd(words: &[OsString]) -> Result<()> {
    if asks_for_help(words) {
        return list(Dialect::Diskspd);
    }
    conduct(halfpower_dialects::diskspd::translate(words))
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
fn conduct(translated: Result<Translation, Vec<Refusal>>) -> Result<()> {
    let translation = translated.or_else(|refusals| refused(&refusals))?;
    // A job file may hold them too.
    translation.runs.iter().try_for_each(|run| refuse_passwords(&run.words))?;
    let asked: Vec<RunArgs> = translation.runs.iter().map(|run| CommandLine::of_run(&run.words)).collect();
    let stop = halfpower_os::interrupt::stop_flag()?;
    let targets = asked.iter().map(run::asked).collect::<Result<Vec<_>>>()?;
    let Some(join_processes) = join_processes(&targets, &stop)? else { return Ok(()) };
    for note in translation.notes() {
        crate::tell::tell!("halfpower: {note}");
    }
    let mut done = Vec::new();
    for (nth, (words, args)) in translation.runs.iter().zip(&asked).enumerate() {
        let (record, environment) = run::measured(args, (nth, &join_processes), &stop)?;
        if translation.is_printed_as_ours() {
            to_output(|out| {
                if !words.name.is_empty() && !args.json {
                    line(out, &format!("{}:", words.name))?;
                }
                run::print(args, &record, &environment, out)
            })?;
        }
        done.push(Measured { run: words, record, environment });
    }
    to_output(|out| Ok(translation.print(&done, out)?))?;
    let records: Vec<_> = done.into_iter().map(|measured| measured.record).collect();
    outcome::of(&records)
}

/// Prints every refused option, and returns the last as the error.
fn refused<T>(refusals: &[Refusal]) -> Result<T> {
    let (last, rest) = refusals.split_last().expect("a line is refused for a reason");
    for refusal in rest {
        crate::tell::tell!("halfpower: {refusal}");
    }
    bail!("{last}")
}
