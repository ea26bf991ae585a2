//! Checks that the reported peak is unbiased and its interval wide enough, on simulated disks with known peaks.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::grid;

use halfpower_analyse::peak;
use halfpower_spec::{Bytes, Direction, Nanos, Question, SimulatedDisk};

/// Run-to-run noise, as a share.
const NOISES: [f64; 3] = [0.03, 0.10, 0.20];

/// The reported peak of a direction, against the truth.
struct Said {
    off: f64,
    covers: bool,
}

/// Reported peaks of studies with this noise, one per seed and direction, in the order of seeds; runs in parallel.
fn studies(noise: f64, seeds: std::ops::Range<u64>) -> Vec<Said> {
    let next = AtomicU64::new(seeds.start);
    let said = Mutex::new(BTreeMap::new());
    let lanes = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(seed) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < seeds.end) {
                    let of_seed = study(noise, seed);
                    said.lock().unwrap().insert(seed, of_seed);
                }
            });
        }
    });
    said.into_inner().unwrap().into_values().flatten().collect()
}

/// The study of one seed.
fn study(noise: f64, seed: u64) -> Vec<Said> {
    let disk = SimulatedDisk::from_constants("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s").unwrap();
    let question = Question { budget: Nanos(60_000_000_000), seed, ..grid::question() };
    let best = |bs, depth| halfpower_model::throughput(&disk, bs, depth).mbps();
    let all = question.iodepth.iter().flat_map(|depth| question.bs.iter().map(move |bs| (*bs, *depth)));
    let truth = all.map(|(bs, depth)| best(bs, depth)).fold(0.0, f64::max);
    let noisy = SimulatedDisk { noise, seed: seed + 1000, ..disk.clone() };
    let studied = grid::study(&question, &noisy);
    let of_direction = |rw: &Direction| {
        let cell = peak(&studied.findings.cells, *rw).expect("a direction has a peak");
        let covers = cell.mbps.low <= truth && truth <= cell.mbps.high;
        assert!(cell.run_mbps.len() >= 3, "seed {seed}, {rw}: {} runs", cell.run_mbps.len());
        Said { off: cell.mbps.value / truth - 1.0, covers }
    };
    Direction::ALL.iter().map(of_direction).collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// The mean error with its standard error, and the share of intervals that hold the truth.
fn summary(said: &[Said]) -> (f64, f64, f64) {
    let bias = mean(said.iter().map(|one| one.off));
    let variance = mean(said.iter().map(|one| (one.off - bias).powi(2)));
    let covered = said.iter().filter(|one| one.covers).count() as f64 / said.len() as f64;
    (bias, (variance / said.len() as f64).sqrt(), covered)
}

#[test]
fn the_peak_is_not_the_luckiest_cell() {
    for noise in NOISES {
        let (bias, error, covered) = summary(&studies(noise, 1..7));
        assert!(bias.abs() <= 0.005 + 3.0 * error, "noise {noise}: bias {bias:.4} ± {error:.4}");
        assert!(covered >= 0.6, "noise {noise}: {covered} of the intervals hold the truth");
    }
}

/// Windows that cut the waves of a limit are wrong by up to a whole wave, and the fastest window is the luckiest.
#[test]
fn the_peak_behind_a_limit_in_slices_is_the_limit_whatever_the_budget() {
    for limit in ["shared=10MB/s", "shared=37MB/s", "iops=100"] {
        for (seconds, seed) in [(20, 1), (20, 2), (60, 3)] {
            let constants = format!("fixed=20us,rate=2GB/s,{limit},slice=100ms,noise=1%,seed={seed}");
            let disk = SimulatedDisk::from_constants(&constants).unwrap();
            let question = Question {
                budget: Nanos(seconds * 1_000_000_000),
                seed,
                directions: vec![Direction::Read],
                ..grid::question()
            };
            let cell = peak(&grid::study(&question, &disk).findings.cells, Direction::Read).cloned().unwrap();
            let most = halfpower_model::throughput(&disk, Bytes(cell.bs_bytes), cell.iodepth).mbps();
            let what = format!("{constants}, {seconds} s: {} MB/s of {most}", cell.mbps.value);
            assert!((cell.mbps.value / most - 1.0).abs() <= 0.06, "{what}");
            assert!(cell.run_mbps.len() >= 3, "{what}, of {} runs", cell.run_mbps.len());
        }
    }
}

/// Tests for the laboratory.
mod lab {
    use super::*;

    /// The table of `docs/method/validation.md`.
    #[test]
    #[ignore = "lab: 600 studies"]
    fn bias_and_coverage_of_the_peak() {
        for noise in NOISES {
            let said = studies(noise, 1..201);
            let (bias, error, covered) = summary(&said);
            println!(
                "noise {noise}: bias {:+.2}% ± {:.2}%, coverage {:.1}%",
                bias * 100.0,
                error * 100.0,
                covered * 100.0
            );
            assert!(bias.abs() <= 0.005 + 3.0 * error, "noise {noise}: bias {bias:.4} ± {error:.4}");
            assert!((0.92..=0.98).contains(&covered), "noise {noise}: coverage {covered}");
        }
    }
}
