//! Implements `halfpower compare`: compares studies with a baseline and checks conditions on their differences.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use halfpower_analyse::{Comparison, Condition, ConditionFinding, Outcome, StudyRecords};
use halfpower_record::StudyFile;
use halfpower_record::output::{Destination, Form};
use halfpower_report::{condition_case_figures, condition_case_text};

use super::report::{Analysed, style_without_a_terminal};
use super::{destination, opened, refuse_beside_json, shut_out, to_styled_output};
use crate::args::CompareArgs;
use crate::baselines::{self, Baseline};
use crate::values::FailIf;

/// Columns where no terminal says how many there are: every table fits with its intervals.
pub const WITHOUT_A_TERMINAL: usize = 120;

/// A condition of `--fail-if` holds. This is not an error, but gives its own exit code.
#[derive(Debug)]
pub struct ConditionHolds(String);

impl std::fmt::Display for ConditionHolds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConditionHolds {}

impl ConditionHolds {
    /// With what holds, in words.
    pub fn of(what: String) -> Self {
        Self(what)
    }
}

/// A study to compare, with the name that the user gave it.
struct Named {
    name: String,
    file: StudyFile,
    analysed: Analysed,
}

impl Named {
    fn open(name: String, path: &Path) -> Result<Self> {
        let file = opened(path)?;
        let analysed = Analysed::of(&file)?;
        Ok(Self { name, file, analysed })
    }

    fn study(&self) -> StudyRecords<'_> {
        let Analysed { findings, records, .. } = &self.analysed;
        let question = self.file.question();
        let environment = self.file.environment();
        StudyRecords { name: &self.name, question, environment, findings, records }
    }
}

/// Compares studies and prints the comparison.
///
/// # Errors
/// [`ConditionHolds`] if a condition of `--fail-if` holds; all errors of reading and writing.
pub fn compare(args: &CompareArgs) -> Result<()> {
    args.duet.refuse_alone()?;
    let conditions = conditions(args)?;
    let page = args.html.as_deref().map(|path| destination(path, Form::Page, args.force)).transpose()?;
    refuse_beside_json(args.json, &page)?;
    let baseline = args.save.as_deref().map(|name| Baseline::new(name, args.force)).transpose()?;
    let mut studies = studies(args)?;
    let comparisons = if studies.len() < 2 { Vec::new() } else { compared(args, &conditions, &studies)? };
    if let Some(baseline) = &baseline {
        let holds = comparisons.iter().flat_map(|comparison| &comparison.fail_if).any(|finding| finding.holds);
        // A new baseline is kept whatever is found; an older one is replaced where no condition holds.
        if holds && baseline.is_taken() { stays(baseline) } else { keep(baseline, &mut studies)? }
    }
    if comparisons.is_empty() {
        return Ok(());
    }
    if let Some(page) = &page {
        write_page(page, &comparisons, &studies)?;
        if page.is_standard_output() {
            return answer(&comparisons);
        }
    }
    let style = style_without_a_terminal(WITHOUT_A_TERMINAL);
    to_styled_output(&style, |out| {
        match args {
            _ if args.json => halfpower_report::compare_json(&comparisons, out)?,
            _ if args.markdown => halfpower_report::compare_markdown(&comparisons, out)?,
            _ if args.full => halfpower_report::compare_full(&comparisons, &style, out)?,
            _ => halfpower_report::compare_text(&comparisons, &style, out)?,
        }
        Ok(())
    })?;
    answer(&comparisons)
}

/// The first given flag that is about a comparison; `None` if none was given.
fn of_a_comparison(args: &CompareArgs) -> Option<&'static str> {
    let given = [
        ("--fail-if", !args.fail_if.is_empty()),
        ("--html", args.html.is_some()),
        ("--json", args.json),
        ("--markdown", args.markdown),
        ("--full", args.full),
        ("--price", args.price.is_some()),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
}

/// Keeps the newest study as this baseline.
fn keep(baseline: &Baseline, studies: &mut [Named]) -> Result<()> {
    let newest = studies.last_mut().expect("the parser asks for one");
    baseline.keep(&mut newest.file)?;
    let name = baseline.name();
    crate::tell::tell!("halfpower: {} is kept as the baseline `{name}`: {}", newest.name, baseline.path().display());
    Ok(())
}

/// Says that an older baseline is not replaced: the next comparison would not see what this one found.
fn stays(baseline: &Baseline) {
    let name = baseline.name();
    crate::tell::tell!("halfpower: a condition holds, so the baseline `{name}` stays: {}", baseline.path().display());
}

/// Opens the baseline first, then the others in their order.
fn studies(args: &CompareArgs) -> Result<Vec<Named>> {
    let mut named: Vec<(String, PathBuf)> = Vec::new();
    if let Some(name) = &args.baseline {
        named.push((name.clone(), baselines::find(name)?));
    }
    named.extend(args.studies.iter().map(|study| (study.name(), study.path.clone())));
    match (named.len(), of_a_comparison(args)) {
        (1, _) if args.save.is_none() => {
            bail!("one study alone is compared with nothing: name another, or --baseline NAME")
        }
        (1, Some(flag)) => {
            bail!("{flag}: one study alone is compared with nothing: add --baseline NAME, or leave {flag} out")
        }
        (count, _) if args.save.is_some() && args.studies.len() > 1 => {
            bail!("--save keeps one study, and {count} are named: name the one to keep")
        }
        _ => {
            // A baseline is kept in the user's own folder, which is not among the outputs.
            if args.save.is_none() {
                shut_out(named.iter().map(|(_, path)| path.as_path()), args.html.as_deref());
            }
            named.into_iter().map(|(name, path)| Named::open(name, &path)).collect()
        }
    }
}

/// The conditions of `--fail-if` on differences.
///
/// # Errors
/// If one is about alike machines, which only a folder holds.
pub fn conditions(args: &CompareArgs) -> Result<Vec<Condition>> {
    let of_difference = |condition: &FailIf| match condition {
        FailIf::Differs(condition) => Ok(condition.clone()),
        FailIf::Unlike => bail!(
            "--fail-if {} is about alike machines: name a folder with a study of each, or a condition such as 'random read \
             iops < -5%'",
            FailIf::UNLIKE
        ),
    };
    args.fail_if.iter().map(of_difference).collect()
}

fn compared(args: &CompareArgs, conditions: &[Condition], studies: &[Named]) -> Result<Vec<Comparison>> {
    let studies: Vec<StudyRecords<'_>> = studies.iter().map(Named::study).collect();
    let (baseline, others) = studies.split_first().expect("two studies or more");
    let mut comparisons = halfpower_analyse::compare_all(baseline, others);
    let prices = args.price.as_ref().map(|prices| prices.0.as_slice());
    if let Some(prices) = prices.filter(|prices| prices.len() != studies.len()) {
        bail!("--price has {} prices, and {} studies are compared: write one for each", prices.len(), studies.len());
    }
    for (at, (comparison, other)) in comparisons.iter_mut().zip(others).enumerate() {
        comparison.price = prices.map(|prices| halfpower_analyse::price(baseline, other, [prices[0], prices[at + 1]]));
        let buys = |row: &halfpower_analyse::PriceRow| row.buys_accesses();
        let is_priced = comparison.price.as_ref().is_some_and(|table| buys(&table.a) && buys(&table.b));
        if comparison.outcome == Outcome::NothingInCommon && !is_priced {
            bail!(
                "{} and {} have no comparable cell in common; measure the same patterns, directions, cache settings, \
                 block sizes and depths in both",
                baseline.name,
                other.name
            );
        }
    }
    let checked = halfpower_analyse::check_conditions(conditions, &comparisons);
    if let Some(finding) = checked.iter().flatten().find(|finding| finding.cases.is_empty()) {
        bail!(
            "--fail-if `{}`: the studies have no cell in common that the condition names; measure it in both, or leave \
             the condition out",
            finding.condition
        )
    }
    comparisons.iter_mut().zip(checked).for_each(|(comparison, checked)| comparison.fail_if = checked);
    Ok(comparisons)
}

fn write_page(page: &Destination, comparisons: &[Comparison], studies: &[Named]) -> Result<()> {
    let findings: Vec<_> = studies.iter().map(|study| &study.analysed.findings).collect();
    page.write(|out| -> Result<()> { Ok(halfpower_report::compare_html(comparisons, &findings, out)?) })
}

/// Prints which conditions cannot be decided, and returns those that hold as an error.
fn answer(comparisons: &[Comparison]) -> Result<()> {
    let mut held = Vec::new();
    for comparison in comparisons {
        let of = if comparisons.len() == 1 { String::new() } else { format!(" for {}", comparison.b.name) };
        for finding in &comparison.fail_if {
            let condition = &finding.condition;
            if finding.holds {
                held.push(holding(finding, &of));
            } else if !finding.can_be_decided() {
                crate::tell::tell!(
                    "halfpower: `{condition}` cannot be decided{of}: no cell has several runs in both studies"
                );
            }
        }
    }
    if held.is_empty() { Ok(()) } else { Err(ConditionHolds(held.join("; ")).into()) }
}

/// Says that a condition holds, and for which figures; `of` says of what, if that is not clear.
pub fn holding(finding: &ConditionFinding, of: &str) -> String {
    let cases = finding.cases.iter().filter(|case| case.holds);
    let figures =
        cases.map(|case| format!("{} {}", condition_case_text(case), condition_case_figures(finding.limit, case)));
    format!("`{}` holds{of}: {}", finding.condition, figures.collect::<Vec<_>>().join(", "))
}
