//! Follows the main figures of one target over many studies, and finds where they change.
//!
//! Each study is reduced to a digest. A figure is of the same cell in all studies; its values in order of time are searched
//! for changes of their level. The allowed error, 5% over the whole history, is divided: half for the typical cell, which all
//! cells make together, and the other half equally among the other figures. Beside each change stands what differs between
//! the surroundings of the studies around it. `docs/history.md` has every definition.

mod change_points;
mod digest;
mod figures;
mod found;
mod last_change;
mod levels;

pub use digest::{CellDigest, Measured, StudyDigest};
pub use found::{
    FigureChange, FigureHistory, FigureLevel, FigurePoint, History, HistoryChange, HistoryFigure, HistoryStudy,
    TwoSpeeds, UnreadStudy,
};

use crate::compare::{Condition, ERROR, check_conditions};
use crate::surroundings::{checks_differ, neighbours_compared, surroundings_compared};
use crate::{ConditionFinding, Neighbours, Surroundings};
use change_points::{ChangePoint, LEAST, change_points};
use figures::{Series, all_series};
use halfpower_spec::InOrder;
use last_change::last_levels_compared;
use levels::{level, two_speeds};

/// A study of a history.
#[derive(Debug, Clone, Copy)]
pub struct StudyInHistory<'a> {
    /// Its file.
    pub name: &'a str,
    /// When its file was last written, in milliseconds of Unix time.
    pub written_unix_ms: u64,
    /// What it found.
    pub digest: &'a StudyDigest,
}

impl StudyInHistory<'_> {
    /// Its place in time, in milliseconds of Unix time: when it began, or in virtual time when its file was written.
    pub fn at_unix_ms(&self) -> u64 {
        if self.is_dated() { self.digest.started_unix_ms } else { self.written_unix_ms }
    }

    fn is_dated(&self) -> bool {
        self.digest.started_unix_ms > 0
    }
}

/// The history of these studies of one target, which are in order of time. `surroundings` gets those of the study with an
/// index, if they are known; it is asked for the studies around a change alone.
pub fn history(studies: &[StudyInHistory<'_>], mut surroundings: impl FnMut(usize) -> Option<Surroundings>) -> History {
    let digests: Vec<&StudyDigest> = studies.iter().map(|study| study.digest).collect();
    let all = all_series(&digests);
    let found: Vec<Vec<ChangePoint>> =
        all.iter().map(|series| change_points(&logs(series), error(series, &all))).collect();
    let figures: Vec<FigureHistory> = all.iter().zip(&found).map(|(series, found)| followed(series, found)).collect();
    let mut changes = changes(&all, &found, &figures);
    let neighbours = neighbours_around(&changes, &digests);
    for (change, [before, after]) in changes.iter_mut().zip(neighbours) {
        let of_others = neighbours_compared(&before, &after);
        let before = surroundings(change.earliest.saturating_sub(1));
        if let Some((before, after)) = before.zip(surroundings(change.latest)) {
            change.surroundings = surroundings_compared(&before, &after);
            change.checks = checks_differ(&before, &after);
        }
        change.surroundings.extend(of_others);
    }
    let study = |study: &StudyInHistory<'_>| HistoryStudy {
        name: study.name.to_string(),
        at_unix_ms: study.at_unix_ms(),
        is_dated: study.is_dated(),
        runs: study.digest.runs,
    };
    History {
        target: digests.last().map_or_else(String::new, |digest| digest.target.clone()),
        studies: studies.iter().map(study).collect(),
        figures,
        changes,
        fail_if: Vec::new(),
        unread: Vec::new(),
    }
}

/// What others did before and after each change: the medians of the studies between it and the changes beside it, since
/// others come and go from one study to the next.
fn neighbours_around(changes: &[HistoryChange], digests: &[&StudyDigest]) -> Vec<[Neighbours; 2]> {
    let median = |from: usize, to: usize| {
        let studies = digests.get(from..to).unwrap_or_default();
        Neighbours::median_of(&studies.iter().map(|study| study.neighbours).collect::<Vec<_>>())
    };
    let around = |(at, change): (usize, &HistoryChange)| {
        let HistoryChange { earliest, latest, .. } = *change;
        let from = at.checked_sub(1).map_or(0, |last| changes[last].latest).min(earliest.saturating_sub(1));
        let to = changes.get(at + 1).map_or(digests.len(), |next| next.earliest).max(latest + 1);
        [median(from, earliest), median(latest, to)]
    };
    changes.iter().enumerate().map(around).collect()
}

/// Checks conditions on the last level against the one before, at each path's own last change. A finding has no case if no
/// cell that its condition asks about was measured in both levels.
pub fn check_history(
    conditions: &[Condition],
    studies: &[StudyInHistory<'_>],
    history: &History,
) -> Vec<ConditionFinding> {
    if conditions.is_empty() {
        return Vec::new();
    }
    let digests: Vec<&StudyDigest> = studies.iter().map(|study| study.digest).collect();
    let comparison = last_levels_compared(&digests, history);
    check_conditions(conditions, &[comparison]).pop().unwrap_or_default()
}

fn logs(series: &Series) -> Vec<f64> {
    series.points.iter().map(|point| point.value.ln()).collect()
}

/// The part of the allowed error that a figure has.
fn error(series: &Series, all: &[Series]) -> f64 {
    let is_typical = |series: &Series| series.figure == HistoryFigure::TypicalCell;
    let others = all.iter().filter(|series| !is_typical(series)).count();
    match (is_typical(series), all.iter().any(is_typical)) {
        (true, _) if others == 0 => ERROR,
        (true, _) => ERROR / 2.0,
        (false, true) => ERROR / 2.0 / others as f64,
        (false, false) => ERROR / others as f64,
    }
}

fn followed(series: &Series, found: &[ChangePoint]) -> FigureHistory {
    let Series { figure, cell, points } = series;
    let ends = found.iter().map(|change| change.at).chain([points.len()]);
    let mut from = 0;
    let mut levels = Vec::new();
    for end in ends {
        levels.push(level(&points[from..end]));
        if end < points.len() {
            from = end;
        }
    }
    let two_speeds = two_speeds(&points[from..]);
    FigureHistory { figure: *figure, cell: *cell, points: points.clone(), levels, two_speeds }
}

/// A change of one figure.
struct Located {
    at: usize,
    earliest: usize,
    latest: usize,
    change: FigureChange,
}

impl Located {
    /// The changes of a figure, in the studies' indices.
    fn all(series: &Series, found: &[ChangePoint], figure: &FigureHistory, share: f64) -> Vec<Self> {
        let study = |at: usize| series.points[at].study;
        let between = found.iter().zip(figure.levels.windows(2));
        let located = between.map(|(found, levels)| {
            let before = levels[0].median;
            let after = levels[1].median;
            let percent = 100.0 * (after / before - 1.0);
            let p = (found.chance * share).min(1.0);
            Self {
                at: study(found.at),
                earliest: study(found.likely.start),
                latest: study(found.likely.end - 1),
                change: FigureChange { figure: series.figure, before, after, percent, p },
            }
        });
        located.collect()
    }
}

/// The changes of all figures; those that may be at the same place are one.
fn changes(all: &[Series], found: &[Vec<ChangePoint>], figures: &[FigureHistory]) -> Vec<HistoryChange> {
    let of_figure = all.iter().zip(found).zip(figures);
    let mut located: Vec<Located> = of_figure
        .flat_map(|((series, found), figure)| Located::all(series, found, figure, ERROR / error(series, all)))
        .collect();
    located.order_by_key(|one| (one.at, one.earliest));
    let mut groups: Vec<Vec<Located>> = Vec::new();
    for one in located {
        match groups.last_mut() {
            Some(group) if is_near(group, &one) => group.push(one),
            _ => groups.push(vec![one]),
        }
    }
    groups.into_iter().map(together).collect()
}

/// Whether a change may be at the same place as those of a group: no level is between them. A figure changes once in a group.
fn is_near(group: &[Located], one: &Located) -> bool {
    let meets = |other: &Located| one.earliest <= other.latest + 1 || one.at < other.at + LEAST;
    let is_twice = group.iter().any(|other| other.change.figure == one.change.figure);
    group.iter().any(meets) && !is_twice
}

/// The changes of a group as one, at the place that is known best.
fn together(mut group: Vec<Located>) -> HistoryChange {
    let width = |one: &Located| one.latest - one.earliest;
    group.order_by(|one, other| width(one).cmp(&width(other)).then(one.change.p.total_cmp(&other.change.p)));
    let (at, earliest, latest) = group.first().map_or((0, 0, 0), |best| (best.at, best.earliest, best.latest));
    let mut figures: Vec<FigureChange> = group.into_iter().map(|one| one.change).collect();
    figures.order_by_key(|change| change.figure);
    HistoryChange { at, earliest, latest, figures, surroundings: Vec::new(), checks: Vec::new() }
}

#[cfg(test)]
mod tests;
