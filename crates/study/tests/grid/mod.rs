//! Compares a study of a simulated disk with an exhaustive grid, for the test of a few disks and the table of fifty.
//!
//! The truth is the model's closed form. The grid is every cell of the same axes in three runs of five seconds. Its
//! runs are computed, not simulated: the model's noise is one factor per run, so a run of the grid gives the closed
//! form times a factor drawn as the model draws it. A study is simulated request by request.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use halfpower_analyse::{Findings, MeasuredCeilings, analyse};
use halfpower_measure::{SimulatedTarget, TargetBackend, measure};
use halfpower_model::{half_power_bs, processor_time, throughput};
use halfpower_record::Record;
use halfpower_spec::{Bytes, Cache, Direction, Nanos, Pattern, Question, SimulatedDisk};
use halfpower_study::{Observation, Planner, Step};

/// Runs of a cell of the grid, and the length of each.
const GRID_RUNS: u64 = 3;
const GRID_RUN: Nanos = Nanos(5_000_000_000);
/// Largest relative difference between peaks.
const PEAK_TOLERANCE: f64 = 0.05;
/// Largest relative distance from exactly half of the peak at which a size may count for either side: three standard
/// errors of the ratio of two means of five runs with 3% of noise, 3 x 3% x sqrt(2 / 5).
const HALF_TOLERANCE: f64 = 0.057;
/// Least true share of the best that advised settings may have: 95%, less the same noise.
const ADVISED_SHARE: f64 = 0.95 * (1.0 - HALF_TOLERANCE);
/// Largest true cost of advised settings relative to the cheapest: up to 5% more counts as equal, on either side.
const ADVISED_COST: f64 = 1.05 * 1.05;

/// Pseudorandom numbers from 0 to 1 that depend only on the seed (SplitMix64).
fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The mean of a cell's runs in the grid, as a share of the truth: each run is log-normal with mean 1, as in the model.
fn grid_noise(disk: &SimulatedDisk, seed: u64) -> f64 {
    let mut uniform = uniform(disk.seed << 32 | seed);
    let variance = disk.noise.powi(2).ln_1p();
    let mut run = || {
        // Box and Muller, 1958.
        let radius = (-2.0 * (1.0 - uniform()).ln()).sqrt();
        let angle = 2.0 * std::f64::consts::PI * uniform();
        (variance.sqrt() * radius * angle.cos() - variance / 2.0).exp()
    };
    (0..GRID_RUNS).map(|_| run()).sum::<f64>() / GRID_RUNS as f64
}

/// A random disk by its number: fixed time, rate, parallel disks, and the two optional ceilings.
pub fn disk(number: u64) -> SimulatedDisk {
    let mut uniform = uniform(number);
    let mut between = |low: f64, high: f64| low * (high / low).powf(uniform());
    let fixed_us = between(30.0, 1000.0);
    let rate = between(60e6, 3e9);
    let disks = between(1.0, 24.0).round();
    let most = disks * rate;
    let shared = between(0.2, 4.0) * most.min(6e9);
    let iops = between(0.1, 10.0) * disks * 1e6 / fixed_us;
    let text = format!(
        "fixed={}ns,rate={}B/s,disks={disks}{}{},noise=3%,cpu_fixed={}ns,cpu_per_kib={}ns,seed={number}",
        (fixed_us * 1e3).round(),
        rate.round(),
        if shared < most { format!(",shared={}B/s", shared.round()) } else { String::new() },
        if number.is_multiple_of(3) { format!(",iops={}", iops.round()) } else { String::new() },
        between(1000.0, 20_000.0).round(),
        between(5.0, 150.0).round(),
    );
    SimulatedDisk::from_constants(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The default question about a disk, which has no page cache.
pub fn question() -> Question {
    Question { cache: vec![Cache::Device], ..Question::about("sim:") }
}

/// A study from its first run to its end.
pub struct Studied {
    pub findings: Findings,
    pub records: Vec<Record>,
    pub spent_s: f64,
    pub answered: bool,
}

/// Simulates a study of `disk`.
pub fn study(question: &Question, disk: &SimulatedDisk) -> Studied {
    let mut backend = SimulatedTarget::new(disk.clone());
    let stop = AtomicBool::new(false);
    let mut planner = Planner::new(question);
    let mut records = Vec::new();
    let answered = loop {
        match planner.next() {
            Step::Run(run) => {
                let record = measure(&mut backend, &run, &stop).unwrap();
                planner.observe(&Observation::from(&record));
                records.push(record);
            }
            end => break end == Step::Answered,
        }
    };
    let findings = analyse(question, backend.environment(), &records, &MeasuredCeilings::default());
    let spent_s = records.iter().map(|record| record.spent_ns as f64).sum::<f64>() / 1e9;
    Studied { findings, records, spent_s, answered }
}

/// Seconds that the grid takes.
pub fn grid_s(question: &Question) -> f64 {
    let paths = question.experiments.len() * question.directions.len() * question.cache.len();
    let runs = (paths * question.bs.len() * question.iodepth.len()) as u64 * GRID_RUNS;
    runs as f64 * GRID_RUN.seconds()
}

/// A pattern, a direction.
type Kind = (Pattern, Direction);
/// A depth, a block size.
type Settings = (u32, Bytes);

/// One curve of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Half {
    pub peak_mbps: f64,
    pub bs: Bytes,
    /// Whether the next smaller size was measured and is below half.
    pub bracketed: bool,
}

/// The compared answer: half power at each depth, and the advised settings.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub curves: BTreeMap<(Kind, u32), Half>,
    pub advised: BTreeMap<Kind, Settings>,
}

impl From<&Findings> for Answer {
    fn from(findings: &Findings) -> Self {
        let curve = |curve: &halfpower_analyse::Curve| {
            let bs = Bytes(curve.half_power_bs_bytes);
            let bracketed = curve.half_power_bracketed;
            (((curve.pattern, curve.rw), curve.iodepth), Half { peak_mbps: curve.peak_mbps, bs, bracketed })
        };
        let advised = |advice: &halfpower_analyse::Advice| {
            ((advice.pattern, advice.rw), (advice.settings.iodepth, advice.settings.bs))
        };
        Self {
            curves: findings.curves.iter().map(curve).collect(),
            advised: findings.advice.iter().map(advised).collect(),
        }
    }
}

/// All settings of a question.
fn settings(question: &Question) -> impl Iterator<Item = Settings> + '_ {
    question.iodepth.iter().flat_map(|depth| question.bs.iter().map(move |bs| (*depth, *bs)))
}

/// The answer of the exhaustive grid with its noise, by the rules of the analysis.
pub fn grid(question: &Question, disk: &SimulatedDisk) -> Answer {
    let mut answer = Answer::default();
    for (number, kind) in kinds(question).into_iter().enumerate() {
        let noise = |cell: usize| grid_noise(disk, (number as u64) << 16 | cell as u64);
        let rates: Vec<(Settings, f64)> = settings(question)
            .enumerate()
            .map(|(cell, at)| (at, throughput(disk, at.1, at.0).mbps() * noise(cell)))
            .collect();
        answer.advised.insert(kind, advised(disk, &rates));
        for depth in &question.iodepth {
            let curve: Vec<(Bytes, f64)> =
                rates.iter().filter(|(at, _)| at.0 == *depth).map(|(at, mbps)| (at.1, *mbps)).collect();
            let peak_mbps = curve.iter().map(|(_, mbps)| *mbps).fold(0.0, f64::max);
            let reached = curve.iter().find(|(_, mbps)| *mbps >= peak_mbps / 2.0).expect("the peak reaches half");
            answer.curves.insert((kind, *depth), Half { peak_mbps, bs: reached.0, bracketed: true });
        }
    }
    answer
}

/// The advice of the analysis over all settings: among those within 5% of the best, the cheapest; among those within 5%
/// of its cost, the smallest depth, then the smallest block.
fn advised(disk: &SimulatedDisk, rates: &[(Settings, f64)]) -> Settings {
    let best = rates.iter().map(|(_, mbps)| *mbps).fold(0.0, f64::max);
    let near = || rates.iter().filter(|(_, mbps)| *mbps >= 0.95 * best).map(|(at, _)| *at);
    let least = near().map(|at| cost(disk, at.1)).fold(f64::INFINITY, f64::min);
    near().filter(|at| cost(disk, at.1) <= 1.05 * least).min().expect("the best is near the best")
}

fn kinds(question: &Question) -> Vec<Kind> {
    let of = |pattern| question.directions.iter().map(move |rw| (pattern, *rw));
    question.patterns().flat_map(of).collect()
}

/// Charged processor time per byte of a cell, in nanoseconds.
fn cost(disk: &SimulatedDisk, bs: Bytes) -> f64 {
    processor_time(disk, 1000, 1000 * bs.0).charged_ns as f64 / 1000.0 / bs.0 as f64
}

/// A kind of mistake in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The best of a pattern and direction is off by more than 5%, by this many tenths of a percent.
    Peak(u32),
    /// The best of one depth is off by more than 5%, by this many tenths of a percent.
    CurvePeak(u32),
    /// The size that reaches half of the peak is wrong, and noise does not explain it.
    HalfPower,
    /// The size below it was not measured.
    NotBracketed,
    /// The advised settings are slower or cost more than noise explains.
    Advice,
}

/// The mistakes of an answer, with a sentence each.
pub fn mistakes(question: &Question, disk: &SimulatedDisk, answer: &Answer) -> Vec<(What, String)> {
    let mut mistakes = Vec::new();
    for kind in kinds(question) {
        let mut note = |what, words: String| mistakes.push((what, format!("{} {}, {words}", kind.0, kind.1)));
        let mut found = 0.0f64;
        let mut best = 0.0f64;
        for depth in &question.iodepth {
            let Some(half) = answer.curves.get(&(kind, *depth)) else {
                note(What::NotBracketed, format!("{depth} deep: no curve"));
                continue;
            };
            let truth = question.bs.iter().map(|bs| throughput(disk, *bs, *depth).mbps()).fold(0.0, f64::max);
            (found, best) = (found.max(half.peak_mbps), best.max(truth));
            curve_mistakes(question, disk, *depth, half, truth)
                .into_iter()
                .for_each(|(what, words)| note(what, format!("{depth} deep: {words}")));
        }
        let off = (found / best - 1.0).abs();
        if off > PEAK_TOLERANCE {
            note(What::Peak((off * 1000.0) as u32), format!("peak {found:.1}, in truth {best:.1}"));
        }
        match answer.advised.get(&kind) {
            Some(advised) => {
                advice_mistake(question, disk, *advised).into_iter().for_each(|words| note(What::Advice, words))
            }
            None => note(What::Advice, "no advice".to_string()),
        }
    }
    mistakes
}

fn curve_mistakes(
    question: &Question,
    disk: &SimulatedDisk,
    depth: u32,
    half: &Half,
    peak: f64,
) -> Vec<(What, String)> {
    let mut mistakes = Vec::new();
    let off = half.peak_mbps / peak - 1.0;
    if off.abs() > PEAK_TOLERANCE {
        let words = format!("peak {:.1}, in truth {peak:.1} ({:+.1}%)", half.peak_mbps, off * 100.0);
        mistakes.push((What::CurvePeak((off.abs() * 1000.0) as u32), words));
    }
    let truth = half_power_bs(disk, &question.bs, depth).expect("an axis has a peak");
    // Noise explains the difference if all sizes between are close to exactly half.
    let low = half.bs.min(truth);
    let high = half.bs.max(truth);
    let clear = |bs: &Bytes| (throughput(disk, *bs, depth).mbps() / peak * 2.0 - 1.0).abs() > HALF_TOLERANCE;
    if question.bs.iter().filter(|bs| **bs >= low && **bs < high).any(clear) {
        mistakes.push((What::HalfPower, format!("half power at {}, in truth {truth}", half.bs)));
    }
    if !half.bracketed && half.bs != question.bs[0] {
        mistakes.push((What::NotBracketed, format!("half power at {} or below", half.bs)));
    }
    mistakes
}

/// Why the advice is worse than the best; `None` if noise explains the difference.
fn advice_mistake(question: &Question, disk: &SimulatedDisk, found: Settings) -> Option<String> {
    let rates: Vec<(Settings, f64)> = settings(question).map(|at| (at, throughput(disk, at.1, at.0).mbps())).collect();
    let best = rates.iter().map(|(_, mbps)| *mbps).fold(0.0, f64::max);
    let truth = advised(disk, &rates);
    let rate = |at: Settings| throughput(disk, at.1, at.0).mbps();
    let good = rate(found) >= ADVISED_SHARE * best && cost(disk, found.1) <= ADVISED_COST * cost(disk, truth.1);
    let words =
        |at: Settings| format!("{} {} deep ({:.0} MB/s, {:.3} ns a byte)", at.1, at.0, rate(at), cost(disk, at.1));
    (found != truth && !good).then(|| format!("advised {}, in truth {}", words(found), words(truth)))
}
