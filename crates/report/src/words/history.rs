//! Writes what a history finds: the names of its figures, when they change, and what differs around a change.

use halfpower_analyse::{
    CheckDifference, FigureChange, FigureHistory, FigureLevel, History, HistoryChange, HistoryFigure, TwoSpeeds,
};
use halfpower_spec::UtcTime;
use halfpower_spec::format::{mbps, number, percent, time_ns};

use super::checks;
use super::compare::signed;
use super::settings::{count, path, size_and_depth};
use super::surroundings;

/// Fewest studies in which a change can be told.
const FEWEST: usize = 10;
/// What tells more of few studies.
const TWO: &str = "`halfpower compare` says whether one of them differs from another.";

/// The name of a figure, such as `random direct read, 4 KiB, 32 deep`.
pub(crate) fn figure(of: &FigureHistory) -> String {
    match (&of.cell, of.figure) {
        (Some(cell), HistoryFigure::RandomReadP99) => {
            format!("p99 of {}, {}", path(cell.path()), size_and_depth(cell))
        }
        (Some(cell), _) => format!("{}, {}", path(cell.path()), size_and_depth(cell)),
        (None, figure) => short(figure).to_string(),
    }
}

/// The name of a figure where its cell is known.
pub(crate) fn short(figure: HistoryFigure) -> &'static str {
    match figure {
        HistoryFigure::TypicalCell => "typical cell",
        HistoryFigure::RandomReadIops => "random reads",
        HistoryFigure::RandomReadP99 => "p99 of random reads",
        HistoryFigure::RandomWriteIops => "random writes",
        HistoryFigure::SequentialReadMbps => "sequential reads",
        HistoryFigure::SequentialWriteMbps => "sequential writes",
        HistoryFigure::Commits => "commits, 8 KiB, 1 at a time",
    }
}

/// The unit of its values.
pub(crate) fn unit(figure: HistoryFigure) -> &'static str {
    match figure {
        HistoryFigure::TypicalCell => "percent of the study in the middle",
        HistoryFigure::RandomReadIops | HistoryFigure::RandomWriteIops => "requests a second",
        HistoryFigure::RandomReadP99 => "nanoseconds",
        HistoryFigure::SequentialReadMbps | HistoryFigure::SequentialWriteMbps => "MB/s",
        HistoryFigure::Commits => "a second",
    }
}

/// A value of a figure with its unit.
pub(crate) fn value(figure: HistoryFigure, value: f64) -> String {
    match figure {
        HistoryFigure::TypicalCell => percent(value / 100.0),
        HistoryFigure::RandomReadIops | HistoryFigure::RandomWriteIops => format!("{} IOPS", number(value)),
        HistoryFigure::RandomReadP99 => time_ns(value),
        HistoryFigure::SequentialReadMbps | HistoryFigure::SequentialWriteMbps => mbps(value),
        HistoryFigure::Commits => format!("{} a second", number(value)),
    }
}

/// The day of a moment in milliseconds of Unix time.
pub(crate) fn day(unix_ms: u64) -> String {
    let UtcTime { year, month, day, .. } = UtcTime::of_unix_s(unix_ms / 1000);
    format!("{year:04}-{month:02}-{day:02}")
}

/// How many studies there are, and from when to when: `38 studies, 2026-01-02 to 2026-03-09`.
pub(crate) fn extent(history: &History) -> String {
    let studies = match history.studies.len() {
        1 => "1 study".to_string(),
        several => format!("{several} studies"),
    };
    match (history.studies.first(), history.studies.last()) {
        (Some(first), Some(last)) => {
            let from = day(first.at_unix_ms);
            let to = day(last.at_unix_ms);
            let virtual_time =
                if history.studies.iter().all(|study| study.is_dated) { "" } else { " (by their files)" };
            if from == to {
                format!("{studies}, {from}{virtual_time}")
            } else {
                format!("{studies}, {from} to {to}{virtual_time}")
            }
        }
        _ => studies,
    }
}

/// The answer: whether figures change, and how the newest change was.
pub(crate) fn verdict(history: &History) -> Vec<String> {
    let studies = history.studies.len();
    let mut all = match history.changes.last() {
        None if studies < FEWEST => {
            let studies = if studies == 1 { "one study".to_string() } else { format!("{studies} studies") };
            let mut said =
                vec![format!("No change is certain; {studies} can hardly show one, and {FEWEST} or more can.")];
            said.extend((history.studies.len() > 1).then(|| TWO.to_string()));
            said
        }
        None => vec![format!("No change in {studies} studies is certain.")],
        Some(last) => {
            let changes = count(history.changes.len(), "change");
            vec![format!("{changes}; the last one on {}: {}.", when(last, history), figures(last, history).join("; "))]
        }
    };
    all.extend(history.figures.iter().filter_map(|figure| Some(two_speeds(figure, figure.two_speeds.as_ref()?))));
    all
}

/// Such as `It has two speeds (random direct read, 4 KiB, 32 deep): 174,463 IOPS in 7 of 12 studies, 92,044 IOPS in 5.`
fn two_speeds(of: &FigureHistory, speeds: &TwoSpeeds) -> String {
    let TwoSpeeds { lower, lower_studies, higher, higher_studies } = *speeds;
    let of_lower = (value(of.figure, lower), lower_studies);
    let of_higher = (value(of.figure, higher), higher_studies);
    let all = lower_studies + higher_studies;
    let (most, least) = if lower_studies > higher_studies { (of_lower, of_higher) } else { (of_higher, of_lower) };
    format!(
        "It has two speeds ({}): {} in {} of {all} studies, {} in {}.",
        figure(of),
        most.0,
        most.1,
        least.0,
        least.1
    )
}

fn when(change: &HistoryChange, history: &History) -> String {
    history.studies.get(change.at).map_or_else(String::new, |study| day(study.at_unix_ms))
}

/// When a change is: `2026-02-11, from study 17 of 38 on (nightly-17.halfpower)`.
pub(crate) fn place(change: &HistoryChange, history: &History) -> String {
    let name = history.studies.get(change.at).map_or("", |study| study.name.as_str());
    let HistoryChange { at, earliest, latest, .. } = change;
    let about = match earliest == latest {
        true => String::new(),
        false => format!(", or from one of {} to {}", earliest + 1, latest + 1),
    };
    format!("{}, from study {} of {} on{about}: {name}", when(change, history), at + 1, history.studies.len())
}

/// What changes there, a phrase for each figure: `random reads 52,677 IOPS to 46,011 IOPS (-13%)`.
pub(crate) fn figures(change: &HistoryChange, history: &History) -> Vec<String> {
    let phrase = |one: &FigureChange| {
        let known = history.figures.iter().find(|figure| figure.figure == one.figure);
        let name = known.map_or_else(|| short(one.figure).to_string(), figure);
        let percent = signed(one.percent);
        match one.figure {
            HistoryFigure::TypicalCell => format!("{name} {percent}"),
            of => format!("{name} {} to {} ({percent})", value(of, one.before), value(of, one.after)),
        }
    };
    change.figures.iter().map(phrase).collect()
}

/// What differs around a change, a phrase each.
pub(crate) fn around(change: &HistoryChange) -> Vec<String> {
    let mut all: Vec<String> = change.surroundings.iter().map(surroundings::change).collect();
    all.extend(change.checks.iter().map(check));
    if all.is_empty() {
        all.push("nothing that the studies know of changed with it".to_string());
    }
    all
}

fn check(found: &CheckDifference) -> String {
    checks::difference(found, ["before", "after"])
}

/// A level with the interval of its median: `46,011 IOPS (45,102 IOPS to 47,020 IOPS)`; none of fewer than six studies.
pub(crate) fn level(figure: HistoryFigure, level: &FigureLevel) -> String {
    let median = value(figure, level.median);
    match level.low.zip(level.high) {
        Some((low, high)) => format!("{median} ({} to {})", value(figure, low), value(figure, high)),
        None => median,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_speeds_are_said_with_their_studies() {
        let of = FigureHistory {
            figure: HistoryFigure::Commits,
            cell: None,
            points: Vec::new(),
            levels: Vec::new(),
            two_speeds: None,
        };
        let speeds = TwoSpeeds { lower: 92_044.0, lower_studies: 5, higher: 174_463.0, higher_studies: 7 };
        assert_eq!(
            two_speeds(&of, &speeds),
            "It has two speeds (commits, 8 KiB, 1 at a time): 174,463 a second in 7 of 12 studies, 92,044 a second in 5."
        );
    }
}
