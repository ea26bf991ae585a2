//! Checks the figures of the first screen on disks of known truth: rates, latencies, and what stops the path.

use std::sync::atomic::AtomicBool;

use crate::grid;
use halfpower_analyse::{Ceiling, CellSettings, Findings, Interval, StoppedBy};
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
/// Turns of the queue in the long run that gives the true latencies.
const TURNS: f64 = 400.0;

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

    fn share(self) -> f64 {
        self.right as f64 / self.all as f64
    }
}

/// The figures of the first screens of some studies.
#[derive(Debug, Clone, Copy, Default)]
struct Screens {
    rates: Told,
    medians: Told,
    p99s: Told,
    stops: Told,
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

    fn add(&mut self, disk: &SimulatedDisk, findings: &Findings) {
        assert!(findings.summary.how_fast.len() >= 3, "{disk:?}");
        for row in &findings.summary.how_fast {
            let truth = throughput(disk, Bytes(row.cell.bs_bytes), row.cell.iodepth).mbps();
            self.rates.add(holds(Some(&row.rate.mbps), row.rate.mbps.value, truth, 0.0));
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
    }
}

/// Whether what was told holds the truth; `least` is the error that even a perfect run has.
fn holds(interval: Option<&Interval>, value: f64, truth: f64, least: f64) -> bool {
    let known = interval.filter(|interval| interval.high > interval.low);
    let (low, high) = known.map_or((value * (1.0 - OF_ONE_RUN), value * (1.0 + OF_ONE_RUN)), |it| (it.low, it.high));
    (low * (1.0 - least)..=high * (1.0 + least)).contains(&truth)
}

/// A run of the cell on the disk without noise, so long that its beginning counts for nothing.
fn long_run(disk: &SimulatedDisk, cell: &CellSettings) -> Record {
    let bs = Bytes(cell.bs_bytes);
    let queue_s = f64::from(cell.iodepth) * bs.0 as f64 / throughput(disk, bs, cell.iodepth).0;
    let mut backend = SimulatedTarget::new(SimulatedDisk { noise: 0.0, ..disk.clone() });
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
        runtime: Nanos((queue_s * TURNS * 1e9) as u64),
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
    let Screens { rates, medians, p99s, stops, unknown } = screens;
    assert!(unknown <= (medians.all + p99s.all) / 2, "{screens:?}");
    for told in [rates, medians, p99s, stops] {
        assert!(told.all >= 4 && told.all - told.right <= 1 + told.all / 10, "{screens:?}");
    }
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
        let figure = |what: &str| {
            Figure::between(format!("first screen, twenty simulated disks: {what} that are right"), 1.0, "", 0.92..=1.0)
        };
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
}
