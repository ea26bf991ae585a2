//! Says what `buffered` asks, what it found and what the papers saw; draws rates and costs by block size, the terms of
//! the cost, small writes, and a run over time.

use halfpower_analyse::{Bound, CellFinding, ExperimentCell, Interval};
use halfpower_spec::format;
use halfpower_spec::{Direction, Fadvise, PageCache, Pass};

use super::analysis::{
    AgainstDirect, BelowAPage, BufferedAnswer, RatioAtSize, Rows, SHOWN_BYTES, SmallWrite, Walk, WithoutReadAhead,
    WritePhases, call_ns,
};
use super::cost::{BufferedCostRow, Cheaper, UNIT_BYTES};
use super::dropped::{DroppedPages, kept_share};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::words::{decided, each_sentence, sentence, share, size, times};

pub(crate) const QUESTION: &str =
    "What does the page cache give to requests of each size, and what does it cost the processor?";
pub(crate) const PAPERS: &str = "In 1998 and 2000 buffered requests ran at the disk's speed from 4 KB on, since the cache read ahead and \
    wrote behind 64 KB at a time; smaller writes first read their page, which more than doubled the load. In \
    2000 a buffered request cost 12 µs for the call, about 6 µs a KB for the copy and 45 µs for each 64 KB \
    written behind, so that unbuffered ones were cheaper from 8 KB on. The three phases of a write (memory's \
    speed, the disk's, the flush) and the page that is read first are the same today. What is not: a cache of \
    gigabytes takes all of a short run at memory's speed, so that the flush is the second half of the story, \
    and on a fast device large direct requests outrun the copy.";

pub(crate) fn answer(found: &BufferedAnswer) -> Told {
    Told::of(short(found), details(found), "No request through the page cache could be measured.")
}

/// How fast small buffered requests are beside direct ones, and from which size on direct ones cost less.
fn short(found: &BufferedAnswer) -> Option<ShortAnswer> {
    if let Some(one) = found.against_direct.first() {
        let cheaper = found.cost.as_ref().and_then(|row| cheaper(row, &format!("direct {}s", row.rw)));
        let cheaper = cheaper.map_or(String::new(), |text| format!("; for the processor, {text}"));
        let what = format!(
            "buffered {}s of {}, one at a time, are so beside direct ones",
            one.rw,
            size(one.smallest.bs_bytes)
        );
        let figure = format!("{} as fast", times(&one.smallest.times));
        return Some(ShortAnswer::new(figure, sentence(&(what + &cheaper))));
    }
    if let Some(phases) = &found.phases {
        let what = format!("The page cache takes writes of {} at that rate", size(phases.bs_bytes));
        let flush = format::percent(phases.flush_share);
        let text = format!("{what}; until they are durable, {flush} of the time is the closing flush.");
        return Some(ShortAnswer::new(format::mbps(phases.memory_mbps), text));
    }
    let row = found.cost.as_ref()?;
    let text = format!("A buffered {} costs the processor that, and {} a byte.", row.rw, copy(row));
    Some(ShortAnswer::new(format!("{} a call", known(row.call_us, format::time_us)), text))
}

fn details(found: &BufferedAnswer) -> Vec<String> {
    let clauses = [
        against_direct(&found.against_direct),
        found.cost.as_ref().map(cost),
        found.small_write.as_ref().map(small_write).or_else(|| found.below_a_page.as_ref().map(below_a_page)),
        found.phases.as_ref().map(phases).or_else(|| found.without_read_ahead.as_ref().map(without_read_ahead)),
        dropped_pages(&found.dropped_pages),
    ];
    each_sentence(clauses)
}

fn against_direct(found: &[AgainstDirect]) -> Option<String> {
    let at = |one: &RatioAtSize| {
        let times = if one.times.is_alike() { String::new() } else { format!("{} ", times(&one.times)) };
        format!("{times}as fast at {}", size(one.bs_bytes))
    };
    let direction = |one: &AgainstDirect| {
        let rest = one.largest.map_or(String::new(), |largest| format!(" and {}", at(&largest)));
        format!("{}s are {}{rest}", one.rw, at(&one.smallest))
    };
    let both: Vec<String> = found.iter().map(direction).collect();
    (!both.is_empty()).then(|| format!("buffered against direct, one request at a time, {}", both.join(", ")))
}

fn small_write(found: &SmallWrite) -> String {
    let ratio = &found.times;
    let judged = match ratio {
        _ if ratio.is_more() => ", since the page is read first",
        _ if ratio.is_less() || !ratio.is_known() => "",
        _ => ", so that these runs cannot tell them apart",
    };
    let [absent, present] = [found.absent_ns, found.present_ns].map(format::time_ns);
    format!(
        "a write of {} into a page that is not in memory takes {absent}, and {present} into one that is: {}{judged}",
        size(found.bs_bytes),
        times(ratio)
    )
}

fn below_a_page(found: &BelowAPage) -> String {
    let why = if found.of_whole.is_less() { ", since each page is read before it is changed" } else { "" };
    let [small, whole] = [found.bs_bytes, found.page_bytes].map(size);
    format!("writes of {small} get {} of what writes of {whole} get{why}", share(&found.of_whole))
}

fn without_read_ahead(found: &WithoutReadAhead) -> String {
    let size = size(found.bs_bytes);
    let share = share(&found.of_usual);
    match found.of_usual.is_less() {
        true => format!("without read-ahead, reads of {size} keep {share}"),
        false => format!("read-ahead brings reads of {size} nothing that these runs show: {share} without"),
    }
}

/// Requests whose pages are dropped after use, at the largest size of each direction.
fn dropped_pages(found: &[DroppedPages]) -> Option<String> {
    let clause = |one: &DroppedPages| {
        let direct = one.of_direct.as_ref().map(|ratio| format!(" and {} of direct ones'", share(ratio)));
        let [cost, usual] = [one.ns_per_byte, one.buffered_ns_per_byte].map(format::two_digits);
        let by = if one.cost_by == Bound::Charged { " by the charge alone" } else { "" };
        let kept = match (one.kept_share, one.buffered_kept_share) {
            (Some(kept), Some(usual)) => {
                let [kept, usual] = [kept, usual].map(format::percent);
                format!("; {kept} of their bytes stay in the page cache, and {usual} of the others'")
            }
            _ => String::new(),
        };
        format!(
            "{}s of {} get {} of the usual rate{}, and cost {cost} ns a byte against {usual}{by}{kept}",
            one.rw,
            size(one.bs_bytes),
            share(&one.of_buffered),
            direct.unwrap_or_default()
        )
    };
    let largest = |rw: &Direction| found.iter().filter(|one| one.rw == *rw).max_by_key(|one| one.bs_bytes);
    let clauses: Vec<String> = Direction::ALL.iter().filter_map(largest).map(clause).collect();
    (!clauses.is_empty()).then(|| format!("with pages dropped after use (--uncached), {}", clauses.join("; ")))
}

fn phases(found: &WritePhases) -> String {
    let taken = match (found.burst_mbps, found.sustained_mbps) {
        (Some(burst), Some(sustained)) => {
            format!("{} at first and {} later", format::mbps(burst), format::mbps(sustained))
        }
        _ => format::mbps(found.memory_mbps),
    };
    format!(
        "the cache takes writes of {} at {taken}; until they are durable, {} of the time is the closing flush",
        size(found.bs_bytes),
        format::percent(found.flush_share)
    )
}

/// Describes the three cost terms.
fn cost(row: &BufferedCostRow) -> String {
    let unit = format::size(UNIT_BYTES);
    let doing = if row.rw == Direction::Write { "written behind" } else { "read ahead" };
    let behind = match row.behind_us_per_64kib {
        Some(us) if us.low > 0.0 => format!(" and {} for each {unit} {doing}", known(us, format::time_us)),
        Some(_) => format!(" and nothing that the soaker is sure of for each {unit} {doing}"),
        None => String::new(),
    };
    let cheaper = cheaper(row, "direct ones").map_or(String::new(), |text| format!(", so that {text}"));
    let call = known(row.call_us, format::time_us);
    format!("a buffered {} costs {call} a call, {} a byte{behind}{cheaper}", row.rw, copy(row))
}

/// The time that a byte is copied in.
fn copy(row: &BufferedCostRow) -> String {
    known(row.copy_ns_per_byte, |ns| format!("{} ns", format::two_digits(ns)))
}

/// Which requests cost less of a processor, with `direct` as the name of direct ones; `None` if it is not known.
fn cheaper(row: &BufferedCostRow, direct: &str) -> Option<String> {
    let by = if row.cheaper_by == Some(Bound::Charged) { " by the charge alone" } else { "" };
    match (row.cheaper, row.break_even_bytes) {
        (Cheaper::DirectFromASize, Some(bytes)) => {
            Some(format!("{direct} cost less from {} on{by}", format::size(bytes)))
        }
        (Cheaper::Direct, _) => Some(format!("{direct} cost less at any size{by}")),
        (Cheaper::Buffered, _) => Some(format!("{direct} cost more at any size{by}")),
        _ => None,
    }
}

/// The value in words, or its upper end if it may be zero.
fn known(interval: Interval, words: impl Fn(f64) -> String) -> String {
    if interval.low > 0.0 { decided(interval, words) } else { format!("at most {}", words(interval.high)) }
}

/// Points of a run over time: few enough to read.
const MOMENTS: usize = 12;

pub(crate) fn pictures(data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let walk = &Walk::of(data);
    let mbps = |finding: &CellFinding| Some(finding.mbps);
    let charged = |finding: &CellFinding| Some(Interval::of_means(&finding.run_charged_us));
    let soaker = |finding: &CellFinding| finding.soaker_us.map(Interval::exact);
    let pictures = [
        by_size(walk, "Throughput by block size, one request at a time", Axis::log("MB/s"), &mbps),
        by_size(walk, "Processor time a request, charged", Axis::log("µs"), &charged),
        by_size(walk, "Processor time a request, by the soaker", Axis::log("µs"), &soaker),
        parts(&rows.buffered_cost),
        small_writes(walk),
        advice(walk),
        over_time(walk),
        kept(walk),
    ];
    pictures.into_iter().flatten().collect()
}

fn by_size(walk: &Walk, title: &str, y: Axis, value: &dyn Fn(&CellFinding) -> Option<Interval>) -> Option<Picture> {
    let line = |name: String, cells: &[&ExperimentCell]| {
        let point = |cell: &&ExperimentCell| {
            let bytes = cell.workload.bs.0 as f64;
            Some(Point::at(bytes, format::size(bytes), value(&cell.finding)?))
        };
        let points: Vec<Point> = cells.iter().filter_map(point).collect();
        (!points.is_empty()).then_some(Line { name, points })
    };
    let buffered = |rw: &Direction| line(format!("buffered {rw}"), &walk.along(*rw, false));
    let direct = |rw: &Direction| line(format!("direct {rw}"), &walk.along(*rw, true));
    let dropped = |rw: &Direction| line(format!("buffered {rw}, pages dropped"), &walk.dropped(*rw));
    let both = || Direction::ALL.iter();
    let lines: Vec<Line> =
        both().filter_map(buffered).chain(both().filter_map(direct)).chain(both().filter_map(dropped)).collect();
    let x = Axis::log("Block size");
    (!lines.is_empty()).then(|| Picture { title: title.to_string(), kind: PictureKind::Lines, x, y, lines })
}

/// What stays in the page cache, where pages are dropped after use and where they are not; `None` if none are dropped.
fn kept(walk: &Walk) -> Option<Picture> {
    let bar = |name: String, cells: &[&ExperimentCell]| {
        let cell = cells.iter().find(|cell| cell.workload.bs.0 == SHOWN_BYTES)?;
        Some(Point::named(name, Interval::exact(kept_share(cell)? * 100.0)))
    };
    let dropped = |rw: &Direction| bar(format!("{rw}, pages dropped"), &walk.dropped(*rw));
    let usual = |rw: &Direction| bar(format!("{rw}, as usual"), &walk.along(*rw, false));
    let dropped: Vec<Point> = Direction::ALL.iter().filter_map(dropped).collect();
    if dropped.is_empty() {
        return None;
    }
    let points = Direction::ALL.iter().filter_map(usual).chain(dropped).collect();
    Some(Picture {
        title: "What stays in the page cache of buffered requests of 64 KiB".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Requests"),
        y: Axis::even("Share of the bytes moved, %"),
        lines: vec![Line { name: "held after the run".to_string(), points }],
    })
}

/// The terms of the cost, stacked.
fn parts(terms: &[BufferedCostRow]) -> Option<Picture> {
    let line = |name: &str, value: &dyn Fn(&BufferedCostRow) -> Option<f64>| {
        let point = |row: &BufferedCostRow| Some(Point::named(row.rw.word(), Interval::exact(value(row)?.max(0.0))));
        Line { name: name.to_string(), points: terms.iter().filter_map(point).collect() }
    };
    let lines = [
        line("the call", &|row| Some(row.call_us.value)),
        line("the copy", &|row| Some(row.copy_ns_per_byte.value * SHOWN_BYTES as f64 / 1e3)),
        // Without a soaker pass this term is unknown, not zero.
        line("reading ahead, writing behind", &|row| Some(row.behind_us_per_64kib?.value)),
    ];
    let lines = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    (!terms.is_empty()).then(|| Picture {
        title: "Processor time of a buffered request of 64 KiB".to_string(),
        kind: PictureKind::Stack,
        x: Axis::even("Direction"),
        y: Axis::even("µs"),
        lines,
    })
}

fn small_writes(walk: &Walk) -> Option<Picture> {
    let named = |state: PageCache, label: &str| Some(Point::named(label, mean_us(walk.small(state)?)));
    let points: Vec<Point> = [named(PageCache::Empty, "not in memory"), named(PageCache::Warm, "in memory")]
        .into_iter()
        .flatten()
        .chain(whole_pages(walk))
        .collect();
    (points.len() > 1).then(|| Picture {
        title: "Small buffered writes anywhere".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Where the page is"),
        y: Axis::even("Mean time of a write, µs"),
        lines: vec![Line { name: "2 KiB, and a whole page".to_string(), points }],
    })
}

/// Mean time of a call, in microseconds.
fn mean_us(cell: &ExperimentCell) -> Interval {
    let Interval { value, low, high } = Interval::of_means(&call_ns(cell));
    Interval { value: value / 1e3, low: low / 1e3, high: high / 1e3 }
}

/// Random writes of whole pages, which read nothing first.
fn whole_pages(walk: &Walk) -> Option<Point> {
    let is_whole = |cell: &&&ExperimentCell| {
        let workload = cell.workload;
        workload.options.region.is_some() && workload.bs.0 >= super::cost::PAGE_BYTES
    };
    let cell = walk.cells.iter().find(is_whole)?;
    Some(Point::named("a whole page, not in memory", mean_us(cell)))
}

fn advice(walk: &Walk) -> Option<Picture> {
    let point = |advice: &Fadvise| Some(Point::named(advice.word(), walk.advised(*advice)?.finding.mbps));
    let points: Vec<Point> = Fadvise::ALL.iter().filter_map(point).collect();
    let size = format::size(walk.advised(Fadvise::Random)?.workload.bs.0 as f64);
    (points.len() > 1).then(|| Picture {
        title: format!("Buffered reads of {size} by what the kernel is told"),
        kind: PictureKind::Bars,
        x: Axis::even("posix_fadvise"),
        y: Axis::even("MB/s"),
        lines: vec![Line { name: "buffered read".to_string(), points }],
    })
}

/// Rate at which the page cache took writes in the first run, over time; zero during the closing flush.
fn over_time(walk: &Walk) -> Option<Picture> {
    let writes = walk.along(Direction::Write, false);
    let cell = writes.iter().find(|cell| cell.workload.bs.0 == SHOWN_BYTES)?;
    let record = cell.records.iter().find(|record| record.run.pass == Pass::Plain && record.flush_ns > 0)?;
    let step_ns = record.series.step_ns as f64;
    let window_ns = (record.elapsed_ns - record.flush_ns.min(record.elapsed_ns)) as f64;
    // Nothing arrives during the flush, so only the steps before it show the cache's rate.
    let taken = (window_ns / step_ns.max(1.0)) as usize;
    let taken = &record.series.bytes[..taken.min(record.series.bytes.len())];
    let together = taken.len().div_ceil(MOMENTS).max(1);
    let moment = |ns: f64, mbps: f64| Point::at(ns / 1e6, format::time_us(ns / 1e3), Interval::exact(mbps));
    let mean = |(at, steps): (usize, &[u64])| {
        let from = at as f64 * together as f64;
        let length = steps.len() as f64;
        let bytes: f64 = steps.iter().map(|bytes| *bytes as f64).sum();
        moment((from + length / 2.0) * step_ns, bytes * 1e3 / (length * step_ns))
    };
    let phase = taken.chunks(together).enumerate().map(mean).collect();
    let flush = vec![moment(window_ns, 0.0), moment(record.elapsed_ns as f64, 0.0)];
    let line = |name: &str, points| Line { name: name.to_string(), points };
    (!taken.is_empty()).then(|| Picture {
        title: "A buffered write of 64 KiB blocks over time".to_string(),
        kind: PictureKind::Lines,
        x: Axis::even("Time since the first request"),
        y: Axis::even("Taken from the application, MB/s"),
        lines: vec![line("the cache takes it", phase), line("the closing flush", flush)],
    })
}
