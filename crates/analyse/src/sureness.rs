//! Says how well a rate is known, so that reports never show a meaningless interval.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Interval;

/// Half of a 95% interval, as a share of its value, from which the value counts as not known.
const MOST_REACH: f64 = 0.5;

/// How well a rate is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Sureness {
    /// Half of its 95% interval is this share of it.
    Within {
        /// From 0 to a half.
        share: f64,
    },
    /// A single run gave it, so its error is unknown.
    SingleRun,
    /// Its runs differ so much that the figure means nothing.
    Unknown {
        /// Further seconds of measuring that would make it known within 5%; `None` if that cannot be estimated.
        more_seconds: Option<f64>,
    },
}

impl Sureness {
    /// How well the mean of `runs` runs is known.
    pub fn of(mean: &Interval, runs: usize, more_seconds: Option<f64>) -> Self {
        let share = mean.relative_reach();
        match runs {
            0 => Self::Unknown { more_seconds },
            1 => Self::SingleRun,
            _ if share > MOST_REACH || !share.is_finite() => Self::Unknown { more_seconds },
            _ => Self::Within { share },
        }
    }

    /// Whether the figure may be shown.
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_differ_by_more_than_half_make_no_figure() {
        let of = |runs: &[f64]| Sureness::of(&Interval::of_means(runs), runs.len(), Some(480.0));
        assert!(matches!(of(&[990.0, 1000.0, 1010.0]), Sureness::Within { share } if share < 0.03));
        assert_eq!(of(&[1000.0]), Sureness::SingleRun);
        assert_eq!(of(&[100.0, 4000.0]), Sureness::Unknown { more_seconds: Some(480.0) });
        assert_eq!(of(&[]), Sureness::Unknown { more_seconds: Some(480.0) });
    }
}
