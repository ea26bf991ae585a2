//! Declares a flag for each option of a workload, from the table of options.

use clap::builder::{StringValueParser, TypedValueParser as _};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use halfpower_spec::{OPTIONS, OptionRow, ParseError, WorkloadOption, WorkloadOptions};

/// The workload's options beyond the usual axes.
#[derive(Debug)]
pub struct WorkloadOptionArgs(pub WorkloadOptions);

/// The options that are flags of `run` only; flags common to several commands are declared in `CommonArgs`.
fn rows() -> impl Iterator<Item = &'static OptionRow> {
    OPTIONS.iter().filter(|row| !matches!(row.option, WorkloadOption::Connections | WorkloadOption::Sealing))
}

fn flag(row: &'static OptionRow) -> Arg {
    let short = row.help.split("\n\n").next().unwrap_or_default();
    let mut flag =
        Arg::new(row.flag).long(row.flag).help(short).help_heading("More of the workload").hide_short_help(true);
    if short != row.help {
        flag = flag.long_help(row.help);
    }
    if let Some(alias) = row.alias {
        flag = flag.alias(alias);
    }
    if row.is_switch {
        return flag.action(ArgAction::SetTrue);
    }
    if let Some(name) = row.value_name {
        flag = flag.value_name(name);
    }
    if let Some(usual) = row.usual() {
        flag = flag.default_value(usual);
    }
    // Parsed here so that the error names the flag, and again when all flags are known.
    flag.value_parser(StringValueParser::new().try_map(move |text| {
        row.read(&mut WorkloadOptions::default(), &text)?;
        Ok::<String, ParseError>(text)
    }))
}

impl Args for WorkloadOptionArgs {
    fn augment_args(command: Command) -> Command {
        command.args(rows().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for WorkloadOptionArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut all = Self(WorkloadOptions::default());
        all.update_from_arg_matches(matches)?;
        Ok(all)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for row in rows() {
            let text = if row.is_switch {
                matches.get_flag(row.flag).then(String::new)
            } else {
                matches.get_one::<String>(row.flag).cloned()
            };
            if let Some(text) = text {
                row.read(&mut self.0, &text).map_err(|error| Error::raw(ErrorKind::ValueValidation, error))?;
            }
        }
        Ok(())
    }
}
