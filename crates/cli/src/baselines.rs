//! Keeps copies of studies under names in the user's data folder, as baselines for later comparisons.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use halfpower_record::StudyFile;

/// Extension of each file.
const ENDING: &str = ".halfpower";

/// Path of the baseline `name`.
///
/// # Errors
/// If there is no such baseline; the message lists those that exist.
pub fn find(name: &str) -> Result<PathBuf> {
    let path = path(name)?;
    if path.exists() {
        return Ok(path);
    }
    let known = names()?;
    if known.is_empty() {
        bail!("there is no baseline `{name}`, and no other: `halfpower compare STUDY --save {name}` keeps one");
    }
    bail!("there is no baseline `{name}`; there are: {}", known.join(", "))
}

/// Copies a study as it is now to a new baseline and returns its path.
///
/// # Errors
/// If the name is invalid or taken, or the copy fails.
pub fn save(study: &mut StudyFile, name: &str) -> Result<PathBuf> {
    let path = path(name)?;
    if path.exists() {
        bail!("there is a baseline `{name}` already: choose another name, or remove {}", path.display());
    }
    let folder = folder()?;
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    study.copy_to_new(&path)?;
    Ok(path)
}

fn path(name: &str) -> Result<PathBuf> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(fits) {
        bail!("`{name}` is no name for a baseline: write letters, digits, - _ and . such as before-6.12");
    }
    Ok(folder()?.join(format!("{name}{ENDING}")))
}

fn names() -> Result<Vec<String>> {
    let entries = fs::read_dir(folder()?).into_iter().flatten().flatten();
    let name = |entry: fs::DirEntry| Some(entry.file_name().to_str()?.strip_suffix(ENDING)?.to_string());
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort();
    Ok(names)
}

/// halfpower's baseline folder in the user's data folder (XDG Base Directory Specification).
fn folder() -> Result<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    let data = data.context("neither XDG_DATA_HOME nor HOME names a folder in which a baseline could be kept")?;
    Ok(data.join("halfpower/baselines"))
}
