//! Which levels does a byte pass, what does each promise, what was got through it? The environment and the
//! user's data sheet enter, the ladder of the 1998 paper's Figure 1 leaves: PAP beside (RAP).

use record::{Environment, Level};
use spec::{Direction, Question};

use crate::bottleneck::AT_PEAK;
use crate::experiments::burst::measured_link;
use crate::experiments::scaling::shared_levels;
use crate::format::percent;
use crate::path::leading;
use crate::{CellFinding, LevelFinding, Rows};

/// Levels that are not on the way of a direct transfer to the medium: their peaks are the host's own.
const OF_THE_HOST: [&str; 3] = ["memory", "processor", "page cache"];

/// The name of the level of the medium, where the path has a block device.
const DEVICE: &str = "device";

/// The path's levels, with the data sheet's figure (`--peak`) at the device, where one was given.
pub fn levels(question: &Question, environment: &Environment) -> Vec<Level> {
    let mut levels = environment.levels.clone();
    let Some(peak) = question.peak.filter(|peak| peak.0.is_finite() && peak.0 > 0.0) else {
        return levels;
    };
    if levels.iter().any(|level| level.pap == Some(peak)) {
        return levels;
    }
    let source = "the data sheet, as given with --peak".to_string();
    match levels.iter_mut().find(|level| level.name == DEVICE && level.pap.is_none()) {
        Some(device) => (device.pap, device.source) = (Some(peak), source),
        None => levels.push(Level { name: "data sheet".to_string(), pap: Some(peak), source, ..Level::default() }),
    }
    levels
}

/// The levels with those that experiments have shown: controller and link before the medium, and what members share.
pub(crate) fn with_measured(levels: &[Level], rows: &Rows) -> Vec<Level> {
    let mut known = levels.to_vec();
    if let Some(link) = measured_link(rows) {
        let link = known_by_name(link, levels);
        let medium = medium(levels, Direction::Read);
        let place = known.iter().position(|level| level.full_name() == medium).unwrap_or(known.len());
        known.insert(place, link);
    }
    known.extend(shared_levels(rows));
    known
}

/// What the same few blocks came at, where it all but reaches what another level is known to let through: it is then
/// that level's limit that was seen, and none of its own.
fn known_by_name(link: Level, levels: &[Level]) -> Level {
    let Some(seen) = link.attainable.map(|rate| rate.mbps()) else { return link };
    let of_path =
        levels.iter().filter(|level| !is_of_the_host(level) && level.full_name() != medium(levels, Direction::Read));
    let limits = of_path.filter_map(|level| Some((level.full_name(), limit_mbps(level, Direction::Read)?)));
    match limits.reduce(|low, next| if next.1 < low.1 { next } else { low }) {
        Some((name, limit)) if seen >= AT_PEAK * limit => {
            let source = format!("{}: {} of what the {name} lets through", link.source, percent(seen / limit));
            Level { attainable: None, source, ..link }
        }
        _ => link,
    }
}

/// Peak advertised performance of one level in MB/s, where it holds for `rw` and is a number.
pub(crate) fn pap_mbps(level: &Level, rw: Direction) -> Option<f64> {
    let holds = level.direction.is_none_or(|direction| direction == rw);
    level.pap.map(|pap| pap.mbps()).filter(|pap| holds && pap.is_finite() && *pap > 0.0)
}

/// What a result of `rw` is held against at one level, in MB/s: what gets through it, else what it advertises.
pub(crate) fn limit_mbps(level: &Level, rw: Direction) -> Option<f64> {
    let holds = level.direction.is_none_or(|direction| direction == rw);
    let attainable = level.attainable.map(|rate| rate.mbps()).filter(|mbps| mbps.is_finite() && *mbps > 0.0);
    if holds { attainable.or_else(|| pap_mbps(level, rw)) } else { None }
}

/// The name of the level of the medium: `device`, or the last level of a path that has none of that name.
pub(crate) fn medium(levels: &[Level], rw: Direction) -> String {
    let of_path = || levels.iter().filter(|level| level.direction.is_none_or(|direction| direction == rw));
    let device = of_path().find(|level| level.name == DEVICE);
    let known = |level: &&Level| level.attainable.is_some() && !is_of_the_host(level);
    device.or_else(|| of_path().next_back().filter(known)).map_or(DEVICE.to_string(), Level::full_name)
}

/// The lowest peak in MB/s that any level between the host and the medium advertises for `rw`.
pub(crate) fn narrowest_pap(levels: &[Level], rw: Direction) -> Option<f64> {
    levels.iter().filter(|level| !is_of_the_host(level)).filter_map(|level| pap_mbps(level, rw)).reduce(f64::min)
}

/// Whether the level is the host's own, so that its peak bounds no device.
pub(crate) fn is_of_the_host(level: &Level) -> bool {
    OF_THE_HOST.contains(&level.name.as_str())
}

/// The ladder, none marked yet: what was got through a level is the best of its direction, and through the
/// memory also what a cache answered.
pub(crate) fn ladder(levels: &[Level], cells: &[CellFinding]) -> Vec<LevelFinding> {
    let finding = |level: &Level| {
        let counts = |cell: &&CellFinding| {
            let through = cell.usable() || (is_of_the_host(level) && cell.cached && cell.errors == 0);
            through && level.direction.is_none_or(|direction| direction == cell.rw)
        };
        let pap = Direction::ALL.iter().find_map(|rw| pap_mbps(level, *rw));
        LevelFinding {
            level: level.full_name(),
            pap_mbps: pap,
            rap_mbps: leading(cells.iter().filter(counts)).map(|cell| cell.mbps.value),
            source: level.source.clone(),
            narrowest: false,
        }
    };
    levels.iter().map(finding).collect()
}
