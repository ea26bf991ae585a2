//! Keeps copies of studies under names in the user's data folder, as baselines for later comparisons.

use std::fs;
use std::path::{Path, PathBuf};

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

/// The place of a baseline that is to be kept.
#[derive(Debug)]
pub struct Baseline {
    name: String,
    path: PathBuf,
    is_taken: bool,
}

impl Baseline {
    /// The place under this name; with `force`, that of an older baseline too.
    ///
    /// # Errors
    /// If the name is invalid or taken, or if something that is no baseline lies there.
    pub fn new(name: &str, force: bool) -> Result<Self> {
        let path = path(name)?;
        let there = path.symlink_metadata().ok();
        if there.is_some() && !force {
            bail!(
                "there is a baseline `{name}` already: choose another name, replace it with --force, or remove {}",
                path.display()
            );
        }
        if there.as_ref().is_some_and(|there| !there.is_file() || !StudyFile::is_at(&path)) {
            bail!("{} is not a study file, so --force does not replace it: choose another name", path.display());
        }
        Ok(Self { name: name.to_string(), path, is_taken: there.is_some() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether an older baseline has this name.
    pub fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// Copies a study as it is now to this place. An older baseline is replaced in one step.
    ///
    /// # Errors
    /// If the copy fails.
    pub fn keep(&self, study: &mut StudyFile) -> Result<()> {
        let folder = folder()?;
        fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        let copied = if self.is_taken { study.copy_over(&self.path) } else { study.copy_to_new(&self.path) };
        Ok(copied?)
    }
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
