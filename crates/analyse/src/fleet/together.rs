//! Compares the hosts of one run with each other.

use halfpower_record::{HostShare, Record};
use halfpower_spec::Direction;

/// A run that several hosts made, each compared with the others.
pub(super) struct Together<'a> {
    pub record: &'a Record,
    /// By rank; `None` for hosts that took no part.
    seen: Vec<Option<Seen>>,
}

/// One host among the others of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// Its rate as a share of the median of the others.
    pub of_peers: f64,
    /// Its place, from 1, the slowest; equally fast hosts all get the highest of their places.
    pub place: u32,
    /// Hosts of the run.
    pub hosts: u32,
}

impl<'a> Together<'a> {
    /// `None` if only one host made the run, if it is paced, or if a host moved nothing or had an error.
    pub fn of(record: &'a Record) -> Option<Self> {
        let shares = &record.hosts;
        let is_whole = shares.iter().all(|share| share.errors == 0 && share.mbps() > 0.0);
        if shares.len() < 2 || !is_whole || record.run.workload.rate.is_some() {
            return None;
        }
        let mut rates: Vec<f64> = shares.iter().map(HostShare::mbps).collect();
        rates.sort_by(f64::total_cmp);
        let ranks = shares.iter().map(|share| share.rank as usize + 1).max().unwrap_or(0);
        let mut seen = vec![None; ranks];
        for share in shares {
            let place = rates.partition_point(|rate| *rate <= share.mbps());
            let of_peers = share.mbps() / median_but_for(&rates, place - 1);
            let place = place as u32;
            let hosts = rates.len() as u32;
            seen[share.rank as usize] = Some(Seen { of_peers, place, hosts });
        }
        Some(Self { record, seen })
    }

    /// A host of the run; `None` if it took no part.
    pub fn host(&self, rank: u32) -> Option<Seen> {
        self.seen.get(rank as usize).copied().flatten()
    }

    pub fn is(&self, direction: Direction) -> bool {
        self.record.run.workload.rw.direction() == Some(direction)
    }
}

/// The median of sorted values without the one at this index; there are at least two.
fn median_but_for(sorted: &[f64], left_out: usize) -> f64 {
    let at = |place: usize| sorted[if place >= left_out { place + 1 } else { place }];
    let others = sorted.len() - 1;
    if others % 2 == 1 { at(others / 2) } else { (at(others / 2 - 1) + at(others / 2)) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_others_leaves_one_out() {
        assert_eq!(median_but_for(&[1.0, 2.0, 3.0], 0), 2.5);
        assert_eq!(median_but_for(&[1.0, 2.0, 3.0], 2), 1.5);
        assert_eq!(median_but_for(&[1.0, 2.0, 3.0, 9.0], 3), 2.0);
        assert_eq!(median_but_for(&[1.0, 2.0], 0), 2.0);
    }
}
