//! Checks the figures of the first screen on disks of known truth: rates, latencies, and what stops the path.

use std::sync::atomic::AtomicBool;

use crate::grid;
use halfpower_analyse::{Ceiling, CellSettings, Findings, Interval, StoppedBy, StudyState};
use halfpower_measure::{SimulatedTarget, measure};
use halfpower_model::throughput;
use halfpower_record::Record;
use halfpower_spec::{Bytes, EngineName, Nanos, Pass, Rate, Run, Rw, SimulatedDisk, Workload};

/// Gain from twice as much of something from which its lack stops a disk.
const STOPS: f64 = 1.02;
/// Distance within which a figure without an interval is right: three standard deviations of 3% of noise.
const OF_ONE_RUN: f64 = 0.09;
/// Error of the histogram of latencies: 128 steps to each power of two.
const OF_A_STEP: f64 = 0.008;
/// Error of a rate without noise: requests that are cut by the ends of a window.
pub const OF_THE_ENDS: f64 = 0.01;
/// Turns of the queue in the long run that gives the true latencies, and its least length in seconds behind a limit
/// that hands out slices or a credit.
const TURNS: f64 = 400.0;
const LIMITED_S: f64 = 10.0;

/// Disks of one kind, by their constants.
struct Kind {
    name: &'static str,
    disks: &'static [&'static str],
}

/// Twenty disks of known truth.
const KINDS: [Kind; 6] = [
    Kind {
        name: "disks without noise",
        disks: &[
            "fixed=80us,rate=500MB/s,disks=4",
            "fixed=200us,rate=2GB/s,disks=16,shared=3GB/s",
            "fixed=100us,rate=300MB/s,disks=8,iops=40000",
        ],
    },
    Kind {
        name: "noisy disks",
        disks: &[
            "fixed=80us,rate=500MB/s,disks=4,noise=3%",
            "fixed=200us,rate=2GB/s,disks=16,shared=3GB/s,noise=10%",
            "fixed=100us,rate=300MB/s,disks=8,iops=40000,noise=20%",
        ],
    },
    Kind {
        name: "limits in slices",
        disks: &[
            "fixed=20us,rate=2GB/s,shared=37MB/s,slice=100ms,noise=1%",
            "fixed=20us,rate=2GB/s,iops=1000,slice=100ms,noise=1%",
            "fixed=50us,rate=1GB/s,disks=4,shared=200MB/s,slice=100ms,noise=2%",
        ],
    },
    Kind {
        name: "limits with a credit",
        disks: &[
            "fixed=100us,rate=1GB/s,disks=4,shared=9.564MB/s,credit=37KiB,noise=1%",
            "fixed=100us,rate=1GB/s,disks=4,shared=100MB/s,credit=64MiB,noise=1%",
            "fixed=100us,rate=1GB/s,disks=8,iops=2000,credit_ios=500,noise=1%",
        ],
    },
    Kind {
        name: "queues of a device",
        disks: &[
            "fixed=1ms,rate=10GB/s,disks=8,noise=1%",
            "fixed=1ms,rate=10GB/s,disks=2,noise=1%",
            "fixed=200us,rate=10GB/s,disks=32,noise=2%",
            "fixed=500us,rate=200MB/s,disks=16,noise=3%",
        ],
    },
    Kind {
        name: "serial disks",
        disks: &[
            "fixed=500us,rate=11.8MB/s,disks=1,noise=5%",
            "fixed=2ms,rate=30MB/s,disks=1,noise=3%",
            "fixed=8ms,rate=150MB/s,disks=1,noise=2%",
            "fixed=100us,rate=400MB/s,disks=1,noise=1%",
        ],
    },
];

/// The figures of one kind: how many are right, of how many that are told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Told {
    right: usize,
    all: usize,
}

impl Told {
    fn add(&mut self, is_right: bool) {
        self.all += 1;
        self.right += usize::from(is_right);
    }

    /// NaN where nothing was told.
    fn share(self) -> f64 {
        self.right as f64 / self.all as f64
    }
}

impl Kind {
    /// Its disks, each with the noise of this seed.
    fn with_seed(&self, seed: u64) -> impl Iterator<Item = SimulatedDisk> {
        let disk = |constants: &&str| {
            SimulatedDisk::from_constants(constants).unwrap_or_else(|error| panic!("{constants}: {error}"))
        };
        self.disks.iter().map(move |constants| SimulatedDisk { seed, ..disk(constants) })
    }
}

/// The figures of the first screens of some studies.
#[derive(Debug, Clone, Copy, Default)]
struct Screens {
    rates: Told,
    medians: Told,
    p99s: Told,
    stops: Told,
    states: Told,
    /// Latencies that are said to be not known.
    unknown: usize,
}

impl Screens {
    /// Of the disks with these numbers.
    fn of(numbers: impl Iterator<Item = u64>) -> Self {
        let mut screens = Self::default();
        for number in numbers {
            let disk = grid::disk(number);
            let question = halfpower_spec::Question { seed: number, ..grid::question() };
            screens.add(&disk, &grid::study(&question, &disk).findings);
        }
        screens
    }

    /// Of the disks of a kind.
    fn of_kind(kind: &Kind, seed: u64) -> Self {
        let mut screens = Self::default();
        for disk in kind.with_seed(seed) {
            let question = halfpower_spec::Question { seed, ..grid::question() };
            screens.add(&disk, &grid::study(&question, &disk).findings);
        }
        screens
    }

    fn add(&mut self, disk: &SimulatedDisk, findings: &Findings) {
        assert!(findings.summary.how_fast.len() >= 3, "{disk:?}");
        for row in &findings.summary.how_fast {
            let truth = throughput(disk, Bytes(row.cell.bs_bytes), row.cell.iodepth).mbps();
            let least = if disk.noise > 0.0 { 0.0 } else { OF_THE_ENDS };
            self.rates.add(holds(Some(&row.rate.mbps), row.rate.mbps.value, truth, least));
            let long = long_run(disk, &row.cell);
            let latencies = [
                (0.5, row.rate.latency_ns_p50, row.rate.latency_ns_p50_interval),
                (0.99, row.rate.latency_ns_p99, row.rate.latency_ns_p99_interval),
            ];
            for (quantile, told, interval) in latencies {
                let of_kind = if quantile < 0.9 { &mut self.medians } else { &mut self.p99s };
                match told {
                    Some(ns) => {
                        let truth = long.latency.quantile_ns(quantile) as f64;
                        of_kind.add(holds(interval.as_ref(), ns as f64, truth, OF_A_STEP));
                    }
                    None => self.unknown += 1,
                }
            }
        }
        self.stops.add(is_true(disk, findings));
        self.states.add(findings.summary.state == StudyState::Simulated);
    }
}

/// Whether what was told holds the truth; `least` is the error that even a perfect run has.
pub fn holds(interval: Option<&Interval>, value: f64, truth: f64, least: f64) -> bool {
    let known = interval.filter(|interval| interval.high > interval.low);
    let (low, high) = known.map_or((value * (1.0 - OF_ONE_RUN), value * (1.0 + OF_ONE_RUN)), |it| (it.low, it.high));
    (low * (1.0 - least)..=high * (1.0 + least)).contains(&truth)
}

/// A run of the cell on the disk without noise, so long that its beginning counts for nothing.
fn long_run(disk: &SimulatedDisk, cell: &CellSettings) -> Record {
    let bs = Bytes(cell.bs_bytes);
    let queue_s = f64::from(cell.iodepth) * bs.0 as f64 / throughput(disk, bs, cell.iodepth).0;
    let least_s = if disk.has_buckets() { LIMITED_S } else { 0.0 };
    let spent = SimulatedDisk { noise: 0.0, credit: Bytes(0), credit_ios: 0, ..disk.clone() };
    let mut backend = SimulatedTarget::new(spent);
    let run = Run {
        experiment: None,
        workload: Workload {
            rw: Rw::of(cell.pattern, cell.rw),
            bs,
            iodepth: cell.iodepth,
            cache: cell.cache,
            engine: EngineName::Auto,
            ..Workload::default()
        },
        repeat: 0,
        pass: Pass::Plain,
        runtime: Nanos(((queue_s * TURNS).max(least_s) * 1e9) as u64),
        seed: 1,
    };
    measure(&mut backend, &run, &AtomicBool::new(false)).unwrap()
}

/// Whether what is said to stop the disk does: with more of it, the fastest cell would be faster.
fn is_true(disk: &SimulatedDisk, findings: &Findings) -> bool {
    let bottleneck = &findings.bottleneck;
    let Some(fastest) = &bottleneck.fastest else { return false };
    let bs = Bytes(fastest.cell.bs_bytes);
    let depth = fastest.cell.iodepth;
    let now = throughput(disk, bs, depth).0;
    let gains = |more: &SimulatedDisk, depth| throughput(more, bs, depth).0 > STOPS * now;
    let wider = SimulatedDisk { shared: disk.shared.map(|rate| Rate(2.0 * rate.0)), ..disk.clone() };
    let busier = SimulatedDisk { iops: disk.iops.map(|iops| 2.0 * iops), ..disk.clone() };
    let more_disks = SimulatedDisk { disks: 2 * disk.disks, ..disk.clone() };
    match &bottleneck.stopped_by {
        StoppedBy::Ceiling { ceiling: Ceiling::Bytes, .. } => gains(&wider, depth) || !gains(disk, 2 * depth),
        StoppedBy::Ceiling { ceiling: Ceiling::Requests, .. } => gains(&busier, depth),
        StoppedBy::Parallelism { side_by_side, .. } => {
            gains(&more_disks, 2 * depth) && (side_by_side / f64::from(disk.disks) - 1.0).abs() < 0.25
        }
        StoppedBy::NoGainFromDepth { .. } => !gains(disk, 2 * depth),
        StoppedBy::RequestTime { .. } => gains(disk, 2 * depth),
        StoppedBy::FullProcessor { .. } => {
            let cell = findings.cells.iter().find(|cell| cell.settings == fastest.cell);
            cell.and_then(|cell| cell.core_share).is_some_and(|share| share >= 0.9)
        }
        _ => false,
    }
}

#[test]
fn the_first_screen_of_a_few_disks_is_true() {
    let screens = Screens::of(1..=4);
    let Screens { rates, medians, p99s, stops, states, unknown } = screens;
    assert_eq!(states.right, states.all, "{screens:?}");
    assert!(unknown <= (medians.all + p99s.all) / 2, "{screens:?}");
    for told in [rates, medians, p99s, stops] {
        assert!(told.all >= 4 && told.all - told.right <= 1 + told.all / 10, "{screens:?}");
    }
}

#[test]
fn there_are_twenty_disks_of_known_kinds() {
    assert_eq!(KINDS.iter().flat_map(|kind| kind.with_seed(1)).count(), 20);
}

/// Tests for the laboratory.
mod lab {
    use super::*;

    use halfpower_lab::{Figure, judge};

    /// Disks of one try.
    const DISKS: u64 = 20;

    #[test]
    #[ignore = "lab: studies of twenty disks a try"]
    fn figures_of_the_first_screen_hold_the_truth() {
        let figure =
            |what: &str| Figure::share(format!("first screen, twenty simulated disks: {what} that are right"), 0.92);
        let figures = ["rates", "medians", "99th percentiles", "stops"].map(figure).to_vec();
        let mut first = 1;
        judge("statistics", figures, || {
            let screens = Screens::of(first..first + DISKS);
            first += DISKS;
            println!("{screens:?}");
            let Screens { rates, medians, p99s, stops, .. } = screens;
            Some([rates, medians, p99s, stops].map(Told::share).to_vec())
        });
    }

    /// What is judged of each kind.
    const WHAT: [&str; 5] = ["rates", "medians", "99th percentiles", "verdicts", "states"];

    #[test]
    #[ignore = "lab: studies of twenty disks a try"]
    fn figures_of_each_kind_of_disk_hold_the_truth() {
        let figure = |kind: &Kind, what: &str| {
            Figure::near(format!("first screen, {}: {what} that are right", kind.name), 1.0, "", 0.1)
        };
        let figures = KINDS.iter().flat_map(|kind| WHAT.map(|what| figure(kind, what))).collect();
        let mut seed = 0;
        judge("statistics", figures, || {
            seed += 1;
            let shares = KINDS.iter().flat_map(|kind| {
                let screens = Screens::of_kind(kind, seed);
                println!("{}: {screens:?}", kind.name);
                let Screens { rates, medians, p99s, stops, states, .. } = screens;
                [rates, medians, p99s, stops, states].map(Told::share)
            });
            Some(shares.collect())
        });
    }
}
