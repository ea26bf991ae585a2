//! Says which of many alike machines is unlike the others, and where.

use halfpower_analyse::{Access, AlikeMachines, MachineLevel, UnlikeFigure, UnlikeMachine};
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
    let what = requests(one.part);
    let differs = match one.figure {
        UnlikeFigure::Rate => format!("{what} at {} of the others' rate", format::percent(one.of_others)),
        UnlikeFigure::Latency => format!("p99 of {what} is {times} times the others' at such a rate"),
    };
    let chance = if one.chance < 0.001 { "below 0.1%".to_string() } else { format::percent(one.chance) };
    format!("{differs}, {} deviations away (chance {chance})", format::two_digits(one.deviations))
}

/// A machine's level, such as `random writes at 97% of the others' rate (95% interval 95% to 99%), 1.2 deviations away`.
pub(crate) fn level(level: &MachineLevel) -> String {
    let what = requests(level.part);
    let of_others = format::percent(level.of_others);
    let interval = interval(level).map_or(String::new(), |ends| format!(" (95% interval {ends})"));
    let far = format::two_digits(level.deviations.abs());
    match level.figure {
        UnlikeFigure::Rate => format!("{what} at {of_others} of the others' rate{interval}, {far} deviations away"),
        UnlikeFigure::Latency => {
            format!("p99 of {what} at {of_others} of the others' at such a rate{interval}, {far} deviations away")
        }
    }
}

/// The ends of a level's interval, `58% to 66%`; `None` if it has too few cells for one.
pub(crate) fn interval(level: &MachineLevel) -> Option<String> {
    let (low, high) = level.low.zip(level.high)?;
    Some(format!("{} to {}", format::percent(low), format::percent(high)))
}

/// A figure of a part of the cells, for the head of a column: `random writes`, `p99, all requests`.
pub(crate) fn column(figure: UnlikeFigure, of: Option<Access>) -> String {
    match figure {
        UnlikeFigure::Rate => requests(of),
        UnlikeFigure::Latency => format!("p99, {}", requests(of)),
    }
}

fn requests(of: Option<Access>) -> String {
    of.map_or("all requests".to_string(), part)
}

/// Requests of one order and direction: `random writes`.
pub(crate) fn part(part: Access) -> String {
    format!("{} {}s", part.pattern, part.rw)
}
