//! Says what `load` asks, what it found and what the papers saw; draws latency against the rate.

use halfpower_analyse::Interval;
use halfpower_spec::{Direction, LatencyBound, Percentile, Rw, format};

use super::analysis::{BesideWrites, LoadAnswer, LoadPoint, LoadRow, LoadUnknown, LoadVerdict, MostLoad, Rows};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::ratio::is_undecided;
use crate::words::{NOT_DECIDED, decided, each_sentence, sentence, size, with_interval};

pub(crate) const QUESTION: &str = "How many requests a second can come before their latency exceeds a bound?";
pub(crate) const PAPERS: &str = "The studies of 1998 and 2000 kept a number of requests outstanding and told throughput; latency followed from \
    Little's law. Users do not wait for each other: they come at a rate of their own, and what counts is how long the \
    slowest of a hundred waits.";

/// What is said where no rate was measured.
const NOTHING: &str = "No rate was measured in time: give the study a larger budget.";

pub(crate) fn answer(found: &LoadAnswer) -> Told {
    let LoadAnswer { bound, found } = found;
    let sentences = each_sentence(found.iter().flat_map(|most| clauses(*bound, most)));
    Told::of(found.first().map(|first| short(*bound, first)), sentences, NOTHING)
}

/// The most load of the first kind.
fn short(bound: LatencyBound, most: &MostLoad) -> ShortAnswer {
    let kind = kind(most.rw, most.bs_bytes);
    let percentile = bound.percentile.name();
    let limit = format::time_ns(bound.most.0 as f64);
    let (figure, text) = match (most.verdict, most.iops, &most.at) {
        (LoadVerdict::Knee, Some(iops), at) => {
            let at = at.filter(|at| !is_undecided(&at.latency_ns));
            let half = at.map_or(String::new(), |at| format!("; at half of that {}", is(bound, &at)));
            let by = if most.decided { "" } else { ", not decided by repeated runs" };
            let text = format!("{kind} keep {percentile} below {limit} up to there{by}{half}");
            (with_interval(iops, "IOPS"), text)
        }
        (LoadVerdict::NeverBelow, _, Some(at)) => {
            let [time, rate] = [time(at.latency_ns), format::iops(at.iops as f64)];
            let text = format!("{kind} never keep {percentile} below {limit}: it is {time} already at {rate}");
            ("no load".to_string(), text)
        }
        (LoadVerdict::NotLimited, _, Some(at)) => {
            let text =
                format!("{kind} keep {percentile} below {limit} at all that the target takes: {}", is(bound, at));
            (format::iops(at.iops as f64), text)
        }
        _ => {
            let text = match most.unknown {
                Some(LoadUnknown::Undecided) | None => {
                    format!("more runs tell how many {kind} keep {percentile} below {limit}: give a larger budget")
                }
                Some(why) => format!("how many {kind} keep {percentile} below {limit} is not known: {}", reason(why)),
            };
            (NOT_DECIDED.to_string(), text)
        }
    };
    ShortAnswer::new(figure, sentence(&text))
}

fn clauses(bound: LatencyBound, most: &MostLoad) -> [Option<String>; 3] {
    let faster = most.began_faster.then(|| {
        "asked for all that it gives, the target began faster than it went on: a credit or a cache may have answered, so \
         the load that it bears for long may be lower (the experiment credit tells)"
            .to_string()
    });
    [Some(most_load(bound, most)), beside_writes(bound, most), faster]
}

/// The most load of one kind, and the percentile where it tells most.
fn most_load(bound: LatencyBound, most: &MostLoad) -> String {
    let kind = kind(most.rw, most.bs_bytes);
    let percentile = bound.percentile.name();
    let limit = format::time_ns(bound.most.0 as f64);
    match (most.verdict, most.iops, &most.at) {
        (LoadVerdict::Knee, Some(iops), at) => {
            let half = at.map_or(String::new(), |at| format!("; at half of that {}", is(bound, &at)));
            let ends = ends(iops, most.decided);
            format!("{kind}: {percentile} stays below {limit} up to {}{ends}{half}", decided(iops, format::iops))
        }
        (LoadVerdict::NeverBelow, _, Some(at)) => {
            let rate = format::number(at.iops as f64);
            format!("{kind}: {percentile} is never below {limit}: {} already at {rate} a second", time(at.latency_ns))
        }
        (LoadVerdict::NotLimited, _, Some(at)) => {
            let rate = format::iops(at.iops as f64);
            format!(
                "{kind}: {percentile} stays below {limit} at every rate that the target takes: still {} at {rate}",
                time(at.latency_ns)
            )
        }
        _ => {
            let why = reason(most.unknown.unwrap_or(LoadUnknown::Undecided));
            format!("{kind}: the most load with {percentile} below {limit} is not known: {why}")
        }
    }
}

/// Why the most load is not known, and what to do, without a full stop.
pub fn reason(why: LoadUnknown) -> &'static str {
    match why {
        LoadUnknown::NotRun => "the time ended before its first run; a larger --budget helps",
        LoadUnknown::Failed => "requests failed, and a percentile of the others tells nothing; the warnings say which",
        LoadUnknown::AboveKnown => {
            "runs were faster than the path is known to let through, so a cache or a credit answered; a larger --size helps \
             against a cache"
        }
        LoadUnknown::Undecided => "its runs do not tell; a larger --budget helps",
    }
}

/// Such as `reads beside writes at 20,500 IOPS: p99 0.4 ms without, 0.6 ms with 10% of writes`.
fn beside_writes(bound: LatencyBound, most: &MostLoad) -> Option<String> {
    let first = most.beside_writes.first()?;
    let one = |beside: &BesideWrites| {
        let behind = if beside.keeps_up { "" } else { ", which the target does not keep up with" };
        let writes = match beside.write_percent {
            0 => "without".to_string(),
            percent => format!("with {percent}% of writes"),
        };
        format!("{} {writes}{behind}", time(beside.latency_ns))
    };
    let each: Vec<String> = most.beside_writes.iter().map(one).collect();
    let rate = format::iops(first.iops as f64);
    Some(format!("reads beside writes, {rate} in all: {} {}", bound.percentile.name(), each.join(", ")))
}

/// ` (39,500 to 42,200)`; nothing where the ends stand in the place of the figure.
fn ends(iops: Interval, by_runs: bool) -> String {
    let [low, high] = [iops.low, iops.high].map(format::number);
    match (is_undecided(&iops), by_runs) {
        (true, _) => String::new(),
        (false, true) => format!(" ({low} to {high})"),
        (false, false) => format!(" ({low} to {high}, not decided by repeated runs)"),
    }
}

fn is(bound: LatencyBound, at: &LoadPoint) -> String {
    format!("{} is {}", bound.percentile.name(), time(at.latency_ns))
}

/// A time, or the ends of its interval if that is too wide: a verdict on a bound may be sure where the time is not.
fn time(latency_ns: Interval) -> String {
    let [value, low, high] = [latency_ns.value, latency_ns.low, latency_ns.high].map(format::time_ns);
    match is_undecided(&latency_ns) {
        true if latency_ns.low <= 0.0 => format!("at most {high}"),
        true => format!("{low} to {high}"),
        false => value,
    }
}

fn kind(rw: Rw, bs_bytes: u64) -> String {
    let what = if rw.direction() == Some(Direction::Write) { "random writes" } else { "random reads" };
    format!("{what} of {}", size(bs_bytes))
}

pub(crate) fn pictures(data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let Some(bound) = data.question.latency_bound else { return Vec::new() };
    let of_kinds = rows.load.chunk_by(|one, next| (one.rw, one.bs_bytes) == (next.rw, next.bs_bytes));
    of_kinds.flat_map(|of_kind| [by_rate(bound, of_kind), by_writes(bound, of_kind)]).flatten().collect()
}

/// Percentiles by rate, as far as the target keeps up, and the bound.
fn by_rate(bound: LatencyBound, of_kind: &[LoadRow]) -> Option<Picture> {
    let first = of_kind.first()?;
    let kept: Vec<&LoadRow> = of_kind.iter().filter(|row| row.write_percent == 0 && row.keeps_up).collect();
    if kept.len() < 2 {
        return None;
    }
    let line = |name: &str, of: &dyn Fn(&LoadRow) -> Interval| {
        let point =
            |row: &&LoadRow| Point::at(row.asked_iops as f64, format::number(row.asked_iops as f64), in_ms(of(row)));
        Line { name: name.to_string(), points: kept.iter().map(point).collect() }
    };
    let limit_ns = bound.most.0 as f64;
    let mut lines = vec![
        line(bound.percentile.name(), &|row: &LoadRow| row.latency_ns),
        line("bound", &|_: &LoadRow| Interval::exact(limit_ns)),
    ];
    if bound.percentile != Percentile::P50 {
        lines.push(line("p50", &|row: &LoadRow| Interval::exact(row.latency_ns_p50 as f64)));
    }
    Some(Picture {
        title: format!("Latency of {} by rate", kind(first.rw, first.bs_bytes)),
        kind: PictureKind::Lines,
        x: Axis::log("Requests a second"),
        y: Axis::log("ms"),
        lines,
    })
}

/// The percentile of reads by the share of writes beside them, at the rate of the rows with writes.
fn by_writes(bound: LatencyBound, of_kind: &[LoadRow]) -> Option<Picture> {
    let iops = of_kind.iter().find(|row| row.write_percent > 0)?.asked_iops;
    let point =
        |row: &LoadRow| Point::at(row.write_percent.into(), format!("{}%", row.write_percent), in_ms(row.latency_ns));
    let points = of_kind.iter().filter(|row| row.asked_iops == iops).map(point).collect();
    let name = format!("{} of reads", bound.percentile.name());
    Some(Picture {
        title: format!("Reads beside writes, {} in all", format::iops(iops as f64)),
        kind: PictureKind::Lines,
        x: Axis::even("Share of writes, %"),
        y: Axis::even("ms"),
        lines: vec![Line { name, points }],
    })
}

/// Nanoseconds as milliseconds, with an interval that a logarithmic axis can show.
fn in_ms(ns: Interval) -> Interval {
    let Interval { value, low, high } = ns;
    let low = if low > 0.0 { low } else { value };
    Interval { value: value / 1e6, low: low / 1e6, high: high / 1e6 }
}

#[cfg(test)]
mod tests {
    use halfpower_spec::Nanos;

    use super::*;

    const BOUND: LatencyBound = LatencyBound { percentile: Percentile::P99, most: Nanos(1_000_000) };

    fn most(verdict: LoadVerdict, iops: u64, latency_ns: f64) -> MostLoad {
        MostLoad {
            rw: Rw::Randread,
            bs_bytes: 4096,
            verdict,
            unknown: None,
            iops: Some(Interval { value: 41_000.0, low: 39_500.0, high: 42_200.0 }),
            decided: true,
            takes_iops: 50_000.0,
            at: Some(LoadPoint { iops, latency_ns: Interval::exact(latency_ns) }),
            beside_writes: Vec::new(),
            began_faster: false,
        }
    }

    fn said(most: MostLoad) -> String {
        answer(&LoadAnswer { bound: BOUND, found: vec![most] }).sentences.join(" ")
    }

    #[test]
    fn each_verdict_is_a_sentence() {
        assert_eq!(
            said(most(LoadVerdict::Knee, 20_500, 400_000.0)),
            "Random reads of 4 KiB: p99 stays below 1.0 ms up to 41,000 IOPS (39,500 to 42,200); at half of that p99 is \
             400 µs."
        );
        let never = said(most(LoadVerdict::NeverBelow, 10, 1_300_000.0));
        assert!(never.contains("1.3 ms already at 10.0 a second"), "{never}");
        let all = said(most(LoadVerdict::NotLimited, 48_000, 400_000.0));
        assert!(all.contains("still 400 µs at 48,000 IOPS"), "{all}");
        let wide = Interval { value: 40e6, low: -2e6, high: 97e6 };
        let at = Some(LoadPoint { iops: 978, latency_ns: wide });
        let wide = said(MostLoad { at, ..most(LoadVerdict::NotLimited, 1, 1.0) });
        assert!(wide.contains("still at most 97 ms at 978 IOPS"), "{wide}");
        let credit = said(MostLoad { began_faster: true, decided: false, ..most(LoadVerdict::Knee, 1, 1.0) });
        assert!(credit.contains("not decided by repeated runs") && credit.contains("a credit"), "{credit}");
        assert!(said(MostLoad { at: None, ..most(LoadVerdict::Unknown, 1, 1.0) }).contains("larger --budget"));
        let failed = MostLoad { unknown: Some(LoadUnknown::Failed), at: None, ..most(LoadVerdict::Unknown, 1, 1.0) };
        assert!(said(failed).contains("not known: requests failed"));
        assert_eq!(answer(&LoadAnswer { bound: BOUND, found: Vec::new() }).sentences, [NOTHING]);
    }

    #[test]
    fn the_short_answer_holds_the_load_and_decides_nothing_from_a_factor_of_four_on() {
        let short = |most: MostLoad| answer(&LoadAnswer { bound: BOUND, found: vec![most] }).short;
        let knee = short(most(LoadVerdict::Knee, 20_500, 400_000.0));
        assert_eq!(knee.figure, "41,000 IOPS (39,500 to 42,200)");
        assert_eq!(
            knee.sentence,
            "Random reads of 4 KiB keep p99 below 1.0 ms up to there; at half of that p99 is 400 µs."
        );
        let wide = Interval { value: 41_000.0, low: 15_000.0, high: 61_000.0 };
        let wide = short(MostLoad { iops: Some(wide), ..most(LoadVerdict::Knee, 20_500, 400_000.0) });
        assert_eq!(wide.figure, "not decided, 15,000 to 61,000 IOPS");
        let late = Interval { value: 2e6, low: 0.5e6, high: 4e6 };
        let at = Some(LoadPoint { iops: 20_500, latency_ns: late });
        let half = MostLoad { at, ..most(LoadVerdict::Knee, 20_500, 1.0) };
        assert!(said(half.clone()).ends_with("at half of that p99 is 500 µs to 4.0 ms."), "{}", said(half.clone()));
        assert!(short(half).sentence.ends_with("up to there."), "a time that is not decided is left out");
        let never = short(most(LoadVerdict::NeverBelow, 10, 1_300_000.0));
        assert_eq!(
            [never.figure, never.sentence],
            ["no load", "Random reads of 4 KiB never keep p99 below 1.0 ms: it is 1.3 ms already at 10.0 IOPS."]
        );
        let all = short(most(LoadVerdict::NotLimited, 48_000, 400_000.0));
        assert!(
            all.figure == "48,000 IOPS" && all.sentence.ends_with("that the target takes: p99 is 400 µs."),
            "{all:?}"
        );
        let unknown = short(MostLoad { at: None, ..most(LoadVerdict::Unknown, 1, 1.0) });
        assert_eq!(unknown.figure, NOT_DECIDED);
    }

    #[test]
    fn reads_beside_writes_are_told_with_their_shares() {
        let beside = |write_percent: u8, ns: f64, keeps_up: bool| BesideWrites {
            write_percent,
            iops: 20_500,
            latency_ns: Interval::exact(ns),
            keeps_up,
        };
        let beside_writes = vec![beside(0, 400_000.0, true), beside(10, 600_000.0, true), beside(50, 9e6, false)];
        let text = said(MostLoad { beside_writes, ..most(LoadVerdict::Knee, 20_500, 400_000.0) });
        assert!(text.contains("p99 400 µs without, 600 µs with 10% of writes, 9.0 ms with 50% of writes"), "{text}");
        assert!(text.contains("does not keep up"), "{text}");
    }
}
