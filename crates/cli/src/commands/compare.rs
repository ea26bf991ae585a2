//! `halfpower compare`: do two studies differ, in what, and by more than the user allows?

use std::path::Path;

use anyhow::{Result, bail};
use record::StudyFile;

use super::report::{Analysed, style};
use super::{to_file, to_output};
use crate::args::CompareArgs;

/// A condition of `--fail-if` holds: no error, but not what the user wanted either.
#[derive(Debug)]
pub struct ConditionHolds(String);

impl std::fmt::Display for ConditionHolds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConditionHolds {}

/// Compares, tells, and then answers with [`ConditionHolds`] where a condition does.
pub fn compare(args: &CompareArgs) -> Result<()> {
    let (name_a, name_b) = (shown(&args.a), shown(&args.b));
    refuse_to_overwrite(args)?;
    let (file_a, file_b) = (StudyFile::open(&args.a)?, StudyFile::open(&args.b)?);
    let (in_a, in_b) = (Analysed::of(&file_a)?, Analysed::of(&file_b)?);
    let study_a = study(&name_a, &file_a, &in_a);
    let study_b = study(&name_b, &file_b, &in_b);
    let price = args.price.map(|prices| analyse::price(&study_a, &study_b, prices));
    let buys = price.as_ref().is_some_and(|table| [&table.a, &table.b].iter().all(|row| row.buys_accesses()));
    let mut comparison = match analyse::compare(&study_a, &study_b) {
        Some(comparison) => comparison,
        None if buys => analyse::compare_apart(&study_a, &study_b),
        None => bail!(
            "{name_a} and {name_b} have no cell in common that anything could be concluded from; measure the same \
             patterns, directions, cache settings, block sizes and depths in both"
        ),
    };
    comparison.price = price;
    comparison.fail_if = args.fail_if.iter().map(|condition| condition.check(&comparison)).collect();
    for finding in &comparison.fail_if {
        if finding.cases.is_empty() {
            bail!(
                "--fail-if `{}`: the two studies have nothing in common that this asks about; measure it in both, or \
                 leave the condition out",
                finding.condition
            );
        }
    }
    if let Some(path) = &args.html {
        to_file(path, |out| Ok(report::compare_html(&comparison, [&in_a.findings, &in_b.findings], &mut &mut *out)?))?;
    }
    to_output(None, |out| {
        match args.json {
            true => report::compare_json(&comparison, out)?,
            false => report::compare_text(&comparison, &style(), out)?,
        }
        Ok(())
    })?;
    answer(&comparison.fail_if)
}

fn study<'a>(name: &'a str, file: &'a StudyFile, analysed: &'a Analysed) -> analyse::Study<'a> {
    let Analysed { findings, records, .. } = analysed;
    analyse::Study { name, question: file.question(), findings, records }
}

fn refuse_to_overwrite(args: &CompareArgs) -> Result<()> {
    match &args.html {
        Some(page) if [&args.a, &args.b].into_iter().any(|study| study == page) => {
            bail!("--html {} is the name of a study file; name the page otherwise", page.display())
        }
        _ => Ok(()),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Says what could not be decided, and which conditions hold.
fn answer(conditions: &[analyse::ConditionFinding]) -> Result<()> {
    for finding in conditions.iter().filter(|finding| !finding.holds) {
        if finding.cases.iter().all(|case| case.change.interval().is_none()) {
            eprintln!("halfpower: `{}` cannot be decided: no run was repeated in both studies", finding.condition);
        }
    }
    let holding = conditions.iter().filter(|finding| finding.holds).map(|finding| {
        let cases = finding.cases.iter().filter(|case| case.holds);
        let named: Vec<String> =
            cases.map(|case| format!("{} {}", case.what, analyse::signed(case.change.percent))).collect();
        format!("`{}` holds: {}", finding.condition, named.join(", "))
    });
    let holding: Vec<String> = holding.collect();
    if holding.is_empty() { Ok(()) } else { Err(ConditionHolds(holding.join("; ")).into()) }
}
