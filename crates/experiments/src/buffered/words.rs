//! Says what `buffered` asks, what it found and what the papers saw.

use halfpower_analyse::{Bound, Interval};
use halfpower_spec::{Direction, format};

use super::answer::{
    AgainstDirect, BelowAPage, BufferedAnswer, RatioAtSize, SmallWrite, WithoutReadAhead, WritePhases,
};
use super::cost::{BufferedCostRow, Cheaper, UNIT_BYTES};
use crate::words::{sentences, share, size, times};

pub(crate) const QUESTION: &str =
    "What does the page cache give to requests of each size, and what does it cost the processor?";
pub(crate) const PAPERS: &str = "In 1998 and 2000 buffered requests ran at the disk's speed from 4 KB on, since the cache read ahead and \
    wrote behind 64 KB at a time; smaller writes first read their page, which more than doubled the load. In \
    2000 a buffered request cost 12 µs for the call, about 6 µs a KB for the copy and 45 µs for each 64 KB \
    written behind, so that unbuffered ones were cheaper from 8 KB on. The three phases of a write (memory's \
    speed, the disk's, the flush) and the page that is read first are the same today. What is not: a cache of \
    gigabytes takes all of a short run at memory's speed, so that the flush is the second half of the story, \
    and on a fast device large direct requests outrun the copy.";

pub(crate) fn answer(found: &BufferedAnswer) -> String {
    let clauses = [
        against_direct(&found.against_direct),
        found.cost.as_ref().map(cost),
        found.small_write.as_ref().map(small_write).or_else(|| found.below_a_page.as_ref().map(below_a_page)),
        found.phases.as_ref().map(phases).or_else(|| found.without_read_ahead.as_ref().map(without_read_ahead)),
    ];
    sentences(clauses, "No request through the page cache could be measured.")
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
    let (size, share) = (size(found.bs_bytes), share(&found.of_usual));
    match found.of_usual.is_less() {
        true => format!("without read-ahead, reads of {size} keep {share}"),
        false => format!("read-ahead brings reads of {size} nothing that these runs show: {share} without"),
    }
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
    let (unit, doing) =
        (format::size(UNIT_BYTES), if row.rw == Direction::Write { "written behind" } else { "read ahead" });
    let copy = |ns: f64| format!("{} ns", format::two_digits(ns));
    let behind = match row.behind_us_per_64kib {
        Some(us) if us.low > 0.0 => format!(" and {} for each {unit} {doing}", format::time_us(us.value)),
        Some(_) => format!(" and nothing that the soaker is sure of for each {unit} {doing}"),
        None => String::new(),
    };
    let by = if row.cheaper_by == Some(Bound::Charged) { " by the charge alone" } else { "" };
    let cheaper = match (row.cheaper, row.break_even_bytes) {
        (Cheaper::DirectFromASize, Some(bytes)) => {
            format!(", so that direct ones cost less from {} on{by}", format::size(bytes))
        }
        (Cheaper::Direct, _) => format!(", so that direct ones cost less at any size{by}"),
        (Cheaper::Buffered, _) => format!(", so that direct ones cost more at any size{by}"),
        _ => String::new(),
    };
    let (call, copy) = (known(row.call_us, format::time_us), known(row.copy_ns_per_byte, copy));
    format!("a buffered {} costs {call} a call, {copy} a byte{behind}{cheaper}", row.rw)
}

/// The value in words, or its upper end if it may be zero.
fn known(interval: Interval, words: impl Fn(f64) -> String) -> String {
    if interval.low > 0.0 { words(interval.value) } else { format!("at most {}", words(interval.high)) }
}
