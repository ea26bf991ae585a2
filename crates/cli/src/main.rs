//! halfpower: how fast can this storage path go, what stops it, what does each byte cost, which settings get
//! there?

mod args;
mod commands;
mod progress;
mod run_args;

use std::process::ExitCode;

use args::{Command, CommandLine};
use commands::compare::ConditionHolds;

/// A finding crosses a threshold that the user set.
const EXIT_CONDITION: u8 = 1;
/// An error: bad input, or something that the system refused.
const EXIT_ERROR: u8 = 2;

fn main() -> ExitCode {
    let outcome = CommandLine::read().map_err(anyhow::Error::from).and_then(|line| match line.command {
        Command::Study(args) => commands::study::study(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Plan(args) => commands::plan::plan(&args),
        Command::Memory(args) => commands::memory::memory(&args),
        Command::Probe(args) => commands::probe::probe(&args),
        Command::Report(args) => commands::report::report(&args),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::Export(args) => commands::export::export(&args),
        Command::Calibrate(args) => commands::calibrate::calibrate(&args),
        Command::Systems(args) => commands::systems::systems(&args),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if commands::output_was_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("halfpower: {error:#}");
            ExitCode::from(if error.is::<ConditionHolds>() { EXIT_CONDITION } else { EXIT_ERROR })
        }
    }
}
