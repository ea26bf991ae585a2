//! Compares several members with a multiple of one, and a stripe with the same members driven separately.

use halfpower_analyse::{ExperimentCell, Interval, SharedBy, SharedCeiling};
use halfpower_spec::{Direction, Pattern, VolumeLayout};

use super::answer::{
    CostByMembers, MemberCost, MembersScaling, ScalingAnswer, ScalingVerdict, StoppedMembers, StripeShare,
};
use super::rows::{LimitedBy, Rows, ScalingRow};
use crate::data::ExperimentData;
use crate::ratio::Scale;
use crate::ratio_finding::RatioFinding;

/// Share of `n` times one member's rate from which each member is considered unlimited.
const SCALES: f64 = 0.95;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, ScalingAnswer) {
    let rows: Vec<ScalingRow> = kinds().flat_map(|(pattern, rw)| rows_of(data, pattern, rw)).collect();
    let members = rows.iter().map(|row| row.n).max().unwrap_or(0);
    let answer = ScalingAnswer {
        members,
        kinds: kinds().filter_map(|(pattern, rw)| scaling(&alone(&rows, pattern, rw))).collect(),
        stripe: stripe(&rows),
        cost: if members == 0 { None } else { Direction::ALL.iter().find_map(|rw| cost(data, *rw)) },
    };
    (Rows { scaling: rows }, answer)
}

pub(super) fn kinds() -> impl Iterator<Item = (Pattern, Direction)> {
    Pattern::ALL.iter().flat_map(|pattern| Direction::ALL.iter().map(|rw| (*pattern, *rw)))
}

fn is_of(cell: &ExperimentCell, pattern: Pattern, rw: Direction) -> bool {
    (cell.finding.pattern, cell.finding.rw) == (pattern, rw)
}

fn rows_of(data: &ExperimentData, pattern: Pattern, rw: Direction) -> Vec<ScalingRow> {
    let cells: Vec<&ExperimentCell> = data.sound().filter(|cell| is_of(cell, pattern, rw)).collect();
    let Some(single) = cells.iter().find(|cell| cell.workload.options.members == 1) else { return Vec::new() };
    let scale = Scale::of(cells.iter().copied());
    let row = |cell: &&ExperimentCell| {
        let Interval { value, low, high } = cell.finding.mbps;
        let n = cell.workload.options.members.max(1);
        let of_ideal = value / f64::from(n) / single.finding.mbps.value;
        // Below the ideal beyond chance, and by enough to matter.
        let is_surely_less = |times: RatioFinding| times.is_known() && times.interval.high < f64::from(n);
        let falls_short = of_ideal < SCALES && scale.times(&[cell], &[single]).is_some_and(is_surely_less);
        let limited_by = if falls_short { LimitedBy::Shared } else { LimitedBy::Device };
        let volume_layout = cell.workload.options.volume_layout.unwrap_or(VolumeLayout::Each);
        ScalingRow { n, rw, pattern, volume_layout, mbps: value, of_ideal, limited_by, low, high }
    };
    let mut rows: Vec<ScalingRow> = cells.iter().map(row).collect();
    rows.sort_by_key(|row| (row.volume_layout, row.n));
    // If only the stripe falls short, it does not keep its members busy: driven separately, they are not limited.
    let shared: Vec<u32> =
        rows.iter().filter(|row| is_shared(row) && row.volume_layout == VolumeLayout::Each).map(|row| row.n).collect();
    for row in rows.iter_mut().filter(|row| !shared.contains(&row.n)) {
        row.limited_by = LimitedBy::Device;
    }
    rows
}

fn is_shared(row: &ScalingRow) -> bool {
    row.limited_by == LimitedBy::Shared
}

/// Rows of members driven separately, in one pattern and direction.
pub(super) fn alone(rows: &[ScalingRow], pattern: Pattern, rw: Direction) -> Vec<&ScalingRow> {
    rows.iter().filter(|row| (row.pattern, row.rw, row.volume_layout) == (pattern, rw, VolumeLayout::Each)).collect()
}

/// The ceiling that members share, as their runs at once show it: the highest throughput in one direction.
pub(crate) fn shared_ceiling(rows: &[ScalingRow], rw: Direction) -> Option<SharedCeiling> {
    let shared = rows.iter().filter(|row| is_shared(row) && row.rw == rw);
    let most = shared.max_by(|one, other| one.mbps.total_cmp(&other.mbps))?;
    let ScalingRow { n, pattern, mbps, of_ideal, .. } = *most;
    Some(SharedCeiling {
        by: SharedBy::Members,
        rw,
        pattern,
        members: n,
        mbps,
        alone_mbps: mbps / of_ideal / f64::from(n),
    })
}

fn scaling(alone: &[&ScalingRow]) -> Option<MembersScaling> {
    let (first, last) = (alone.first()?, alone.last().filter(|row| row.n > 1)?);
    let found = |verdict, stopped| {
        let ScalingRow { pattern, rw, mbps: one_mbps, .. } = **first;
        MembersScaling { pattern, rw, verdict, one_mbps, n: last.n, mbps: last.mbps, stopped }
    };
    let Some(row) = alone.iter().find(|row| is_shared(row)) else {
        // Not stopped beyond chance does not yet mean that the members scale.
        let verdict = if last.of_ideal >= SCALES { ScalingVerdict::Scales } else { ScalingVerdict::Unclear };
        return Some(found(verdict, None));
    };
    let before = alone.iter().rev().find(|other| other.n < row.n)?;
    let brings = (row.mbps - before.mbps) / f64::from(row.n - before.n) / first.mbps;
    let stopped = StoppedMembers {
        n: row.n,
        mbps: row.mbps,
        before_n: before.n,
        before_mbps: before.mbps,
        brings_share: brings.max(0.0),
    };
    Some(found(ScalingVerdict::Stopped, Some(stopped)))
}

/// Compares the widest stripe with the same members driven separately.
fn stripe(rows: &[ScalingRow]) -> Option<StripeShare> {
    let share = |(pattern, rw)| {
        let each = alone(rows, pattern, rw).last().map(|row| (row.n, row.mbps))?;
        let same = |row: &&ScalingRow| {
            (row.pattern, row.rw, row.volume_layout, row.n) == (pattern, rw, VolumeLayout::Stripe, each.0)
        };
        Some(rows.iter().find(same)?.mbps / each.1)
    };
    let shares: Vec<f64> = kinds().filter_map(share).collect();
    let (least, most) = (shares.iter().copied().reduce(f64::min)?, shares.iter().copied().reduce(f64::max)?);
    Some(StripeShare { least, most })
}

/// The line through the two block sizes that were measured.
pub(super) fn costs(data: &ExperimentData, rw: Direction) -> Vec<MemberCost> {
    let of = |pattern| {
        let on_their_own = move |cell: &&ExperimentCell| {
            is_of(cell, pattern, rw)
                && cell.workload.options.volume_layout.is_none_or(|volume_layout| volume_layout == VolumeLayout::Each)
        };
        data.sound().filter(on_their_own)
    };
    let line = |large: &ExperimentCell| {
        let n = large.workload.options.members;
        let small = of(Pattern::Random).find(|cell| cell.workload.options.members == n)?;
        let kib = |cell: &ExperimentCell| cell.finding.bs_bytes as f64 / 1024.0;
        let (large_us, small_us) = large.finding.charged_us.zip(small.finding.charged_us)?;
        let us_per_kib = (large_us - small_us) / (kib(large) - kib(small));
        let fixed_us = small_us - us_per_kib * kib(small);
        (kib(large) > kib(small) && small_us > 0.0 && us_per_kib >= 0.0).then_some(MemberCost {
            n,
            fixed_us,
            us_per_kib,
        })
    };
    let mut costs: Vec<MemberCost> = of(Pattern::Sequential).filter_map(line).collect();
    costs.sort_by_key(|cost| cost.n);
    costs
}

fn cost(data: &ExperimentData, rw: Direction) -> Option<CostByMembers> {
    match costs(data, rw).as_slice() {
        [one, .., most] => Some(CostByMembers { rw, one: *one, most: *most }),
        _ => None,
    }
}
