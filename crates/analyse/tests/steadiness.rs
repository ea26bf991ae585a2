//! Checks that steady disks are judged steady, and unsteady ones not, with runs as short as in a study.

use crate::built::{disk, run, workload};
use halfpower_analyse::{MeasuredCeilings, Steadiness, UnsteadyReason, Warning, analyse, judge};
use halfpower_record::{Environment, Record, Series};
use halfpower_spec::{Bytes, Cache, Question, Rw};

/// Settings of a run: constants of the disk, block size in KiB, depth, window in milliseconds.
type Setting = (&'static str, u64, u32, u64);

/// From one request in a millisecond to hundreds in a step, from 1 to 32 in flight.
const SETTINGS: [Setting; 7] = [
    ("fixed=80us,rate=1GB/s", 1024, 1, 150),
    ("fixed=80us,rate=1GB/s", 1024, 1, 500),
    ("fixed=80us,rate=1GB/s,disks=4", 1024, 32, 150),
    ("fixed=80us,rate=500MB/s", 4, 1, 150),
    ("fixed=80us,rate=500MB/s,disks=32", 16, 32, 300),
    ("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s", 256, 8, 300),
    ("fixed=8ms,rate=150MB/s", 4, 8, 5_000),
];

fn judged(setting: Setting, noise: &str, seed: u64, speed: &dyn Fn(f64) -> f64) -> Steadiness {
    let (constants, bs_kib, depth, ms) = setting;
    let disk = disk(&format!("{constants},{noise}"));
    let run = run(&disk, workload(Rw::Read, Cache::Device, bs_kib, depth), ms * 1_000_000, seed, speed);
    judge(&run.series)
}

fn share(runs: u64, mut is: impl FnMut(u64) -> bool) -> f64 {
    (1..=runs).filter(|seed| is(*seed)).count() as f64 / runs as f64
}

/// Share of `runs` runs of each setting, at this jitter, that are judged not steady.
fn alarms(noise: &str, runs: u64) -> Vec<f64> {
    SETTINGS.iter().map(|setting| share(runs, |seed| !judged(*setting, noise, seed, &|_| 1.0).steady)).collect()
}

/// Share of `runs` runs of each setting, with this change of speed, that are judged not steady or begin with a burst.
fn caught(noise: &str, runs: u64, speed: &dyn Fn(f64) -> f64) -> Vec<f64> {
    let reported = |found: Steadiness| !found.steady || found.burst.is_some();
    SETTINGS.iter().map(|setting| share(runs, |seed| reported(judged(*setting, noise, seed, speed)))).collect()
}

fn halves(at: f64) -> f64 {
    if at < 0.5 { 1.0 } else { 0.5 }
}

fn ramp(at: f64) -> f64 {
    0.85 + 0.3 * at
}

fn burst(at: f64) -> f64 {
    if at < 0.3 { 2.0 } else { 1.0 }
}

/// 60 runs for each of seven settings: at most 5% of the 420 for each jitter, and no setting above 9 (which 6% exceeds
/// once in a hundred).
#[test]
fn steady_disks_are_called_steady() {
    for jitter in ["jitter=0", "jitter=10%", "jitter=30%"] {
        for correlation in ["0", "0.5", "0.8"] {
            let alarms = alarms(&format!("{jitter},correlation={correlation}"), 60);
            let mean = alarms.iter().sum::<f64>() / alarms.len() as f64;
            assert!(mean <= 0.05 && alarms.iter().all(|share| *share <= 0.15), "{jitter}, {correlation}: {alarms:?}");
        }
    }
}

#[test]
fn a_rate_that_halves_a_ramp_and_a_burst_are_caught() {
    let speeds: [(&str, &dyn Fn(f64) -> f64); 4] =
        [("halves", &halves), ("ramp", &ramp), ("ramp down", &|at| ramp(1.0 - at)), ("burst", &burst)];
    for (name, speed) in speeds {
        let caught = caught("jitter=0", 1, speed);
        assert!(caught.iter().all(|share| *share == 1.0), "{name} without jitter: {caught:?}");
        let caught = self::caught("jitter=10%,correlation=0", 20, speed);
        // The first setting has 130 requests a run: too few to detect a slope.
        assert!(caught[1..].iter().all(|share| *share >= 0.9), "{name}: {caught:?}");
        assert!(caught[0] >= 0.4, "{name}: {caught:?}");
    }
}

#[test]
fn the_reason_says_what_happened_and_when() {
    let setting = ("fixed=80us,rate=1GB/s", 64, 4, 500);
    let found = judged(setting, "jitter=5%", 1, &halves);
    let Some(UnsteadyReason::LevelChanged { from_mbps, to_mbps, after_s }) = found.objection else {
        panic!("{found:?}")
    };
    assert!(from_mbps > to_mbps && (after_s - 0.25).abs() < 0.005, "{found:?}");
    let burst_seen = found.burst.unwrap();
    assert!((burst_seen.burst_mbps / burst_seen.sustained_mbps - 2.0).abs() < 0.05, "{burst_seen:?}");
    let slope = judged(setting, "jitter=5%", 1, &ramp).objection.unwrap();
    assert!(matches!(slope, UnsteadyReason::Slope { gain } if (0.25..0.4).contains(&gain)), "{slope:?}");
    let dip = judged(setting, "jitter=5%", 1, &|at| if (0.45..0.6).contains(&at) { 0.2 } else { 1.0 });
    assert!(!dip.steady && dip.burst.is_none(), "{dip:?}");
}

#[test]
fn what_cannot_be_told_is_not_held_against_a_run() {
    // Only two waves of 32 requests; and a run of ten steps.
    let coarse = judged(("fixed=80us,rate=500MB/s,disks=32", 8192, 32, 60), "jitter=0", 1, &|_| 1.0);
    let short = judge(&Series { step_ns: 1_000_000, bytes: (0..10).collect() });
    assert!(!coarse.conclusive && coarse.steady && !short.conclusive && short.steady);
    assert!(judge(&Series::default()).steady);
}

/// Slow for the first fifth: the start is trimmed if nothing waits for a flush, and the rest counts as the run.
#[test]
fn a_slow_start_is_trimmed_where_trimming_is_right() {
    let start = |at: f64| if at < 0.2 { 0.3 } else { 1.0 };
    let disk = disk("fixed=80us,rate=500MB/s,jitter=5%");
    let truth = 262_144.0 / (80.0 + 262_144.0 / 500.0);
    let cell = |workload, flush_ns| {
        let records: Vec<Record> = (0..3)
            .map(|repeat| {
                let mut record = run(&disk, workload, 500_000_000, 1 + u64::from(repeat), &start);
                record.run.repeat = repeat;
                (record.elapsed_ns, record.flush_ns) = (record.elapsed_ns + flush_ns, flush_ns);
                record
            })
            .collect();
        halfpower_analyse::cells(&records).remove(0)
    };
    let direct = cell(workload(Rw::Read, Cache::Device, 256, 1), 0);
    assert!((direct.mbps.value / truth - 1.0).abs() < 0.02, "{:?} instead of {truth}", direct.mbps);
    assert!(direct.steady && (0.17..0.3).contains(&direct.trimmed_share), "{}", direct.trimmed_share);
    let buffered = cell(workload(Rw::Write, Cache::Both, 256, 1), 100_000_000);
    assert!((buffered.mbps.value / truth - 0.86 / 1.2).abs() < 0.02, "{:?} of {truth}", buffered.mbps);
    assert!((buffered.memory_mbps.unwrap() / truth - 0.86).abs() < 0.02 && buffered.trimmed_share == 0.0);
    assert!((buffered.flush_share.unwrap() - 1.0 / 6.0).abs() < 0.01);
}

/// One disturbed run of three does not make a cell unsteady; two do, and the cell is never advised.
#[test]
fn a_cell_is_what_most_of_its_runs_are() {
    let question = Question { bs: vec![Bytes(64 << 10), Bytes(1 << 20)], iodepth: vec![1], ..crate::built::question() };
    let disk = disk("fixed=80us,rate=500MB/s,jitter=5%");
    let findings = |disturbed: u32| {
        let mut records = Vec::new();
        for workload in crate::built::workloads(&question) {
            for repeat in 0..3 {
                let speed: &dyn Fn(f64) -> f64 =
                    if workload.bs.0 == 1 << 20 && repeat < disturbed { &halves } else { &|_| 1.0 };
                let mut record = run(&disk, workload, 500_000_000, 1 + u64::from(repeat), speed);
                record.run.repeat = repeat;
                records.push(record);
            }
        }
        analyse(&question, &Environment::default(), &records, &MeasuredCeilings::default())
    };
    let one = findings(1);
    assert!(one.cells.iter().all(|cell| cell.steady) && one.advice[0].settings.bs == Bytes(1 << 20));
    let two = findings(2);
    assert!(!two.cells[1].steady && two.cells[1].burst_mbps > two.cells[1].sustained_mbps);
    let unsteady = two.cells[1].unsteady.unwrap();
    assert_eq!((unsteady.unsteady_runs, unsteady.runs), (2, 3));
    assert!(
        matches!(unsteady.objection, UnsteadyReason::LevelChanged { from_mbps, to_mbps, .. } if from_mbps > to_mbps)
    );
    assert_eq!(two.advice[0].settings.bs, Bytes(64 << 10));
    let is_one = |warning: &Warning| matches!(warning, Warning::NotSteady { cells: 1, of_cells: 2, .. });
    assert!(two.warnings.iter().any(is_one), "{:?}", two.warnings);
    let none = findings(0);
    assert!(none.cells.iter().all(|cell| cell.steady && cell.within_5_percent && cell.run_mbps.len() == 3));
}

/// What the laboratory runs.
mod lab {
    use super::*;

    #[test]
    #[ignore = "lab: prints the table of docs/method/validation.md"]
    fn table() {
        let runs = std::env::var("HALFPOWER_RUNS").map_or(100, |runs| runs.parse().unwrap());
        for jitter in ["jitter=0", "jitter=10%", "jitter=30%"] {
            for correlation in ["0", "0.5", "0.8"] {
                let noise = format!("{jitter},correlation={correlation}");
                println!("{noise}\n  steady  {:?}", alarms(&noise, runs));
                for (name, speed) in [("halves", halves as fn(f64) -> f64), ("ramp", ramp), ("burst", burst)] {
                    println!("  {name}  {:?}", caught(&noise, runs / 5, &speed));
                }
            }
        }
    }
}
