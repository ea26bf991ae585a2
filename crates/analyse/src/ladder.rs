//! Builds the levels that a byte passes, with what each advertises and what got through it.
//!
//! Input: the environment, the user's data sheet and what experiments measured. Output: the ladder of Figure 1 of
//! Riedel, van Ingen and Gray (1998).

use std::ops::Range;

use halfpower_record::Environment;
use halfpower_spec::{Direction, Question, Rate};

use crate::path::peak_of_both;
use crate::{
    CellFinding, LevelFinding, LevelId, LevelKind, LevelSource, LinkCeiling, MeasuredCeilings, PathLevel, SharedCeiling,
};

/// Share of an advertised peak from which its level counts as the limit.
pub(crate) const AT_PEAK: f64 = 0.9;

/// Relative distance up to which a measured limit counts as the advertised one.
const ABOVE_KNOWN: f64 = 0.1;

/// The path's levels, with the data sheet's figure (`--peak`) at the device, if given.
pub fn levels(question: &Question, environment: &Environment) -> Vec<PathLevel> {
    let mut levels: Vec<PathLevel> = environment.levels.iter().map(PathLevel::of).collect();
    let Some(peak) = question.peak.filter(|peak| peak.0.is_finite() && peak.0 > 0.0) else {
        return levels;
    };
    if levels.iter().any(|level| level.pap == Some(peak)) {
        return levels;
    }
    let is_device = |level: &&mut PathLevel| level.id.kind == LevelKind::Device && level.pap.is_none();
    match levels.iter_mut().find(is_device) {
        Some(device) => (device.pap, device.source) = (Some(peak), LevelSource::DataSheet),
        None => {
            let id = LevelId::of(LevelKind::DataSheet);
            levels.push(PathLevel { pap: Some(peak), ..PathLevel::unlimited(id, LevelSource::DataSheet) });
        }
    }
    levels
}

/// The levels with those that experiments found: controller and link before the medium, and what members share.
pub(crate) fn with_measured(levels: &[PathLevel], measured: &MeasuredCeilings) -> Vec<PathLevel> {
    let mut known = levels.to_vec();
    if let Some(link) = measured.link {
        let medium = medium(levels, Direction::Read);
        let place = known.iter().position(|level| level.id == medium).unwrap_or(known.len());
        known.insert(place, link_level(link, levels));
    }
    known.extend(measured.shared.iter().map(shared_level));
    known
}

/// The levels with the limits that experiments measured: memory, and the sustained rate once a credit is spent.
pub(crate) fn with_experiments(levels: &[PathLevel], measured: &MeasuredCeilings) -> Vec<PathLevel> {
    let mut levels = levels.to_vec();
    with_measured_memory(&mut levels, measured);
    with_sustained_limits(&mut levels, measured);
    levels
}

/// Gives a memory level without an advertised peak the measured one: the fastest copy by the most threads.
fn with_measured_memory(levels: &mut [PathLevel], measured: &MeasuredCeilings) {
    let Some(copy) = measured.memory else { return };
    for level in levels.iter_mut().filter(|level| level.id.kind == LevelKind::Memory && level.pap.is_none()) {
        level.pap = Some(Rate(copy.mbps * 1e6));
        level.source = LevelSource::MemoryCopy(copy);
    }
}

/// Adds the limits whose credit was spent before the medium, except those that a level already advertises.
fn with_sustained_limits(levels: &mut Vec<PathLevel>, measured: &MeasuredCeilings) {
    for limit in &measured.sustained {
        let is_known = |level: &PathLevel| {
            let near = |known: Option<f64>, seen: Option<f64>| {
                known.zip(seen).is_some_and(|(known, seen)| (seen / known - 1.0).abs() <= ABOVE_KNOWN)
            };
            near(level.pap_mbps(limit.rw), limit.mbps) || near(level.pap_iops, limit.iops)
        };
        if levels.iter().any(is_known) {
            continue;
        }
        let id = LevelId { direction: Some(limit.rw), ..LevelId::of(LevelKind::SustainedLimit) };
        let rate = limit.mbps.map(|mbps| Rate(mbps * 1e6));
        let medium = medium(levels, limit.rw);
        let place = levels.iter().position(|level| level.id == medium).unwrap_or(levels.len());
        let level = PathLevel::unlimited(id, LevelSource::Sustained(*limit));
        levels.insert(place, PathLevel { pap: rate, attainable: rate, pap_iops: limit.iops, ..level });
    }
}

/// Gives controller and link on the ladder the rate of the repeated reads, if that is higher.
pub(crate) fn with_measured_rate(ladder: &mut [LevelFinding], measured: &MeasuredCeilings) {
    let Some(link) = &measured.link else { return };
    for level in ladder.iter_mut().filter(|level| level.id.kind == LevelKind::ControllerAndLink) {
        level.rap_mbps = Some(level.rap_mbps.unwrap_or(0.0).max(link.mbps));
    }
}

/// The level that repeated reads of the same few blocks show. Their rate is its limit only if they were faster than new
/// blocks from the medium and no other level is known to limit them.
fn link_level(link: LinkCeiling, levels: &[PathLevel]) -> PathLevel {
    let rate = link.answered.then_some(Rate(link.mbps * 1e6));
    let limited_by = rate.and_then(|rate| limited_by(rate.mbps(), levels));
    let id = LevelId { direction: Some(Direction::Read), ..LevelId::of(LevelKind::ControllerAndLink) };
    let attainable = if limited_by.is_some() { None } else { rate };
    PathLevel { attainable, ..PathLevel::unlimited(id, LevelSource::SameBlocks { link, limited_by }) }
}

/// The narrowest level between host and medium, if `mbps` nearly reaches its limit, and the share of that limit.
fn limited_by(mbps: f64, levels: &[PathLevel]) -> Option<(LevelId, f64)> {
    let medium = medium(levels, Direction::Read);
    let of_path = levels.iter().filter(|level| !level.id.kind.is_of_the_host() && level.id != medium);
    let limits = of_path.filter_map(|level| Some((level.id.clone(), level.limit_mbps(Direction::Read)?)));
    let (id, limit) = limits.reduce(|low, next| if next.1 < low.1 { next } else { low })?;
    (mbps >= AT_PEAK * limit).then(|| (id, mbps / limit))
}

/// The level that parallel members show: the most that got through what they share.
fn shared_level(shared: &SharedCeiling) -> PathLevel {
    let id = LevelId { direction: Some(shared.rw), ..LevelId::of(LevelKind::SharedPath) };
    let source = LevelSource::Members(*shared);
    PathLevel { pap: Some(Rate(shared.mbps * 1e6)), ..PathLevel::unlimited(id, source) }
}

/// The level of the medium: the device, or the last level of a path without one.
pub(crate) fn medium(levels: &[PathLevel], rw: Direction) -> LevelId {
    let of_path = || levels.iter().filter(|level| level.id.holds_for(rw));
    let device = of_path().find(|level| level.id.kind == LevelKind::Device);
    let known = |level: &&PathLevel| {
        level.attainable.is_some() && !level.id.kind.is_of_the_host() || level.id.kind == LevelKind::FileServer
    };
    let medium = device.or_else(|| of_path().next_back().filter(known));
    medium.map_or(LevelId::of(LevelKind::Device), |level| level.id.clone())
}

/// The lowest peak in MB/s that any level between the host and the medium advertises for `rw`.
pub(crate) fn narrowest_pap(levels: &[PathLevel], rw: Direction) -> Option<f64> {
    let of_path = levels.iter().filter(|level| !level.id.kind.is_of_the_host());
    of_path.filter_map(|level| level.pap_mbps(rw)).reduce(f64::min)
}

/// The most that requests of `bs_bytes` can move in MB/s, by any level between the host and the medium, if only the
/// `members`, or hosts, are active; an empty range means all.
pub(crate) fn known_limit(levels: &[PathLevel], rw: Direction, bs_bytes: u64, members: &Range<u32>) -> Option<f64> {
    let of_path = levels.iter().filter(|level| !level.id.kind.is_of_the_host());
    of_path.filter_map(|level| level.most_mbps(rw, bs_bytes, members)).reduce(f64::min)
}

/// The ladder, with no level marked yet. What got through a level is the best of its direction; for memory, results of
/// a cache count too.
pub(crate) fn ladder(levels: &[PathLevel], cells: &[CellFinding]) -> Vec<LevelFinding> {
    let finding = |level: &PathLevel| {
        let counts = |cell: &&CellFinding| {
            let through = cell.usable() || (level.id.kind.is_of_the_host() && cell.cached && cell.errors == 0);
            through && level.id.holds_for(cell.rw)
        };
        LevelFinding {
            id: level.id.clone(),
            pap_mbps: Direction::ALL.iter().find_map(|rw| level.pap_mbps(*rw)),
            pap_iops: level.pap_iops,
            rap_mbps: peak_of_both(cells.iter().filter(counts)).map(|cell| cell.mbps.value),
            source: level.source.clone(),
            narrowest: false,
        }
    };
    levels.iter().map(finding).collect()
}
