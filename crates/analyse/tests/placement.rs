//! Do the experiments on where bytes lie say what is true of records whose truth is known?

mod built;

use analyse::{Findings, analyse};
use built::{disk, normal, record_at};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use record::{Environment, Record};
use spec::{Bytes, Cache, Experiment, Layout, Pass, Question, Region, Rw, Twist, Workload};

/// What the findings say of one experiment whose cells run at these rates in MB/s, three runs each with `noise`.
fn told(experiment: Experiment, cells: &[(Workload, f64)], noise: f64) -> Findings {
    told_in_rounds(experiment, cells, noise, [1.0; 3])
}

/// The same where all cells of a round are as many times as fast.
fn told_in_rounds(experiment: Experiment, cells: &[(Workload, f64)], noise: f64, rounds: [f64; 3]) -> Findings {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let disk = disk("fixed=80us,rate=500MB/s");
    let mut records: Vec<Record> = Vec::new();
    for (workload, mbps) in cells {
        for (repeat, round) in (0..).zip(rounds) {
            let rate = mbps * 1e6 * round * (1.0 + noise * normal(&mut random));
            let mut record = record_at(&disk, *workload, repeat, Pass::Plain, rate);
            record.run.experiment = Some(experiment);
            records.push(record);
        }
    }
    let question = Question { experiments: vec![experiment], ..Question::about("d") };
    analyse(&question, &Environment::default(), &records)
}

fn answer(findings: &Findings) -> &str {
    assert_eq!(findings.experiments.len(), 1);
    &findings.experiments[0].answer
}

/// All cases; `rate` gives MB/s by layout, depth, and whether it is direct.
fn allocation(rate: impl Fn(Layout, u32, bool) -> f64) -> Vec<(Workload, f64)> {
    let mut cells = Vec::new();
    for cache in [Cache::Device, Cache::Both] {
        for iodepth in [1, 8] {
            for layout in Layout::ALL {
                let twist = Twist { layout: *layout, ..Twist::default() };
                let bs = Bytes(64 << 10);
                let workload = Workload { rw: Rw::Write, bs, iodepth, cache, twist, ..Workload::default() };
                cells.push((workload, rate(*layout, iodepth, cache.direct())));
            }
        }
    }
    cells
}

fn grows(layout: Layout) -> bool {
    !matches!(layout, Layout::Written | Layout::Fallocated)
}

#[test]
fn extension_that_takes_one_write_at_a_time_is_recognised() {
    let serial = |layout, iodepth, direct| match (direct, iodepth) {
        (false, _) => 300.0,
        (true, 8) if !grows(layout) => 500.0,
        (true, _) => 100.0,
    };
    let findings = told(Experiment::Allocation, &allocation(serial), 0.03);
    let rows = &findings.rows.allocation;
    assert_eq!(rows.len(), 24);
    let new = rows.iter().find(|row| (row.case, row.cache, row.iodepth) == (Layout::New, Cache::Device, 8)).unwrap();
    assert!(new.low < 100.0 && new.high > 100.0 && (new.mbps - 100.0).abs() < 10.0, "{new:?}");
    let answer = answer(&findings);
    for part in [
        "Direct and 8 deep, a growing file gets 2",
        "extension takes one write at a time",
        "blocks that fallocate reserved get",
        "fallocate helps",
        "buffered, growing costs next to nothing",
    ] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    assert_eq!(findings.experiments[0].pictures[0].lines.len(), 4);
}

#[test]
fn extension_that_goes_side_by_side_is_not_called_serial() {
    let even = |layout, iodepth: u32, direct| match direct {
        true => f64::from(iodepth) * if grows(layout) { 50.0 } else { 60.0 },
        false => 300.0,
    };
    let answer = answer(&told(Experiment::Allocation, &allocation(even), 0.02)).to_string();
    assert!(answer.contains("both are carried out side by side") && !answer.contains("at a time"), "{answer}");
    assert!(answer.contains("a growing file gets 8"), "{answer}");
    let alike = answer_of_noise();
    assert!(alike.contains("cannot tell what growing costs"), "{alike}");
    assert!(!alike.contains("a growing file gets"), "{alike}");
}

/// Alike in truth, and runs that differ by a third.
fn answer_of_noise() -> String {
    answer(&told(Experiment::Allocation, &allocation(|_, _, _| 200.0), 0.3)).to_string()
}

#[test]
fn bands_are_found_although_others_had_the_disk_for_a_round() {
    let places = (0..32u64).map(|place| {
        let region = Region { from: Bytes(place << 30), bytes: Bytes(1 << 30) };
        let twist = Twist { region: Some(region), ..Twist::default() };
        let (rw, cache, bs) = (Rw::Read, Cache::Device, Bytes(1 << 20));
        let mbps = [24.0, 21.0, 18.5, 15.0][place as usize / 8];
        (Workload { rw, cache, bs, iodepth: 4, twist, ..Workload::default() }, mbps)
    });
    let places: Vec<(Workload, f64)> = places.collect();
    for rounds in [[1.0; 3], [1.0, 0.5, 0.9]] {
        let findings = told_in_rounds(Experiment::Zones, &places, 0.02, rounds);
        let begin: Vec<u64> = findings.rows.zones.iter().map(|zone| zone.from_bytes >> 30).collect();
        assert_eq!(begin, [0, 8, 16, 24], "{}", answer(&findings));
        assert!(answer(&findings).contains("it falls into 4 bands"), "{}", answer(&findings));
    }
}
