//! Checks what is said of a study that was measured in several sessions, on records whose sessions differ by plan.

use halfpower_analyse::{Findings, MeasuredCeilings, Sureness, analyse};
use halfpower_record::{Environment, Record, Series};
use halfpower_spec::{Bytes, Cache, Direction, Nanos, Pass, Question, Run, Rw};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::built::{disk, normal, question, record_at, study, workload};

const DISK: &str = "fixed=80us,rate=500MB/s,disks=4";

fn small(sessions: u32) -> Question {
    Question { bs: vec![Bytes(65_536)], iodepth: vec![1, 2, 4, 8], sessions, ..question() }
}

/// The records of a study of one session, at a level of `factor` times the disk's, with 1% between runs.
fn session(number: u32, factor: f64, seed: u64) -> Vec<Record> {
    let mut slower = disk(&format!("{DISK},noise=1%,seed={seed}"));
    slower.rate = halfpower_spec::Rate(slower.rate.0 * factor);
    slower.fixed = halfpower_spec::Nanos((slower.fixed.0 as f64 / factor) as u64);
    let mut records = study(&slower, &small(1));
    for record in &mut records {
        record.session = number;
        record.run.repeat += number * 10_000;
    }
    records
}

fn findings(asked: u32, records: &[Record]) -> Findings {
    analyse(&small(asked), &Environment::default(), records, &MeasuredCeilings::default())
}

#[test]
fn one_session_is_an_ordinary_study() {
    let records = session(0, 1.0, 1);
    let ordinary = findings(1, &records);
    assert_eq!(ordinary.summary.sessions, None);
    let first_of_five = findings(5, &records);
    let sessions = first_of_five.summary.sessions.clone().unwrap();
    assert_eq!((sessions.asked, sessions.begun, sessions.cells.len()), (5, 1, 0));
    assert_eq!(first_of_five.headline, ordinary.headline);
    assert_eq!(first_of_five.cells, ordinary.cells);
}

#[test]
fn of_several_sessions_the_figures_are_over_their_means_and_all_else_is_of_the_first() {
    let first = session(0, 1.0, 1);
    let ordinary = findings(1, &first);
    let all: Vec<Record> = (0..5).flat_map(|number| session(number, 1.0 - 0.1 * f64::from(number), 1)).collect();
    let found = findings(5, &all);
    assert_eq!((found.runs, ordinary.runs * 5), (all.len(), all.len()));
    let headline = &found.headline[0];
    assert_eq!(headline.cell, ordinary.headline[0].cell);
    let level = headline.mbps.value / ordinary.headline[0].mbps.value;
    assert!((level - 0.8).abs() < 0.01, "the mean of 1, 0.9, 0.8, 0.7 and 0.6: {level}");
    // t(4) s / sqrt(5) of these five levels is 2.776 x 0.158 / 2.236.
    let reach = headline.mbps.relative_reach() * level;
    assert!((reach - 0.196).abs() < 0.01, "{reach}");
    let row = &found.summary.how_fast.iter().find(|row| row.cell == headline.cell).unwrap().rate;
    assert_eq!((row.mbps, row.runs), (headline.mbps, headline.runs));
    assert_eq!(row.sureness, Sureness::Within { share: headline.mbps.relative_reach() });
    let slowest = row.least_mbps / ordinary.headline[0].mbps.value;
    assert!((slowest - 0.6).abs() < 0.01, "the slowest run of all is of the last session: {slowest}");
    assert!(row.most_mbps >= ordinary.headline[0].mbps.value, "{row:?}");
    assert!((row.iops.value / row.mbps.value - 1e6 / 65_536.0).abs() < 0.1, "{row:?}");
    let cell = found.cells.iter().find(|cell| cell.settings == headline.cell).unwrap();
    assert_eq!((cell.run_mbps.len(), cell.mbps, cell.runs), (5, headline.mbps, headline.runs));
    let of_first = ordinary.cells.iter().find(|first| first.settings == cell.settings).unwrap();
    assert!(cell.latency_ns.max > of_first.latency_ns.max, "the longest of all sessions: {:?}", cell.latency_ns);
    assert_eq!((&found.curves, &found.advice, &found.limits), (&ordinary.curves, &ordinary.advice, &ordinary.limits));
    assert_eq!(found.headline[0].rw, Direction::Read);
}

/// 400 studies of five sessions with 5% between sessions and 1% between runs: the binomial margin at 95% is ±2.1%.
#[test]
fn the_interval_over_sessions_covers_the_level_that_varies_and_that_within_one_does_not() {
    let truth = halfpower_model::throughput(&disk(DISK), Bytes(65_536), 8).mbps();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(35);
    let mut covered = [0, 0];
    for trial in 0..400u64 {
        let factor = 1.0 + 0.05 * normal(&mut random);
        let mut records = session(0, factor, 10 * trial);
        let within = findings(1, &records).headline[0].mbps;
        for number in 1..5 {
            let factor = 1.0 + 0.05 * normal(&mut random);
            records.extend(session(number, factor, 10 * trial + u64::from(number)));
        }
        let over = findings(5, &records).headline[0].mbps;
        for (count, interval) in covered.iter_mut().zip([within, over]) {
            *count += u32::from(interval.low <= truth && truth <= interval.high);
        }
    }
    let [within, over] = covered.map(|count| f64::from(count) / 400.0);
    assert!((0.925..=0.98).contains(&over), "{over}");
    assert!(within < 0.6, "{within}");
}

#[test]
fn two_speeds_are_told_from_six_sessions_on() {
    let of = |factors: &[f64]| {
        let numbered = factors.iter().enumerate();
        let records: Vec<Record> =
            numbered.flat_map(|(number, factor)| session(number as u32, *factor, number as u64)).collect();
        let found = findings(factors.len() as u32, &records);
        let sessions = found.summary.sessions.unwrap();
        sessions.cells.iter().find(|cell| cell.cell == found.headline[0].cell).unwrap().clone()
    };
    let two = of(&[1.9, 1.0, 1.0, 1.9, 1.0, 1.9]);
    let speeds = two.two_speeds.unwrap();
    assert_eq!((speeds.lower_sessions, speeds.higher_sessions), (3, 3));
    assert!((speeds.higher_mbps / speeds.lower_mbps - 1.9).abs() < 0.05, "{speeds:?}");
    assert!((speeds.coverage - 0.96875).abs() < 1e-9);
    assert_eq!((speeds.median_mbps.low, speeds.median_mbps.high), {
        let least = two.session_mbps.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = two.session_mbps.iter().copied().fold(0.0, f64::max);
        (least, greatest)
    });
    assert_eq!(of(&[1.9, 1.0, 1.0, 1.9, 1.0]).two_speeds, None, "five sessions are too few");
    assert_eq!(of(&[1.0, 1.05, 0.95, 1.02, 0.97, 1.1]).two_speeds, None);
}

/// A run of this session at a rate in MB/s, with a window of so many milliseconds.
fn run_of(session: u32, bs_kib: u64, (pass, repeat): (Pass, u32), mbps: f64, window_ms: u64) -> Record {
    let workload = workload(Rw::Read, Cache::Device, bs_kib, 8);
    let made = record_at(&disk(DISK), workload, session * 10_000 + repeat, pass, mbps * 1e6);
    Record { session, run: Run { runtime: Nanos(window_ms * 1_000_000), ..made.run }, ..made }
}

/// The throughput of each session of the cell of 64 KiB, 8 deep, in MB/s.
fn of_sessions(asked: &Question, records: &[Record]) -> Vec<f64> {
    let found = analyse(asked, &Environment::default(), records, &MeasuredCeilings::default());
    let cells = found.summary.sessions.unwrap().cells;
    cells.into_iter().find(|cell| cell.cell.bs_bytes == 65_536).unwrap().session_mbps
}

#[test]
fn a_credit_that_the_first_session_leaves_out_is_left_out_of_all() {
    // After each pause the path is 7% faster for a while, which fills windows of 110 ms.
    let short = |session: u32, pass: Pass| {
        let runs = (1..).zip([106.9, 107.0, 107.1]);
        runs.map(move |(repeat, mbps)| run_of(session, 64, (pass, repeat), mbps, 110)).collect::<Vec<_>>()
    };
    let first = [run_of(0, 64, (Pass::Plain, 0), 107.0, 110), run_of(0, 64, (Pass::Confirm, 0), 100.0, 3000)];
    let mut records = [first.to_vec(), short(0, Pass::Confirm)].concat();
    (1..4).for_each(|session| records.extend(short(session, Pass::Plain)));
    let session_mbps = of_sessions(&small(4), &records);
    assert_eq!(session_mbps.len(), 4);
    assert!(session_mbps.iter().all(|mbps| (mbps - 100.0).abs() < 0.1), "{session_mbps:?}");
}

/// What a limit lets pass in each tenth of a second.
const SLICE: u64 = 4_194_304;

/// A run of a second behind this limit, with these bytes in each of its steps of 10 ms.
fn behind_limit(session: u32, bs_kib: u64, repeat: u32, of_step: impl Fn(u64) -> u64) -> Record {
    let made = run_of(session, bs_kib, (Pass::Plain, repeat), 10.0 * SLICE as f64 / 1e6, 1000);
    let steps: Vec<u64> = (0..100).map(of_step).collect();
    let bytes = steps.iter().sum();
    Record { elapsed_ns: 1_000_000_000, bytes, series: Series { step_ns: 10_000_000, bytes: steps }, ..made }
}

#[test]
fn a_limit_that_the_first_session_shows_is_that_of_all() {
    let asked = Question { bs: vec![Bytes(65_536), Bytes(262_144)], iodepth: vec![8], sessions: 2, ..question() };
    let in_waves = |step: u64| if step.is_multiple_of(10) { SLICE } else { 0 };
    let runs = (0..3).flat_map(|repeat| [64, 256].map(|bs_kib| behind_limit(0, bs_kib, repeat, in_waves)));
    let mut records: Vec<Record> = runs.collect();
    // No gaps between slices, and what was saved up before comes with the first two of them.
    let even = |step: u64| SLICE / 1000 * if step < 20 { 115 } else { 100 };
    records.extend((0..3).map(|repeat| behind_limit(1, 64, repeat, even)));
    let session_mbps = of_sessions(&asked, &records);
    let off = session_mbps[1] / session_mbps[0] - 1.0;
    assert!(off.abs() < 0.005, "the same rate in both: {session_mbps:?}");
}
