//! halfpower: how fast can this storage path go, what stops it, what does each byte cost, which settings get
//! there?

mod args;
mod commands;
mod progress;

use std::process::ExitCode;

use clap::Parser;

use args::{Command, CommandLine};

/// An error: bad input, or something that the system refused.
const EXIT_ERROR: u8 = 2;

fn main() -> ExitCode {
    let outcome = match CommandLine::parse().command {
        Command::Study(args) => commands::study::study(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Probe(args) => commands::probe::probe(&args),
        Command::Report(args) => commands::report::report(&args),
        Command::Export(args) => commands::export::export(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if commands::output_was_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("halfpower: {error:#}");
            ExitCode::from(EXIT_ERROR)
        }
    }
}
