//! Writes why a cell was not steady.

use halfpower_analyse::{Unsteady, UnsteadyReason};
use halfpower_spec::format;

/// The end of a sentence: `in 2 of 3 runs, such as: the rate fell from 980 MB/s to 410 MB/s after 0.25 s`.
pub(crate) fn why(unsteady: &Unsteady) -> String {
    let Unsteady { objection, unsteady_runs, runs } = unsteady;
    let shown = objection_words(objection);
    let alike = if *unsteady_runs > 1 { "such as: " } else { "" };
    match runs {
        1 => format!("in its only run {shown}"),
        runs => format!("in {unsteady_runs} of {runs} runs, {alike}{shown}"),
    }
}

fn objection_words(objection: &UnsteadyReason) -> String {
    let turned = |fell: bool| if fell { "fell" } else { "rose" };
    match *objection {
        UnsteadyReason::LevelChanged { from_mbps, to_mbps, after_s } => {
            let [from, to] = [from_mbps, to_mbps].map(format::mbps);
            format!("the rate {} from {from} to {to} after {after_s:.2} s", turned(to_mbps < from_mbps))
        }
        UnsteadyReason::Slope { gain } => {
            format!("the rate {} by {} over the window", turned(gain < 0.0), format::percent(gain.abs()))
        }
        UnsteadyReason::LastThird { gain } => {
            let how = if gain < 0.0 { "slower" } else { "faster" };
            format!("its last third was {} {how} than its middle third", format::percent(gain.abs()))
        }
        UnsteadyReason::Spread { low_mbps, high_mbps } => {
            format!("parts of it ran between {} and {}", format::mbps(low_mbps), format::mbps(high_mbps))
        }
        UnsteadyReason::CutsWaves { period_s } => {
            format!("the window held too few of the waves that come every {}", format::time_us(period_s * 1e6))
        }
    }
}
