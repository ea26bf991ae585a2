//! Shows what limits an application that was watched, on one screen.

use halfpower_analyse::{OperationGroup, WatchFindings, WatchGroup};
use halfpower_record::Watched;

use crate::terminal::folded;
use crate::words::{watch, watch_stops};

/// Narrowest and widest width.
const WIDTH: (usize, usize) = (60, 120);
/// Columns of the headings, with the gap behind them.
const LEAD: usize = 18;
/// Spaces between two columns.
const GAP: usize = 2;
/// Heading of what stops each group.
pub(crate) const STOPS: &str = "WHAT STOPS IT";
/// Kinds of operation that are shown.
const ACTIVITIES: usize = 5;

/// The screen, at most `width` columns wide.
pub fn watch_text(findings: &WatchFindings, watched: &Watched, width: usize) -> String {
    screen(findings, watched, width.clamp(WIDTH.0, WIDTH.1))
}

/// The same at any width, for a page, which folds lines by itself.
pub(crate) fn screen(findings: &WatchFindings, watched: &Watched, width: usize) -> String {
    let mut lines = heading(findings, watched, width);
    lines.push(String::new());
    let sections = [
        ("WHERE IT WAITS", where_it_waits(findings)),
        ("WHAT IT USES", what_it_uses(findings)),
        (STOPS, of_groups(findings, |group| Some(watch_stops::stop(&group.stop).to_string()))),
        ("WHO ELSE", watch::others(findings)),
        ("WHAT TO SET", what_to_set(findings)),
        ("FALSIFIED BY", falsified_by(findings)),
        ("UNSEEN", unseen(findings, watched)),
    ];
    lines.extend(what_it_does(findings, width));
    for (heading, texts) in sections {
        lines.extend(section(heading, &texts, width));
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// `postgres (12 processes)  /srv/pg  ext4 on nvme0n1     60 s, costs 0.3% of one processor`.
fn heading(findings: &WatchFindings, watched: &Watched, width: usize) -> Vec<String> {
    let places = watch::places(&watched.places);
    let who = format!("{}  {places}", watch::subject(&watched.subject));
    let who = who.trim_end().to_string();
    let cost = watch::length_and_cost(watched, &findings.counters);
    let gap = width.saturating_sub(who.chars().count() + cost.chars().count());
    if gap >= GAP {
        return vec![format!("{who}{}{cost}", " ".repeat(gap))];
    }
    let mut lines = if who.chars().count() <= width { vec![who] } else { folded("", &who, width) };
    lines.push(cost);
    lines
}

/// A heading with texts, each folded beside it; nothing without texts.
fn section(heading: &str, texts: &[String], width: usize) -> Vec<String> {
    let lead = |at: usize| format!("{:<LEAD$}", if at == 0 { heading } else { "" });
    texts.iter().enumerate().flat_map(|(at, text)| folded(&lead(at), text, width)).collect()
}

/// A row for each kind of operation, in columns where they fit.
fn what_it_does(findings: &WatchFindings, width: usize) -> Vec<String> {
    const HEADING: &str = "WHAT IT DOES";
    if findings.activities.is_empty() {
        let counted = watch::counted_work(&findings.counters);
        let text = if findings.traced { "no operation on files or disks".to_string() } else { counted };
        return section(HEADING, &[text], width);
    }
    let shown = findings.activities.iter().take(ACTIVITIES);
    let rows: Vec<[String; 4]> = shown
        .map(|one| {
            let [p50, p99] = watch::percentiles(one);
            [watch::activity(one), watch::rate_and_depth(one), p50, p99]
        })
        .collect();
    let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..4).map(widest).collect();
    let fits = LEAD + widths.iter().sum::<usize>() + 3 * GAP <= width;
    let mut lines = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let lead = format!("{:<LEAD$}", if at == 0 { HEADING } else { "" });
        if fits {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| padded(cell, *width)).collect();
            lines.push(format!("{lead}{}", cells.join(&" ".repeat(GAP))));
        } else {
            lines.extend(folded(&lead, &row.join(", "), width));
        }
    }
    let more = findings.activities.len().saturating_sub(ACTIVITIES);
    if more > 0 {
        lines.push(format!("{:<LEAD$}and {more} more kinds", ""));
    }
    lines
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.chars().count())))
}

/// A line for each group that has a text, which names the group.
fn of_groups(findings: &WatchFindings, text: impl Fn(&WatchGroup) -> Option<String>) -> Vec<String> {
    let named = |group: &WatchGroup| {
        let text = text(group)?;
        let is_all = group.group == OperationGroup::All;
        Some(if is_all { text } else { format!("{}: {text}", watch::group(group.group)) })
    };
    findings.groups.iter().filter_map(named).collect()
}

fn where_it_waits(findings: &WatchFindings) -> Vec<String> {
    let of = |group: &WatchGroup| {
        if group.group == OperationGroup::All {
            return watch::counters(&findings.counters);
        }
        let share = group.time_share.as_ref().map_or_else(String::new, |share| format!(" {}", watch::share(share)));
        format!("{}{share}: {}", watch::group(group.group), watch::waits(&group.waits))
    };
    findings.groups.iter().map(of).collect()
}

/// Shares of what a study found; without one, what one request alone takes, and the disks as they were.
fn what_it_uses(findings: &WatchFindings) -> Vec<String> {
    let mut texts = of_groups(findings, |group| group.uses.as_ref().map(watch::uses));
    if texts.is_empty() {
        let probe = findings.probe.as_ref();
        texts.extend(of_groups(findings, |group| group.alone.as_ref().map(|one| watch::alone(one, probe))));
        let is_said = !texts.is_empty();
        texts.extend(probe.and_then(|probe| watch::probe(probe, is_said)));
        texts.extend(findings.disks.iter().map(watch::disk));
        texts.push(if findings.has_study {
            "the study has no cells of this pattern and size".to_string()
        } else {
            "how much the path would give, a study tells: --study FILE".to_string()
        });
    }
    texts
}

fn what_to_set(findings: &WatchFindings) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for text in findings.groups.iter().flat_map(|group| &group.advice).map(watch_stops::advice) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if texts.is_empty() {
        texts.push("nothing that was found here".to_string());
    }
    texts
}

/// The experiment of the first group whose stop is known.
fn falsified_by(findings: &WatchFindings) -> Vec<String> {
    let limits = || findings.groups.iter().filter(|group| group.stop.is_limit());
    let tested = limits().chain(&findings.groups).find_map(|group| group.falsified_by.as_ref());
    tested.map(watch_stops::test).into_iter().collect()
}

fn unseen(findings: &WatchFindings, watched: &Watched) -> Vec<String> {
    let left_out = watch::untraced(watched, &findings.counters);
    watched.unseen.iter().map(watch::unseen).chain(left_out).collect()
}
