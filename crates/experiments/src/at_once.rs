//! Judges members or hosts that run at once by what they give alone: whether they scale, or share what stops them.

use halfpower_analyse::{ExperimentCell, Interval, SharedBy, SharedCeiling};
use halfpower_spec::{Direction, Pattern};

use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::ratio::{RatioFinding, Scale};

/// Share of the summed rates alone from which each member or host is considered unlimited by the others.
pub(crate) const SCALES: f64 = 0.95;

/// `n` members or hosts at once, in one pattern and direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AtOnce {
    pub n: u32,
    /// Total throughput in MB/s.
    pub mbps: f64,
    /// Total throughput as a share of the summed rates alone.
    pub of_alone: f64,
    /// Whether a shared path stops them.
    pub shared: bool,
    /// Whether the total is known well enough to be a figure.
    pub decided: bool,
}

/// What growing numbers at once show.
pub(crate) enum Growth {
    /// Each reaches its rate alone.
    Scales,
    /// The runs cannot tell.
    Unclear,
    /// A shared path stops `at`, and not yet `before`, the next smaller number.
    Stopped { at: AtOnce, before: AtOnce },
}

impl AtOnce {
    /// The ceiling of the path that these share.
    pub fn ceiling(&self, by: SharedBy, pattern: Pattern, rw: Direction) -> SharedCeiling {
        let Self { n, mbps, of_alone, .. } = *self;
        SharedCeiling { by, rw, pattern, members: n, mbps, alone_mbps: mbps / of_alone / f64::from(n) }
    }
}

impl Growth {
    /// What these numbers show, from one alone to the largest; `None` if there is only one.
    pub fn of(numbers: &[AtOnce]) -> Option<Self> {
        let [_, .., last] = numbers else { return None };
        let stopped = numbers.windows(2).find(|pair| pair[1].shared);
        Some(match stopped {
            Some(pair) => Self::Stopped { at: pair[1], before: pair[0] },
            // Not stopped beyond chance does not yet mean that they scale.
            None if last.of_alone >= SCALES && numbers.iter().all(|number| number.decided) => Self::Scales,
            None => Self::Unclear,
        })
    }
}

/// Every order of offsets in each direction.
pub(crate) fn kinds() -> impl Iterator<Item = (Pattern, Direction)> {
    Pattern::ALL.iter().flat_map(|pattern| Direction::ALL.iter().map(|rw| (*pattern, *rw)))
}

/// Whether `cell` gives less than the summed rates alone, beyond chance, and by enough to matter: it gives the share
/// `of_alone` of them, and they are `times_single` times the rate of `single`.
pub(crate) fn falls_short(
    scale: &Scale,
    cell: &ExperimentCell,
    single: &ExperimentCell,
    of_alone: f64,
    times_single: f64,
) -> bool {
    let is_surely_less = |times: RatioFinding| times.is_known() && times.interval.high < times_single;
    of_alone < SCALES && scale.times(&[cell], &[single]).is_some_and(is_surely_less)
}

/// Throughput by number at work; `what` are members or hosts.
pub(crate) fn picture(what: &str, x: &str, pattern: Pattern, rw: Direction, lines: Vec<Line>) -> Picture {
    Picture {
        title: format!("{pattern} {rw}s by {what} at work"),
        kind: PictureKind::Lines,
        x: Axis::even(x),
        y: Axis::even("MB/s"),
        lines,
    }
}

/// A point of such a picture.
pub(crate) fn point(n: u32, y: Interval) -> Point {
    Point::at(f64::from(n), n.to_string(), y)
}
