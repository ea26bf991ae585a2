//! Says what the sessions of a study show: what an interval is about, how many there are, and which cells have two speeds.

use halfpower_analyse::{CellRate, CellSettings, RateRow, SessionCell, SessionSpeeds, Summary, Sureness};
use halfpower_spec::{Cache, format};

use super::first_screen::{depth, whole_row_name};

/// Sessions that an interval over them takes (`docs/method/statistics.md`).
const FEW: usize = 5;
/// Half of an interval, as a share, above which more sessions are worth their time.
const WIDE: f64 = 0.1;

/// A rate of the answer, with the cell that was measured for it.
struct Reported<'a> {
    row: &'a RateRow,
    measured: CellSettings,
    rate: &'a CellRate,
}

fn reported(summary: &Summary) -> Vec<Reported<'_>> {
    summary.how_fast.iter().flat_map(rates).collect()
}

fn rates(row: &RateRow) -> Vec<Reported<'_>> {
    let accepted = Reported { row, measured: row.cell, rate: &row.rate };
    let measured = CellSettings { cache: Cache::None, ..row.cell };
    let durable = row.durable.iter().map(|rate| Reported { row, measured, rate });
    std::iter::once(accepted).chain(durable).collect()
}

fn over_sessions<'a>(summary: &'a Summary, measured: &CellSettings) -> Option<&'a SessionCell> {
    summary.sessions.as_ref()?.cells.iter().find(|cell| cell.cell == *measured)
}

/// What an interval on the screen is about: another study may differ by more.
pub(crate) fn scope(summary: &Summary) -> String {
    let all = reported(summary);
    let sessions = all.iter().filter_map(|one| over_sessions(summary, &one.measured));
    match sessions.map(|cell| cell.session_mbps.len()).min() {
        Some(fewest) => format!("\u{b1} over {fewest} sessions"),
        None => "\u{b1} within this study".to_string(),
    }
}

/// What a reader of the figures must know of the sessions; empty for an ordinary study.
pub(crate) fn notes(summary: &Summary) -> Vec<String> {
    let Some(sessions) = &summary.sessions else { return Vec::new() };
    let is_short = (sessions.begun as u64) < u64::from(sessions.asked);
    let so_far = is_short.then(|| {
        format!("{} of {} sessions so far; the same command measures the next", sessions.begun, sessions.asked)
    });
    let all = reported(summary);
    let (over, first): (Vec<&Reported<'_>>, Vec<&Reported<'_>>) =
        all.iter().partition(|one| over_sessions(summary, &one.measured).is_some());
    let names: Vec<String> = first.iter().map(|one| name(one)).collect();
    let of_first = (!over.is_empty() && !first.is_empty())
        .then(|| format!("{}: \u{b1} is within the first session", names.join("; ")));
    let speeds = over.iter().filter_map(|one| {
        let cell = over_sessions(summary, &one.measured)?;
        Some(two_speeds(one, &cell.two_speeds?))
    });
    let is_wide = |one: &Reported<'_>| matches!(one.rate.sureness, Sureness::Within { share } if share > WIDE);
    let few = (!is_short && (2..FEW).contains(&sessions.begun) && over.iter().any(|one| is_wide(one))).then(|| {
        format!("an interval over {} sessions is wide; --sessions {FEW} goes on and narrows it", sessions.begun)
    });
    so_far.into_iter().chain(few).chain(of_first).chain(speeds).collect()
}

/// Such as `random read 4 KiB 32 deep`.
fn name(one: &Reported<'_>) -> String {
    let cell = &one.row.cell;
    let durable = if one.measured == *cell { "" } else { ", each durable" };
    format!("{} {} {}{durable}", whole_row_name(cell), format::size(cell.bs_bytes as f64), depth(cell))
}

/// Says that a cell has two speeds: `two speeds, random read 4 KiB 32 deep: 92,041 IOPS in 3 sessions, 174,463 IOPS in 3; the
/// median is between 90,332 IOPS and 175,781 IOPS (at 96.9%)`.
fn two_speeds(one: &Reported<'_>, speeds: &SessionSpeeds) -> String {
    let scale = if one.rate.mbps.value > 0.0 { one.rate.iops.value / one.rate.mbps.value } else { 0.0 };
    let rate = |mbps: f64| if one.row.role.is_small() { format::iops(mbps * scale) } else { format::mbps(mbps) };
    format!(
        "two speeds, {}: {} in {} sessions, {} in {}; the median is between {} and {} (at {:.1}%)",
        name(one),
        rate(speeds.lower_mbps),
        speeds.lower_sessions,
        rate(speeds.higher_mbps),
        speeds.higher_sessions,
        rate(speeds.median_mbps.low),
        rate(speeds.median_mbps.high),
        100.0 * speeds.coverage
    )
}

#[cfg(test)]
mod tests {
    use halfpower_analyse::{Interval, LatencySummary, RateRole, SessionsFinding};
    use halfpower_spec::{Direction, Pattern};

    use super::*;

    fn cell(iodepth: u32) -> CellSettings {
        let pattern = Pattern::Random;
        let rw = Direction::Read;
        CellSettings { pattern, rw, cache: Cache::Device, iodepth, bs_bytes: 4096, threads: 1 }
    }

    fn row(iodepth: u32) -> RateRow {
        let rate = CellRate {
            mbps: Interval { value: 400.0, low: 300.0, high: 500.0 },
            iops: Interval { value: 97_656.25, low: 73_242.0, high: 122_070.0 },
            sureness: Sureness::Within { share: 0.25 },
            latency_ns_p50: None,
            latency_ns_p99: None,
            latency_ns_p50_interval: None,
            latency_ns_p99_interval: None,
            read_ahead: false,
            runs: 3,
            least_mbps: 300.0,
            most_mbps: 500.0,
            steady: true,
        };
        RateRow { role: RateRole::SmallDeep, cell: cell(iodepth), rate, durable: None }
    }

    fn summary(asked: u32, cells: Vec<SessionCell>, begun: usize) -> Summary {
        let sessions = Some(SessionsFinding { asked, begun, cells });
        Summary { how_fast: vec![row(32), row(1)], sessions, ..Summary::default() }
    }

    fn of_sessions(iodepth: u32, count: usize, two_speeds: Option<SessionSpeeds>) -> SessionCell {
        SessionCell {
            cell: cell(iodepth),
            mbps: Interval { value: 400.0, low: 300.0, high: 500.0 },
            session_mbps: vec![400.0; count],
            session_latency_ns_p50: Vec::new(),
            session_latency_ns_p99: Vec::new(),
            runs: 3 * count,
            least_mbps: 300.0,
            most_mbps: 500.0,
            latency_ns: LatencySummary::default(),
            two_speeds,
        }
    }

    #[test]
    fn an_ordinary_study_is_within_itself_and_says_nothing_of_sessions() {
        let ordinary = Summary { how_fast: vec![row(32)], ..Summary::default() };
        assert_eq!(scope(&ordinary), "\u{b1} within this study");
        assert!(notes(&ordinary).is_empty());
    }

    #[test]
    fn sessions_say_how_many_they_are_and_which_figure_is_of_the_first_alone() {
        let first = summary(5, Vec::new(), 1);
        assert_eq!(scope(&first), "\u{b1} within this study");
        assert_eq!(notes(&first), ["1 of 5 sessions so far; the same command measures the next"]);
        let mixed = summary(2, vec![of_sessions(32, 2, None)], 2);
        assert_eq!(scope(&mixed), "\u{b1} over 2 sessions");
        let few = "an interval over 2 sessions is wide; --sessions 5 goes on and narrows it";
        assert_eq!(notes(&mixed), [few, "random read 4 KiB 1 deep: \u{b1} is within the first session"]);
        assert!(notes(&summary(6, vec![of_sessions(32, 6, None), of_sessions(1, 6, None)], 6)).is_empty());
    }

    #[test]
    fn two_speeds_are_said_with_the_interval_of_the_median() {
        let speeds = SessionSpeeds {
            lower_mbps: 377.0,
            lower_sessions: 3,
            higher_mbps: 714.6,
            higher_sessions: 3,
            median_mbps: Interval { value: 545.8, low: 370.0, high: 720.0 },
            coverage: 0.96875,
        };
        let said = notes(&summary(6, vec![of_sessions(32, 6, Some(speeds)), of_sessions(1, 6, None)], 6));
        let expected = "two speeds, random read 4 KiB 32 deep: 92,041 IOPS in 3 sessions, 174,463 IOPS in 3; the median is \
                        between 90,332 IOPS and 175,781 IOPS (at 96.9%)";
        assert_eq!(said, [expected]);
    }
}
