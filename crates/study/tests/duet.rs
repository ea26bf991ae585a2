//! Checks on simulated disks that two targets measured in turns are told apart if they differ, and otherwise no more often
//! than said.

use std::sync::atomic::AtomicBool;

use halfpower_analyse::{DuetCell, DuetDoubt};
use halfpower_measure::SimulatedTarget;
use halfpower_record::TrialVerdict;
use halfpower_spec::{Bytes, Nanos, Rw, SimulatedDisk, Workload};
use halfpower_study::{DuetPlan, RunSeeds, SlicedTarget, conduct_duet};

/// A disk, and one that takes a tenth less for each request.
const DISK: &str = "fixed=500us,rate=500MB/s";
const FASTER: &str = "fixed=450us,rate=555.6MB/s";
/// How many times as fast that is.
const TRUTH: f64 = 500.0 / 450.0;

fn cells() -> Vec<Workload> {
    let of = |rw, kib: u64, iodepth| Workload { rw, bs: Bytes(kib << 10), iodepth, ..Workload::default() };
    vec![of(Rw::Randread, 4, 1), of(Rw::Randwrite, 4, 8), of(Rw::Read, 256, 2)]
}

/// A duet of two disks of these constants; the speed of each varies by `noise` from slice to slice.
fn duet([a, b]: [&str; 2], noise: &str, seed: u64, budget: Nanos) -> Vec<DuetCell> {
    let stop = AtomicBool::new(false);
    let target = |constants: &str, side: u64| {
        let disk = SimulatedDisk::from_constants(&format!("{constants},noise={noise}")).unwrap();
        let seeds = RunSeeds { next: (seed << 32) + side, step: 2 };
        SlicedTarget::new(Box::new(SimulatedTarget::new(disk)), seeds, &stop)
    };
    let plan = DuetPlan { cells: cells(), slice: Nanos(100_000_000), budget };
    conduct_duet(&mut [target(a, 0), target(b, 1)], &plan, |_| {})
}

fn differs(cell: &DuetCell) -> bool {
    matches!(cell.decided, TrialVerdict::Faster | TrialVerdict::Slower)
}

/// Whether the interval of the rate lies clear of this ratio.
fn misses(cell: &DuetCell, truth: f64) -> bool {
    cell.mbps.and_then(|figure| figure.ratio).is_none_or(|ratio| ratio.low > truth || ratio.high < truth)
}

const LONG: Nanos = Nanos(600_000_000_000);

/// Of 40 duets, 5% are 2; with more than 6 the rate would be higher (binomial, 99.6%).
#[test]
fn equal_disks_are_called_different_no_more_often_than_said() {
    let duets: Vec<Vec<DuetCell>> = (1..41).map(|seed| duet([DISK, DISK], "1.5%", seed, LONG)).collect();
    let alarms = duets.iter().filter(|cells| cells.iter().any(differs)).count();
    let missed = duets.iter().filter(|cells| cells.iter().any(|cell| misses(cell, 1.0))).count();
    assert!(alarms <= 2 && missed <= 6, "{alarms} of 40 alarm, and intervals of {missed} miss the truth");
    let same = duets.iter().flatten().filter(|cell| cell.decided == TrialVerdict::Same).count();
    assert!(same > 100, "{same} of 120 cells are told to be the same");
}

#[test]
fn a_planted_tenth_is_found_in_every_cell() {
    let mut missed = 0;
    for seed in 1..11 {
        let found = duet([DISK, FASTER], "3%", seed, LONG);
        for cell in &found {
            assert_eq!(cell.decided, TrialVerdict::Faster, "{}: {:?}", cell.workload, cell.mbps);
            missed += usize::from(misses(cell, TRUTH));
            let median = cell.latency_ns_p50.expect("requests have latencies");
            assert!(median.b < median.a, "{}: {median:?}", cell.workload);
        }
        let back = duet([FASTER, DISK], "3%", seed, LONG);
        assert!(back.iter().all(|cell| cell.decided == TrialVerdict::Slower), "{back:?}");
    }
    assert!(missed <= 2, "{missed} of 30 intervals miss the truth");
}

/// All cells go on together, so a short budget leaves them with the same number of pairs, and every pair is whole.
#[test]
fn a_short_budget_is_shared_and_said() {
    let found = duet([DISK, DISK], "20%", 1, Nanos(1_500_000_000));
    let pairs: Vec<u32> = found.iter().map(|cell| cell.pairs).collect();
    assert!(pairs.iter().all(|count| (1..=4).contains(count)), "{pairs:?}");
    let most = pairs.iter().copied().max().unwrap_or(0);
    let least = pairs.iter().copied().min().unwrap_or(0);
    assert!(most <= least + 2, "{pairs:?}");
    assert!(found.iter().all(|cell| cell.doubt == Some(DuetDoubt::TimeOver)), "{found:?}");
}

#[test]
fn what_cannot_be_measured_ends_its_cell_and_no_other() {
    let stop = AtomicBool::new(false);
    let target = |constants: &str| {
        let disk = SimulatedDisk::from_constants(constants).unwrap();
        SlicedTarget::new(Box::new(SimulatedTarget::new(disk)), RunSeeds { next: 1, step: 1 }, &stop)
    };
    let huge = Workload { rw: Rw::Randread, bs: Bytes(128 << 20), ..Workload::default() };
    let plan = DuetPlan { cells: vec![cells()[0], huge], slice: Nanos(100_000_000), budget: LONG };
    let found = conduct_duet(&mut [target("size=256MiB"), target("size=64MiB")], &plan, |_| {});
    assert_eq!((found[0].decided, &found[0].doubt), (TrialVerdict::Same, &None));
    let Some(DuetDoubt::Failed { what }) = &found[1].doubt else { panic!("{:?}", found[1]) };
    assert!(what.starts_with("B: ") && found[1].mbps.is_none(), "{what}");
}

/// Tests for the laboratory.
mod lab {
    use super::*;

    use halfpower_lab::{Figure, judge};

    /// Duets of one try.
    const DUETS: u64 = 100;

    #[test]
    #[ignore = "lab: hundreds of duets a try"]
    fn false_alarms_and_a_planted_tenth() {
        let figures = vec![
            Figure::rare("compare --live, equal simulated disks: comparisons that alarm", 0.05),
            Figure::rare("compare --live, equal simulated disks: intervals that miss", 0.05),
            Figure::share("compare --live, a planted tenth: cells that find it", 0.95),
            Figure::share("compare --live, a planted tenth: intervals that hold it", 0.95),
        ];
        let mut first = 1;
        judge("statistics", figures, || {
            let seeds = first..first + DUETS;
            first += DUETS;
            let share = |count: usize, of: usize| count as f64 / of as f64;
            let equal: Vec<Vec<DuetCell>> = seeds.clone().map(|seed| duet([DISK, DISK], "3%", seed, LONG)).collect();
            let alarms = equal.iter().filter(|cells| cells.iter().any(differs)).count();
            let missed = equal.iter().filter(|cells| cells.iter().any(|cell| misses(cell, 1.0))).count();
            let planted: Vec<DuetCell> = seeds.flat_map(|seed| duet([DISK, FASTER], "3%", seed, LONG)).collect();
            let found = planted.iter().filter(|cell| cell.decided == TrialVerdict::Faster).count();
            let held = planted.iter().filter(|cell| !misses(cell, TRUTH)).count();
            Some(vec![
                share(alarms, equal.len()),
                share(missed, equal.len()),
                share(found, planted.len()),
                share(held, planted.len()),
            ])
        });
    }
}
