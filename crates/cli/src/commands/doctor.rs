//! Implements `halfpower doctor`: looks for settings and states that cost performance; with `--try` it tries settings.

mod tries;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use halfpower_doctor::{Place, diagnose, tried_as};
use halfpower_probe::{Root, TargetIdentity};
use halfpower_record::{Diagnosis, Severity};
use halfpower_report::Style;
use halfpower_spec::{Nanos, Target};

use super::report::style;
use super::to_output;
use crate::args::DoctorArgs;
use crate::values::Tried;

/// Width without a terminal: rows have four parts.
const WITHOUT_A_TERMINAL: usize = 100;

/// Longest time for all trials.
const USUAL_BUDGET: Nanos = Nanos(60_000_000_000);

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

/// Prints what every check found, and what trying settings gave if that is asked for.
///
/// # Errors
/// [`SettingsFound`] if a finding is as severe as `--fail-if` says; a sentence if the target cannot be looked at, or
/// nothing can be tried on it.
pub fn doctor(args: &DoctorArgs) -> Result<()> {
    let paths = paths(&args.target)?;
    let seen: Vec<Diagnosis> = match &args.tries {
        None => paths.iter().map(|path| place_of(path).map(|place| diagnose(&place))).collect::<Result<_>>()?,
        Some(wanted) => tried(args, &paths, wanted)?,
    };
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
                true => halfpower_report::doctor_markdown(place, args.all, out)?,
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

fn place_of(path: &Path) -> Result<Place> {
    let there = path.canonicalize();
    there.with_context(|| format!("{}: name an existing folder, file or device", path.display()))?;
    Ok(Place::of(&Root::live(), &TargetIdentity::of(path)?))
}

/// Looks at all places, and tries settings of one after the other.
fn tried(args: &DoctorArgs, paths: &[PathBuf], wanted: &Tried) -> Result<Vec<Diagnosis>> {
    if !halfpower_os::may_change() {
        bail!("--try switches settings of the kernel and puts them back, which only root may: run it as root");
    }
    let mistaken = paths.iter().find(|path| !path.exists() && path.to_str().and_then(tried_as).is_some());
    if let Some(name) = mistaken {
        bail!("--try {0}: a value needs an equals sign; write --try={0}", name.display());
    }
    let stop = halfpower_os::interrupt::stop_flag()?;
    let stop: &AtomicBool = &stop;
    let budget = Nanos(args.budget.unwrap_or(USUAL_BUDGET).0 / paths.len().max(1) as u64);
    let of_path = |path: &PathBuf| -> Result<Diagnosis> {
        let place = place_of(path)?;
        let seen = diagnose(&place);
        let trials = tries::tries(path, (&place, &seen), (wanted, budget), args.json, stop)?;
        Ok(seen.with_tries(trials))
    };
    paths.iter().map(of_path).collect()
}

fn judged(seen: &[Diagnosis], severity: Severity) -> Result<()> {
    let checks = seen.iter().flat_map(|place| &place.checks);
    let found = checks.filter(|check| check.findings.iter().any(|finding| finding.severity >= severity));
    let mut codes: Vec<String> = found.map(|check| check.code.clone()).collect();
    codes.dedup();
    if codes.is_empty() { Ok(()) } else { Err(SettingsFound { severity, codes }.into()) }
}
