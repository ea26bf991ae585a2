//! Finds the known limit that a single run nearly reached.

use halfpower_record::{Level, Record};
use halfpower_spec::Direction;

use crate::PathLevel;
use crate::ladder::AT_PEAK;

/// Share above which the limit did not apply: a cache answered, or the limit belongs to another path.
const BEYOND: f64 = 1.1;

/// A limit of the path that a run reached.
#[derive(Debug, Clone, PartialEq)]
pub struct MetLimit {
    /// The level, by the environment's name.
    pub level: String,
    /// The limit.
    pub most: Most,
    /// Share of the limit that the run reached.
    pub share: f64,
    /// Where the figure comes from.
    pub source: String,
}

/// What a level limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Most {
    /// MB/s.
    Mbps(f64),
    /// Requests a second.
    Iops(f64),
}

/// What of reads and writes a level for both limits: their sum where they share it, else the larger, since each may have all.
fn through(level: &Level, sides: impl Iterator<Item = f64>) -> f64 {
    if level.half_duplex { sides.sum() } else { sides.fold(0.0, f64::max) }
}

/// The limit of which `record` reached the largest share, if at least 90%; `None` for runs that move nothing on a
/// device, such as those of operations on small files.
pub fn met_limit(levels: &[Level], record: &Record) -> Option<MetLimit> {
    if record.run.workload.options.file_operation.is_some() {
        return None;
    }
    let of_level = |level: &Level| {
        let known = PathLevel::of(level);
        let sides = [Direction::Read, Direction::Write].into_iter().filter(|rw| known.id.holds_for(*rw));
        let sides: Vec<_> = sides.filter_map(|rw| Some((rw, record.side(rw)?))).collect();
        let mbps = through(level, sides.iter().map(|(_, side)| side.mbps()));
        let iops = through(level, sides.iter().map(|(_, side)| side.iops()));
        let limit = sides.first().and_then(|(rw, _)| known.limit_mbps(*rw)).filter(|_| !known.id.kind.is_of_the_host());
        let met = |most: Most, limit: f64, reached: f64| MetLimit {
            level: level.name.clone(),
            most,
            share: reached / limit,
            source: level.source.clone(),
        };
        let by_requests = known.pap_iops.filter(|limit| *limit > 0.0);
        let both = [
            limit.map(|limit| met(Most::Mbps(limit), limit, mbps)),
            by_requests.map(|limit| met(Most::Iops(limit), limit, iops)),
        ];
        both.into_iter().flatten().collect::<Vec<_>>()
    };
    let met = levels.iter().flat_map(of_level).filter(|met| (AT_PEAK..=BEYOND).contains(&met.share));
    met.max_by(|a, b| a.share.total_cmp(&b.share))
}
