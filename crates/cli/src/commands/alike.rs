//! Implements `halfpower compare FOLDER`: says which of many alike machines is unlike the others.

use std::path::PathBuf;

use anyhow::{Result, bail};
use halfpower_analyse::{LEAST_MACHINES, StudyDigest};

use super::report::style;
use super::{history, to_styled_output};
use crate::args::CompareArgs;

/// Whether alike machines are compared, and not studies with a baseline: a folder is named.
pub fn is_asked(args: &CompareArgs) -> bool {
    args.studies.iter().any(|study| study.path.is_dir())
}

/// Compares the studies of alike machines, one study of each, and prints which of them is unlike the others.
///
/// # Errors
/// If there are too few studies, if they have no cell in common, or if an option is about a baseline; all errors of writing.
pub fn alike(args: &CompareArgs) -> Result<()> {
    args.duet.refuse_alone()?;
    let has_baseline =
        args.baseline.is_some() || args.save.is_some() || !args.fail_if.is_empty() || args.price.is_some();
    let has_form = args.html.is_some() || args.json || args.markdown || args.full;
    if has_baseline || has_form {
        bail!(
            "a folder of studies is compared machine by machine, as text: leave out the other options, or name study \
             files instead of the folder"
        );
    }
    let named: Vec<PathBuf> = args.studies.iter().map(|study| study.path.clone()).collect();
    let studies = history::digests(&named);
    if studies.len() < LEAST_MACHINES {
        bail!(
            "{} studies could be read, and fewer than {LEAST_MACHINES} do not show what is usual: add studies of alike \
             machines, or name two study files",
            studies.len()
        );
    }
    let listed: Vec<(&str, &StudyDigest)> = studies.iter().map(|(name, digest)| (name.as_str(), digest)).collect();
    let found = halfpower_analyse::alike_machines(&listed);
    if found.cells == 0 {
        bail!(
            "no cell is in half of these studies: measure the same patterns, directions, cache settings, block sizes and \
             depths on each machine"
        );
    }
    let style = style();
    to_styled_output(&style, |out| Ok(halfpower_report::alike_text(&found, &style, out)?))
}
