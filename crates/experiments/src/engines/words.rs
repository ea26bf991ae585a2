//! Says what `engines` asks, what it found and what the papers saw; draws rates, latencies and both bounds of the cost,
//! by engine.

use halfpower_analyse::{Bound, Interval};
use halfpower_spec::Issuing;
use halfpower_spec::format;

use super::analysis::{BestEngines, BusyEngines, EngineRow, EngineSpeed, EnginesAnswer, PollingCost, Rows, Work, work};
use super::issuing::{IssuingChange, IssuingPart};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::words::{NOT_DECIDED, decided, size, times};

pub(crate) const QUESTION: &str =
    "Which way of issuing requests is fastest, and which costs the processor least, at equal work?";
pub(crate) const PAPERS: &str = "sqlio2, the tool of the 2000 study, was made for several \"personalities\", each a different way of doing \
    disk IO; the study itself kept to one. It did see what polling costs: with PIO, where the processor \
    itself moves each word, a disk read 64 KiB requests at 4.3 MB/s for 50% of two processors, with DMA and \
    an interrupt at the end at 19 MB/s for 3%: 85 times the time a byte. The bytes are the device's work \
    in both of today's ways; what polls today is the queue (io_uring_sqpoll) or the completion \
    (io_uring_iopoll), for the sake of latency.";

pub(crate) fn answer(found: &EnginesAnswer) -> Told {
    Told::of(short(found), details(found), "No engine moved any bytes.")
}

/// The fastest engines with their rate, and the cheapest.
fn short(found: &EnginesAnswer) -> Option<ShortAnswer> {
    if let Some(only) = &found.only {
        let figure = format!("{}, {}", only.engine, decided(mbps(only), format::mbps));
        return Some(ShortAnswer::new(figure, "No other engine could be measured."));
    }
    let Some(busy) = &found.busy else {
        let soonest_time = found.soonest.as_ref()?;
        let figure = if soonest_time.is_decided { names(soonest_time) } else { NOT_DECIDED.to_string() };
        return Some(ShortAnswer::new(figure, soonest(soonest_time)));
    };
    let BusyEngines { iodepth, bs_bytes, speed, fastest, slowest_iops, cheapest, .. } = busy;
    let [rate, slowest] = [fastest.best.iops, *slowest_iops].map(format::iops);
    let known = decided(iops(&fastest.best), format::iops);
    let figure = match speed {
        EngineSpeed::Alike => format!("all alike, {known}"),
        EngineSpeed::Unclear => format!("{NOT_DECIDED}, {slowest} to {rate}"),
        EngineSpeed::SomeFaster => format!("{}, {known}", names(fastest)),
    };
    let work = format!("{iodepth} × {}", size(*bs_bytes));
    let cost = if cheapest.is_all && cheapest.is_decided {
        format!("all cost alike: {}", least_cost(busy))
    } else {
        costs_least(busy, ": ")
    };
    Some(ShortAnswer::new(figure, format!("At {work}, {cost}.")))
}

/// Which engines cost least, and how much.
fn costs_least(found: &BusyEngines, before: &str) -> String {
    let cost = least_cost(found);
    let cheapest = &found.cheapest;
    match cheapest.is_decided {
        true => format!("{} least{before}{cost}", verb(cheapest, "cost")),
        false => format!("no engine surely costs least ({}: {cost})", cheapest.best.engine),
    }
}

/// What the cheapest engine costs, by the bound that every engine has.
fn least_cost(found: &BusyEngines) -> String {
    let best = &found.cheapest.best;
    let us = match found.cost_by {
        Bound::Soaker => bounds(best),
        Bound::Charged => format::time_us(best.charged_us),
    };
    format!("{us} of a processor a request")
}

/// The rate of an engine with its interval.
fn mbps(row: &EngineRow) -> Interval {
    Interval { value: row.mbps, low: row.low, high: row.high }
}

/// The same in requests a second.
fn iops(row: &EngineRow) -> Interval {
    let a_second = |mbps: f64| if row.mbps > 0.0 { mbps * row.iops / row.mbps } else { 0.0 };
    Interval { value: row.iops, low: a_second(row.low), high: a_second(row.high) }
}

fn details(found: &EnginesAnswer) -> Vec<String> {
    let sentences = [
        found.busy.as_ref().map(busy),
        polling(&found.polling),
        found.soonest.as_ref().map(soonest),
        issuing(&found.issuing),
        buffered(&found.buffered),
    ];
    let sentences: Vec<String> = sentences.into_iter().flatten().collect();
    match &found.only {
        Some(only) => {
            vec![format!("Only {} could be measured: {}.", only.engine, decided(mbps(only), format::mbps))]
        }
        None => sentences,
    }
}

fn busy(found: &BusyEngines) -> String {
    let BusyEngines { iodepth, bs_bytes, fastest, .. } = found;
    let what = format!("{iodepth} requests of {} at a time", size(*bs_bytes));
    let [rate, slowest] = [fastest.best.iops, found.slowest_iops].map(format::iops);
    let known = decided(iops(&fastest.best), format::iops);
    let speed = match found.speed {
        EngineSpeed::Alike => format!("With {what} all engines are equally fast ({known})"),
        EngineSpeed::Unclear => {
            format!("With {what} no engine is surely faster than another ({slowest} to {rate})")
        }
        EngineSpeed::SomeFaster => format!("With {what} {} {} fastest ({known})", names(fastest), be(fastest)),
    };
    format!("{speed}; {}.", costs_least(found, ", "))
}

fn polling(costs: &[PollingCost]) -> Option<String> {
    let reported = |cost: &PollingCost| format!("{} {} times", cost.engine, format::two_digits(cost.of_io_uring));
    let parts: Vec<String> = costs.iter().map(reported).collect();
    (!parts.is_empty()).then(|| format!("Polling costs, beside io_uring's interrupts: {}.", parts.join(", ")))
}

/// Describes the effect and cost of issuing, by kind of work.
fn issuing(changes: &[IssuingChange]) -> Option<String> {
    let reported = |change: &IssuingChange| {
        let bring = match change.change {
            IssuingPart::Batch(0 | 1) | IssuingPart::RestBeforePolling => "brings",
            _ => "bring",
        };
        let what = format!("{} {bring}", issuing_part(change.change));
        let brings = change.times.as_ref().map_or("an unknown rate".to_string(), times);
        format!("{what} {brings} at {} instead of {}", cost(change.with_us), cost(change.without_us))
    };
    let of_work = |changes: &[IssuingChange]| {
        let parts: Vec<String> = changes.iter().map(reported).collect();
        let IssuingChange { iodepth, bs_bytes, engine, .. } = changes[0];
        format!("With {iodepth} × {} through {engine} {}.", size(bs_bytes), parts.join("; "))
    };
    let works = changes.chunk_by(|one, other| (one.bs_bytes, one.iodepth) == (other.bs_bytes, other.iodepth));
    let sentences: Vec<String> = works.map(of_work).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// Names the changed part, such as `huge pages`.
pub fn issuing_part(part: IssuingPart) -> String {
    match part {
        IssuingPart::HugePages => "huge pages".to_string(),
        IssuingPart::OrdinaryPages => "ordinary pages".to_string(),
        IssuingPart::Batch(0) => "one call for all that can go out".to_string(),
        IssuingPart::Batch(1) => "a call for each request".to_string(),
        IssuingPart::Batch(batch) => format!("{batch} requests a call"),
        IssuingPart::Registration => "registered buffers".to_string(),
        IssuingPart::Passthrough => "NVMe commands past the block layer".to_string(),
        IssuingPart::RestBeforePolling => "a rest before polling".to_string(),
    }
}

fn soonest(found: &BestEngines) -> String {
    let time = found.best.latency_ns_p50.map_or("not known".to_string(), |ns| format::time_ns(ns as f64));
    match found.is_decided {
        true => format!("One at a time, {} soonest: {time} in the median.", verb(found, "answer")),
        false => {
            format!("One at a time, no engine surely answers soonest ({}: {time} in the median).", found.best.engine)
        }
    }
}

fn buffered(rows: &[EngineRow]) -> Option<String> {
    let reported = |row: &EngineRow| format!("{} {} at {}", row.engine, decided(mbps(row), format::mbps), bounds(row));
    let parts: Vec<String> = rows.iter().map(reported).collect();
    let size = size(rows.first()?.bs_bytes);
    Some(format!("In order through the page cache, {size} at a time: {}.", parts.join(", ")))
}

fn names(found: &BestEngines) -> String {
    let names: Vec<&str> = found.engines.iter().map(|engine| engine.word()).collect();
    match names.split_last() {
        _ if found.is_all => "all engines".to_string(),
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => found.best.engine.word().to_string(),
    }
}

fn verb(found: &BestEngines, verb: &str) -> String {
    let ending = if found.engines.len() > 1 { "" } else { "s" };
    format!("{} {verb}{ending}", names(found))
}

fn be(found: &BestEngines) -> &'static str {
    if found.engines.len() > 1 { "are" } else { "is" }
}

fn bounds(row: &EngineRow) -> String {
    cost((row.charged_us, row.soaker_us))
}

/// A cost range such as `1.2 µs to 3.4 µs`; only the charge if the soaker lost no more.
fn cost((charged_us, soaker_us): (f64, Option<f64>)) -> String {
    match soaker_us {
        Some(soaker_us) if soaker_us > charged_us => {
            format!("{} to {}", format::time_us(charged_us), format::time_us(soaker_us))
        }
        _ => format::time_us(charged_us),
    }
}

/// An engine and what it changes in issuing, such as `io_uring, huge pages`.
fn way(row: &EngineRow) -> String {
    let usual = Issuing::default();
    let huge = row.iomem.filter(|iomem| *iomem != usual.iomem).map(|_| ", huge pages".to_string());
    let batch = row.iodepth_batch.filter(|batch| *batch != usual.iodepth_batch).map(|batch| match batch {
        0 => ", all a call".to_string(),
        some => format!(", {some} a call"),
    });
    format!("{}{}{}", row.engine, huge.unwrap_or_default(), batch.unwrap_or_default())
}

/// Bars by engine, one colour per kind of work.
pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let groups: Vec<&[EngineRow]> = rows.engines.chunk_by(|one, other| work(one) == work(other)).collect();
    let name = |work: &Work| {
        let way = if work.is_buffered { "buffered and in order" } else { "direct" };
        format!("{way}, {} × {}", work.iodepth, format::size(work.bs_bytes as f64))
    };
    let bars = |title: &str, unit: &str, value: &dyn Fn(&EngineRow) -> Option<Interval>| Picture {
        title: title.to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Engine"),
        y: Axis::even(unit),
        lines: groups
            .iter()
            .map(|rows| Line {
                name: name(&work(&rows[0])),
                points: rows.iter().filter_map(|row| Some(Point::named(way(row), value(row)?))).collect(),
            })
            .collect(),
    };
    vec![
        bars("Requests a second", "IOPS", &|row| Some(iops(row))),
        bars("Median latency", "µs", &|row| row.latency_ns_p50.map(|ns| Interval::exact(ns as f64 / 1e3))),
        bars("Processor time a request, charged", "µs", &|row| Some(Interval::exact(row.charged_us))),
        bars("Processor time a request, by the soaker", "µs", &|row| row.soaker_us.map(Interval::exact)),
    ]
}
