//! Writes what the first screen says of the most load under a latency: a line for each kind and size of requests.

use halfpower_analyse::{Interval, Sureness};
use halfpower_experiments::load::{BesideWrites, LoadAnswer, LoadPoint, LoadUnknown, LoadVerdict, MostLoad, reason};
use halfpower_experiments::{ExperimentAnswer, ExperimentSection, NOT_RUN_YET, StudyFindings};
use halfpower_spec::{Direction, Experiment, LatencyBound, format};

use super::first_screen::reach;
use super::live;

/// Heading of the lines.
pub(crate) const HEADING: &str = "Most load";

/// Runs that make an interval, and those that make none.
const REPEATED: usize = 2;
const SINGLE: usize = 1;

/// A line of the first screen.
pub(crate) struct LoadLine {
    /// Which requests, such as `random read 4 KiB`.
    pub of: String,
    /// What is known of them, such as `p99 below 1.0 ms up to 41,200 a second ±4%`.
    pub text: String,
}

/// The experiment that looked for it; `None` if nobody asked.
fn section(study: &StudyFindings) -> Option<&ExperimentSection> {
    study.latency_bound?;
    study.experiments.iter().find(|section| section.experiment == Experiment::Load)
}

/// The most load of each kind and size; `None` if nobody asked, or if nothing was measured.
pub(crate) fn found(study: &StudyFindings) -> Option<&LoadAnswer> {
    match &section(study)?.found {
        Some(ExperimentAnswer::Load(answer)) => Some(answer),
        _ => None,
    }
}

/// The lines, while the study measures or after it; empty if nobody asked.
pub(crate) fn lines(study: &StudyFindings, is_measuring: bool) -> Vec<LoadLine> {
    let Some((section, bound)) = section(study).zip(study.latency_bound) else { return Vec::new() };
    let Some(answer) = found(study) else {
        let text = if is_measuring && section.notes == [NOT_RUN_YET] {
            live::NO_ADVICE.to_string()
        } else {
            format!("not known: {}", section.notes.join(" "))
        };
        return vec![LoadLine { of: below(bound), text }];
    };
    let line = |most: &MostLoad| {
        let of = requests(most);
        [Some(LoadLine { of, text: text(bound, most, is_measuring) }), beside_writes(bound, most)]
    };
    answer.found.iter().flat_map(line).flatten().collect()
}

/// What could not be measured although other requests could, each a sentence.
pub(crate) fn notes(study: &StudyFindings) -> &[String] {
    section(study).filter(|section| section.ran).map_or(&[][..], |section| section.notes.as_slice())
}

/// Such as `random read 4 KiB`.
pub(crate) fn requests(most: &MostLoad) -> String {
    let rw = most.rw.direction().unwrap_or(Direction::Read);
    format!("random {rw} {}", format::size(most.bs_bytes as f64))
}

fn below(bound: LatencyBound) -> String {
    format!("{} below {}", bound.percentile.name(), format::time_ns(bound.most.0 as f64))
}

fn text(bound: LatencyBound, most: &MostLoad, is_measuring: bool) -> String {
    let below = below(bound);
    let percentile = bound.percentile.name();
    match (most.verdict, most.iops, &most.at) {
        (LoadVerdict::Knee, Some(iops), at) => format!("{below} {}", up_to(iops, at.as_ref(), most, is_measuring)),
        (LoadVerdict::NeverBelow, _, Some(at)) => {
            let limit = format::time_ns(bound.most.0 as f64);
            let rate = format::number(at.iops as f64);
            format!("{percentile} never below {limit}: {} already at {rate} a second", time(at.latency_ns))
        }
        (LoadVerdict::NotLimited, _, Some(at)) => {
            let rate = format::number(at.iops as f64);
            format!("{below} at all that it takes: {} at {rate} a second{}", time(at.latency_ns), began_faster(most))
        }
        _ if is_measuring => format!("{below}: {}", live::NO_ADVICE),
        _ => format!("{below}: not known, {}", reason(most.unknown.unwrap_or(LoadUnknown::Undecided))),
    }
}

/// Such as `up to 41,200 a second ±4%; 400 µs at half of it`.
fn up_to(iops: Interval, at: Option<&LoadPoint>, most: &MostLoad, is_measuring: bool) -> String {
    let more = match (most.decided, is_measuring) {
        (true, _) => "",
        (false, true) => "; not decided yet",
        (false, false) => "; not decided by repeated runs, a larger --budget helps",
    };
    if !is_known(&iops) {
        let [low, high] = [iops.low, iops.high].map(format::number);
        let helps = if most.decided && !is_measuring { "; a larger --budget helps" } else { "" };
        return format!("up to somewhere from {low} to {high} a second, so not known{more}{helps}");
    }
    let sureness = Sureness::of(&iops, if most.decided { REPEATED } else { SINGLE }, None);
    let half = at.map_or(String::new(), |at| format!("; {} at half of it", time(at.latency_ns)));
    let rate = format::number(iops.value);
    format!("up to {rate} a second {}{half}{more}{}", reach(&sureness), began_faster(most))
}

fn began_faster(most: &MostLoad) -> &'static str {
    if most.began_faster { "; it began faster than it went on, so a credit or a cache may have answered" } else { "" }
}

/// Such as `p99 of reads, 20,600 a second in all: 400 µs alone, 600 µs with 10% of writes, 900 µs with 30%`; `None` if
/// no writes were beside them.
fn beside_writes(bound: LatencyBound, most: &MostLoad) -> Option<LoadLine> {
    let first = most.beside_writes.first()?;
    let mut of_writes = " of writes";
    let mut one = |beside: &BesideWrites| {
        let behind = if beside.keeps_up { "" } else { " and not kept up with" };
        let share = match beside.write_percent {
            0 => "alone".to_string(),
            percent => format!("with {percent}%{}", std::mem::take(&mut of_writes)),
        };
        format!("{} {share}{behind}", time(beside.latency_ns))
    };
    let each: Vec<String> = most.beside_writes.iter().map(&mut one).collect();
    let rate = format::number(first.iops as f64);
    let text = format!("{} of reads, {rate} a second in all: {}", bound.percentile.name(), each.join(", "));
    Some(LoadLine { of: "  beside writes".to_string(), text })
}

/// Whether a figure may be shown: its interval is not too wide.
pub(crate) fn is_known(figure: &Interval) -> bool {
    Sureness::of(figure, REPEATED, None).is_known()
}

/// A time, or the ends of its interval if that is too wide: a verdict on a bound may be sure where the time is not.
fn time(latency_ns: Interval) -> String {
    let [value, low, high] = [latency_ns.value, latency_ns.low.max(0.0), latency_ns.high].map(format::time_ns);
    if is_known(&latency_ns) { value } else { format!("{low} to {high}") }
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Nanos, Percentile, Rw};

    use super::*;

    const BOUND: LatencyBound = LatencyBound { percentile: Percentile::P99, most: Nanos(1_000_000) };

    fn most(verdict: LoadVerdict, low: f64, high: f64) -> MostLoad {
        MostLoad {
            rw: Rw::Randread,
            bs_bytes: 4096,
            verdict,
            unknown: None,
            iops: Some(Interval { value: 41_200.0, low, high }),
            decided: true,
            takes_iops: 50_000.0,
            at: Some(LoadPoint { iops: 20_600, latency_ns: Interval::exact(400_000.0) }),
            beside_writes: Vec::new(),
            began_faster: false,
        }
    }

    fn knee() -> MostLoad {
        most(LoadVerdict::Knee, 39_500.0, 42_800.0)
    }

    #[test]
    fn the_figure_comes_with_its_interval_or_is_not_known_with_the_reason() {
        let said = |most: &MostLoad| text(BOUND, most, false);
        assert_eq!(said(&knee()), "p99 below 1.0 ms up to 41,200 a second \u{b1}4%; 400 µs at half of it");
        assert_eq!(requests(&knee()), "random read 4 KiB");
        let single = said(&MostLoad { decided: false, ..knee() });
        assert!(single.contains("41,200 a second \u{b1}?") && single.ends_with("a larger --budget helps"), "{single}");
        let wide = said(&most(LoadVerdict::Knee, 9_000.0, 70_000.0));
        assert!(wide.contains("from 9,000 to 70,000 a second, so not known; a larger --budget"), "{wide}");
        let all = said(&most(LoadVerdict::NotLimited, 1.0, 2.0));
        assert_eq!(all, "p99 below 1.0 ms at all that it takes: 400 µs at 20,600 a second");
        let never = said(&most(LoadVerdict::NeverBelow, 1.0, 2.0));
        assert_eq!(never, "p99 never below 1.0 ms: 400 µs already at 20,600 a second");
        let unknown = MostLoad { unknown: Some(LoadUnknown::Failed), ..most(LoadVerdict::Unknown, 1.0, 2.0) };
        assert!(said(&unknown).starts_with("p99 below 1.0 ms: not known, requests failed"), "{}", said(&unknown));
        assert_eq!(text(BOUND, &unknown, true), "p99 below 1.0 ms: not known yet");
        let late = LoadPoint { iops: 20_600, latency_ns: Interval { value: 2e6, low: 0.5e6, high: 4e6 } };
        let late = said(&MostLoad { at: Some(late), ..knee() });
        assert!(late.ends_with("; 500 µs to 4.0 ms at half of it"), "{late}");
        let credit = said(&MostLoad { began_faster: true, ..knee() });
        assert!(credit.ends_with("a credit or a cache may have answered"), "{credit}");
    }

    #[test]
    fn reads_beside_writes_have_a_line_by_the_share_of_writes() {
        let beside = |write_percent: u8, ns: f64, keeps_up: bool| BesideWrites {
            write_percent,
            iops: 20_600,
            latency_ns: Interval::exact(ns),
            keeps_up,
        };
        assert!(beside_writes(BOUND, &knee()).is_none());
        let beside_all = vec![beside(0, 4e5, true), beside(10, 6e5, true), beside(30, 9e6, false)];
        let line = beside_writes(BOUND, &MostLoad { beside_writes: beside_all, ..knee() }).unwrap();
        assert_eq!(
            line.text,
            "p99 of reads, 20,600 a second in all: 400 µs alone, 600 µs with 10% of writes, 9.0 ms with 30% and not \
             kept up with"
        );
    }
}
