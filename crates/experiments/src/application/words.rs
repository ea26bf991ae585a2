//! Says what `application` asks, whether needs are met and what to set; draws the times of the shapes.

use halfpower_analyse::Interval;
use halfpower_spec::{Figure, NeedBound, format};

use super::analysis::{
    ApplicationAnswer, AtOnceFinding, Doubt, NeedFinding, RestingFigure, Rows, SettingFinding, ShapeRow, Verdict,
};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::ratio::is_undecided;
use crate::words::{NOT_DECIDED, each_sentence, sentence};

pub(crate) const QUESTION: &str =
    "Does this path give one application what it needs, and which lines follow for its configuration?";
pub(crate) const PAPERS: &str = "The studies of 1998 and 2000 ended in advice to those who write applications: the block \
    size and the depth from which a disk gives half of its peak. Which applications issue what, they left to their readers.";

pub(crate) fn answer(found: &ApplicationAnswer) -> Told {
    if let Some(why) = &found.unreadable {
        return Told::unknown(&sentence(why));
    }
    Told::of(short(found), details(found), "The profile has neither needs nor settings.")
}

/// How many needs are missed, or else met, with the first that is not met; how many settings follow.
fn short(found: &ApplicationAnswer) -> Option<ShortAnswer> {
    let of = |verdict: Verdict| found.needs.iter().filter(move |need| need.verdict == verdict);
    let all = found.needs.len();
    let lines = found.settings.iter().filter(|setting| setting.line.is_some()).count();
    let settings = if lines == 1 { "1 setting".to_string() } else { format!("{lines} settings") };
    if all == 0 {
        return (!found.settings.is_empty()).then(|| {
            let name = &found.name;
            if lines == 0 {
                let text =
                    format!("No line follows for the configuration of {name}: what each rests on is not sure enough.");
                return ShortAnswer::new(NOT_DECIDED, text);
            }
            let text = format!("So many lines follow for the configuration of {name}; its profile has no needs.");
            ShortAnswer::new(settings, text)
        });
    }
    let [missed, met] = [Verdict::Fail, Verdict::Pass].map(|verdict| of(verdict).count());
    let figure = match (missed, met) {
        (0, 0) => NOT_DECIDED.to_string(),
        (0, met) => format!("{met} of {all} needs met"),
        (missed, _) => format!("{missed} of {all} needs missed"),
    };
    let open =
        [Verdict::Fail, Verdict::NotDecided, Verdict::Refused].into_iter().find_map(|verdict| of(verdict).next());
    let first = open.map_or_else(|| format!("{} gets all that it needs here", found.name), without_doubts);
    let follow = if lines == 0 { String::new() } else { format!("; {settings} to paste") };
    Some(ShortAnswer::new(figure, sentence(&format!("{first}{follow}"))))
}

fn details(found: &ApplicationAnswer) -> Vec<String> {
    let guest = "the host of this virtual machine may hold what the disk seems to give".to_string();
    let clauses = found.needs.iter().map(|finding| Some(need(finding)));
    let clauses = clauses.chain(found.at_once.iter().map(|finding| Some(at_once(finding))));
    let clauses = clauses.chain([settings(&found.settings), found.in_virtual_machine.then_some(guest)]);
    each_sentence(clauses)
}

/// Such as `PASS: p99 of a flush is 1.90 ms (1.80 to 2.00), needs below 10.0 ms`.
fn need(found: &NeedFinding) -> String {
    let doubts = if found.doubts.is_empty() { String::new() } else { format!(": {}", doubts(&found.doubts)) };
    without_doubts(found) + &doubts
}

fn without_doubts(found: &NeedFinding) -> String {
    let figure = figure(found).map_or(String::new(), |figure| format!(" is {figure}"));
    format!("{}: {}{figure}, needs {}", verdict(found.verdict), found.what, bound(found.bound, &found.unit))
}

/// The figure of a need: `1.90 ms (1.80 to 2.00)`, `at least 24.8 ms`; `None` if it is not known.
pub fn figure(found: &NeedFinding) -> Option<String> {
    let least = || found.at_least.map(|least| format!("at least {} {}", format::three_digits(least), found.unit));
    found.measured.map(|interval| measured(interval, &found.unit)).or_else(least)
}

fn settings(found: &[SettingFinding]) -> Option<String> {
    let lines: Vec<&str> = found.iter().filter_map(|setting| setting.line.as_deref()).map(str::trim).collect();
    let refused: Vec<&str> =
        found.iter().filter(|setting| setting.line.is_none()).map(|setting| setting.name.as_str()).collect();
    let set = (!lines.is_empty()).then(|| format!("set {}", lines.join("; ")));
    let no_word = (!refused.is_empty()).then(|| format!("nothing is said of {}", refused.join(", ")));
    let both: Vec<String> = [set, no_word].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join("; "))
}

/// A verdict in capitals, as the first screen has it.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "PASS",
        Verdict::Fail => "FAIL",
        Verdict::NotDecided => "NOT DECIDED",
        Verdict::Refused => "REFUSED",
    }
}

/// Such as `commit: p99 2.10 ms (2.00 to 2.20) alone, 9.40 ms (9.00 to 9.80) beside checkpoint`.
pub fn at_once(found: &AtOnceFinding) -> String {
    let AtOnceFinding { shape, beside, figure, alone, together, doubts: against } = found;
    let word = if *figure == Figure::Mbps { "" } else { "p99 " };
    let of = |interval: &Option<Interval>| match (interval, figure) {
        (None, _) => "not known".to_string(),
        (Some(interval), Figure::Mbps) => measured(*interval, "MB/s"),
        (Some(Interval { value, low, high }), _) => {
            measured(Interval { value: value / 1e3, low: low / 1e3, high: high / 1e3 }, "ms")
        }
    };
    let against = if against.is_empty() { String::new() } else { format!("; {}", doubts(against)) };
    format!("{shape}: {word}{} alone, {} beside {beside}{against}", of(alone), of(together))
}

/// A figure with its unit and its interval: `1.90 ms (1.80 to 2.00)`; the interval alone if it is too wide for a figure: a
/// verdict may be sure where the figure is not.
fn measured(interval: Interval, unit: &str) -> String {
    let is_alone = is_undecided(&interval);
    let Interval { value, low, high } = interval;
    let [value, low, high] = [value, low, high].map(format::three_digits);
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    match is_alone {
        true => format!("{low} to {high}{unit}"),
        false if low == high => format!("{value}{unit}"),
        false => format!("{value}{unit} ({low} to {high})"),
    }
}

/// What a figure is compared with: `below 10.0 ms`.
pub fn bound(bound: NeedBound, unit: &str) -> String {
    let (word, number) = match bound {
        NeedBound::Below(number) => ("below", number),
        NeedBound::AtLeast(number) => ("at least", number),
    };
    format!("{word} {} {unit}", format::three_digits(number))
}

/// What speaks against a figure, in a clause without a full stop.
pub fn doubts(all: &[Doubt]) -> String {
    all.iter().map(doubt).collect::<Vec<String>>().join("; ")
}

fn doubt(doubt: &Doubt) -> String {
    match doubt {
        Doubt::NotMeasured { shape } => {
            format!("{shape} was not measured: it cannot run here, or the budget ended before it")
        }
        Doubt::Failed { shape } => format!("requests of {shape} failed"),
        Doubt::Cache { shape } => {
            format!("a cache answered {shape}: measure a folder on the disk, with a larger --size")
        }
        Doubt::Credit { shape } => {
            format!("{shape} began faster than it went on: spend the credit first, or take a larger --budget")
        }
        Doubt::OthersUsedTheDisk { shape, share } => {
            format!("others moved {} of the bytes of {shape}: measure when they are idle", format::percent(*share))
        }
        Doubt::HypervisorTookTime { shape, share } => {
            format!("the hypervisor took {} of the time of {shape}", format::percent(*share))
        }
        Doubt::RunsDiffer { shape } => {
            format!("the runs of {shape} differ too much: measure when the machine is idle, or take a larger --budget")
        }
        Doubt::FewRequests { shape, figure, counted, needed } => {
            let [counted, needed] = [*counted, *needed].map(|count| format::thousands(count as f64));
            format!("{shape}.{figure} needs {needed} requests, and {counted} were counted: take a larger --budget")
        }
        Doubt::NoFigure { shape, figure } => format!("no run of {shape} has {figure}"),
        Doubt::NoValue => "its formula divides by what may be 0".to_string(),
        Doubt::SingleRun { shape } => {
            format!("{shape} has a single run, which has no interval: take a larger --budget")
        }
    }
}

/// The figures that a setting rests on, in a clause without a full stop.
pub fn rests_on(found: &SettingFinding) -> String {
    let figure = |resting: &RestingFigure| {
        let unit = resting.figure.unit().trim_start();
        format!("{}.{} {}", resting.shape, resting.figure, measured(resting.measured, unit))
    };
    let figures: Vec<String> = found.rests_on.iter().map(figure).collect();
    let unclear = match found.is_usual {
        _ if found.is_clear => "",
        true => "; they do not tell the choices apart, so this is the usual one",
        false => "; they do not tell the choices apart, so this is the likelier one",
    };
    format!("from {}{unclear}", figures.join(", "))
}

pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let line = |name: &str, of: fn(&ShapeRow) -> Option<Interval>| {
        let point = |row: &ShapeRow| Some(Point::named(row.shape.clone(), of(row)?));
        let points: Vec<Point> = rows.application.iter().filter_map(point).collect();
        (!points.is_empty()).then(|| Line { name: name.to_string(), points })
    };
    let lines = [line("p50", |row| row.p50_us), line("p99", |row| row.p99_us), line("p99.9", |row| row.p999_us)];
    let lines: Vec<Line> = lines.into_iter().flatten().collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let title = "Time of a request by shape, with its flush where it has one".to_string();
    vec![Picture { title, kind: PictureKind::Bars, x: Axis::even("Shape"), y: Axis::log("\u{b5}s"), lines }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_is_said_with_its_interval_and_its_doubts() {
        let finding = NeedFinding {
            what: "p99 of a flush".to_string(),
            figure: "log.flush_p99_us / 1000".to_string(),
            measured: Some(Interval { value: 1.9, low: 1.8, high: 2.0 }),
            at_least: None,
            bound: NeedBound::Below(10.0),
            unit: "ms".to_string(),
            verdict: Verdict::Pass,
            doubts: Vec::new(),
            source: "https://example.org".to_string(),
        };
        assert_eq!(need(&finding), "PASS: p99 of a flush is 1.90 ms (1.80 to 2.00), needs below 10.0 ms");
        let doubts = vec![Doubt::Cache { shape: "log".to_string() }];
        let refused = NeedFinding { measured: None, verdict: Verdict::Refused, doubts, ..finding };
        assert!(need(&refused).starts_with("REFUSED: p99 of a flush, needs below 10.0 ms: a cache answered log"));
        let missed = NeedFinding { at_least: Some(24.8), verdict: Verdict::Fail, doubts: Vec::new(), ..refused };
        assert_eq!(need(&missed), "FAIL: p99 of a flush is at least 24.8 ms, needs below 10.0 ms");
    }

    #[test]
    fn a_shape_alone_and_beside_another_stand_side_by_side() {
        let exact = |value| Some(Interval { value, low: value, high: value });
        let finding = AtOnceFinding {
            shape: "commit".to_string(),
            beside: "checkpoint".to_string(),
            figure: Figure::P99,
            alone: exact(2100.0),
            together: exact(9400.0),
            doubts: Vec::new(),
        };
        assert_eq!(at_once(&finding), "commit: p99 2.10 ms alone, 9.40 ms beside checkpoint");
        let doubts = vec![Doubt::RunsDiffer { shape: "scan".to_string() }];
        let figure = Figure::Mbps;
        let stream = AtOnceFinding { shape: "scan".to_string(), figure, together: None, doubts, ..finding };
        assert!(at_once(&stream).starts_with("scan: 2,100 MB/s alone, not known beside checkpoint; the runs of scan"));
    }
}
