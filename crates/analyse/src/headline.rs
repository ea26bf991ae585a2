//! Says how fast each direction is, how sure that is, and what may be wrong with it.

use halfpower_record::Environment;
use halfpower_spec::{Cache, Direction};

use crate::cells::WITHIN;
use crate::interval::t95;
use crate::path::peak;
use crate::{CellFinding, Headline, HeadlineDoubt, Interval};

/// Share of our own bytes below which the device's counters contradict a direct result.
const CONTRADICTED_BELOW: f64 = 0.5;
/// Ratio of writes to reads from which a cache is suspected; below it, both stand on one limit, such as a wire.
const FASTER: f64 = 1.05;
/// The probe's word for a virtual machine.
const VIRTUAL_MACHINE: &str = "virtual machine";
/// Most further runs that are worth proposing.
const MOST_RUNS: usize = 2000;

/// The headline of each direction with a usable cell; `seconds_a_run` is the mean time of a run.
pub fn headlines(environment: &Environment, cells: &[CellFinding], seconds_a_run: f64) -> Vec<Headline> {
    let best = |rw| peak(cells, rw);
    let headline = |rw: &Direction| {
        let cell = best(*rw)?;
        let mut doubts: Vec<HeadlineDoubt> = witness(environment, cell).into_iter().collect();
        if doubts.is_empty() && cell.cache.direct() && is_guest(environment) {
            doubts.push(HeadlineDoubt::GuestsHost);
        }
        let reads = best(Direction::Read).filter(|_| *rw == Direction::Write);
        let is_faster = |reads: &CellFinding| {
            cell.mbps.low > reads.mbps.high && cell.mbps.value > FASTER * reads.mbps.value && cell.run_mbps.len() > 1
        };
        if reads.is_some_and(is_faster) {
            doubts.push(HeadlineDoubt::FasterThanReads);
        }
        Some(Headline {
            rw: *rw,
            cell: cell.settings,
            mbps: cell.mbps,
            runs: cell.run_mbps.len(),
            confirmed: cell.chosen_mbps.is_some(),
            durable_mbps: durable_cell(cell, cells).map(|durable| durable.mbps),
            more_seconds: more_seconds(cell, seconds_a_run),
            doubts,
        })
    };
    Direction::ALL.iter().filter_map(headline).collect()
}

/// What the device's counters say about a cell of a real target.
fn witness(environment: &Environment, cell: &CellFinding) -> Option<HeadlineDoubt> {
    let kind = environment.capabilities.kind;
    if !kind.is_hardware() {
        return None;
    }
    // The page cache keeps some buffered requests from the device, so its counter says little; without a known device,
    // what lies below may keep all of them. A target in memory needs no doubt.
    if !cell.cache.direct() {
        let is_unknown = environment.device.is_none() && !is_in_memory(environment);
        return is_unknown.then_some(HeadlineDoubt::NoWitness);
    }
    match cell.noise.foreign_share {
        None => Some(HeadlineDoubt::NoWitness),
        Some(foreign) if 1.0 + foreign < CONTRADICTED_BELOW => {
            Some(HeadlineDoubt::Contradicted { device_share: (1.0 + foreign).max(0.0) })
        }
        Some(_) => None,
    }
}

/// Whether this machine is a guest, so that a host lies between it and the medium.
fn is_guest(environment: &Environment) -> bool {
    let reported = environment.machine.virtualised.as_deref().unwrap_or("");
    environment.capabilities.kind.is_hardware() && reported.contains(VIRTUAL_MACHINE)
}

/// The cell of the same writes with `--cache none`.
pub(crate) fn durable_cell<'a>(cell: &CellFinding, cells: &'a [CellFinding]) -> Option<&'a CellFinding> {
    let asks = cell.rw == Direction::Write && cell.cache == Cache::Device;
    let settings = |cell: &CellFinding| (cell.pattern, cell.rw, cell.iodepth, cell.threads, cell.bs_bytes);
    let same = |other: &&CellFinding| other.cache == Cache::None && settings(other) == settings(cell) && other.usable();
    cells.iter().filter(|_| asks).find(same)
}

/// Further seconds until the cell's rate is known within 5%, if runs take `seconds_a_run` and keep their spread; `None`
/// if it is known, or if the runs cannot tell.
pub(crate) fn more_seconds(cell: &CellFinding, seconds_a_run: f64) -> Option<f64> {
    more_runs(&cell.run_mbps).map(|runs| runs as f64 * seconds_a_run).filter(|seconds| seconds.is_finite())
}

/// Further runs until the t interval is within 5% of the mean, if the runs keep their spread.
fn more_runs(run_mbps: &[f64]) -> Option<usize> {
    let made = run_mbps.len();
    let mean = Interval::of_means(run_mbps).value;
    if made < 2 || Interval::of_means(run_mbps).relative_reach() <= WITHIN || mean <= 0.0 {
        return None;
    }
    let squares: f64 = run_mbps.iter().map(|mbps| (mbps - mean).powi(2)).sum();
    let spread = (squares / (made - 1) as f64).sqrt() / mean;
    let enough = (made + 1..MOST_RUNS).find(|runs| t95(runs - 1) * spread / (*runs as f64).sqrt() <= WITHIN)?;
    Some(enough - made)
}

/// File systems that lie in main memory.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// Whether the file system lies in main memory.
pub(crate) fn is_in_memory(environment: &Environment) -> bool {
    environment.filesystem.as_ref().is_some_and(|filesystem| IN_MEMORY.contains(&filesystem.kind.as_str()))
}

#[cfg(test)]
mod tests {
    use super::more_runs;

    #[test]
    fn a_wide_interval_says_how_many_runs_it_lacks() {
        // Ten percent between runs: 1.96 * 0.1 / sqrt(n) is 5% at 15 to 18 runs, with Student's t.
        let runs = [900.0, 1100.0, 950.0, 1050.0, 880.0, 1120.0];
        let more = more_runs(&runs).unwrap();
        assert!((10..20).contains(&more), "{more}");
        assert_eq!(more_runs(&[1000.0, 1001.0, 999.0]), None, "it is within 5% already");
        assert_eq!(more_runs(&[1000.0]), None, "one run tells nothing of the others");
    }
}
