//! Estimates the value of an unmeasured cell from measured cells around it.
//!
//! Kriging over log2 of depth and block size (G. Matheron, Principles of geostatistics, 1963; D. Krige, 1951):
//! logarithms of rates and costs are smooth along both axes, and the covariance says how fast knowledge fades with
//! distance. It assumes no physical model, so that unusual disks fit as well as textbook ones.

/// Number of nearest cells in an estimate; farther ones add almost nothing.
const NEIGHBOURS: usize = 16;
/// Prior variance of the level, far above any difference between cells.
const LEVEL_VARIANCE: f64 = 25.0;
/// Octaves over which slopes are similar.
const REACH_OCTAVES: f64 = 4.0;

/// Position of a cell: log2 of its block size and of its depth.
pub(crate) type Position = (f64, f64);

/// The natural logarithm of a rate or a cost, with the standard deviation of that logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogEstimate {
    pub log: f64,
    pub deviation: f64,
}

/// A cell that was measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasuredPoint {
    pub at: Position,
    pub log: f64,
    /// Variance of the logarithm of its mean.
    pub variance: f64,
}

/// Prior knowledge of a surface: its slopes per octave, and how much it bends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SurfacePrior {
    /// Increase of the logarithm per octave of block size and of depth.
    pub slope: Position,
    /// Standard deviation of these slopes.
    pub slope_deviation: Position,
    /// Standard deviation of the non-planar parts: a function of each axis alone, and of both axes together. The first
    /// is larger, since depth multiplies the effect of block size until a ceiling.
    pub roughness: (f64, f64),
    /// Octaves of block size that correspond to one octave of depth.
    pub depth_scale: f64,
}

/// A surface with some known cells; their common terms are computed once for all estimates.
#[derive(Debug)]
pub(crate) struct Surface<'a> {
    prior: &'a SurfacePrior,
    known: &'a [MeasuredPoint],
    /// Covariance of the bends of two known cells, as rows of a lower triangle; `None` until an estimate needs it.
    bends: Vec<Option<f64>>,
}

impl<'a> Surface<'a> {
    /// The surface with these known cells.
    pub fn new(prior: &'a SurfacePrior, known: &'a [MeasuredPoint]) -> Self {
        Self { prior, known, bends: vec![None; known.len() * (known.len() + 1) / 2] }
    }

    /// The estimate at `at`; `None` if no cell is known.
    pub fn estimate(&mut self, at: Position) -> Option<LogEstimate> {
        let indices = self.prior.nearest(self.known, at);
        let near: Vec<MeasuredPoint> = indices.iter().map(|index| self.known[*index]).collect();
        let lower = self.covariances(&indices, at);
        self.prior.estimate(&near, lower, at)
    }

    /// The lower triangle of the covariance matrix, row by row.
    fn covariances(&mut self, near: &[usize], origin: Position) -> Vec<f64> {
        let mut lower = Vec::with_capacity(near.len() * (near.len() + 1) / 2);
        for (row, one) in near.iter().enumerate() {
            for other in &near[..=row] {
                let at = self.known[*one].at;
                let other_at = self.known[*other].at;
                let bends =
                    self.bends[one * (one + 1) / 2 + other].get_or_insert_with(|| self.prior.bends(at, other_at));
                lower.push(self.prior.levels(at, other_at, origin) + *bends);
            }
            lower[row * (row + 3) / 2] += self.known[*one].variance;
        }
        lower
    }
}

impl SurfacePrior {
    /// The estimate at `at` from the cells near it, with their covariances.
    fn estimate(&self, near: &[MeasuredPoint], mut lower: Vec<f64>, at: Position) -> Option<LogEstimate> {
        let centre = near.iter().map(|known| known.log).sum::<f64>() / near.len().max(1) as f64;
        cholesky(&mut lower, near.len())?;
        let towards: Vec<f64> = near.iter().map(|known| self.covariance(known.at, at, at)).collect();
        let residuals: Vec<f64> = near.iter().map(|known| known.log - centre - self.plane(known.at, at)).collect();
        // With K = L L', both products need only L^-1 k and L^-1 r.
        let weights = forward(&lower, &towards);
        let whitened = forward(&lower, &residuals);
        let gain: f64 = weights.iter().zip(&whitened).map(|(weight, residual)| weight * residual).sum();
        let explained: f64 = weights.iter().map(|weight| weight * weight).sum();
        let variance = (self.covariance(at, at, at) - explained).max(0.0);
        (!near.is_empty()).then(|| LogEstimate { log: centre + gain, deviation: variance.sqrt() })
    }

    /// Indices in `known` of the cells nearest to `at`, in ascending order.
    fn nearest(&self, known: &[MeasuredPoint], at: Position) -> Vec<usize> {
        let mut near: Vec<(f64, usize)> =
            known.iter().enumerate().map(|(index, known)| (self.distance(known.at, at), index)).collect();
        if near.len() > NEIGHBOURS {
            near.select_nth_unstable_by(NEIGHBOURS, |one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            near.truncate(NEIGHBOURS);
        }
        near.sort_unstable_by_key(|(_, index)| *index);
        near.into_iter().map(|(_, index)| index).collect()
    }

    /// Covariance of a level, a plane through `origin`, and bends along each axis and over both together.
    fn covariance(&self, one: Position, other: Position, origin: Position) -> f64 {
        self.levels(one, other, origin) + self.bends(one, other)
    }

    fn levels(&self, one: Position, other: Position, origin: Position) -> f64 {
        let away = |at: Position| (at.0 - origin.0, at.1 - origin.1);
        let one_away = away(one);
        let other_away = away(other);
        let plane = self.slope_deviation.0.powi(2) * one_away.0 * other_away.0
            + self.slope_deviation.1.powi(2) * one_away.1 * other_away.1;
        LEVEL_VARIANCE + plane
    }

    /// The part of the covariance that does not depend on the plane's origin.
    fn bends(&self, one: Position, other: Position) -> f64 {
        self.roughness.0.powi(2) * (matern(one.0 - other.0) + matern((one.1 - other.1) * self.depth_scale))
            + self.roughness.1.powi(2) * matern(self.distance(one, other))
    }

    fn plane(&self, at: Position, origin: Position) -> f64 {
        self.slope.0 * (at.0 - origin.0) + self.slope.1 * (at.1 - origin.1)
    }

    fn distance(&self, one: Position, other: Position) -> f64 {
        (one.0 - other.0).hypot((one.1 - other.1) * self.depth_scale)
    }
}

/// The highest estimate with its item; the first of equal ones.
pub(crate) fn highest<T>(estimates: impl Iterator<Item = (LogEstimate, T)>) -> Option<(LogEstimate, T)> {
    estimates.reduce(|most, next| if next.0.log > most.0.log { next } else { most })
}

/// Matérn's correlation of order 3/2 at a distance in octaves.
fn matern(distance: f64) -> f64 {
    let scaled = 3f64.sqrt() * distance.abs() / REACH_OCTAVES;
    (1.0 + scaled) * (-scaled).exp()
}

/// Replaces a symmetric matrix, given as the rows of its lower triangle, by its Cholesky factor; `None` if it
/// is not positive definite.
fn cholesky(lower: &mut [f64], size: usize) -> Option<()> {
    let start = |row: usize| row * (row + 1) / 2;
    for row in 0..size {
        for column in 0..=row {
            let own = start(row);
            let other = start(column);
            let sum: f64 = (0..column).map(|k| lower[own + k] * lower[other + k]).sum();
            let rest = lower[own + column] - sum;
            lower[own + column] = if row == column { rest.sqrt() } else { rest / lower[other + column] };
        }
        if !lower[start(row) + row].is_normal() {
            return None;
        }
    }
    Some(())
}

/// Solves L x = b.
fn forward(lower: &[f64], right: &[f64]) -> Vec<f64> {
    let mut solved: Vec<f64> = Vec::with_capacity(right.len());
    let mut start = 0;
    for (row, value) in right.iter().enumerate() {
        let sum: f64 = solved.iter().zip(&lower[start..]).map(|(x, l)| x * l).sum();
        solved.push((value - sum) / lower[start + row]);
        start += row + 1;
    }
    solved
}

impl LogEstimate {
    /// The probability that the value exceeds the value with logarithm `log`.
    pub fn above(&self, log: f64) -> f64 {
        0.5 + 0.5 * statrs::function::erf::erf(self.z(log) / 2f64.sqrt())
    }

    /// The probability that the value exceeds another estimate.
    pub fn above_estimate(&self, other: &Self) -> f64 {
        Self { log: self.log, deviation: self.deviation.hypot(other.deviation) }.above(other.log)
    }

    /// The expected relative gain over the value with logarithm `log`, counting lower values as no gain: the expected
    /// improvement (J. Mockus, 1975).
    pub fn gain_over(&self, log: f64) -> f64 {
        let z = self.z(log);
        let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        self.deviation * (density + z * self.above(log))
    }

    fn z(&self, log: f64) -> f64 {
        (self.log - log) / self.deviation.max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIOR: SurfacePrior =
        SurfacePrior { slope: (0.35, 0.35), slope_deviation: (0.35, 0.35), roughness: (0.7, 0.4), depth_scale: 1.0 };

    fn known(surface: impl Fn(f64, f64) -> f64, at: &[Position]) -> Vec<MeasuredPoint> {
        at.iter().map(|at| MeasuredPoint { at: *at, log: surface(at.0, at.1), variance: 1e-6 }).collect()
    }

    /// ln MB/s of a disk of 100 us and 500 MB/s, four requests side by side.
    fn disk(size: f64, depth: f64) -> f64 {
        (depth.exp2().min(4.0) * size.exp2() / (100.0 + size.exp2() / 500.0)).ln()
    }

    #[test]
    fn what_was_measured_is_believed_and_doubt_grows_with_distance() {
        let known = known(disk, &[(12.0, 0.0), (16.0, 0.0), (20.0, 0.0)]);
        let at = |size| Surface::new(&PRIOR, &known).estimate((size, 0.0)).unwrap();
        assert!((at(16.0).log - disk(16.0, 0.0)).abs() < 1e-3 && at(16.0).deviation < 2e-3);
        assert!(at(17.0).deviation < at(18.0).deviation && at(18.0).deviation < at(26.0).deviation);
    }

    #[test]
    fn the_truth_is_within_the_deviations_as_often_as_they_say() {
        let seeds: Vec<Position> = [12.0, 16.0, 20.0].iter().flat_map(|s| [(*s, 0.0), (*s, 5.0)]).collect();
        let known = known(disk, &seeds);
        let cells = (12..=20).flat_map(|size| (0..=5).map(move |depth| (f64::from(size), f64::from(depth))));
        let off: Vec<f64> = cells
            .filter(|at| !seeds.contains(at))
            .map(|at| {
                let estimate = Surface::new(&PRIOR, &known).estimate(at).unwrap();
                ((estimate.log - disk(at.0, at.1)) / estimate.deviation).abs()
            })
            .collect();
        let within = off.iter().filter(|z| **z < 2.0).count() as f64 / off.len() as f64;
        assert!(within > 0.9, "{within}: {off:?}");
    }

    #[test]
    fn probability_and_gain_are_those_of_a_normal() {
        let estimate = LogEstimate { log: 1.0, deviation: 0.1 };
        assert!((estimate.above(1.0) - 0.5).abs() < 1e-9 && (estimate.above(0.9) - 0.8413).abs() < 1e-4);
        assert!((estimate.gain_over(1.0) - 0.03989).abs() < 1e-4 && estimate.gain_over(2.0) < 1e-9);
    }

    #[test]
    fn nothing_known_is_no_estimate_and_many_known_are_no_burden() {
        assert_eq!(Surface::new(&PRIOR, &[]).estimate((12.0, 0.0)), None);
        let many: Vec<Position> = (0..900).map(|cell| (f64::from(cell / 30), f64::from(cell % 30))).collect();
        assert!(Surface::new(&PRIOR, &known(|_, _| 1.0, &many)).estimate((14.5, 14.5)).unwrap().deviation < 0.1);
    }
}
