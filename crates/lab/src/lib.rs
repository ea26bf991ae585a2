//! Judges figures that tests measure: it repeats the measurement until the evidence decides, and stores the outcome.
//!
//! A figure has a truth and a bound. Each try gives one observation. Tries disturbed by other processes do not count.
//! After at least three tries, the interval of the mean is inside the bound (*held*), outside it (*missed*), or across
//! its edge. In the last case the measurement is repeated, up to a limit. A figure still across the edge then is *not
//! decided*, which is reported and is not a failure. `evidence.rs` has the formulas.
//!
//! A [`Campaign`] counts faults instead: each was survived or not, reported or missed. [`Screens`] counts figures of
//! first screens.

mod campaign;
mod evidence;
mod machine;
mod results;
mod screen;

use std::ops::RangeInclusive;
use std::sync::OnceLock;

pub use campaign::Campaign;
use evidence::Evidence;
pub use evidence::{MOST_TRIES, Verdict};
use machine::{Disturbance, Machine};
pub use screen::{AskedRow, RowTruth, Screens, Told, is_state_of_a_path_alone, is_stop_unknown};

/// The program that tests run: the one that `HALFPOWER_JUDGED` names, or else the one that was built for them.
///
/// The laboratory names the program as users have it: one that is compiled for tests spends more of the processor, and
/// what it costs would be judged with it.
pub fn judged(built: &'static str) -> &'static str {
    static NAMED: OnceLock<Option<String>> = OnceLock::new();
    NAMED.get_or_init(|| std::env::var("HALFPOWER_JUDGED").ok()).as_deref().unwrap_or(built)
}

/// Share of the processors' time used by others above which a try counts as disturbed.
const QUIET: f64 = 0.05;
/// The same where a throttle or a wire is measured, which leaves the processors idle for most of the time.
const QUIET_ENOUGH: f64 = 0.2;

/// Above all that is found, over the truth: an end of a bound that is none. `lab/run` shows no such end.
const WHATEVER: f64 = 100.0;

/// How much others may take in a lab.
fn quiet(lab: &str) -> f64 {
    match lab {
        "applications" | "devices" | "network" | "watch" => QUIET_ENOUGH,
        // In virtual time nobody disturbs anything.
        "statistics" => 1.0,
        _ => QUIET,
    }
}

/// A figure to judge.
#[derive(Debug, Clone)]
pub struct Figure {
    name: String,
    truth: Truth,
}

#[derive(Debug, Clone)]
pub(crate) enum Truth {
    /// A number; found / truth must lie in `bound`.
    Number { truth: f64, unit: &'static str, bound: RangeInclusive<f64> },
    /// A sentence, which is right or wrong.
    Saying,
}

impl Figure {
    /// A number that may differ from `truth` by this share of it.
    pub fn near(name: impl Into<String>, truth: f64, unit: &'static str, share: f64) -> Self {
        Self::between(name, truth, unit, 1.0 - share..=1.0 + share)
    }

    /// A number that, divided by `truth`, must lie in `bound`.
    pub fn between(name: impl Into<String>, truth: f64, unit: &'static str, bound: RangeInclusive<f64>) -> Self {
        Self { name: name.into(), truth: Truth::Number { truth, unit, bound } }
    }

    /// A share of all, at least `least` of which must be so. There is no upper end: the interval of a share near 1 reaches
    /// beyond it, where no share can be.
    pub fn share(name: impl Into<String>, least: f64) -> Self {
        Self::between(name, 1.0, "", least..=WHATEVER)
    }

    /// A share of all, at most `most` of which may be so. There is no lower end: the interval of a share near 0 reaches
    /// below it.
    pub fn rare(name: impl Into<String>, most: f64) -> Self {
        Self::between(name, most, "", -WHATEVER..=1.0)
    }

    /// A sentence of the program, right or wrong. A try finds 1 if it is right, otherwise 0.
    pub fn saying(name: impl Into<String>) -> Self {
        Self { name: name.into(), truth: Truth::Saying }
    }
}

/// Measures until each figure is decided or the tries are used up; prints every try, and stores the verdicts in the
/// laboratory's results. `measure` returns one value for each figure, NaN if it could not be measured this time; or
/// `None` if a required part is missing, and then nothing is judged.
///
/// # Panics
/// If a figure is missed.
pub fn judge(lab: &str, figures: Vec<Figure>, mut measure: impl FnMut() -> Option<Vec<f64>>) {
    let mut evidence: Vec<Evidence> = figures.into_iter().map(Evidence::new).collect();
    let mut worst = Disturbance::default();
    for number in 1..=MOST_TRIES {
        let before = Machine::now();
        let Some(found) = measure() else { return };
        let others = Machine::now().others_since(&before);
        assert_eq!(found.len(), evidence.len(), "one observation of each figure");
        let is_quiet = others.share <= quiet(lab);
        println!(
            "try {number}: {}; {others}{}",
            listed(&evidence, &found),
            if is_quiet { "" } else { ": no evidence" }
        );
        if others.share > worst.share {
            worst = others;
        }
        if !is_quiet {
            evidence.iter_mut().for_each(Evidence::disturb);
            continue;
        }
        evidence.iter_mut().zip(&found).for_each(|(evidence, found)| evidence.add(*found));
        if evidence.iter().all(|evidence| evidence.verdict() != Verdict::NotDecided) {
            break;
        }
    }
    let outcomes: Vec<results::Outcome> =
        evidence.iter().map(|evidence| results::Outcome::of(lab, evidence, &worst)).collect();
    outcomes.iter().for_each(|outcome| println!("{outcome}"));
    results::keep(&outcomes);
    let missed: Vec<String> =
        outcomes.iter().filter(|outcome| outcome.verdict == Verdict::Missed).map(ToString::to_string).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

fn listed(evidence: &[Evidence], found: &[f64]) -> String {
    let each = evidence.iter().zip(found).map(|(evidence, found)| evidence.shown(*found));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of tries of a figure, and whether it is missed, if all observations are `found`.
    fn judged(figure: Figure, found: f64) -> (usize, bool) {
        let mut tries = 0;
        let measure = || {
            tries += 1;
            Some(vec![found])
        };
        let missed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| judge("self", vec![figure], measure)));
        (tries, missed.is_err())
    }

    #[test]
    fn what_is_far_off_is_missed_and_what_is_near_is_not() {
        let near = || Figure::near("rate", 100.0, "MB/s", 0.03);
        // Others may use the processors during this test: the verdict may then be "not decided", but never the
        // opposite.
        assert!(!judged(near(), 101.0).1 && !judged(Figure::saying("the limit's name"), 1.0).1);
        let (tries, missed) = judged(near(), 90.0);
        assert!(missed || tries == MOST_TRIES);
        let (tries, missed) = judged(Figure::saying("the limit's name"), 0.0);
        assert!(missed || tries == MOST_TRIES);
    }

    #[test]
    fn parts_that_are_missing_judge_nothing() {
        judge("self", vec![Figure::saying("anything")], || None);
    }
}
