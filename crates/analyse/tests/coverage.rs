//! Checks that 95% intervals contain the truth 95 times in 100. The runs are from simulated disks with correlated
//! requests and a speed that differs from run to run; the intervals are those of their cells, and of values derived
//! from many cells.

use crate::built::{disk, normal, question, record_at, run, workload, workloads};
use halfpower_analyse::{CellFinding, Findings, MeasuredCeilings, analyse, cells};
use halfpower_record::{Environment, Record};
use halfpower_spec::{Bytes, Cache, Pass, Question, Rw, SimulatedDisk};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const CORRELATIONS: [&str; 3] = ["0", "0.5", "0.8"];

/// A cell of `runs` runs of half a second: 10% of jitter from request to request, 3% from run to run.
fn cell(correlation: &str, runs: u32, trial: u64) -> CellFinding {
    let disk = disk(&format!("fixed=80us,rate=500MB/s,noise=3%,jitter=10%,correlation={correlation}"));
    let workload = workload(Rw::Read, Cache::Device, 256, 1);
    let of_run = |repeat: u32| {
        let mut record = run(&disk, workload, 500_000_000, trial * 16 + u64::from(repeat), &|_| 1.0);
        record.run.repeat = repeat;
        record
    };
    let records: Vec<Record> = (0..runs).map(of_run).collect();
    cells(&records).remove(0)
}

/// Mean throughput in MB/s over all possible runs of the disk: bytes over the mean time of a request, with its speed
/// drawn for each run with mean 1.
fn truth(disk: &SimulatedDisk, bs: f64) -> f64 {
    bs / (disk.fixed.0 as f64 / 1e3 + bs / disk.rate.mbps())
}

/// Share of trials with the truth in the interval, and the mean half width in percent.
fn covered(correlation: &str, runs: u32, trials: u64) -> (f64, f64) {
    let truth = truth(&disk("fixed=80us,rate=500MB/s"), 262_144.0);
    let mut inside = 0;
    let mut reach = 0.0;
    for trial in 1..=trials {
        let mbps = cell(correlation, runs, trial).mbps;
        inside += u64::from(mbps.low <= truth && truth <= mbps.high);
        reach += mbps.relative_reach();
    }
    (inside as f64 / trials as f64, reach / trials as f64 * 100.0)
}

/// Half of the 95% binomial interval around a share of 95%, in percent.
fn margin(trials: u64) -> f64 {
    196.0 * (0.95 * 0.05 / trials as f64).sqrt()
}

/// 400 trials each: the binomial margin at 95% is ±2.1%, so a correct interval covers 92% to 98%.
#[test]
fn intervals_of_cells_cover_the_truth() {
    for correlation in CORRELATIONS {
        for runs in [3, 5] {
            let (share, _) = covered(correlation, runs, 400);
            assert!((0.92..=0.98).contains(&share), "correlation {correlation}, {runs} runs: {share}");
        }
    }
}

/// A study from the closed form, five runs a cell with 3% between runs, of speed and of cost.
fn derived(seed: u64, repeats: u32) -> Findings {
    let question = Question {
        repeats,
        iodepth: vec![1],
        bs: [4, 16, 64, 256, 1024].map(|kib| Bytes(kib << 10)).to_vec(),
        peak: Some(halfpower_spec::Rate(600e6)),
        ..question()
    };
    let disk = disk("fixed=80us,rate=500MB/s,cpu_fixed=5us,cpu_per_kib=50ns,unseen=25%");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut records = Vec::new();
    for workload in workloads(&question) {
        for repeat in 0..repeats {
            let rate = halfpower_model::throughput(&disk, workload.bs, 1).0 * (1.0 + 0.03 * normal(&mut random));
            let mut record = record_at(&disk, workload, repeat, Pass::Plain, rate);
            let factor = 1.0 + 0.03 * normal(&mut random);
            for part in [&mut record.cpu.user_ns, &mut record.cpu.system_ns] {
                *part = (*part as f64 * factor) as u64;
            }
            records.push(record);
        }
    }
    analyse(&question, &Environment::default(), &records, &MeasuredCeilings::default())
}

/// Shares of trials with the truth in the interval: n1/2, RAP/PAP, fixed and marginal charged cost.
fn derived_covered(repeats: u32, trials: u64) -> [f64; 4] {
    let truths = [40_000.0, truth(&disk("fixed=80us,rate=500MB/s"), 1_048_576.0) / 600.0, 3.75, 0.0375];
    let mut inside = [0u64; 4];
    for seed in 1..=trials {
        let findings = derived(seed, repeats);
        let curve = &findings.curves[0];
        let cost = &findings.cost[0];
        let ends = [
            (curve.n_half_low_bytes.unwrap(), curve.n_half_high_bytes.unwrap()),
            (curve.rap_over_pap_low.unwrap(), curve.rap_over_pap_high.unwrap()),
            (cost.fixed_us.low, cost.fixed_us.high),
            (cost.marginal_us_per_kib.low, cost.marginal_us_per_kib.high),
        ];
        for ((count, truth), (low, high)) in inside.iter_mut().zip(truths).zip(ends) {
            *count += u64::from(low <= truth && truth <= high);
        }
    }
    inside.map(|count| count as f64 / trials as f64)
}

/// 400 trials each, by the regression with three runs a cell and by resampling with five.
#[test]
fn intervals_of_derived_values_cover_the_truth() {
    for repeats in [3, 5] {
        let shares = derived_covered(repeats, 400);
        assert!(shares.iter().all(|share| (0.92..=0.98).contains(share)), "{repeats} runs: {shares:?}");
    }
}

/// What the laboratory runs.
mod lab {
    use super::*;

    /// The table of `docs/method/validation.md`: `HALFPOWER_TRIALS=4000 cargo test --release -p halfpower-analyse --test behaviour coverage -- --ignored --nocapture`.
    #[test]
    #[ignore = "lab: prints the table of docs/method/validation.md"]
    fn table() {
        let trials = std::env::var("HALFPOWER_TRIALS").map_or(1000, |trials| trials.parse().unwrap());
        println!("{trials} trials, binomial margin ±{:.1}%", margin(trials));
        for correlation in CORRELATIONS {
            for runs in [3, 5] {
                let (share, reach) = covered(correlation, runs, trials);
                println!("| cell | {correlation} | {runs} | {:.1}% | ±{reach:.1}% |", share * 100.0);
            }
        }
        for repeats in [3, 5] {
            let shares = derived_covered(repeats, trials).map(|share| format!("{:.1}%", share * 100.0));
            println!("| n1/2, RAP/PAP, fixed, marginal | {repeats} | {shares:?} |");
        }
    }
}
