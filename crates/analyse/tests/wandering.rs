//! Checks what is said of paths that wander from minute to minute: intervals of latencies within a study, and comparisons of
//! studies.

use halfpower_analyse::{
    Change, Comparison, Condition, Findings, Interval, LatencySummary, MeasuredCeilings, analyse, check_conditions,
};
use halfpower_record::{Environment, Latency, Record};
use halfpower_spec::{Bytes, Pass, Question};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::built::{compared, disk, normal, question, record_at, workloads};

/// Time in which a path has one weather.
const WEATHER_MS: u64 = 30_000;
/// Scatter from run to run of rates and of latencies, and of the longest latencies beside these.
const SCATTER: f64 = 0.03;

/// How a path is measured, and how far it varies.
#[derive(Debug, Clone, Copy)]
struct Path {
    /// Occasions of each cell, one in each weather.
    occasions: u64,
    /// Runs of each cell on each occasion.
    runs: u32,
    /// Standard deviation of rates from occasion to occasion.
    wander: f64,
    /// Likewise of the longest latencies alone.
    tail_wander: f64,
    /// Rate as a share of the disk's.
    speed: f64,
}

const STEADY: Path = Path { occasions: 4, runs: 3, wander: 0.0, tail_wander: 0.0, speed: 1.0 };
const WANDERING: Path = Path { wander: 0.1, ..STEADY };

fn asked() -> Question {
    Question { bs: [4, 64, 1024].map(|kib| Bytes(kib << 10)).to_vec(), iodepth: vec![1, 8], ..question() }
}

/// A study of the path. One request in twenty waits three times as long.
fn study(path: Path, seed: u64) -> Vec<Record> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let disk = disk("fixed=80us,rate=500MB/s,disks=4");
    let mut weather = |wander| (0..path.occasions).map(|_| wander * normal(&mut random)).collect::<Vec<f64>>();
    let [of_rates, of_tails] = [path.wander, path.tail_wander].map(&mut weather);
    let mut records = Vec::new();
    for workload in workloads(&asked()) {
        for repeat in 0..path.occasions as u32 * path.runs {
            let [occasion, run] = [repeat / path.runs, repeat % path.runs].map(u64::from);
            let factor = (of_rates[occasion as usize] + SCATTER * normal(&mut random)).exp();
            let rate = halfpower_model::throughput(&disk, workload.bs, workload.iodepth).0 * path.speed * factor;
            let mut record = record_at(&disk, workload, repeat, Pass::Plain, rate);
            record.started_unix_ms = 1_700_000_000_000 + occasion * WEATHER_MS + run * 1_500;
            let ns = record.latency.quantile_ns(0.5);
            let tail = 3.0 * (of_tails[occasion as usize] + SCATTER * normal(&mut random)).exp();
            record.latency = Latency::default();
            let of_request = |request| if request % 20 == 0 { ns as f64 * tail } else { ns as f64 };
            (0..200).for_each(|request| record.latency.add(of_request(request) as u64));
            record.achieved_depth *= record.latency.mean_ns() / ns as f64;
            records.push(record);
        }
    }
    records
}

/// The same runs, without the time when each was made.
fn of_one_time(mut records: Vec<Record>) -> Vec<Record> {
    records.iter_mut().for_each(|record| record.started_unix_ms = 0);
    records
}

fn findings(records: &[Record]) -> Findings {
    analyse(&asked(), &Environment::default(), records, &MeasuredCeilings::default())
}

/// The intervals of the median and of the 99th percentile of each cell's latency.
fn latencies(records: &[Record]) -> Vec<[Interval; 2]> {
    let intervals = |of: LatencySummary| [of.p50_interval.unwrap(), of.p99_interval.unwrap()];
    findings(records).cells.iter().map(|cell| intervals(cell.latency_ns)).collect()
}

/// Share of studies with the true mean of the median and of the 99th percentile in the interval of their first cell.
fn covered(path: Path, studies: u64, arranged: fn(Vec<Record>) -> Vec<Record>) -> [f64; 2] {
    let exact = latencies(&study(Path { runs: 1000, ..STEADY }, 0))[0];
    let truth = |at: usize| {
        // Of so many runs without weather each percentile is known; its mean over weather is exp(variance / 2) of that.
        let variance = path.wander.powi(2) + if at == 1 { path.tail_wander.powi(2) } else { 0.0 };
        exact[at].value * (variance / 2.0).exp()
    };
    let mut inside = [0u64; 2];
    for seed in 1..=studies {
        let intervals = latencies(&arranged(study(path, seed)))[0];
        for (at, Interval { low, high, .. }) in intervals.into_iter().enumerate() {
            inside[at] += u64::from((low..=high).contains(&truth(at)));
        }
    }
    inside.map(|inside| inside as f64 / studies as f64)
}

/// 400 studies: the binomial margin at 95% is ±2.1%.
#[test]
fn latencies_of_a_path_that_wanders_are_as_uncertain_as_its_occasions() {
    let path = Path { tail_wander: 0.1, ..WANDERING };
    let by_runs = covered(path, 200, of_one_time);
    let with_weather = covered(path, 200, |records| records);
    assert!(by_runs.iter().all(|share| *share < 0.75), "{by_runs:?}");
    assert!(with_weather.iter().all(|share| *share > 0.92), "{with_weather:?}");
}

/// Each percentile of a path that does not wander passes in 99 of 100 studies.
#[test]
fn latencies_of_a_steady_path_keep_their_intervals() {
    let is_kept = |seed: &u64| latencies(&study(STEADY, *seed)) == latencies(&of_one_time(study(STEADY, *seed)));
    let kept = (1..=200).filter(is_kept).count();
    assert!(kept >= 192, "{kept} of 200");
}

#[test]
fn a_tail_that_wanders_alone_leaves_the_median_as_it_is() {
    let path = Path { tail_wander: 0.3, ..STEADY };
    let mut kept_and_widened = [0; 2];
    for seed in 1..=50 {
        let [p50, p99] = latencies(&study(path, seed))[0];
        let [p50_by_runs, p99_by_runs] = latencies(&of_one_time(study(path, seed)))[0];
        kept_and_widened[0] += u32::from(p50 == p50_by_runs);
        kept_and_widened[1] += u32::from(p99.relative_reach() > p99_by_runs.relative_reach());
    }
    assert!(kept_and_widened.iter().all(|count| *count >= 47), "{kept_and_widened:?} of 50");
}

/// All that a comparison tests.
fn tested(comparison: &Comparison) -> Vec<Change> {
    let of_cells = comparison.cells.iter().map(|cell| [Some(cell.mbps), cell.latency_ns_p99, cell.charged_us, None]);
    let of_paths = comparison
        .paths
        .iter()
        .map(|path| [Some(path.throughput_mbps), path.latency_ns_p99, path.charged_us, Some(path.peak_mbps)]);
    of_cells.chain(of_paths).flatten().flatten().collect()
}

/// Pairs of studies that are called different, that have a certain change, and that fulfil a condition of a command.
#[derive(Debug, Default, PartialEq)]
struct Alarms {
    different: usize,
    certain: usize,
    fulfilled: usize,
}

/// Conditions of one command, which no change at all does not fulfil.
const LINE: [&str; 4] = ["bs=4k p99 > 0%", "bs=4k iops < 0%", "read iops < 0%", "all throughput < 0%"];

/// What is found in a hundred pairs of studies of these paths.
fn alarms([a, b]: [Path; 2], arranged: fn(Vec<Record>) -> Vec<Record>) -> Alarms {
    let line: Vec<Condition> = LINE.iter().map(|text| text.parse().unwrap()).collect();
    let mut alarms = Alarms::default();
    for pair in 0..100 {
        let comparison = compared(&asked(), &arranged(study(a, 2 * pair)), &arranged(study(b, 2 * pair + 1)));
        alarms.different += usize::from(comparison.different);
        alarms.certain += usize::from(tested(&comparison).iter().any(|change| change.certain));
        let checked = check_conditions(&line, std::slice::from_ref(&comparison));
        alarms.fulfilled += usize::from(checked[0].iter().any(|finding| finding.holds));
    }
    alarms
}

impl Alarms {
    fn most(&self) -> usize {
        self.different.max(self.certain).max(self.fulfilled)
    }
}

/// 5% of a hundred pairs are five: more than nine of them have a chance of 3%.
#[test]
fn two_studies_of_a_path_that_wanders_are_alike() {
    let before = alarms([WANDERING; 2], of_one_time);
    assert!(before.different > 30, "without occasions it would alarm: {before:?}");
    for path in [WANDERING, Path { wander: 0.02, ..WANDERING }, Path { occasions: 8, runs: 2, ..WANDERING }] {
        let found = alarms([path; 2], |records| records);
        assert!(found.most() <= 9, "{path:?}: {found:?}");
    }
}

#[test]
fn a_difference_of_a_steady_path_is_found_as_before() {
    let paths = [STEADY, Path { speed: 0.93, ..STEADY }];
    let found = alarms(paths, |records| records);
    assert_eq!(alarms(paths, of_one_time).different, 100);
    assert!(found.different >= 99 && found.fulfilled >= 99, "{found:?}");
}

#[test]
fn one_occasion_tells_nothing_of_another() {
    let path = Path { occasions: 1, runs: 6, ..WANDERING };
    let records = [1, 2].map(|seed| study(path, seed));
    let [a, b] = &records;
    let changes = |a: &[Record], b: &[Record]| tested(&compared(&asked(), a, b));
    assert_eq!(changes(a, b), changes(&of_one_time(a.clone()), &of_one_time(b.clone())));
}
