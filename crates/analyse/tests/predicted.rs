//! Checks that predictions say how wrong they may be: from draws of the cells within what was measured, and as bounds
//! beyond it.

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
fn predicted(constants: &str, noise: &str, seed: u32, asked: &Question, of: &Question) -> (usize, usize, Vec<f64>) {
    let fitted = fitted(constants, noise, seed, asked);
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

/// Over some truths, each with its own seed.
fn coverage(noise: &str, seeds: std::ops::Range<u32>, asked: &Question, of: &Question) -> (usize, f64, f64) {
    let (mut cells, mut held, mut off) = (0, 0, Vec::new());
    for seed in seeds {
        let (some, within, errors) = predicted(TRUTHS[seed as usize % TRUTHS.len()], noise, seed + 1, asked, of);
        cells += some;
        held += within;
        off.extend(errors);
    }
    off.sort_by(f64::total_cmp);
    (cells, held as f64 / cells as f64, off[off.len() / 2])
}

#[test]
fn intervals_of_predictions_hold_the_truth() {
    for noise in ["0%", "5%", "20%"] {
        let (cells, share, _) = coverage(noise, 0..20, &question(), &question());
        assert!(cells > 2000 && share >= 0.9, "noise {noise}: {share} of {cells}");
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
    for of in [deeper(), larger()] {
        let (cells, share, _) = coverage("5%", 0..20, &asked, &of);
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
            let (cells, share, off) = coverage(noise, 0..200, &question(), &question());
            println!("| within, {noise} | {cells} | {:.2}% | {:.1}% |", off * 100.0, share * 100.0);
            let (cells, share, off) = coverage(noise, 0..200, &small(), &deeper());
            println!("| deeper, {noise} | {cells} | {:.2}% | {:.1}% |", off * 100.0, share * 100.0);
            let (cells, share, off) = coverage(noise, 0..200, &small(), &larger());
            println!("| larger, {noise} | {cells} | {:.2}% | {:.1}% |", off * 100.0, share * 100.0);
        }
    }
}
