//! Tests histories of values without any study file: planted changes, noise, conditions.

use halfpower_record::Machine;
use halfpower_spec::{Cache, Direction, Pattern};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::interval::tests::normal;
use crate::{CellSettings, SurroundingAspect};

/// Spread of a study around its level, and of a cell around its study.
const OF_STUDY: f64 = 0.03;
const OF_CELL: f64 = 0.02;

/// Cells of random and sequential reads and writes.
fn cells() -> Vec<(CellSettings, f64)> {
    let mut all = Vec::new();
    for (pattern, bs_bytes) in [(Pattern::Random, 4096), (Pattern::Sequential, 1 << 20)] {
        for rw in [Direction::Read, Direction::Write] {
            for iodepth in [1, 8, 32] {
                let settings = CellSettings { pattern, rw, cache: Cache::Device, iodepth, bs_bytes, threads: 1 };
                all.push((settings, 50.0 * f64::from(iodepth)));
            }
        }
    }
    all
}

/// A study whose random reads are `reads` times as fast as usual, and whose other cells are `others` times as fast.
fn study(reads: f64, others: f64, random: &mut Xoshiro256PlusPlus) -> StudyDigest {
    let day = OF_STUDY * normal(random);
    let cells = cells().into_iter().map(|(settings, mbps)| {
        let is_random_read = settings.pattern == Pattern::Random && settings.rw == Direction::Read;
        let level = if is_random_read { reads } else { others };
        let speed = level * (day + OF_CELL * normal(random)).exp();
        let value = mbps * speed;
        CellDigest {
            settings,
            mbps: Measured { value, low: 0.97 * value, high: 1.03 * value },
            latency_ns_p50: Some(80_000.0 / speed),
            latency_ns_p99: Some(200_000.0 / speed * (OF_CELL * normal(random)).exp()),
            charged_us: Some(5.0),
        }
    });
    let cells: Vec<CellDigest> = cells.collect();
    let rate = 5000.0 * others * (day + OF_CELL * normal(random)).exp();
    StudyDigest {
        target: "/data".to_string(),
        identity: "/data".to_string(),
        started_unix_ms: 1,
        runs: 100,
        cells,
        commits: Some(Measured { value: rate, low: rate, high: rate }),
        neighbours: Neighbours::default(),
    }
}

fn listed(digests: &[StudyDigest]) -> Vec<StudyInHistory<'_>> {
    let study = |(at, digest)| StudyInHistory { name: "study.halfpower", written_unix_ms: at as u64, digest };
    digests.iter().enumerate().map(study).collect()
}

fn of(digests: &[StudyDigest]) -> History {
    history(&listed(digests), |_| None)
}

/// Studies whose cells are all as fast as these levels say, each for so many studies.
fn all_alike(levels: &[(f64, usize)], seed: u64) -> Vec<StudyDigest> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let speeds = levels.iter().flat_map(|(speed, studies)| std::iter::repeat_n(*speed, *studies));
    speeds.map(|speed| study(speed, speed, &mut random)).collect()
}

/// What was planted in 400 studies: five changes.
const PLANTED: [(f64, usize); 6] = [(1.0, 90), (0.9, 60), (1.0, 80), (1.15, 20), (1.05, 100), (0.8, 50)];

#[test]
fn of_400_studies_with_five_changes_all_are_found_and_one_at_most_is_false() {
    for seed in [1, 2] {
        let found = of(&all_alike(&PLANTED, seed));
        let planted = [90, 150, 230, 250, 350];
        let is_found = |at: &usize| found.changes.iter().any(|change| change.at.abs_diff(*at) <= 3);
        let missed: Vec<&usize> = planted.iter().filter(|at| !is_found(at)).collect();
        let places: Vec<usize> = found.changes.iter().map(|change| change.at).collect();
        assert!(missed.is_empty(), "seed {seed}: {missed:?} of {places:?}");
        let is_false = |change: &&HistoryChange| !planted.iter().any(|at| change.at.abs_diff(*at) <= 3);
        assert!(found.changes.iter().filter(is_false).count() <= 1, "seed {seed}: {places:?}");
        assert_eq!(found.figures.len(), HistoryFigure::ALL.len());
    }
}

/// Of 300, 5% are 15, and three standard deviations more are 26.
#[test]
fn a_history_without_a_change_gives_an_alarm_in_one_of_twenty_at_most() {
    let alarms = (0..300).filter(|seed| {
        let studies = if seed % 2 == 0 { 12 } else { 30 };
        !of(&all_alike(&[(1.0, studies)], 100 + seed)).changes.is_empty()
    });
    let alarms = alarms.count();
    assert!(alarms <= 26, "{alarms} of 300");
}

#[test]
fn a_change_of_one_path_is_told_of_its_figures_alone() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let digests: Vec<StudyDigest> =
        (0..40).map(|at| study(if at < 25 { 1.0 } else { 0.8 }, 1.0, &mut random)).collect();
    let found = of(&digests);
    assert_eq!(found.changes.len(), 1, "{:?}", found.changes);
    let change = &found.changes[0];
    let figures: Vec<HistoryFigure> = change.figures.iter().map(|one| one.figure).collect();
    assert_eq!((change.at, figures), (25, vec![HistoryFigure::RandomReadIops, HistoryFigure::RandomReadP99]));
    assert!((change.figures[0].percent + 20.0).abs() < 4.0 && (change.figures[1].percent - 25.0).abs() < 8.0);
    assert!(change.figures.iter().all(|one| one.p <= 0.05), "{change:?}");
    let iops = found.figures.iter().find(|one| one.figure == HistoryFigure::RandomReadIops).unwrap();
    assert_eq!(iops.levels.iter().map(|level| (level.first, level.last)).collect::<Vec<_>>(), [(0, 24), (25, 39)]);
    assert!(iops.levels[0].coverage.unwrap() >= 0.95 && iops.two_speeds.is_none());
}

#[test]
fn two_speeds_are_no_change() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let is_fast = [true, false, true, true, false, true, false, true, true, false, true, false];
    let digests: Vec<StudyDigest> =
        is_fast.iter().map(|is_fast| study(if *is_fast { 1.0 } else { 0.5 }, 1.0, &mut random)).collect();
    let found = of(&digests);
    let mut changes = found.changes.iter().flat_map(|change| &change.figures);
    assert!(changes.all(|one| one.figure != HistoryFigure::RandomReadIops), "{:?}", found.changes);
    let iops = found.figures.iter().find(|one| one.figure == HistoryFigure::RandomReadIops).unwrap();
    let speeds = iops.two_speeds.unwrap();
    assert_eq!((speeds.lower_studies, speeds.higher_studies), (5, 7));
    assert!((speeds.lower / speeds.higher - 0.5).abs() < 0.05, "{speeds:?}");
}

#[test]
fn what_differs_around_a_change_is_told_beside_it() {
    let digests = all_alike(&[(1.0, 12), (0.7, 12)], 6);
    let at = |study: usize| Surroundings {
        machine: Machine { kernel: if study < 12 { "6.1" } else { "6.12" }.to_string(), ..Machine::default() },
        ..Surroundings::default()
    };
    let found = history(&listed(&digests), |study| Some(at(study)));
    assert_eq!(found.changes.len(), 1, "{:?}", found.changes);
    let told: Vec<(SurroundingAspect, &str, &str)> =
        found.changes[0].surroundings.iter().map(|one| (one.aspect, one.before.as_str(), one.after.as_str())).collect();
    assert_eq!(told, [(SurroundingAspect::Kernel, "6.1", "6.12")]);
}

/// One study of a level is odd, as where a neighbour happened to be away: the level's median counts.
#[test]
fn neighbours_are_told_by_what_is_usual_before_and_after() {
    let mut digests = all_alike(&[(1.0, 12), (0.7, 12)], 6);
    for (at, digest) in digests.iter_mut().enumerate() {
        let is_busy = at > 12;
        digest.neighbours = Neighbours {
            device_mbps: Some(if is_busy { 48.0 } else { 0.4 }),
            device_share: Some(if is_busy { 0.35 } else { 0.003 }),
            processors: Some(0.1),
            steal_share: (at != 3).then_some(0.01),
        };
    }
    let found = of(&digests);
    assert_eq!((found.changes.len(), found.changes[0].at), (1, 12), "{:?}", found.changes);
    let told: Vec<(SurroundingAspect, &str, &str)> =
        found.changes[0].surroundings.iter().map(|one| (one.aspect, one.before.as_str(), one.after.as_str())).collect();
    assert_eq!(told, [(SurroundingAspect::OthersOnDevice, "0.40 MB/s", "48.0 MB/s")]);
}

/// Which of these conditions hold.
fn holding(conditions: &[&str], digests: &[StudyDigest]) -> Vec<bool> {
    let conditions: Vec<Condition> = conditions.iter().map(|text| text.parse().unwrap()).collect();
    let checked = check_history(&conditions, &listed(digests), &of(digests));
    checked.iter().map(|finding| finding.holds && !finding.cases.is_empty()).collect()
}

#[test]
fn conditions_hold_for_the_last_level_against_the_one_before() {
    let slower = all_alike(&[(1.0, 15), (0.8, 15)], 7);
    let line = ["random read iops < -5%", "random read iops < -50%", "bs=4k iodepth=1 p99 > +10%", "throughput > 5%"];
    assert_eq!(holding(&line, &slower), [true, false, true, false]);
    // What was mended since is no alarm any more.
    let mended = all_alike(&[(1.0, 15), (0.8, 15), (1.0, 15)], 8);
    assert_eq!(holding(&line, &mended), [false, false, false, true]);
    let steady = all_alike(&[(1.0, 30)], 9);
    assert_eq!(holding(&line, &steady), [false; 4]);
    assert_eq!(holding(&["bs=4k iodepth=1 iops < 100k", "bs=4k iodepth=1 iops < 1k"], &steady), [true, false]);
}

#[test]
fn a_condition_of_what_was_not_measured_has_no_case() {
    let digests = all_alike(&[(1.0, 10)], 10);
    let condition: Condition = "bs=512k iops < -5%".parse().unwrap();
    assert!(check_history(&[condition], &listed(&digests), &of(&digests))[0].cases.is_empty());
}

#[test]
fn a_history_of_no_study_or_of_one_has_no_change() {
    assert_eq!(of(&[]).studies.len(), 0);
    let one = all_alike(&[(1.0, 1)], 11);
    let found = of(&one);
    assert!(found.changes.is_empty() && found.figures.len() == HistoryFigure::ALL.len());
    assert!(check_history(&["iops < -5%".parse().unwrap()], &listed(&one), &found).iter().all(|one| !one.holds));
}
