//! Prints the history of a target: the answer, a line for each figure with its values in time, and each change.

use std::io::{self, Write};

use halfpower_analyse::{FigureHistory, History, HistoryChange};

use crate::Style;
use crate::columns::{Column, lines};
use crate::terminal::{BOLD, folded, styled};
use crate::words::compare::signed;
use crate::words::{compare, history as words};

/// Narrowest and widest width.
const WIDTH: (usize, usize) = (40, 120);
/// Bars in eighths of a line.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns of a line of values.
const VALUES: usize = 16;
/// Ratio of the highest to the lowest value from which a line of values has its whole height: smaller changes look small.
const WHOLE_HEIGHT: f64 = 1.5;
/// Changes that are shown in full; older ones are a line each.
const IN_FULL: usize = 5;

/// Prints the history of a target.
///
/// # Errors
/// Those of `out`.
pub fn history_text(history: &History, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let width = style.width.clamp(WIDTH.0, WIDTH.1);
    let bold = style.colour.then_some(BOLD);
    styled(&title(&history.target, &words::extent(history), width), bold, width, out)?;
    for sentence in words::verdict(history) {
        print(&folded("", &sentence, width), width, out)?;
    }
    if !history.figures.is_empty() {
        writeln!(out)?;
        let mut rows = figures(history, width).into_iter();
        rows.next().iter().try_for_each(|heading| styled(heading, bold, width, out))?;
        print(&rows.collect::<Vec<_>>(), width, out)?;
    }
    if !history.changes.is_empty() {
        writeln!(out)?;
        styled("CHANGES, the last first", bold, width, out)?;
        for (at, change) in history.changes.iter().rev().enumerate() {
            print(&of_change(change, history, at < IN_FULL, width), width, out)?;
        }
    }
    if !history.fail_if.is_empty() {
        writeln!(out)?;
        styled("CONDITIONS, the last level against the one before", bold, width, out)?;
        for finding in &history.fail_if {
            print(&folded("  ", &compare::answered(finding), width), width, out)?;
        }
    }
    if !history.unread.is_empty() {
        writeln!(out)?;
        styled("LEFT OUT", bold, width, out)?;
        for unread in &history.unread {
            print(&folded("  ", &unread.why, width), width, out)?;
        }
    }
    Ok(())
}

/// The target and how many studies there are; a long target is cut, so that the studies are there.
fn title(target: &str, extent: &str, width: usize) -> String {
    const CUT: &str = "...";
    const LEAST: usize = 8;
    let room = width.saturating_sub(extent.chars().count() + 2).max(LEAST);
    if target.chars().count() <= room {
        return format!("{target}  {extent}");
    }
    let kept: String = target.chars().take(room - CUT.len()).collect();
    format!("{kept}{CUT}  {extent}")
}

fn print(lines: &[String], width: usize, out: &mut dyn Write) -> io::Result<()> {
    lines.iter().try_for_each(|line| styled(line, None, width, out))
}

/// The heading and a line for each figure: its last level, the one before, and its values in time.
fn figures(history: &History, width: usize) -> Vec<String> {
    let of = |cell: &dyn Fn(&FigureHistory) -> String| history.figures.iter().map(cell).collect::<Vec<String>>();
    let now = |figure: &FigureHistory| {
        figure.levels.last().map_or_else(String::new, |level| words::value(figure.figure, level.median))
    };
    let before = |figure: &FigureHistory| {
        let level = figure.levels.len().checked_sub(2).map(|at| figure.levels[at].median);
        level.map_or_else(String::new, |median| words::value(figure.figure, median))
    };
    let change = |figure: &FigureHistory| match figure.levels.as_slice() {
        [.., before, now] => signed(100.0 * (now.median / before.median - 1.0)),
        _ => String::new(),
    };
    let spread = |figure: &FigureHistory| {
        let level = figure.levels.last().and_then(|level| level.low.zip(level.high));
        level.map_or_else(String::new, |(low, high)| {
            format!("{} to {}", words::value(figure.figure, low), words::value(figure.figure, high))
        })
    };
    let columns = vec![
        Column::left("MEDIAN OF STUDIES", 0, of(&words::figure)),
        Column::right("now", 0, of(&now)),
        Column::right("before", 3, of(&before)),
        Column::right("change", 1, of(&change)),
        Column::left("in time", 2, of(&|figure| values_in_time(figure, history.studies.len()))),
        Column::left("95% interval", 4, of(&spread)),
    ];
    lines(columns, width)
}

/// The values in order of time as bars; each bar is the mean of as many studies as share it.
fn values_in_time(figure: &FigureHistory, studies: usize) -> String {
    let columns = studies.clamp(1, VALUES);
    let mut sums = vec![(0.0, 0usize); columns];
    for point in &figure.points {
        let (sum, count) = &mut sums[(point.study * columns / studies.max(1)).min(columns - 1)];
        *sum += point.value.ln();
        *count += 1;
    }
    let means: Vec<Option<f64>> = sums.iter().map(|(sum, count)| (*count > 0).then(|| sum / *count as f64)).collect();
    let known = || means.iter().flatten().copied();
    let low = known().fold(f64::INFINITY, f64::min);
    let high = known().fold(f64::NEG_INFINITY, f64::max);
    let height = (high - low).max(WHOLE_HEIGHT.ln());
    // Values that hardly differ lie in the middle.
    let floor = (low + high - height) / 2.0;
    let bar = |mean: &Option<f64>| {
        mean.map_or(' ', |mean| {
            let eighth = ((mean - floor) / height * EIGHTHS.len() as f64).floor();
            EIGHTHS[(eighth.max(0.0) as usize).min(EIGHTHS.len() - 1)]
        })
    };
    means.iter().map(bar).collect()
}

fn of_change(change: &HistoryChange, history: &History, in_full: bool, width: usize) -> Vec<String> {
    let mut all = folded("  ", &words::place(change, history), width);
    let figures = words::figures(change, history);
    if in_full {
        all.extend(figures.iter().flat_map(|figure| folded("    ", figure, width)));
        all.extend(words::around(change).iter().flat_map(|around| folded("    beside it: ", around, width)));
    } else {
        all.extend(folded("    ", &figures.join("; "), width));
    }
    all
}

#[cfg(test)]
mod tests {
    use halfpower_analyse::{FigurePoint, HistoryFigure};

    use super::*;

    #[test]
    fn a_long_target_leaves_room_for_the_studies() {
        assert_eq!(title("/data", "2 studies, 2026-11-27", 80), "/data  2 studies, 2026-11-27");
        let long = format!("sim:{}", "fixed=80us,".repeat(20));
        assert_eq!(title(&long, "2 studies, 2026-11-27", 40), "sim:fixed=80us...  2 studies, 2026-11-27");
    }

    #[test]
    fn values_are_as_high_as_they_differ() {
        let shown = |values: &[f64]| {
            let point = |(study, value): (usize, &f64)| FigurePoint { study, value: *value, low: None, high: None };
            let figure = FigureHistory {
                figure: HistoryFigure::Commits,
                cell: None,
                points: values.iter().enumerate().map(point).collect(),
                levels: Vec::new(),
                two_speeds: None,
            };
            values_in_time(&figure, values.len())
        };
        assert_eq!(shown(&[100.0, 100.0, 200.0]), "▁▁█");
        assert_eq!(shown(&[100.0, 100.1]), "▄▅");
        assert_eq!(shown(&[100.0; 40]).chars().count(), VALUES);
        assert_eq!(shown(&[]), " ");
    }
}
