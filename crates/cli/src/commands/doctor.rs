//! Implements `halfpower doctor`: looks for settings and states that cost performance, and changes nothing.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use halfpower_doctor::{Place, diagnose};
use halfpower_probe::{Root, TargetIdentity};
use halfpower_record::{Diagnosis, Severity};
use halfpower_report::Style;
use halfpower_spec::Target;

use super::report::style;
use super::to_output;
use crate::args::DoctorArgs;

/// Width without a terminal: rows have four parts.
const WITHOUT_A_TERMINAL: usize = 100;

/// There are findings as severe as `--fail-if` says. This is not an error, but gives its own exit code.
#[derive(Debug)]
pub struct SettingsFound {
    severity: Severity,
    codes: Vec<String>,
}

impl std::fmt::Display for SettingsFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let worse = if self.severity == Severity::Bad { "" } else { " or worse" };
        write!(
            f,
            "--fail-if {}: {} found something {}{worse}",
            self.severity.name(),
            self.codes.join(", "),
            self.severity.name()
        )
    }
}

impl std::error::Error for SettingsFound {}

/// Prints what every check found.
///
/// # Errors
/// [`SettingsFound`] if a finding is as severe as `--fail-if` says; a sentence if the target cannot be looked at.
pub fn doctor(args: &DoctorArgs) -> Result<()> {
    let paths = paths(&args.target)?;
    let seen: Vec<Diagnosis> = paths.iter().map(|path| of_path(path)).collect::<Result<_>>()?;
    to_output(|out| {
        if args.json {
            return Ok(halfpower_report::doctor_json(&seen, out)?);
        }
        let style = wide(style());
        for (at, place) in seen.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            match args.markdown {
                true => halfpower_report::doctor_markdown(place, out)?,
                false => halfpower_report::doctor_text(place, args.all, &style, out)?,
            }
        }
        Ok(())
    })?;
    match args.fail_if {
        Some(severity) => judged(&seen, severity),
        None => Ok(()),
    }
}

fn wide(style: Style) -> Style {
    let is_told = std::io::stdout().is_terminal() || std::env::var_os("COLUMNS").is_some();
    if is_told { style } else { Style { width: WITHOUT_A_TERMINAL, ..style } }
}

fn paths(target: &Target) -> Result<Vec<PathBuf>> {
    Ok(match target {
        Target::Path(path) => vec![path.clone()],
        Target::Several(several) => several.members.clone(),
        Target::Simulated(_) | Target::System(_) | Target::Share(_) | Target::Null => bail!(
            "{target}: doctor looks at settings of this machine; name a folder, a file or a block device, such as a \
             mount of the share"
        ),
    })
}

fn of_path(path: &Path) -> Result<Diagnosis> {
    let there = path.canonicalize();
    there.with_context(|| format!("{}: name an existing folder, file or device", path.display()))?;
    Ok(diagnose(&Place::of(&Root::live(), &TargetIdentity::of(path)?)))
}

fn judged(seen: &[Diagnosis], severity: Severity) -> Result<()> {
    let checks = seen.iter().flat_map(|place| &place.checks);
    let found = checks.filter(|check| check.findings.iter().any(|finding| finding.severity >= severity));
    let mut codes: Vec<String> = found.map(|check| check.code.clone()).collect();
    codes.dedup();
    if codes.is_empty() { Ok(()) } else { Err(SettingsFound { severity, codes }.into()) }
}
