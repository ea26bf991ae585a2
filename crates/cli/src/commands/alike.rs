//! Implements `halfpower compare FOLDER`: says which of many alike machines is unlike the others.

use std::path::PathBuf;

use anyhow::{Result, bail};
use halfpower_analyse::{AlikeMachines, LEAST_MACHINES, StudyDigest};
use halfpower_record::output::Form;

use super::compare::ConditionHolds;
use super::report::style;
use super::{destination, history, refuse_beside_json, to_output, to_styled_output};
use crate::args::CompareArgs;
use crate::values::FailIf;

/// Unlike machines that an answer of `--fail-if` names.
const NAMED: usize = 5;

/// Whether alike machines are compared, and not studies with a baseline: a folder is named.
pub fn is_asked(args: &CompareArgs) -> bool {
    args.studies.iter().any(|study| study.path.is_dir())
}

/// Compares the studies of alike machines, one study of each, and prints which of them is unlike the others.
///
/// # Errors
/// [`ConditionHolds`] if one is, and `--fail-if unlike` asks for it; if there are too few studies, if they have no cell in
/// common, or if an option is about a baseline; all errors of writing.
pub fn alike(args: &CompareArgs) -> Result<()> {
    args.duet.refuse_alone()?;
    refuse_of_a_baseline(args)?;
    let page = args.html.as_deref().map(|path| destination(path, Form::Page, args.force)).transpose()?;
    refuse_beside_json(args.json, &page)?;
    let named: Vec<PathBuf> = args.studies.iter().map(|study| study.path.clone()).collect();
    let (studies, unread) = history::digests(&named, args.html.as_deref());
    let found = compared(&studies)?;
    if let Some(page) = &page {
        page.write(|out| -> Result<()> { Ok(halfpower_report::alike_html(&found, &unread, out)?) })?;
        if page.is_standard_output() {
            return answer(args, &found);
        }
    }
    match args.json {
        true => to_output(|out| Ok(halfpower_report::alike_json(&found, &unread, out)?))?,
        false => {
            let style = style();
            to_styled_output(&style, |out| Ok(halfpower_report::alike_text(&found, &style, out)?))?;
        }
    }
    answer(args, &found)
}

/// Refuses what is about a baseline, which machines that should be alike do not have.
fn refuse_of_a_baseline(args: &CompareArgs) -> Result<()> {
    if let Some(FailIf::Differs(condition)) = args.fail_if.iter().find(|one| **one != FailIf::Unlike) {
        bail!(
            "--fail-if `{condition}`: the machines of a folder are compared with each other, and not with a baseline; write \
             --fail-if {}, or name study files instead of the folder",
            FailIf::UNLIKE
        );
    }
    let has_baseline = args.baseline.is_some() || args.save.is_some() || args.price.is_some();
    if has_baseline || args.markdown || args.full {
        bail!(
            "a folder of studies is compared machine by machine, as text, --json or --html: leave out the other options, or \
             name study files instead of the folder"
        );
    }
    Ok(())
}

fn compared(studies: &[(String, StudyDigest)]) -> Result<AlikeMachines> {
    if studies.len() < LEAST_MACHINES {
        bail!(
            "{} studies could be read, and fewer than {LEAST_MACHINES} do not show what is usual: add studies of alike \
             machines, or name two study files",
            studies.len()
        );
    }
    let listed: Vec<(&str, &StudyDigest)> = studies.iter().map(|(name, digest)| (name.as_str(), digest)).collect();
    let found = halfpower_analyse::alike_machines(&listed);
    let same = "measure the same patterns, directions, cache settings, block sizes and depths on each machine";
    if found.cells == 0 {
        bail!("no cell is in half of these studies: {same}");
    }
    if found.all.iter().all(|one| one.levels.is_empty()) {
        bail!(
            "fewer than {LEAST_MACHINES} of these studies have half of the cells that they have in common, so that none is \
             held against the others: {same}"
        );
    }
    Ok(found)
}

/// Returns as an error that a machine is unlike the others, if the user asked for that.
fn answer(args: &CompareArgs, found: &AlikeMachines) -> Result<()> {
    if found.unlike.is_empty() || !args.fail_if.contains(&FailIf::Unlike) {
        return Ok(());
    }
    let mut names: Vec<&str> = found.unlike.iter().take(NAMED).map(|one| one.name.as_str()).collect();
    if found.unlike.len() > NAMED {
        names.push("...");
    }
    let unlike = FailIf::UNLIKE;
    let of = format!("{} of {} machines", found.unlike.len(), found.machines);
    Err(ConditionHolds::of(format!("`{unlike}` holds for {of}: {}", names.join(", "))).into())
}
