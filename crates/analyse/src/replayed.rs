//! Compares what an application got when it was captured with what it gets when it is asked again.
//!
//! Pure in the captures: one `before`, and one `after` for each round of a replay or each draw of a prediction.
//! docs/method/replay.md defines every figure.

mod course;
mod findings;
mod rounds;

use std::borrow::Cow;

use halfpower_record::Captured;

pub use course::{ReplayCourse, ReplayLatencies, ReplayStep};
pub use findings::{ReplayChange, ReplayFindings, ReplayRow, ReplaySide, ReplayVerdict};

use crate::Interval;
use course::course;
use rounds::{KindAndWay, Round, is_whole, over_draws, over_rounds};

/// Share of the operations, or of their time, from which a kind has a row.
const LEAST_SHARE: f64 = 0.01;
/// What differs by less counts as the same.
const PRACTICAL: f64 = 0.05;
/// Operations that must lie beyond a percentile for its quotient to be told.
const FEWEST_BEYOND: f64 = 5.0;
/// Stands for an interval that has no lower end, as a logarithm: a factor of 20.
const FAR: f64 = 3.0;

/// Compares the capture of an application with what was asked again on a real target: `after` has one capture for each round.
///
/// Rounds in which some lane did fewer operations than `before` has are parts: they are left aside if there is a round
/// that is none. Otherwise the longest is held against the same part of `before`.
pub fn replay_findings(before: &Captured, after: &[Captured]) -> ReplayFindings {
    let Sides { before, after, commits_of_a_sync } = Sides::of(before, after);
    let (before, compared_rounds, part) = held_against(&before, &after);
    ReplayFindings { commits_of_a_sync, ..compared(&before, &compared_rounds, over_rounds, part) }
}

/// What is drawn of the comparison of [`replay_findings`].
pub fn replay_course(before: &Captured, after: &[Captured]) -> ReplayCourse {
    let Sides { before, after, .. } = Sides::of(before, after);
    let (held, rounds, _) = held_against(&before, &after);
    course(&held.groups(LEAST_SHARE), (&held, &rounds), (&before, &after))
}

/// Both sides of a comparison with each commit that lanes share as one operation ([`Captured::with_whole_commits`]): who syncs,
/// and who waits for it, differs from one time to the next.
struct Sides<'a> {
    before: Cow<'a, Captured>,
    after: Cow<'a, [Captured]>,
    /// Commits that share a sync, captured and in the mean of the second side; `None` if they share none when captured.
    commits_of_a_sync: Option<[f64; 2]>,
}

impl<'a> Sides<'a> {
    fn of(before: &'a Captured, after: &'a [Captured]) -> Self {
        let logs = before.logs_of_group_commits();
        if logs.is_empty() {
            return Self { before: Cow::Borrowed(before), after: Cow::Borrowed(after), commits_of_a_sync: None };
        }
        let there: Vec<f64> = after.iter().filter_map(|one| one.commits_of_a_sync(&logs)).collect();
        let mean = (!there.is_empty()).then(|| there.iter().sum::<f64>() / there.len() as f64);
        let after = after.iter().map(|one| one.with_whole_commits(&logs).into_owned()).collect();
        Self {
            before: before.with_whole_commits(&logs),
            after: Cow::Owned(after),
            commits_of_a_sync: before.commits_of_a_sync(&logs).zip(mean).map(|(captured, there)| [captured, there]),
        }
    }
}

/// The two sides of a comparison, and whether they are parts: the rounds that are whole, or else the longest and as much of
/// the capture.
fn held_against<'a>(before: &'a Captured, after: &'a [Captured]) -> (Round<'a>, Vec<Round<'a>>, bool) {
    let whole: Vec<Round<'a>> = after.iter().filter(|round| is_whole(before, round)).map(Round::of).collect();
    if !whole.is_empty() {
        return (Round::of(before), whole, false);
    }
    match after.iter().max_by_key(|round| round.operations.len()) {
        Some(longest) => (Round::until(before, longest), vec![Round::of(longest)], true),
        None => (Round::of(before), Vec::new(), false),
    }
}

/// Compares the capture of an application with what a model makes of it: `draws` has one capture for each draw of the model.
///
/// A value is the median of the draws, and its interval reaches from their 2.5% to their 97.5% quantile.
pub fn prediction_findings(before: &Captured, draws: &[Captured]) -> ReplayFindings {
    let Sides { before, after: draws, commits_of_a_sync } = Sides::of(before, draws);
    let drawn: Vec<Round<'_>> = draws.iter().map(Round::of).collect();
    ReplayFindings { commits_of_a_sync, ..compared(&Round::of(&before), &drawn, over_draws, false) }
}

/// What is drawn of a prediction: `known` is the capture that the model gives as it is known.
pub fn prediction_course(before: &Captured, known: &Captured) -> ReplayCourse {
    let Sides { before, after: known, .. } = Sides::of(before, std::slice::from_ref(known));
    let captured = Round::of(&before);
    course(&captured.groups(LEAST_SHARE), (&captured, &[Round::of(&known[0])]), (&before, &known))
}

/// Figures of rounds as one side of a comparison.
type Estimate = fn(&[Round<'_>], Option<KindAndWay>) -> ReplaySide;

fn compared(before: &Round<'_>, after: &[Round<'_>], estimate: Estimate, part: bool) -> ReplayFindings {
    let row = |group| row(group, before, after, estimate);
    ReplayFindings {
        rounds: after.len(),
        part,
        commits_of_a_sync: None,
        whole: row(None),
        rows: before.groups(LEAST_SHARE).into_iter().map(|group| row(Some(group))).collect(),
    }
}

fn row(group: Option<KindAndWay>, before: &Round<'_>, after: &[Round<'_>], estimate: Estimate) -> ReplayRow {
    let captured = over_rounds(std::slice::from_ref(before), group);
    let again = estimate(after, group);
    let fewest = captured.operations.min(again.operations);
    let change = |of: fn(&ReplaySide) -> &Interval, more: ReplayVerdict, tail: f64| {
        let is_borne = fewest as f64 * tail >= FEWEST_BEYOND;
        let ratio = if is_borne { quotient(of(&again), of(&captured)) } else { None };
        ReplayChange { ratio, verdict: verdict(ratio, more) }
    };
    ReplayRow {
        kind: group.map(|(kind, _)| kind),
        direct: group.map(|(_, direct)| direct),
        bytes: before.median_bytes(group),
        rate: change(|side| &side.per_second, ReplayVerdict::Faster, 1.0),
        depth: change(|side| &side.depth, ReplayVerdict::Slower, 1.0),
        p50: change(|side| &side.p50_ns, ReplayVerdict::Slower, 0.5),
        p99: change(|side| &side.p99_ns, ReplayVerdict::Slower, 0.01),
        before: captured,
        after: again,
    }
}

/// After divided by before, with the errors of both as independent ones, on the scale of logarithms.
fn quotient(after: &Interval, before: &Interval) -> Option<Interval> {
    if after.value <= 0.0 || before.value <= 0.0 {
        return None;
    }
    let up = |one: &Interval| (one.high / one.value).ln().max(0.0);
    // A t interval of few rounds may reach below 0.
    let down = |one: &Interval| if one.low > 0.0 { (one.value / one.low).ln().max(0.0) } else { FAR };
    let value = after.value / before.value;
    let low = value * (-down(after).hypot(up(before))).exp();
    let high = value * up(after).hypot(down(before)).exp();
    Some(Interval { value, low, high })
}

/// What a quotient says; `more` is what one above 1 means.
fn verdict(ratio: Option<Interval>, more: ReplayVerdict) -> ReplayVerdict {
    let less = if more == ReplayVerdict::Faster { ReplayVerdict::Slower } else { ReplayVerdict::Faster };
    match ratio {
        Some(Interval { low, high, .. }) if low >= 1.0 - PRACTICAL && high <= 1.0 + PRACTICAL => ReplayVerdict::Same,
        Some(Interval { value, low, .. }) if low > 1.0 && value > 1.0 + PRACTICAL => more,
        Some(Interval { value, high, .. }) if high < 1.0 && value < 1.0 - PRACTICAL => less,
        _ => ReplayVerdict::NotDecided,
    }
}
