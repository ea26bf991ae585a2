//! Holds the common spread of each figure over the cells of two studies.

use super::pairs::{Figure, Pair, prior};
use super::spread::Prior;

/// The common spread of each figure over all cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Priors {
    throughput: Option<Prior>,
    p50: Option<Prior>,
    p99: Option<Prior>,
    cost: Option<Prior>,
}

impl Priors {
    pub fn of(pairs: &[Pair]) -> Self {
        Self {
            throughput: prior(pairs, Figure::Throughput),
            p50: prior(pairs, Figure::P50),
            p99: prior(pairs, Figure::P99),
            cost: prior(pairs, Figure::Cost),
        }
    }

    pub fn of_figure(&self, figure: Figure) -> Option<Prior> {
        match figure {
            Figure::Throughput => self.throughput,
            Figure::P50 => self.p50,
            Figure::P99 => self.p99,
            Figure::Cost => self.cost,
        }
    }
}
