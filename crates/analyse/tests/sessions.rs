//! Checks what is said of a study that was measured in several sessions, on records whose sessions differ by plan.

use halfpower_analyse::{Findings, MeasuredCeilings, Sureness, analyse};
use halfpower_record::{Environment, Record};
use halfpower_spec::{Bytes, Direction, Question};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::built::{disk, normal, question, study};

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
    assert!((row.iops.value / row.mbps.value - 1e6 / 65_536.0).abs() < 0.1, "{row:?}");
    let cell = found.cells.iter().find(|cell| cell.settings == headline.cell).unwrap();
    assert_eq!((cell.run_mbps.len(), cell.mbps), (5, headline.mbps));
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
