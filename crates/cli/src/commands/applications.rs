//! Finds the profile that `--for` names, and lists the built-in ones.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use halfpower_record::input;
use halfpower_spec::{Application, PROFILES, Profile, escaped};

use super::{line, to_output};
use crate::args::QuestionArgs;

/// The word that asks for a list.
const LIST: &str = "list";
/// Most bytes that are read of a profile; a profile has fewer.
const MOST_BYTES: u64 = 1 << 20;

/// The application of a built-in profile's name, or of a file that ends in `.toml`.
///
/// # Errors
/// If there is no such profile, or its text is none: a sentence with the line.
pub fn application(named: &Path) -> Result<Application> {
    let name = named.to_string_lossy().into_owned();
    if let Some(application) = Application::built_in(&name) {
        return Ok(application);
    }
    if named.extension().is_none_or(|ending| ending != "toml") {
        let known: Vec<&str> = PROFILES.iter().map(|(name, _)| *name).collect();
        bail!(
            "--for {}: there is no profile of this name; take {}, or a file of your own that ends in .toml",
            escaped(&name),
            known.join(", ")
        );
    }
    let text = input::read_text(named, MOST_BYTES)
        .with_context(|| format!("--for {}: the profile cannot be read", escaped(&name)))?;
    let application = Application { name, text };
    match application.profile() {
        Ok(_) => Ok(application),
        Err(error) => {
            bail!("--for {}: {error} (docs/applications.md says how to write one)", escaped(&application.name))
        }
    }
}

/// Prints the built-in profiles if `--for list` asks for them; returns whether it did.
pub fn listed(args: &QuestionArgs) -> Result<bool> {
    if args.application.as_deref() != Some(Path::new(LIST)) {
        return Ok(false);
    }
    to_output(list)?;
    Ok(true)
}

fn list(out: &mut dyn Write) -> Result<()> {
    let width = PROFILES.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, text) in PROFILES {
        let Profile { about, shapes, needs, settings } = Profile::read(text)?;
        let counts = format!("{} shapes, {} needs, {} settings", shapes.len(), needs.len(), settings.len());
        line(out, &format!("{name:width$}  {about} ({counts})"))?;
    }
    writeln!(out, "\nstudy for one:  halfpower study /srv/data --for {}", PROFILES[0].0)?;
    writeln!(out, "your own:       halfpower study /srv/data --for ./mine.toml (docs/applications.md)")?;
    Ok(())
}
