//! Writes what the screen says while a study measures: its state, what is measured now and why, when a rate is known.

use halfpower_experiments::StudyFindings;
use halfpower_spec::Decides;

use super::doubt::about;

/// The word at the top, such as `MEASURING 30%`.
pub(crate) fn state(share: f64) -> String {
    format!("MEASURING {:.0}%", 100.0 * share)
}

/// What stands in the place of advice until there is some.
pub(crate) const NO_ADVICE: &str = "not known yet";

/// What stands in the place of an experiment's answer until it has a run.
pub(crate) const NO_RUN: &str = "not measured yet";

/// What stands in the place of the screen until there is one.
pub(crate) const NO_SCREEN: &str = "the first figures come after some seven seconds";

/// Time until a rate is known within 5%: `known`, `40 s`, or `?` if its runs cannot tell.
pub(crate) fn until_known(seconds: Option<f64>) -> String {
    match seconds {
        None => "?".to_string(),
        Some(seconds) if seconds <= 0.0 => "known".to_string(),
        Some(seconds) => about(seconds),
    }
}

/// Why a run is made: what it decides. The question of an experiment comes from `study`.
pub(crate) fn why(decides: Decides, study: Option<&StudyFindings>) -> String {
    let reason = match decides {
        Decides::Slices => "whether a limit hands out slices of time, so that windows must be longer",
        Decides::Outline => "a first look at the corners of each path",
        Decides::Leaders => "which cells lead: the peak, half of it, and so what to set",
        Decides::Luck => "whether the cells that lead by one run do so by luck",
        Decides::Headline => "the figures of HOW FAST, by runs that did not choose their cells",
        Decides::Scatter => "how much the runs of a cell differ",
        Decides::Widest => "figures whose intervals are still wide",
        Decides::OtherDepths => "half of the peak at the other depths",
        Decides::Cost => "what a request costs the processor",
        Decides::Threads => "how many threads fill the device",
        Decides::Issuing => "whether the way of issuing requests is what stops it",
        Decides::Durable => "what it costs to have writes durable",
        Decides::Experiment(experiment) => {
            let sections = study.map_or(&[][..], |study| study.experiments.as_slice());
            let own = sections.iter().find(|section| section.experiment == experiment);
            return own
                .map_or_else(|| format!("why: experiment {experiment}"), |section| format!("why: {}", section.asks));
        }
    };
    format!("why: {reason}")
}

#[cfg(test)]
mod tests {
    use halfpower_spec::Experiment;

    use super::*;

    #[test]
    fn a_rate_is_known_or_has_a_time() {
        assert_eq!([Some(0.0), Some(12.2), None].map(until_known), ["known", "13 s", "?"]);
        assert_eq!(state(0.304), "MEASURING 30%");
    }

    #[test]
    fn each_run_has_a_reason() {
        assert_eq!(why(Decides::Cost, None), "why: what a request costs the processor");
        assert_eq!(why(Decides::Experiment(Experiment::Zones), None), "why: experiment zones");
    }
}
