//! Runs the command that a command line names and turns its outcome into an exit code.
//!
//! `main.rs` only calls this library, so that fuzzers can call it too.

mod args;
mod baselines;
mod commands;
mod duet_args;
mod hosts;
mod live;
mod measuring_args;
mod misread;
mod payload_args;
mod predict_args;
mod progress;
mod replay_args;
mod run_args;
mod study_progress;
mod tell;
mod understanding;
mod values;
mod watch_args;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use args::{Command, CommandLine};
use commands::compare::ConditionHolds;
use commands::doctor::SettingsFound;
use commands::outcome::{FailedRequests, NoDepthHolds, WrongData};
use commands::watch::CommandFailed;

pub use understanding::understand;

/// Exit code if there is something to look at: a `--fail-if` condition holds, no depth keeps the latency asked for, wrong
/// data was read, requests failed, or a command that was watched did.
const EXIT_CONDITION: u8 = 1;
/// Exit code for errors: bad input, or a refusal by the system.
const EXIT_ERROR: u8 = 2;

/// Runs the command line `words`, which begins with the program's name, and returns the exit code.
pub fn carry_out(words: &[OsString]) -> ExitCode {
    // Every command first restores settings that a killed process left changed. A witness does not: it must change
    // nothing on its machine.
    let mends = words.get(1).is_none_or(|command| command != "witness");
    mends
        .then(halfpower_os::mend_switched)
        .iter()
        .flatten()
        .for_each(|sentence| crate::tell::tell!("halfpower: {sentence}"));
    match outcome(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            crate::tell::tell!("halfpower: {error:#}");
            let is_condition =
                error.is::<ConditionHolds>() || error.is::<SettingsFound>() || error.is::<NoDepthHolds>();
            let has_failed = error.is::<FailedRequests>() || error.is::<CommandFailed>();
            let is_finding = is_condition || has_failed || error.is::<WrongData>();
            ExitCode::from(if is_finding { EXIT_CONDITION } else { EXIT_ERROR })
        }
    }
}

fn outcome(words: &[OsString]) -> anyhow::Result<()> {
    halfpower_os::interrupt::refuse_large_files_by_error()?;
    // This check comes first, because later errors print the words.
    commands::refuse_passwords(own_words(words))?;
    if let Some(of_fio) = in_place_of_fio(words) {
        return commands::dialect::in_place_of_fio(of_fio);
    }
    match words.get(1..) {
        Some([word]) if word == "version" => {
            command(CommandLine::read(&[words[0].clone(), "--version".into()]).command)
        }
        Some([command, of_run @ ..]) if command == "run" && commands::replay::is_meant(of_run) => {
            commands::replay::replay(words)
        }
        Some([command, of_fio @ ..]) if command == "run" && halfpower_dialects::fio::speaks(of_fio) => {
            commands::dialect::fio(of_fio)
        }
        Some([command, of_run @ ..]) if command == commands::at_once::JOB => commands::at_once::job(of_run),
        _ => command(CommandLine::read(words).command),
    }
}

/// The words that are halfpower's: what follows `--` of `watch` is the command of another program, which may need its password
/// there. It is masked where it is shown or kept.
fn own_words(words: &[OsString]) -> &[OsString] {
    let is_watch = words.get(1).is_some_and(|command| command == "watch");
    let end = words.iter().position(|word| word == "--").filter(|_| is_watch);
    &words[..end.unwrap_or(words.len())]
}

/// The words of a line of fio, if the program was called by the name `fio`: programs that call fio then get halfpower.
fn in_place_of_fio(words: &[OsString]) -> Option<&[OsString]> {
    let (program, of_fio) = words.split_first()?;
    (Path::new(program).file_name()? == "fio").then_some(of_fio)
}

fn command(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Study(args) => commands::study::study(&args),
        Command::Sqlio(args) => commands::dialect::sqlio(&args.words),
        Command::Diskspd(args) => commands::dialect::diskspd(&args.words),
        Command::Run(args) => commands::run::run(&args),
        Command::Plan(args) => commands::plan::plan(&args),
        Command::Memory(args) => commands::memory::memory(&args),
        Command::Doctor(args) => commands::doctor::doctor(&args),
        Command::Probe(args) => commands::probe::probe(&args),
        Command::Watch(args) => commands::watch::watch(&args),
        Command::Predict(args) => commands::predict::predict(&args),
        Command::Report(args) => commands::report::report(&args),
        Command::Compare(args) if args.duet.live.is_some() => commands::duet::duet(&args),
        Command::Compare(args) if commands::alike::is_asked(&args) => commands::alike::alike(&args),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::History(args) => commands::history::history(&args),
        Command::Export(args) => commands::export::export(&args),
        Command::Import(args) => commands::import::import(&args),
        Command::Calibrate(args) => commands::calibrate::calibrate(&args),
        Command::Generate(args) => commands::generate::generate(&args),
        Command::Witness(args) => commands::witness::witness(&args),
        Command::Systems(args) => commands::systems::systems(&args),
    }
}
