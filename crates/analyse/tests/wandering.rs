//! Checks what is said of paths that wander from minute to minute: intervals of rates and latencies within a study, and
//! comparisons of studies.

use halfpower_analyse::{
    CellFinding, Comparison, Condition, Findings, Interval, MeasuredCeilings, StudyRecords, analyse, check_conditions,
    compare,
};
use halfpower_record::{Environment, Latency, Record};
use halfpower_spec::{Bytes, Pass, Question};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::built::{disk, normal, question, record_at, workloads};

/// How a path is measured, and how far it varies.
#[derive(Debug, Clone, Copy)]
struct Path {
    /// Occasions of each cell, and its runs on each.
    occasions: u64,
    runs: u32,
    /// Time from one occasion of a cell to the next.
    every_ms: u64,
    /// By how much later each cell is measured than the one before.
    later_ms: u64,
    /// Standard deviation from occasion to occasion, and from run to run.
    wander: f64,
    scatter: f64,
    /// Rate as a share of the disk's.
    speed: f64,
}

/// Four times three runs of each cell, half a minute apart, with 3% from run to run.
const STEADY: Path =
    Path { occasions: 4, runs: 3, every_ms: 30_000, later_ms: 0, wander: 0.0, scatter: 0.03, speed: 1.0 };

const WANDERING: Path = Path { wander: 0.1, ..STEADY };

/// Tests that nobody would see: of one cell.
fn asked() -> Question {
    Question { bs: [4, 64, 1024].map(|kib| Bytes(kib << 10)).to_vec(), iodepth: vec![1, 8], ..question() }
}

/// A study of the path.
fn study(path: Path, seed: u64) -> Vec<Record> {
    let Path { occasions, runs, every_ms, later_ms, wander, scatter, speed } = path;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let disk = disk("fixed=80us,rate=500MB/s,disks=4");
    // The weather of each half minute.
    let weather: Vec<f64> = (0..1000).map(|_| wander * normal(&mut random)).collect();
    let mut records = Vec::new();
    for (cell, workload) in (0..).zip(workloads(&asked())) {
        for repeat in 0..occasions as u32 * runs {
            let [occasion, of_occasion] = [u64::from(repeat / runs), u64::from(repeat % runs)];
            let started_unix_ms = 1_700_000_000_000 + occasion * every_ms + cell * later_ms + of_occasion * 1_500;
            let here = weather[((occasion * every_ms + cell * later_ms) / 30_000) as usize];
            let rate = halfpower_model::throughput(&disk, workload.bs, workload.iodepth).0 * speed;
            let rate = rate * (here + scatter * normal(&mut random)).exp();
            let mut record = Record { started_unix_ms, ..record_at(&disk, workload, repeat, Pass::Plain, rate) };
            // One request in twenty waits three times as long.
            let ns = record.latency.quantile_ns(0.5);
            record.latency = Latency::default();
            (0..200).for_each(|request| record.latency.add(if request % 20 == 0 { 3 * ns } else { ns }));
            record.achieved_depth *= 1.1;
            records.push(record);
        }
    }
    records
}

fn findings(records: &[Record]) -> Findings {
    analyse(&asked(), &Environment::default(), records, &MeasuredCeilings::default())
}

fn compared(a: &[Record], b: &[Record]) -> Comparison {
    let [of_a, of_b] = [a, b].map(findings);
    let (question, environment) = (asked(), Environment::default());
    let study = |name, findings, records| StudyRecords {
        name,
        question: &question,
        environment: &environment,
        findings,
        records,
    };
    compare(&study("a", &of_a, a), &study("b", &of_b, b)).unwrap()
}

/// What is found in some pairs of studies.
#[derive(Debug, Default, PartialEq)]
struct Rates {
    different: usize,
    certain: usize,
    alarmed: usize,
}

const LINE: [&str; 4] = ["bs=4k p99 > 0%", "bs=4k iops < 0%", "random read iops < 0%", "all throughput < 0%"];

fn rates(pairs: u64, a: Path, b: Path, timed: bool) -> Rates {
    let line: Vec<Condition> = LINE.iter().map(|text| text.parse().unwrap()).collect();
    let mut rates = Rates::default();
    for pair in 0..pairs {
        let mut records = [study(a, 2 * pair), study(b, 2 * pair + 1)];
        if !timed {
            records.iter_mut().flatten().for_each(|record| record.started_unix_ms = 0);
        }
        let comparison = compared(&records[0], &records[1]);
        rates.different += usize::from(comparison.different);
        let of_cells = comparison.cells.iter().flat_map(|cell| [Some(cell.mbps), cell.latency_ns_p99, cell.charged_us]);
        let of_paths = comparison
            .paths
            .iter()
            .flat_map(|path| [Some(path.throughput_mbps), path.latency_ns_p99, path.charged_us, Some(path.peak_mbps)]);
        rates.certain += usize::from(of_cells.chain(of_paths).flatten().any(|change| change.certain));
        let checked = check_conditions(&line, std::slice::from_ref(&comparison));
        rates.alarmed += usize::from(checked[0].iter().any(|finding| finding.holds));
    }
    rates
}

#[test]
fn table() {
    for (occasions, runs) in [(2, 3), (4, 3), (8, 2)] {
        for later_ms in [0, 30_000] {
            for wander in [0.0, 0.02, 0.05, 0.1] {
                let path = Path { occasions, runs, later_ms, wander, ..STEADY };
                println!(
                    "{occasions}x{runs} later {later_ms} wander {wander}: before {:?} after {:?}",
                    rates(100, path, path, false),
                    rates(100, path, path, true)
                );
            }
        }
    }
}
