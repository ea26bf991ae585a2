//! Says which of many alike machines is unlike the others, and where.

use halfpower_analyse::{Access, AlikeMachines, UnlikeFigure, UnlikeMachine};
use halfpower_spec::format;

use super::settings::count;

/// How many machines are unlike the others.
pub(crate) fn gist(found: &AlikeMachines) -> String {
    let machines = format!("{}, {}", count(found.machines, "machine"), count(found.cells, "cell"));
    match found.unlike.len() {
        0 => format!("{machines} that at least half of them have: none is unlike the others beyond chance."),
        1 => format!("{machines} that at least half of them have: one is unlike the others."),
        some => format!("{machines} that at least half of them have: {some} are unlike the others."),
    }
}

/// Where a machine differs and by how much, such as `random writes at 50% of the others' rate`.
pub(crate) fn unlike(one: &UnlikeMachine) -> String {
    let times = format::two_digits(one.of_others);
    let what = one.part.map_or("all requests".to_string(), part);
    let differs = match one.figure {
        UnlikeFigure::Rate => format!("{what} at {} of the others' rate", format::percent(one.of_others)),
        UnlikeFigure::Latency => format!("p99 of {what} is {times} times the others' at such a rate"),
    };
    let chance = if one.chance < 0.001 { "below 0.1%".to_string() } else { format::percent(one.chance) };
    format!("{differs}, {} deviations away (chance {chance})", format::two_digits(one.deviations))
}

/// Requests of one order and direction: `random writes`.
pub(crate) fn part(part: Access) -> String {
    format!("{} {}s", part.pattern, part.rw)
}
