//! Estimates how much faster or slower each round was in all of its cells.
//!
//! Input: logarithms of rates by cell and round. Output: one level per round.
//!
//! An experiment is measured in rounds, each cell once per round: the blocks of experimental design (R. A. Fisher, The
//! Design of Experiments, 1935). Minutes pass between rounds. If others use the disk, or its credit is spent, one round
//! is slower in all cells alike, which says nothing about the cells. A round's level is the median, over its cells, of
//! the distance between the cell's run and the cell's own mean (after the median polish of J. W. Tukey, Exploratory
//! Data Analysis, 1977). The median keeps a stall in one cell out of the round's level.

use std::collections::BTreeMap;

use halfpower_analyse::median;

/// Minimum number of repetitions per round level that is estimated.
const ENOUGH: usize = 4;
/// Variance of a median over that of a mean, for many normal values: pi / 2.
const MEDIAN: f64 = std::f64::consts::FRAC_PI_2;
/// Iterations between cells and rounds; they converge after a few.
const TURNS: usize = 20;

/// One run: its round, and the logarithm of its rate.
pub(super) type Run = (u32, f64);

/// How much faster each round was than the others, as logarithms; empty if there are too few runs to tell.
#[derive(Debug, Clone)]
pub(super) struct Rounds {
    levels: BTreeMap<u32, f64>,
    /// Factor for variances that are computed without the levels. It corrects for the degrees of freedom that the
    /// levels use and for the error of the levels themselves.
    pub cost: f64,
}

impl Rounds {
    /// Estimates the rounds from the runs of these cells.
    pub fn of(cells: &[Vec<Run>]) -> Self {
        let repeated: Vec<&Vec<Run>> = cells.iter().filter(|runs| runs.len() > 1).collect();
        let mut levels: BTreeMap<u32, f64> =
            repeated.iter().flat_map(|runs| *runs).map(|(round, _)| (*round, 0.0)).collect();
        let runs: usize = repeated.iter().map(|runs| runs.len()).sum();
        let freedom = runs - repeated.len();
        let spent = levels.len().saturating_sub(1);
        if spent == 0 || freedom < ENOUGH * spent {
            return Self { levels: BTreeMap::new(), cost: 1.0 };
        }
        for _ in 0..TURNS {
            let mut off: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
            for runs in &repeated {
                let mean = runs.iter().map(|(round, log)| log - levels[round]).sum::<f64>() / runs.len() as f64;
                runs.iter().for_each(|(round, log)| off.entry(*round).or_default().push(log - mean));
            }
            levels = off.into_iter().map(|(round, off)| (round, median(off))).collect();
        }
        let left = freedom as f64 / (freedom - spent) as f64;
        let cells_a_round = runs as f64 / levels.len() as f64;
        Self { levels, cost: left * (1.0 + MEDIAN / cells_a_round) }
    }

    /// A cell's logarithms after removing its rounds' levels.
    pub fn without(&self, runs: &[Run]) -> Vec<f64> {
        runs.iter().map(|(round, log)| log - self.levels.get(round).unwrap_or(&0.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells with rates 1, 2, 3, ... in rounds with these factors.
    fn cells(count: u32, factors: &[f64]) -> Vec<Vec<Run>> {
        let cell = |rate: f64| (0..).zip(factors).map(|(round, factor)| (round, (rate * factor).ln())).collect();
        (1..=count).map(|rate| cell(f64::from(rate))).collect()
    }

    #[test]
    fn what_is_common_to_a_round_goes_and_a_stall_stays() {
        let mut runs = cells(8, &[1.0, 0.5, 2.0]);
        // One cell was not measured in the last round, and one stalled in the first.
        runs[3].pop();
        runs[5][0].1 -= 3.0;
        let rounds = Rounds::of(&runs);
        assert!(rounds.cost > 15.0 / 13.0 && rounds.cost < 1.5, "{}", rounds.cost);
        for (number, cell) in runs.iter().enumerate().filter(|(number, _)| *number != 5) {
            let cleared = rounds.without(cell);
            let first = rounds.without(&runs[0])[0];
            let rate = (number + 1) as f64;
            assert!(cleared.iter().all(|log| (log - first - rate.ln()).abs() < 0.01), "{number}: {cleared:?}");
        }
        let stalled = rounds.without(&runs[5]);
        assert!((stalled[1] - stalled[0] - 3.0).abs() < 0.01, "{stalled:?}");
    }

    #[test]
    fn few_runs_tell_nothing_of_their_rounds() {
        for runs in [cells(3, &[1.0, 0.5]), cells(20, &[1.0]), Vec::new()] {
            let rounds = Rounds::of(&runs);
            assert!(rounds.cost == 1.0 && rounds.levels.is_empty());
        }
        assert_eq!(Rounds::of(&cells(4, &[1.0, 0.5])).levels.len(), 2);
    }
}
