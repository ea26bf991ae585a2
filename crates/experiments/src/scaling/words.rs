//! Says what `scaling` asks, what it found and what the papers saw; draws throughput and cost by number of members.

use halfpower_analyse::{Access, Interval};
use halfpower_spec::format;
use halfpower_spec::{Direction, Pattern, VolumeLayout};

use super::analysis::{
    CostByMembers, MemberCost, MembersScaling, Rows, ScalingAnswer, ScalingRow, ScalingVerdict, StoppedMembers,
    StripeShare, alone, costs,
};
use crate::answer::{ShortAnswer, Told};
use crate::at_once::{kinds, picture, point};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind};
use crate::words::{NOT_DECIDED, sentence};

pub(crate) const QUESTION: &str = "What does each added member bring, and where does a path that they share take over?";
pub(crate) const PAPERS: &str = "In 2000 three Quantum Atlas 10K disks of 25 MB/s scaled on one SCSI bus (73 MB/s), and the PCI bus \
    stopped the fourth at 87 MB/s; the third and fourth brought writes 2.5 and 2.8 MB/s more (Figure 18). Four \
    Fireballs, each driven on its own, gave four times the random requests of one. In 1998 four disks \
    saturated an Ultra-Wide bus at 32 of its 40 MB/s. A stripe cost the processor next to nothing.";

/// Largest difference between a stripe's shares that are reported as one.
const ONE_SHARE: f64 = 0.02;

pub(crate) fn answer(found: &ScalingAnswer) -> Told {
    match found.members {
        0 => return Told::unknown("No member could be measured alone."),
        1 => return Told::unknown("Members were measured alone, and never several together."),
        _ => {}
    }
    let kinds = found.kinds.iter().map(|kind| sentence(&scaling(kind)));
    let sentences = kinds.chain(found.stripe.iter().map(stripe)).chain(found.cost.iter().map(cost));
    Told::of(short(found), sentences.collect(), "No members could be set beside one of them.")
}

/// How many members scale, by the requests that meet a shared path first.
fn short(found: &ScalingAnswer) -> Option<ShortAnswer> {
    let of = |verdict: ScalingVerdict| found.kinds.iter().find(move |kind| kind.verdict == verdict);
    let kind = of(ScalingVerdict::Stopped).or_else(|| of(ScalingVerdict::Unclear)).or(found.kinds.first())?;
    let MembersScaling { access: Access { pattern, rw }, verdict, one_mbps, n, mbps, stopped } = kind;
    let [one, all] = [*one_mbps, *mbps].map(format::mbps);
    let (figure, text) = match (stopped, verdict) {
        (Some(StoppedMembers { n: at, mbps, before_n, before_mbps, brings_share }), _) => {
            let [before, stopped] = [*before_mbps, *mbps].map(format::mbps);
            let brings = format::percent(*brings_share);
            let figure = format!("{before_n} of {n} members");
            let scale =
                format!("{pattern} {rw}s scale so far, to {before}; a shared path stops number {at} at {stopped}");
            (figure, format!("{scale}: it adds {brings} of what one gives"))
        }
        (None, ScalingVerdict::Scales) => {
            let scale = format!("{pattern} {rw}s scale from {one} with one to {all} with all");
            (format!("all {n} members"), format!("{scale}, and no requests meet a shared path"))
        }
        (None, _) => {
            let scale = format!("{pattern} {rw}s get {one} from one member and {all} from {n}");
            (NOT_DECIDED.to_string(), format!("{scale}: more runs tell whether members scale"))
        }
    };
    Some(ShortAnswer::new(figure, sentence(&text)))
}

fn scaling(found: &MembersScaling) -> String {
    let MembersScaling { access: Access { pattern, rw }, verdict, one_mbps, n, mbps, stopped } = found;
    let [from, to] = [*one_mbps, *mbps].map(format::mbps);
    match (stopped, verdict) {
        (Some(stopped), _) => {
            let all = if *n > stopped.n { format!(", and all {n} reach {to}") } else { String::new() };
            format!("{pattern} {rw}s: {}{all}", stop(stopped))
        }
        (None, ScalingVerdict::Scales) => format!("{pattern} {rw}s: all {n} members scale, from {from} to {to}"),
        (None, _) => {
            format!("{pattern} {rw}s: these runs cannot tell whether {n} members scale, from {from} to {to}")
        }
    }
}

fn stop(found: &StoppedMembers) -> String {
    let scale = match found.before_n {
        1 => "one member".to_string(),
        members => format!("{members} members still scale"),
    };
    let [before, stopped] = [found.before_mbps, found.mbps].map(format::mbps);
    let brings = format::percent(found.brings_share);
    format!(
        "{scale} ({before}), and a shared path stops number {} at {stopped}: it brings {brings} of what one gives",
        found.n
    )
}

fn stripe(found: &StripeShare) -> String {
    let [least, most] = [found.least, found.most].map(format::percent);
    match found.most - found.least < ONE_SHARE {
        true => format!("A stripe of them gives {least} of that."),
        false => format!("A stripe of them gives {least} to {most} of that."),
    }
}

fn cost(found: &CostByMembers) -> String {
    let CostByMembers { rw, one, most } = found;
    let [fixed, per_kib] = [one.fixed_us, one.us_per_kib].map(format::time_us);
    let [most_fixed, most_per_kib] = [most.fixed_us, most.us_per_kib].map(format::time_us);
    format!(
        "A {rw} costs the processor {fixed} and {per_kib} a KiB with one member, {most_fixed} and {most_per_kib} with {}.",
        most.n
    )
}

pub(crate) fn pictures(data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let rows = &rows.scaling;
    let price = if rows.is_empty() { None } else { price(data) };
    kinds().filter_map(|(pattern, rw)| together(rows, pattern, rw)).chain(price).collect()
}

fn together(rows: &[ScalingRow], pattern: Pattern, rw: Direction) -> Option<Picture> {
    let alone = alone(rows, pattern, rw);
    let single = alone.first()?.mbps;
    let at = |row: &ScalingRow| point(row.n, Interval { value: row.mbps, low: row.low, high: row.high });
    let of_stripe =
        |row: &&ScalingRow| (row.pattern, row.rw) == (pattern, rw) && (row.volume_layout == VolumeLayout::Stripe);
    let ideal = |row: &&ScalingRow| point(row.n, Interval::exact(single * f64::from(row.n)));
    let lines = vec![
        Line { name: "each on its own".to_string(), points: alone.iter().map(|row| at(row)).collect() },
        Line { name: "as a stripe".to_string(), points: rows.iter().filter(of_stripe).map(at).collect() },
        Line { name: "so many times one".to_string(), points: alone.iter().map(ideal).collect() },
    ];
    Some(picture("members", "Members", pattern, rw, lines))
}

fn price(data: &ExperimentData) -> Option<Picture> {
    let line = |rw: Direction, what: &str, of: fn(&MemberCost) -> f64| {
        let points = costs(data, rw).iter().map(|cost| point(cost.n, Interval::exact(of(cost)))).collect();
        Line { name: format!("{rw}, {what}"), points }
    };
    let lines = Direction::ALL.iter().flat_map(|rw| {
        [line(*rw, "fixed", |cost| cost.fixed_us), line(*rw, "64 KiB more", |cost| cost.us_per_kib * 64.0)]
    });
    let lines: Vec<Line> = lines.filter(|line| !line.points.is_empty()).collect();
    (!lines.is_empty()).then(|| Picture {
        title: "Processor time of a request by members at work".to_string(),
        kind: PictureKind::Lines,
        x: Axis::even("Members"),
        y: Axis::even("Charged, µs a request"),
        lines,
    })
}
