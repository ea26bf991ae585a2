//! Builds the section of the first screen on an application: its needs with their verdicts, and the lines to paste.

use halfpower_experiments::application::{
    NeedFinding, SettingFinding, Verdict, at_once, bound, doubts, figure, rests_on, verdict,
};
use halfpower_experiments::{ExperimentAnswer, ExperimentSection, StudyFindings};

use super::screen::{Item, Section, Tone};

/// Columns of the longest verdict.
const VERDICT: usize = 11;

/// Such as `FOR etcd: the log and the store of an etcd member`; empty if no application was measured.
pub(super) fn application(study: &StudyFindings, width: usize) -> Section {
    let answer = |section: &ExperimentSection| match &section.found {
        Some(ExperimentAnswer::Application(answer)) => Some(answer.clone()),
        _ => None,
    };
    let Some(found) = study.experiments.iter().find_map(answer) else { return Section::new(None, Vec::new()) };
    let mut items: Vec<Item> = Vec::new();
    if let Some(why) = &found.unreadable {
        items.push(Item::sentence("  ", why, width, Tone::Alert));
    }
    items.extend(found.needs.iter().map(|finding| need(finding, width)));
    items.extend(found.at_once.iter().map(|finding| Item::sentence("  ", &at_once(finding), width, Tone::Plain)));
    for setting in &found.settings {
        items.extend(lines(setting, width));
    }
    if found.in_virtual_machine {
        let note = "the host of this virtual machine may hold what the disk seems to give";
        items.push(Item::sentence("  ", note, width, Tone::Plain));
    }
    Section::new(Some(format!("FOR {}: {}", found.name, found.about)), items)
}

/// Such as `  PASS         p99 of a flush: 1.90 ms (1.80 to 2.00), needs below 10.0 ms`.
fn need(found: &NeedFinding, width: usize) -> Item {
    let figure = figure(found).unwrap_or_else(|| "not known".to_string());
    let against = if found.doubts.is_empty() { String::new() } else { format!("; {}", doubts(&found.doubts)) };
    let text = format!("{}: {figure}, needs {}{against}", found.what, bound(found.bound, &found.unit));
    let tone = if found.verdict == Verdict::Pass { Tone::Plain } else { Tone::Alert };
    Item::sentence(&format!("  {:<VERDICT$}  ", verdict(found.verdict)), &text, width, tone)
}

/// The line to paste, and below it the figures that it rests on; or what is missing.
fn lines(found: &SettingFinding, width: usize) -> Vec<Item> {
    let Some(line) = &found.line else {
        let text = format!("nothing is said of {}: {}", found.name, doubts(&found.doubts));
        return vec![Item::sentence("  ", &text, width, Tone::Alert)];
    };
    let mut items = vec![Item::to_paste(format!("  {line}"), Tone::Heading)];
    let single = if found.doubts.is_empty() { String::new() } else { format!("; {}", doubts(&found.doubts)) };
    items.push(Item::sentence("      ", &format!("{}{single}", rests_on(found)), width, Tone::Plain));
    items
}
