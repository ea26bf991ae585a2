//! Checks that predictions say how wrong they may be: from draws of the cells within what was measured, and as bounds
//! beyond it.

use std::ops::Range;

use crate::built::{disk, question, study};
use halfpower_analyse::{Ceilings, MeasuredCeilings, analyse, calibrate};
use halfpower_model::{Fitted, throughput};
use halfpower_record::Environment;
use halfpower_spec::{Bytes, Cache, Direction, Pattern, Question};

const READS: (Pattern, Cache, Direction) = (Pattern::Sequential, Cache::Device, Direction::Read);
/// The submitting processor is no limit here.
const FREE: &str = "cpu_fixed=0us,cpu_per_kib=0ns";

/// Disks of known constants: times, rates, parallel requests, and limits of both kinds.
const TRUTHS: [&str; 20] = [
    "fixed=80us,rate=500MB/s",
    "fixed=80us,rate=500MB/s,disks=4",
    "fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s",
    "fixed=80us,rate=500MB/s,shared=300MB/s",
    "fixed=8ms,rate=150MB/s",
    "fixed=200us,rate=400MB/s,disks=16,iops=20000",
    "fixed=300us,rate=400MB/s,disks=8,shared=600MB/s,iops=8000",
    "fixed=20us,rate=2000MB/s,disks=8",
    "fixed=20us,rate=2000MB/s,disks=16,shared=3000MB/s",
    "fixed=500us,rate=12MB/s",
    "fixed=2ms,rate=30MB/s,disks=2",
    "fixed=100us,rate=1000MB/s,disks=16",
    "fixed=100us,rate=250MB/s,disks=8,shared=900MB/s",
    "fixed=60us,rate=700MB/s,disks=2,iops=15000",
    "fixed=1ms,rate=100MB/s,disks=16,iops=5000",
    "fixed=5ms,rate=200MB/s,disks=4",
    "fixed=150us,rate=80MB/s,disks=4",
    "fixed=40us,rate=1500MB/s,disks=4,iops=40000",
    "fixed=250us,rate=600MB/s,disks=12",
    "fixed=90us,rate=350MB/s,disks=6,shared=1000MB/s",
];

fn fitted(constants: &str, noise: &str, seed: u32, question: &Question) -> Fitted {
    let disk = disk(&format!("{constants},{FREE},noise={noise},seed={seed}"));
    let findings = analyse(question, &Environment::default(), &study(&disk, question), &MeasuredCeilings::default());
    calibrate(&findings, &MeasuredCeilings::default(), Bytes(1 << 30), Ceilings::Device).unwrap().fitted
}

/// Predictions of one and of four devices over all sizes and depths: how many there are, how many intervals hold the
/// truth, and the off of each.
fn predicted(constants: &str, fitted: &Fitted, of: &Question) -> (usize, usize, Vec<f64>) {
    let truth = disk(constants);
    let (mut cells, mut held, mut off) = (0, 0, Vec::new());
    for devices in [1, 4] {
        for depth in &of.iodepth {
            for bs in &of.bs {
                let truth = f64::from(devices) * throughput(&truth, *bs, *depth).mbps();
                let rate = fitted.throughput(READS, *bs, *depth, devices).unwrap().mbps();
                let reach = fitted.reach(READS, *bs, *depth, devices).unwrap();
                cells += 1;
                held += usize::from(reach.low * rate <= truth && truth <= reach.high * rate);
                off.push((rate / truth - 1.0).abs());
            }
        }
    }
    (cells, held, off)
}

/// Predictions of all truths: how many there are, the share whose interval holds the truth, and the median off.
type Coverage = (usize, f64, f64);

/// Over some truths, each with its own seed; a study of each predicts the cells of several questions.
fn coverage<const N: usize>(noise: &str, seeds: Range<u32>, asked: &Question, of: [&Question; N]) -> [Coverage; N] {
    let mut found = [const { (0, 0, Vec::new()) }; N];
    for seed in seeds {
        let constants = TRUTHS[seed as usize % TRUTHS.len()];
        let fitted = fitted(constants, noise, seed + 1, asked);
        for ((cells, held, off), of) in found.iter_mut().zip(of) {
            let (some, within, errors) = predicted(constants, &fitted, of);
            *cells += some;
            *held += within;
            off.extend(errors);
        }
    }
    found.map(|(cells, held, mut off)| {
        off.sort_by(f64::total_cmp);
        (cells, held as f64 / cells as f64, off[off.len() / 2])
    })
}

/// Each truth, half of them at each noise.
#[test]
fn intervals_of_predictions_hold_the_truth() {
    for (noise, seeds) in [("0%", 0..10), ("5%", 10..20), ("20%", 0..10)] {
        let [(cells, share, _)] = coverage(noise, seeds, &question(), [&question()]);
        assert!(cells > 1000 && share >= 0.9, "noise {noise}: {share} of {cells}");
    }
}

/// A study that ends 8 deep and at 32 KiB.
fn small() -> Question {
    Question { iodepth: vec![1, 2, 4, 8], bs: [4, 8, 16, 32].map(|kib| Bytes(kib << 10)).to_vec(), ..question() }
}

/// Depths beyond it.
fn deeper() -> Question {
    Question { iodepth: vec![16, 32, 64], ..small() }
}

/// Sizes beyond it.
fn larger() -> Question {
    Question { bs: vec![Bytes(1 << 20), Bytes(4 << 20)], ..small() }
}

/// On disks that go on.
#[test]
fn beyond_what_was_measured_the_bounds_hold() {
    let asked = small();
    let of = [&deeper(), &larger()];
    for ((cells, share, _), of) in coverage("5%", 0..20, &asked, of).into_iter().zip(of) {
        // All cells of a study are off together, so twenty studies are few: of 200, 95% hold (the laboratory's table).
        assert!(share >= 0.8, "{:?} {:?}: {share} of {cells}", of.bs, of.iodepth);
    }
    let fitted = fitted("fixed=80us,rate=500MB/s,disks=16", "0%", 1, &asked);
    let reach = fitted.reach(READS, Bytes(4096), 32, 1).unwrap();
    assert!(reach.beyond && reach.high > 3.9, "{reach:?}");
    assert!(!fitted.reach(READS, Bytes(4096), 8, 1).unwrap().beyond);
}

/// What the laboratory runs.
mod lab {
    use super::*;

    /// The table of `docs/method/validation.md`.
    #[test]
    #[ignore = "lab: prints the table of docs/method/validation.md"]
    fn table() {
        println!("| noise | predictions | median error | intervals that hold the truth |");
        for noise in ["0%", "3%", "5%", "10%", "20%"] {
            let [within] = coverage(noise, 0..200, &question(), [&question()]);
            let [deeper, larger] = coverage(noise, 0..200, &small(), [&deeper(), &larger()]);
            for (of, (cells, share, off)) in [("within", within), ("deeper", deeper), ("larger", larger)] {
                println!("| {of}, {noise} | {cells} | {:.2}% | {:.1}% |", off * 100.0, share * 100.0);
            }
        }
    }
}
