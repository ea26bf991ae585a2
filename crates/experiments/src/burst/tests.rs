//! Checks that `burst` returns what its records were made with: the cache's rate, the fixed time, and the blocks that
//! come sooner after a pause.

use super::rows::Hit;
use crate::built::{disk, normal, record_at};
use crate::study_findings::{StudyFindings, analyse};
use halfpower_analyse::{
    KnownLimit, LevelFinding, LevelId, LevelKind, LevelSource, LinkCeiling, NextLimit, NextLimitBy, StoppedBy,
};
use halfpower_record::{Environment, Latency, Level, Record};
use halfpower_spec::{
    Bytes, Cache, Direction, Experiment, Nanos, Pass, Pattern, Question, Rate, Region, Rw, Workload, WorkloadOptions,
};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const LINK_MBPS: f64 = 400.0;
const FIXED_US: f64 = 40.0;
const US_PER_KIB: f64 = 2.5;

/// The blocks that a request reads.
#[derive(Clone, Copy, PartialEq)]
enum Blocks {
    Same,
    Next,
    Any,
}

fn workload(blocks: Blocks, bs_kib: u64, iodepth: u32, pause_us: u64) -> Workload {
    let region = (blocks == Blocks::Same).then_some(Region { from: Bytes(0), bytes: Bytes(bs_kib << 10) });
    let options = WorkloadOptions { region, thinktime: Nanos(pause_us * 1000), ..WorkloadOptions::default() };
    let rw = if blocks == Blocks::Any { Rw::Randread } else { Rw::Read };
    Workload { options, ..crate::built::workload(rw, Cache::Device, bs_kib, iodepth) }
}

fn runs(workload: Workload, mbps: f64, us: f64, random: &mut Xoshiro256PlusPlus) -> Vec<Record> {
    let run = |repeat| {
        let factor = 1.0 + 0.01 * normal(random);
        let record = record_at(&disk(""), workload, repeat, Pass::Plain, mbps * factor * 1e6);
        let mut latency = Latency::default();
        (0..100).for_each(|_| latency.add((us / factor * 1e3) as u64));
        let run = halfpower_spec::Run { experiment: Some(Experiment::Burst), ..record.run };
        Record { latency, run, ..record }
    };
    (0..3).map(run).collect()
}

/// A path whose medium gives `medium_mbps`, and which answers the last block after a pause in `same_us`.
fn findings(medium_mbps: f64, same_us: f64) -> StudyFindings {
    findings_of(&records(medium_mbps, same_us))
}

fn records(medium_mbps: f64, same_us: f64) -> Vec<Record> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut records = Vec::new();
    for (kib, depth) in [(64, 2), (1024, 2), (1024, 8)] {
        let again = medium_mbps.max(if kib == 64 { 0.8 } else { 1.0 } * LINK_MBPS);
        records.extend(runs(workload(Blocks::Same, kib, depth, 0), again, 100.0, &mut random));
        records.extend(runs(workload(Blocks::Next, kib, depth, 0), medium_mbps, 100.0, &mut random));
    }
    for kib in [4, 8, 16, 32, 64] {
        let us = FIXED_US + US_PER_KIB * kib as f64;
        records.extend(runs(workload(Blocks::Same, kib, 1, 0), kib as f64 * 1024.0 / us, us, &mut random));
    }
    for (blocks, us) in [(Blocks::Same, same_us), (Blocks::Next, 60.0), (Blocks::Any, 5000.0)] {
        records.extend(runs(workload(blocks, 8, 1, 10_000), 1.0, us, &mut random));
    }
    records
}

fn findings_of(records: &[Record]) -> StudyFindings {
    let device = Level { name: "device".into(), pap: Some(Rate(1e9)), ..Level::default() };
    let environment = Environment { levels: vec![device], ..Environment::default() };
    let question = Question { experiments: vec![Experiment::Burst], ..Question::about("d") };
    analyse(&question, &environment, records)
}

#[track_caller]
fn near(found: f64, truth: f64) {
    assert!((found / truth - 1.0).abs() < 0.03, "{found} instead of {truth}");
}

fn controller_and_link() -> LevelId {
    LevelId { direction: Some(Direction::Read), ..LevelId::of(LevelKind::ControllerAndLink) }
}

/// The evidence for the level of controller and link.
fn same_blocks(findings: &StudyFindings) -> LinkCeiling {
    match link(findings).source {
        LevelSource::SameBlocks { link, .. } => link,
        ref other => panic!("{other:?}"),
    }
}

fn link(findings: &StudyFindings) -> &LevelFinding {
    let place = findings.levels.iter().position(|level| level.id == controller_and_link()).unwrap();
    assert_eq!(findings.levels[place + 1].id, LevelId::of(LevelKind::Device), "it comes before the medium");
    &findings.levels[place]
}

#[test]
fn a_cache_before_the_medium_shows_what_controller_and_link_let_through() {
    let findings = findings(100.0, 60.0);
    let fastest = findings.rows.burst.burst.iter().map(|row| row.mbps).fold(0.0, f64::max);
    near(fastest, LINK_MBPS);
    let shape = |bs: u64, iodepth: u32| {
        *findings.rows.burst.burst.iter().find(|row| (row.bs_bytes, row.iodepth) == (bs, iodepth)).unwrap()
    };
    near(shape(65536, 2).mbps, 0.8 * LINK_MBPS);
    let of_new = shape(1 << 20, 2).of_new.unwrap();
    assert!(of_new.low < 4.0 && of_new.high > 4.0 && of_new.high / of_new.low < 1.2, "{of_new:?}");
    near(link(&findings).rap_mbps.unwrap(), LINK_MBPS);
    assert!(same_blocks(&findings).answered);
    let answer = &findings.experiments[0].answer;
    assert!(answer.contains("so much gets through controller and link"), "{answer}");
}

#[test]
fn the_fixed_time_of_a_request_is_found_by_subtraction() {
    let overhead = findings(100.0, 60.0).rows.burst.overhead[0];
    near(overhead.fixed_us.value, FIXED_US);
    assert!(overhead.fixed_us.low <= FIXED_US && FIXED_US <= overhead.fixed_us.high, "{overhead:?}");
    near(overhead.mbps.unwrap(), 1024.0 / US_PER_KIB);
}

#[test]
fn where_nothing_keeps_blocks_no_ceiling_is_claimed() {
    let findings = findings(LINK_MBPS, 60.0);
    let answer = &findings.experiments[0].answer;
    assert!(answer.contains("nothing before the medium is known to answer"), "{answer}");
    assert!(!same_blocks(&findings).answered);
}

#[test]
fn what_comes_sooner_after_a_pause_is_said_only_where_runs_carry_it() {
    let of = |same_us| findings(100.0, same_us);
    let hits = of(90.0).rows.burst.hits;
    assert_eq!(hits.iter().map(|row| row.hit).collect::<Vec<_>>(), [Hit::Same, Hit::Next, Hit::Any]);
    near(hits[0].latency_ns_p50 / 1e3, 90.0);
    assert_eq!(hits[0].pause_ns, 10_000_000);
    let answer = |same_us| of(same_us).experiments[0].answer.clone();
    assert!(answer(90.0).ends_with(": reading on is sooner than reading again."), "{}", answer(90.0));
    assert!(answer(40.0).ends_with(": reading again is sooner than reading on."), "{}", answer(40.0));
    assert!(!answer(60.2).contains("sooner"), "{}", answer(60.2));
}

#[test]
fn a_single_run_after_a_pause_judges_nothing() {
    let mut once = records(100.0, 90.0);
    once.retain(|record| record.run.repeat == 0);
    let answer = findings_of(&once).experiments[0].answer.clone();
    assert!(answer.ends_with(", by one run each."), "{answer}");
}

/// Rereads of small blocks are four times as fast as new blocks. Rereads of large blocks are not faster, since new ones
/// already fill the link.
#[test]
fn the_factor_stands_with_the_blocks_that_it_was_seen_with() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut records = Vec::new();
    for (kib, depth, again, new) in [(64, 2, 320.0, 80.0), (1024, 8, LINK_MBPS, LINK_MBPS)] {
        records.extend(runs(workload(Blocks::Same, kib, depth, 0), again, 100.0, &mut random));
        records.extend(runs(workload(Blocks::Next, kib, depth, 0), new, 100.0, &mut random));
    }
    let answer = findings_of(&records).experiments[0].answer.clone();
    assert!(answer.contains("MB/s (1 MiB, 8 deep): so much gets through"), "{answer}");
    let (_, seen_with) = answer.split_once("what new ones do (").unwrap();
    assert!(seen_with.starts_with("64 KiB, 2 deep)"), "{answer}");
}

/// Sequential reads almost reach the rate of rereads, so controller and link are the bottleneck. The report says how
/// that is known, what comes next, and what would disprove it.
#[test]
fn a_measured_link_can_be_the_bottleneck() {
    let of_burst = findings(100.0, 60.0);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    let mut records = Vec::new();
    for (kib, depth, mbps) in [(64, 2, 100.0), (64, 8, 380.0), (1024, 8, 390.0), (1024, 32, 392.0)] {
        let mut walked = runs(workload(Blocks::Next, kib, depth, 0), mbps, 100.0, &mut random);
        walked.iter_mut().for_each(|record| record.run.experiment = Some(Experiment::Sequential));
        records.extend(walked);
    }
    for (kib, depth) in [(64, 2), (1024, 8)] {
        records.extend(runs(workload(Blocks::Same, kib, depth, 0), LINK_MBPS, 100.0, &mut random));
        records.extend(runs(workload(Blocks::Next, kib, depth, 0), 100.0, 100.0, &mut random));
    }
    let device = Level { name: "device".into(), pap: Some(Rate(1e9)), ..Level::default() };
    let environment = Environment { levels: vec![device], ..Environment::default() };
    let question = Question { experiments: vec![Experiment::Sequential, Experiment::Burst], ..Question::about("d") };
    assert_eq!(question.patterns().next(), Some(Pattern::Sequential));
    let bottleneck = &analyse(&question, &environment, &records).bottleneck;
    assert_eq!(bottleneck.level, Some(controller_and_link()), "{bottleneck:?}");
    let known = &bottleneck.stopped_by;
    assert!(
        matches!(known, StoppedBy::KnownRate { limit: KnownLimit::Attainable, source, .. }
            if matches!(source, LevelSource::SameBlocks { .. })),
        "{known:?}"
    );
    let (level, mbps, by) = (LevelId::of(LevelKind::Device), 1_000.0, NextLimitBy::Advertised);
    assert_eq!(bottleneck.next, Some(NextLimit::Level { level, mbps, by }));
    assert_eq!(of_burst.bottleneck.level, None, "nothing was walked, so nothing is claimed");
}
