//! Says what `processors` asks, what it found and what the papers saw; draws rates and both bounds of the cost, by
//! affinity.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{Affinity, Cache, Pattern, Workload};
use halfpower_spec::{cache_word, format};

use super::analysis::{AffinityCells, AffinityComparison, ProcessorsAnswer, Rows};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::words::{each_sentence, sentence, share, size};

pub(crate) const QUESTION: &str =
    "What do several processors bring, and does it matter on which one requests are submitted?";
pub(crate) const PAPERS: &str = "In 2000 two processors gave no more throughput than one, since the disks were the limit, at a little more \
    processor time for keeping them in step, and Windows let one adapter run a single deferred interrupt at a \
    time. Disks without arms can be faster than one processor, and queues of their own take each processor's \
    interrupts to where its requests came from; where a device has one queue, the processor that takes its \
    interrupts still does work for all.";

pub(crate) fn answer(found: &ProcessorsAnswer) -> Told {
    Told::of(short(found), details(found), "No work could be set on one processor and on all.")
}

/// What the work that needs several processors most keeps on one of them.
fn short(found: &ProcessorsAnswer) -> Option<ShortAnswer> {
    let what = |one: &AffinityComparison| reads(one.pattern, one.cache, one.bs_bytes, one.threads);
    let slower = found.one.iter().filter(|one| one.rate.is_less() && !one.rate.is_alike());
    let least = slower.min_by(|one, other| one.rate.interval.value.total_cmp(&other.rate.interval.value));
    let (one, where_at) = match (least.or(found.one.first()), &found.interrupt) {
        (Some(one), _) => (one, format!("on one processor, of {} on all", format::iops(one.other_iops))),
        (None, Some(one)) => (one, "on the processor that takes the interrupts, beside another".to_string()),
        (None, None) => return None,
    };
    let so = match &one.rate {
        rate if rate.is_undecided() => ": too uncertain to tell more",
        rate if rate.is_alike() => ": further ones bring nothing",
        rate if rate.is_less() => ": let it use several",
        _ => "",
    };
    let text = sentence(&format!("{} get that {where_at}{so}", what(one)));
    Some(ShortAnswer::new(format!("{} of the rate", share(&one.rate)), text))
}

fn details(found: &ProcessorsAnswer) -> Vec<String> {
    let one: Vec<String> = found.one.iter().map(|one| compared(one, "all")).collect();
    let one = (!one.is_empty()).then(|| format!("held to one processor, {}", one.join("; ")));
    let interrupt = found.interrupt.as_ref().map(|one| compared(one, "another"));
    let interrupt =
        interrupt.map(|reported| format!("submitted on the processor that takes the interrupts, {reported}"));
    let near = found.near.as_ref().map(|near| {
        let node = found.memory_node.map_or(String::new(), |node| format!(", {node}"));
        format!("submitted from the device's memory node{node}, {}", compared(near, "the farthest other node"))
    });
    each_sentence([one, interrupt, near])
}

/// A kind of work, such as `random direct reads of 4 KiB by 2 threads`.
pub(super) fn reads(pattern: Pattern, cache: Cache, bs_bytes: u64, threads: u32) -> String {
    let by = if threads == 1 { "one thread".to_string() } else { format!("{threads} threads") };
    format!("{pattern} {} reads of {} by {by}", cache_word(cache), size(bs_bytes))
}

fn compared(found: &AffinityComparison, other: &str) -> String {
    let [iops, other_iops] = [found.iops, found.other_iops].map(format::iops);
    let ratio = &found.rate;
    let rate = match ratio {
        _ if ratio.is_alike() => format!("keep their rate ({other_iops})"),
        _ if ratio.is_less() || ratio.is_more() => format!("get {} of the {other_iops} on {other}", share(ratio)),
        _ => format!("show no sure difference ({other_iops} on {other}, {iops})"),
    };
    let charge = match &found.charge {
        Some(ratio) if ratio.is_alike() => " at the same charge".to_string(),
        Some(ratio) if ratio.is_less() || ratio.is_more() => format!(" at {} of the charge", share(ratio)),
        _ => String::new(),
    };
    format!("{} {rate}{charge}", reads(found.pattern, found.cache, found.bs_bytes, found.threads))
}

pub(crate) fn pictures(data: &ExperimentData, _: &Rows) -> Vec<Picture> {
    let seats = AffinityCells::of(data);
    let rate = |work: &Workload, cell: &ExperimentCell| {
        let affinity = cell.workload.options.affinity;
        let Interval { value, low, high } = seats.rate(work, affinity, Affinity::All)?.interval;
        let [value, low, high] = [value, low, high].map(|share| share * 100.0);
        // The reference is 100% by definition, so it has no error.
        Some(if affinity == Affinity::All { Interval::exact(100.0) } else { Interval { value, low, high } })
    };
    let charged = |_: &Workload, cell: &ExperimentCell| Some(Interval::of_means(&cell.finding.run_charged_us));
    let soaker = |_: &Workload, cell: &ExperimentCell| cell.finding.soaker_us.map(Interval::exact);
    let pictures = [
        bars(&seats, "Rate by where requests are submitted", "% of the rate on all", &rate),
        bars(&seats, "Processor time a request, charged", "µs", &charged),
        bars(&seats, "Processor time a request, by the soaker", "µs", &soaker),
    ];
    pictures.into_iter().flatten().collect()
}

/// Bars by affinity, one colour per kind of work.
fn bars(
    seats: &AffinityCells,
    title: &str,
    unit: &str,
    value: &dyn Fn(&Workload, &ExperimentCell) -> Option<Interval>,
) -> Option<Picture> {
    let line = |work: &Workload| {
        let point = |seat: &Affinity| Some(Point::named(seat.word(), value(work, seats.on(work, *seat)?)?));
        let points: Vec<Point> = Affinity::ALL.iter().filter_map(point).collect();
        (!points.is_empty())
            .then(|| Line { name: reads(work.rw.pattern(), work.cache, work.bs.0, work.threads), points })
    };
    let lines: Vec<Line> = seats.work().iter().filter_map(line).collect();
    let x = Axis::even("Processors that submit");
    let y = Axis::even(unit);
    (!lines.is_empty()).then(|| Picture { title: title.to_string(), kind: PictureKind::Bars, x, y, lines })
}
