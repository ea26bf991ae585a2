//! Writes the first line: what was measured, where, how long, and the state.

use halfpower_analyse::Findings;

use super::screen::cut;
use crate::words::state;
use crate::words::subject::{amount, machine, place};

/// Shortest cut of a target's name that is still useful, in characters.
const LEAST_TARGET: usize = 16;
/// Spaces between two parts.
const GAP: usize = 2;

/// A line such as `/srv/data  ext4 on vda (virtio)  2 x AMD EPYC  120 s, 533 runs  NOISY`, with the state
/// right-aligned.
///
/// If the width is too small, it drops the machine first, then the transport, the place and the amount; last, it cuts
/// the target.
pub(super) fn header(findings: &Findings, width: usize) -> String {
    let state = state::word(&findings.summary.state);
    let (place, short_place) = (place(findings, true), place(findings, false));
    let machine = machine(findings);
    let amount = amount(findings);
    let forms: [&[&str]; 5] =
        [&[&place, &machine, &amount], &[&place, &amount], &[&short_place, &amount], &[&amount], &[]];
    let room = width.saturating_sub(state.chars().count() + GAP);
    let taken = |parts: &[&str]| parts.iter().map(|part| part.chars().count() + GAP).sum::<usize>();
    let target = findings.target.chars().count();
    let is_room = |parts: &&&[&str]| room >= taken(parts) + target.min(LEAST_TARGET);
    let with_whole_target = forms.iter().find(|parts| room >= taken(parts) + target);
    let parts = with_whole_target.or_else(|| forms.iter().find(is_room)).map_or(&[][..], |parts| parts);
    let target = cut(&findings.target, room.saturating_sub(taken(parts)).max(4));
    let reported = std::iter::once(target.as_str()).chain(parts.iter().copied()).filter(|part| !part.is_empty());
    let left = reported.collect::<Vec<_>>().join(&" ".repeat(GAP));
    let fill = width.saturating_sub(left.chars().count() + state.chars().count()).max(GAP);
    format!("{left}{}{state}", " ".repeat(fill))
}
