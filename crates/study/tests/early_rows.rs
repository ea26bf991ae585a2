//! Checks that what the screen says before a study has ended stands at its end, on simulated disks of known truth.

use crate::first_screen::{OF_THE_ENDS, holds};
use crate::grid;
use halfpower_analyse::{Findings, Interval, MeasuredCeilings, Sureness, analyse};
use halfpower_measure::{SimulatedTarget, TargetBackend};
use halfpower_model::throughput;
use halfpower_record::Record;
use halfpower_spec::{Bytes, Question, SimulatedDisk};

/// When the screen is looked at, in seconds of the study; the first is when it is first shown.
const MOMENTS_S: [f64; 4] = [10.0, 15.0, 30.0, 60.0];

/// Half of a row's interval, as a share of it, at which it counts as known.
const KNOWN: f64 = 0.05;
/// Time between two looks at the screen in seconds.
const LOOK_S: f64 = 4.0;

/// From when on all rows of a study's screens are known.
#[derive(Debug, Clone, Copy)]
struct Known {
    /// Seconds after which each row has an interval.
    intervals_s: f64,
    /// Seconds after which each row is known within 5%.
    rows_s: f64,
    /// Seconds of the study.
    spent_s: f64,
    /// Rows of its last screen that are not known within 5%.
    unknown: usize,
}

impl Known {
    /// Of a study of this disk.
    fn of(disk: &SimulatedDisk, question: &Question) -> Self {
        let studied = grid::study(question, disk);
        let target = SimulatedTarget::new(disk.clone());
        let wider = |most: f64, seconds: f64| {
            let known = until(&studied.records, seconds);
            let screen = analyse(question, target.environment(), known, &MeasuredCeilings::default());
            let rows = screen.summary.how_fast;
            let is_known = |sureness| matches!(sureness, Sureness::Within { share } if share <= most);
            rows.iter().filter(|row| !is_known(row.rate.sureness)).count()
        };
        let looks = (studied.spent_s / LOOK_S).ceil() as usize;
        // The last look at which a row is wider; from the next one on none is.
        let since = |most: f64| {
            let last = (0..=looks).rev().find(|look| wider(most, *look as f64 * LOOK_S) > 0);
            last.map_or(0.0, |look| (look as f64 + 1.0) * LOOK_S)
        };
        let unknown = wider(KNOWN, f64::INFINITY);
        Self { intervals_s: since(f64::INFINITY), rows_s: since(KNOWN), spent_s: studied.spent_s, unknown }
    }
}

/// Rows of some early screens.
#[derive(Debug, Clone, Copy, Default)]
struct Early {
    /// Rows with an interval.
    rows: usize,
    /// Those of them whose cells have another rate in the end: both intervals have no value in common.
    contradicted: usize,
    /// Those of them that hold the truth.
    right: usize,
    /// Screens at the first moment, and those that have a right row.
    screens: usize,
    with_right_row: usize,
}

impl Early {
    /// Of the disks with these numbers, with the noise of this seed.
    fn of(numbers: impl Iterator<Item = u64>, seed: u64) -> Self {
        let mut early = Self::default();
        for number in numbers {
            let disk = SimulatedDisk { seed: seed << 32 | number, ..grid::disk(number) };
            early.add(&disk, &Question { seed, ..grid::question() });
        }
        early
    }

    fn add(&mut self, disk: &SimulatedDisk, question: &Question) {
        let studied = grid::study(question, disk);
        let target = SimulatedTarget::new(disk.clone());
        for (at, moment_s) in MOMENTS_S.iter().enumerate() {
            let known = until(&studied.records, *moment_s);
            let screen = analyse(question, target.environment(), known, &MeasuredCeilings::default());
            let is_right = self.compare(disk, &screen, &studied.findings);
            if at == 0 {
                self.screens += 1;
                self.with_right_row += usize::from(is_right);
            }
        }
    }

    /// Compares an early screen with the last findings; returns whether any of its rows is right.
    fn compare(&mut self, disk: &SimulatedDisk, screen: &Findings, last: &Findings) -> bool {
        let mut is_any_right = false;
        for row in &screen.summary.how_fast {
            let truth = throughput(disk, Bytes(row.cell.bs_bytes), row.cell.iodepth).mbps();
            let is_right = holds(Some(&row.rate.mbps), row.rate.mbps.value, truth, OF_THE_ENDS);
            is_any_right |= is_right && row.rate.sureness.is_known();
            if !matches!(row.rate.sureness, Sureness::Within { .. }) {
                continue;
            }
            let Some(in_the_end) = last.cells.iter().find(|cell| cell.settings == row.cell) else { continue };
            self.rows += 1;
            self.right += usize::from(is_right);
            self.contradicted += usize::from(!have_common_values(&row.rate.mbps, &in_the_end.mbps));
        }
        is_any_right
    }
}

fn have_common_values(one: &Interval, other: &Interval) -> bool {
    one.low <= other.high && other.low <= one.high
}

/// The records of a study's first seconds.
fn until(records: &[Record], seconds: f64) -> &[Record] {
    let mut spent_ns = 0;
    let ended = |record: &&Record| {
        spent_ns += record.of_budget_ns();
        spent_ns as f64 <= seconds * 1e9
    };
    let count = records.iter().take_while(ended).count();
    &records[..count]
}

#[test]
fn a_few_early_screens_are_not_contradicted() {
    let early = Early::of(1..=3, 1);
    assert!(early.rows >= 3 && early.contradicted <= 1 + early.rows / 20, "{early:?}");
    assert!(early.with_right_row * 2 >= early.screens, "{early:?}");
}

/// The middle one of these figures.
fn median(known: &[Known], of: fn(&Known) -> f64) -> f64 {
    halfpower_analyse::median(known.iter().map(of).collect())
}

#[test]
fn every_row_is_known_within_five_percent_before_a_study_ends() {
    let known: Vec<Known> = (1..=10).map(|number| Known::of(&grid::disk(number), &grid::question())).collect();
    let unknown: usize = known.iter().map(|one| one.unknown).sum();
    assert!(unknown <= 1, "rows of the last screens that are not known within 5%: {known:#?}");
    assert!(median(&known, |one| one.rows_s / one.spent_s) <= 0.9, "known within 5%: {known:#?}");
    assert!(median(&known, |one| one.intervals_s / one.spent_s) <= 0.42, "an interval: {known:#?}");
}

/// Tests for the laboratory.
mod lab {
    use super::*;

    use halfpower_lab::{Figure, judge};

    #[test]
    #[ignore = "lab: studies of ten disks a try"]
    fn the_last_screen_contradicts_few_early_rows() {
        let figure =
            |what: &str, least: f64| Figure::share(format!("early screens, ten simulated disks: {what}"), least);
        let figures = vec![
            figure("rows that the last screen does not contradict", 0.95),
            figure("rows whose intervals hold the truth", 0.9),
            figure("screens with a right row after ten seconds", 0.5),
        ];
        let mut seed = 0;
        judge("statistics", figures, || {
            seed += 1;
            let early = Early::of(1..=10, seed);
            println!("seed {seed}: {early:?}");
            let Early { rows, contradicted, right, screens, with_right_row } = early;
            let share = |of: usize, all: usize| of as f64 / all.max(1) as f64;
            Some(vec![1.0 - share(contradicted, rows), share(right, rows), share(with_right_row, screens)])
        });
    }
}
