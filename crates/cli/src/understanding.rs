//! Parses a command line as far as possible without measuring, for fuzzers.

use std::ffi::OsString;

use clap::Parser;

use crate::args::{Command, CommandLine};
use crate::commands::question::{command_of, question};

/// Parses these words (without the program's name) as a halfpower line and as a line of each supported tool, without
/// measuring or writing.
///
/// # Panics
/// If a line of another tool is refused without a message. Fuzzers look for this and any other panic.
pub fn understand(words: &[OsString]) {
    ask(words);
    for translated in [
        halfpower_dialects::fio::translate(words),
        halfpower_dialects::sqlio::translate(words),
        halfpower_dialects::diskspd::translate(words),
    ] {
        match translated {
            Ok(translation) => translation.runs.iter().for_each(|run| drop(CommandLine::try_parse_from(&run.words))),
            Err(refusals) => {
                assert!(refusals.iter().all(|refusal| !refusal.to_string().is_empty()) && !refusals.is_empty())
            }
        }
    }
}

fn ask(words: &[OsString]) {
    let name = OsString::from("halfpower");
    let Ok(line) = CommandLine::try_parse_from([&name].into_iter().chain(words)) else { return };
    match line.command {
        Command::Study(args) => drop(question(&args.question).map(|question| command_of(&question))),
        Command::Plan(args) => drop(question(&args.question).map(|question| command_of(&question))),
        Command::Run(args) => {
            drop(args.workload().map(|workload| (workload.to_string(), workload.identity().to_string())))
        }
        _ => {}
    }
}

#[cfg(test)]
mod mangled;
#[cfg(test)]
mod pages;
