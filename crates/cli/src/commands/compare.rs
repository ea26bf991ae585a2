//! Implements `halfpower compare`: compares two studies and checks conditions on their differences.

use std::path::Path;

use anyhow::{Result, bail};
use halfpower_output::Form;
use halfpower_record::StudyFile;
use halfpower_report::{condition_case_text, signed};

use super::report::{Analysed, style};
use super::{destination, to_output};
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
    let page = args.html.as_deref().map(|path| destination(path, Form::Page, args.force)).transpose()?;
    let (file_a, file_b) = (StudyFile::open(&args.a)?, StudyFile::open(&args.b)?);
    let (in_a, in_b) = (Analysed::of(&file_a)?, Analysed::of(&file_b)?);
    let study_a = study(&name_a, &file_a, &in_a);
    let study_b = study(&name_b, &file_b, &in_b);
    let price = args.price.map(|prices| halfpower_analyse::price(&study_a, &study_b, prices));
    let buys = price.as_ref().is_some_and(|table| [&table.a, &table.b].iter().all(|row| row.buys_accesses()));
    let mut comparison = match halfpower_analyse::compare(&study_a, &study_b) {
        Some(comparison) => comparison,
        None if buys => halfpower_analyse::compare_apart(&study_a, &study_b),
        None => bail!(
            "{name_a} and {name_b} have no comparable cell in common; measure the same \
             patterns, directions, cache settings, block sizes and depths in both"
        ),
    };
    comparison.price = price;
    comparison.fail_if = args.fail_if.iter().map(|condition| condition.check(&comparison)).collect();
    for finding in &comparison.fail_if {
        if finding.cases.is_empty() {
            bail!(
                "--fail-if `{}`: the studies have no cell in common that the condition names; measure it in both, or \
                 leave the condition out",
                finding.condition
            );
        }
    }
    if let Some(page) = &page {
        page.write(|out| -> Result<()> {
            Ok(halfpower_report::compare_html(&comparison, [&in_a.findings, &in_b.findings], &mut &mut *out)?)
        })?;
        if page.is_standard_output() {
            return answer(&comparison.fail_if);
        }
    }
    to_output(|out| {
        match args.json {
            true => halfpower_report::compare_json(&comparison, out)?,
            false => halfpower_report::compare_text(&comparison, &style(), out)?,
        }
        Ok(())
    })?;
    answer(&comparison.fail_if)
}

fn study<'a>(name: &'a str, file: &'a StudyFile, analysed: &'a Analysed) -> halfpower_analyse::StudyRecords<'a> {
    let Analysed { findings, records, .. } = analysed;
    halfpower_analyse::StudyRecords { name, question: file.question(), findings, records }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Says what could not be decided, and which conditions hold.
fn answer(conditions: &[halfpower_analyse::ConditionFinding]) -> Result<()> {
    for finding in conditions.iter().filter(|finding| !finding.holds) {
        if finding.cases.iter().all(|case| case.change.interval().is_none()) {
            eprintln!("halfpower: `{}` cannot be decided: no cell has several runs in both studies", finding.condition);
        }
    }
    let holding = conditions.iter().filter(|finding| finding.holds).map(|finding| {
        let cases = finding.cases.iter().filter(|case| case.holds);
        let named: Vec<String> =
            cases.map(|case| format!("{} {}", condition_case_text(case), signed(case.change.percent))).collect();
        format!("`{}` holds: {}", finding.condition, named.join(", "))
    });
    let holding: Vec<String> = holding.collect();
    if holding.is_empty() { Ok(()) } else { Err(ConditionHolds(holding.join("; ")).into()) }
}
