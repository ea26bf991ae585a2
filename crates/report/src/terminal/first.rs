//! Builds the first screen: state, the worst warnings, what was asked for by name, how fast, what stops it, what to set.

use std::path::Path;

use halfpower_analyse::{BesideRow, CellRate, CellSettings, DirectionStop, Findings, Interval, RateRow, Sureness};
use halfpower_experiments::{ExperimentSection, NOT_RUN_YET, StudyFindings};
use halfpower_spec::format::{number, size, thousands, time_us};
use halfpower_spec::{Cache, Experiment, shell_operand};

use super::application::application;
use super::commits::commits;
use super::most_load::most_load;
use super::screen::{Item, Section, Tone, cut};
use crate::columns::{Column, lines};
use crate::words::state::{self, amount, machine, place};
use crate::words::stop_brief::StopBrief;
use crate::words::{checks, first_screen, live, sessions, warnings};

/// Lines of the screen, without the final ones that name the details.
const SCREEN: usize = 26;
/// Warnings at the top.
const ALERTS: usize = 2;
/// Lines per experiment's answer: beside walks, and without walks.
const LINES_BESIDE: usize = 2;
const LINES_ALONE: usize = 6;
/// Lines for a short answer, at least.
const SHORT_LINES: usize = 3;
/// Lines for runs outside the cells.
const BESIDE: usize = 6;
/// Heading of the rates.
const HOW_FAST: &str = "HOW FAST";

/// When the screen is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Moment {
    /// After the study has ended.
    After,
    /// While it measures: this share of its time is spent.
    While(f64),
}

/// The answer: what was measured, how fast, what stops it, what to set.
pub(super) fn summary(study: &StudyFindings, moment: Moment, width: usize) -> Vec<Section> {
    let is_measuring = moment != Moment::After;
    let mut all = vec![top(study, moment, width), application(study, width), most_load(study, is_measuring, width)];
    if study.walked && study.runs > 0 {
        all.extend([how_fast(study, moment, width), beside(study, width), stops(study, width)]);
        all.push(what_to_set(study, moment, width));
    } else if !first_screen::of_experiments(study).is_empty() {
        all.push(what_to_set(study, moment, width));
    }
    all
}

/// The sections of the screen, without the last line.
pub(super) fn sections(study: &StudyFindings, moment: Moment, width: usize) -> Vec<Section> {
    let mut all = summary(study, moment, width);
    let taken: usize = all.iter().map(Section::height).filter(|height| *height > 0).map(|height| height + 1).sum();
    all.push(experiments(study, moment, width, SCREEN.saturating_sub(taken)));
    all
}

/// A line that says where to find the warnings and the rest.
pub(super) fn more(study: &StudyFindings, file: Option<&Path>, width: usize) -> String {
    let warnings = match study.warnings.len() {
        0 => String::new(),
        count => format!(", or --warnings ({count})"),
    };
    let reported = |name: &str| format!("More: halfpower report {name} --full{warnings}");
    let whole = file.map(|file| reported(&shell_operand(file)));
    cut(&whole.filter(|line| line.chars().count() <= width).unwrap_or_else(|| reported("STUDY")), width)
}

fn top(study: &StudyFindings, moment: Moment, width: usize) -> Section {
    let (alerts, state) = match moment {
        Moment::After => (warnings::alerts(study), state::word(&study.summary.state)),
        Moment::While(share) => (warnings::alerts_so_far(study), live::state(share)),
    };
    let line = |text: &String| Item::line(cut(&format!("! {text}"), width), Tone::Alert);
    Section::new(Some(header(study, &state, width)), alerts.iter().take(ALERTS).map(line).collect()).alone()
}

/// A line of the table of rates.
struct RateLine {
    name: String,
    cell: CellSettings,
    /// The cell that was measured for it.
    measured: CellSettings,
    rate: CellRate,
    /// Whether requests a second describe it better than bytes.
    by_requests: bool,
}

fn rate_lines(row: &RateRow) -> Vec<RateLine> {
    let by_requests = row.role.is_small();
    let unsteady = |rate: &CellRate| if rate.steady { "" } else { "*" };
    let name = format!("  {}{}", first_screen::row_name(&row.cell), unsteady(&row.rate));
    let accepted = RateLine { name, cell: row.cell, measured: row.cell, rate: row.rate, by_requests };
    let durable = row.durable.map(|rate| {
        let name = format!("    each durable{}", unsteady(&rate));
        let measured = CellSettings { cache: Cache::None, ..row.cell };
        RateLine { name, cell: row.cell, measured, rate, by_requests }
    });
    std::iter::once(accepted).chain(durable).collect()
}

fn how_fast(study: &StudyFindings, moment: Moment, width: usize) -> Section {
    let rows: Vec<RateLine> = study.summary.how_fast.iter().flat_map(rate_lines).collect();
    if rows.is_empty() {
        let none = format!("  not known: {}", first_screen::no_rates(study));
        return Section::new(Some(HOW_FAST.to_string()), vec![Item::line(none, Tone::Plain)]);
    }
    let of = |cell: &dyn Fn(&RateLine) -> String| rows.iter().map(cell).collect::<Vec<String>>();
    let time = |ns: Option<u64>| ns.map_or("-".to_string(), |ns| time_us(ns as f64 / 1e3));
    let figures = of(&|row| figure(row, row.by_requests));
    let widest = figures.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let rates = rows.iter().zip(&figures).map(|(row, figure)| {
        let pad = widest - figure.chars().count();
        format!("{}{figure} {}", " ".repeat(pad), first_screen::reach(&row.rate.sureness))
    });
    let within = |interval: Option<Interval>| first_screen::latency_reach(interval);
    let until_known = |row: &RateLine| match moment {
        Moment::After => String::new(),
        Moment::While(_) => live::until_known(study.until_known(&row.measured)),
    };
    let columns = vec![
        Column::left(HOW_FAST, 0, of(&|row| row.name.clone())),
        Column::right("", 2, of(&|row| size(row.cell.bs_bytes as f64))),
        Column::right("", 3, of(&|row| first_screen::depth(&row.cell))),
        Column::left("", 0, rates.collect::<Vec<_>>()),
        Column::right("to \u{b1}5%", 1, of(&until_known)),
        Column::right("", 9, of(&|row| other_figure(row))),
        Column::right("p50", 5, of(&|row| time(row.rate.latency_ns_p50))),
        Column::left("", 7, of(&|row| within(row.rate.latency_ns_p50_interval))),
        Column::right("p99", 4, of(&|row| time(row.rate.latency_ns_p99))),
        Column::left("", 7, of(&|row| within(row.rate.latency_ns_p99_interval))),
        Column::right("runs", 8, of(&|row| row.rate.runs.to_string())),
    ];
    let (heading, lines) = split(lines(columns, width));
    let has_interval = rows.iter().any(|row| matches!(row.rate.sureness, Sureness::Within { .. }));
    let scope = sessions::scope(&study.summary);
    let heading = heading.map(|heading| if has_interval { with_scope(&heading, &scope, width) } else { heading });
    let all = lines.into_iter().chain(commits(study, width));
    let mut items: Vec<Item> = all.map(|line| Item::line(line, Tone::Plain)).collect();
    items.extend(first_screen::witness(&study.headline).map(|note| Item::sentence("  ", &note, width, Tone::Plain)));
    let of_sessions = sessions::notes(&study.summary);
    items.extend(of_sessions.iter().map(|note| Item::sentence("  ", note, width, Tone::Plain)));
    items.extend(notes(study, &rows).map(|note| Item::sentence("  ", &note, width, Tone::Plain)));
    Section::new(heading, items)
}

/// The heading of the rates, with what ± is about, in the room that columns without a heading leave.
fn with_scope(heading: &str, scope: &str, width: usize) -> String {
    let said = format!("{HOW_FAST}, {scope}");
    let length = said.chars().count();
    let rest: String = heading.chars().skip(length).collect();
    let is_free = heading.chars().take(length + GAP).skip(HOW_FAST.chars().count()).all(|c| c == ' ');
    if is_free && length <= width { format!("{said}{rest}") } else { heading.to_string() }
}

/// Runs outside the cells: one line per load, only the first few.
fn beside(study: &StudyFindings, width: usize) -> Section {
    let rows: Vec<&BesideRow> = study.beside.iter().take(BESIDE).collect();
    if rows.is_empty() {
        return Section::new(None, Vec::new());
    }
    let of = |cell: &dyn Fn(&BesideRow) -> String| rows.iter().map(|row| cell(row)).collect::<Vec<String>>();
    let time = |ns: Option<u64>| ns.map_or("-".to_string(), |ns| time_us(ns as f64 / 1e3));
    let columns = vec![
        Column::left("BESIDE THE CELLS", 0, of(&|row| format!("  {}", first_screen::beside_name(row)))),
        Column::right("", 2, of(&|row| first_screen::beside_size(row))),
        Column::right("", 3, of(&|row| first_screen::beside_depth(row))),
        Column::right("", 0, of(&|row| format!("{} IOPS", thousands(row.iops)))),
        Column::left("", 5, of(&|row| first_screen::beside_split(row))),
        Column::right("p99", 4, of(&|row| time(row.latency_ns_p99))),
        Column::right("runs", 6, of(&|row| row.runs.to_string())),
    ];
    let (heading, lines) = split(lines(columns, width));
    let mut items: Vec<Item> = lines.into_iter().map(|line| Item::line(line, Tone::Plain)).collect();
    if study.beside.len() > BESIDE {
        let more = format!("  ... and {} more in the export", study.beside.len() - BESIDE);
        items.push(Item::line(more, Tone::Plain));
    }
    Section::new(heading, items)
}

/// The rate as `34,000 IOPS` or `2,157 MB/s`, with both units padded to the same width.
fn figure(row: &RateLine, by_requests: bool) -> String {
    match (row.rate.sureness.is_known(), by_requests) {
        (false, _) => "not known".to_string(),
        (true, true) => format!("{} IOPS", thousands(row.rate.iops.value)),
        (true, false) => format!("{} MB/s", number(row.rate.mbps.value)),
    }
}

fn other_figure(row: &RateLine) -> String {
    if row.rate.sureness.is_known() { figure(row, !row.by_requests) } else { String::new() }
}

/// The meaning of the marks in the table, and the time that unknown figures need.
fn notes(study: &StudyFindings, rows: &[RateLine]) -> impl Iterator<Item = String> {
    let unsteady = rows.iter().any(|row| !row.rate.steady).then(|| "* not steady within its runs".to_string());
    let alone = rows.iter().any(|row| row.rate.sureness == Sureness::SingleRun);
    let untimed = rows.iter().any(|row| row.rate.sureness.is_known() && row.rate.latency_ns_p50.is_none());
    let untimed = untimed.then(|| format!("- {}", first_screen::no_latency(study)));
    let ahead = rows.iter().filter(|row| row.rate.read_ahead);
    let ahead = ahead.map(|row| first_screen::read_ahead(&row.cell, &row.rate));
    let alone = alone.then(|| "\u{b1}? a single run: nothing tells how far it is off".to_string());
    let open: Vec<(&CellRate, Option<f64>)> = rows
        .iter()
        .filter_map(|row| match row.rate.sureness {
            Sureness::Unknown { more_seconds } => Some((&row.rate, more_seconds)),
            _ => None,
        })
        .collect();
    let longest = open.iter().map(|(_, more_seconds)| *more_seconds);
    let longest = longest.reduce(|one, other| one.zip(other).map(|(one, other)| one.max(other)));
    let runs = match open[..] {
        [(rate, _)] => first_screen::runs_between(rate),
        _ => String::new(),
    };
    let not_known = longest.map(|longest| first_screen::not_known(&runs, longest));
    let marks = [unsteady, alone, not_known, untimed];
    marks.into_iter().flatten().chain(ahead.collect::<Vec<_>>())
}

fn stops(study: &StudyFindings, width: usize) -> Section {
    let row = |name: &str, brief: &StopBrief| {
        let lead = format!("  {name:<8}");
        Item::sentence_with_cause(&lead, &brief.to_string(), brief.cause.chars().count(), width)
    };
    let sentence = |stop: &DirectionStop| row(&format!("{}s", stop.rw), &first_screen::stop(stop, &study.issuing));
    let commits = first_screen::commit_stop(study).map(|brief| row("commits", &brief));
    let threads = study.threads.iter().map(first_screen::threads);
    let threads = threads.map(|text| Item::sentence("  threads ", &text, width, Tone::Plain));
    let items = study.summary.stops.iter().map(sentence).chain(commits).chain(threads).collect();
    Section::new(Some("WHAT STOPS IT".to_string()), items)
}

fn what_to_set(study: &StudyFindings, moment: Moment, width: usize) -> Section {
    let reported = &study.summary.what_to_set;
    let is_share = first_screen::is_of_a_share(study);
    let uses = reported.uses.iter().map(|advice| first_screen::advice(advice, is_share));
    let mut rows: Vec<[String; 3]> =
        uses.chain(first_screen::pages(study)).chain(first_screen::of_experiments(study)).collect();
    // What settings give is told rather than what each byte of it costs.
    if widest(&rows, 2) > room_beside(&rows, width) {
        rows.iter_mut().take(reported.uses.len()).for_each(|[.., result]| shorten(result));
    }
    let below = take_wide(&mut rows, width);
    let indent = (GAP + widest(&rows, 0) + GAP).min(width / 2);
    let column = |place: usize| rows.iter().map(|row| row[place].clone()).collect::<Vec<_>>();
    let uses = column(0).into_iter().map(|text| format!("  {text}"));
    let columns = vec![
        Column::left("", 0, uses.collect::<Vec<_>>()),
        Column::left("", 0, column(1)),
        Column::left("", 1, column(2)),
    ];
    let (_, lines) = split(lines(columns, width));
    let mut items = Vec::new();
    for (line, below) in lines.into_iter().zip(below) {
        items.push(Item::line(line, Tone::Plain));
        items.extend(below.map(|result| Item::sentence(&" ".repeat(indent), &result, width, Tone::Plain)));
    }
    if rows.is_empty() && !study.summary.how_fast.is_empty() {
        let none = match moment {
            Moment::After => first_screen::no_advice(study),
            Moment::While(_) => live::NO_ADVICE,
        };
        items.push(Item::sentence("  ", none, width, Tone::Plain));
    }
    items.extend(
        first_screen::half_power(&reported.half_power).map(|text| Item::sentence("  ", &text, width, Tone::Plain)),
    );
    let to_change = reported.to_change.iter().map(checks::to_change);
    let to_change = to_change.chain(checks::more_to_change(reported.more_to_change, &study.target));
    items.extend(to_change.map(|text| Item::sentence("  ", &text, width, Tone::Plain)));
    Section::new(Some("WHAT TO SET".to_string()), items)
}

/// Width of a column of what to set.
fn widest(rows: &[[String; 3]], place: usize) -> usize {
    rows.iter().map(|row| row[place].chars().count()).max().unwrap_or(0)
}

/// Width that is left for results beside uses and settings.
fn room_beside(rows: &[[String; 3]], width: usize) -> usize {
    width.saturating_sub(widest(rows, 0) + widest(rows, 1) + 3 * GAP)
}

/// Takes out the results that do not fit beside their settings; they stand below them.
fn take_wide(rows: &mut [[String; 3]], width: usize) -> Vec<Option<String>> {
    let room = room_beside(rows, width);
    let wide = |result: &mut String| (result.chars().count() > room).then(|| std::mem::take(result));
    rows.iter_mut().map(|[.., result]| wide(result)).collect()
}

/// Leaves the first figure of a result.
fn shorten(result: &mut String) {
    if let Some(end) = result.find(", ") {
        result.truncate(end);
    }
}

/// The answers of the experiments, as far as `room` allows.
fn experiments(study: &StudyFindings, moment: Moment, width: usize, room: usize) -> Section {
    let most = if study.walked { LINES_BESIDE } else { LINES_ALONE };
    // What an application gets has a section of its own, as has the most load under a latency that was asked for.
    let is_here = |one: &&ExperimentSection| match one.experiment {
        Experiment::Application => !one.ran,
        Experiment::Load => study.latency_bound.is_none(),
        _ => true,
    };
    let item = |experiment: &ExperimentSection| {
        let lead = format!("  {:<11} ", experiment.experiment.word());
        let reason = || match moment {
            Moment::While(_) if experiment.notes == [NOT_RUN_YET] => live::NO_RUN.to_string(),
            _ => format!("not run: {}", experiment.notes.join(" ")),
        };
        let answer = if experiment.ran { experiment.brief() } else { reason() };
        let mut item = Item::sentence(&lead, &answer, width, Tone::Plain);
        // A short answer is one sentence, and is not cut in the middle of it.
        let most = if experiment.short.is_some() { most.max(SHORT_LINES) } else { most };
        if item.lines.len() > most {
            item.lines.truncate(most);
            let last = item.lines.last_mut().expect("some lines stay");
            *last = cut(&format!("{last} ..."), width);
        }
        item
    };
    let ran_first =
        study.experiments.iter().filter(|one| one.ran).chain(study.experiments.iter().filter(|one| !one.ran));
    let items: Vec<Item> = ran_first.filter(is_here).map(item).collect();
    let heights = items.iter().scan(0, |sum, item| {
        *sum += item.lines.len();
        Some(*sum)
    });
    let shown = heights.take_while(|height| *height < room.max(LINES_ALONE)).count().max(1);
    let hidden = items.len().saturating_sub(shown);
    let mut items: Vec<Item> = items.into_iter().take(shown).collect();
    if hidden > 0 {
        items.push(Item::line(format!("  ... and {hidden} more: --full"), Tone::Plain));
    }
    Section::new(Some("EXPERIMENTS".to_string()), items)
}

fn split(lines: Vec<String>) -> (Option<String>, Vec<String>) {
    let mut lines = lines.into_iter();
    (lines.next(), lines.collect())
}

/// Shortest cut of a target's name that is still useful, in characters.
const LEAST_TARGET: usize = 16;
/// Spaces between two parts.
const GAP: usize = 2;

/// A line such as `/srv/data  ext4 on vda (virtio)  2 x AMD EPYC  120 s, 533 runs  NOISY`, with the state
/// right-aligned.
///
/// If the width is too small, it drops the machine first, then the transport, the place and the amount; last, it cuts
/// the target.
fn header(findings: &Findings, state: &str, width: usize) -> String {
    let (place, short_place) = (place(findings, true), place(findings, false));
    let machine = machine(findings);
    let amount = amount(findings);
    let forms: [&[&str]; 5] =
        [&[&place, &machine, &amount], &[&place, &amount], &[&short_place, &amount], &[&amount], &[]];
    let room = width.saturating_sub(state.chars().count() + GAP);
    let taken = |parts: &[&str]| parts.iter().map(|part| part.chars().count() + GAP).sum::<usize>();
    let target = findings.target.chars().count();
    let is_room = |parts: &&&[&str]| room >= taken(parts) + target.min(LEAST_TARGET);
    let with_whole_target = forms.iter().find(|parts| room >= taken(parts) + target);
    let parts = with_whole_target.or_else(|| forms.iter().find(is_room)).map_or(&[][..], |parts| parts);
    let target = cut(&findings.target, room.saturating_sub(taken(parts)).max(4));
    let reported = std::iter::once(target.as_str()).chain(parts.iter().copied()).filter(|part| !part.is_empty());
    let left = reported.collect::<Vec<_>>().join(&" ".repeat(GAP));
    let fill = width.saturating_sub(left.chars().count() + state.chars().count()).max(GAP);
    format!("{left}{}{state}", " ".repeat(fill))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heading_says_what_the_intervals_are_about_where_there_is_room() {
        let wide = format!("HOW FAST{}p50  p99", " ".repeat(40));
        let scope = "\u{b1} within this study";
        let said = with_scope(&wide, scope, 80);
        assert!(said.starts_with("HOW FAST, \u{b1} within this study  ") && said.ends_with("  p50  p99"), "{said}");
        assert_eq!(said.chars().count(), wide.chars().count(), "the columns stay where they are");
        assert_eq!(with_scope("HOW FAST", scope, 40), "HOW FAST, \u{b1} within this study");
        let narrow = "HOW FAST        p50  p99";
        assert_eq!(with_scope(narrow, scope, 40), narrow);
    }
}
