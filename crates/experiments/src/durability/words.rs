//! Says what `durability` asks, what it found and what the papers saw.

use halfpower_spec::{cache_word, format};

use super::answer::{DurabilityAnswer, DurableAtOnce, DurableWrites, FlushTime, SharedFlush, WithoutWriteCache};
use crate::words::{sentences, share, size, times};

pub(crate) const QUESTION: &str =
    "What does it cost to have writes on the medium before they are done, and how many can share that cost?";
pub(crate) const PAPERS: &str = "Both studies switched the disk's write cache (WCE): with it, buffered sequential writes about doubled in \
    1998, and unbuffered ones reached the disk's speed from 8 KB on, which without it took 128 KB for half of \
    it; in 2000 an Atlas without it stayed at 10 MB/s of 22, since each write waited for the platter. Today \
    the cache stays on and a program asks for durability where it needs it, by O_DSYNC or fdatasync, which \
    flush that cache: the wait is the same, and so is the cure, to let many writes share one.";

/// Ratio of a flush's largest to smallest median above which both are reported.
const WIDE: f64 = 1.5;

pub(crate) fn answer(found: &DurabilityAnswer) -> String {
    let clauses = [
        one_at_a_time(&found.one_at_a_time),
        found.at_once.as_ref().map(at_once),
        sharing(&found.sharing, found.flush.as_ref()),
        without_write_cache(&found.without_write_cache),
    ];
    sentences(clauses, "No durable write could be set beside a plain one.")
}

fn one_at_a_time(found: &[DurableWrites]) -> Option<String> {
    let clause = |one: &DurableWrites| {
        let (word, slower) = (cache_word(one.plain_cache), &one.times_slower);
        let [rate, plain] = [one.iops, one.plain_iops].map(format::iops);
        match slower {
            _ if slower.is_more() || !slower.is_known() && slower.interval.value > 1.0 => {
                format!("{word}, {} slower than plain ones ({rate} against {plain})", times(slower))
            }
            _ if slower.is_alike() => format!("{word}, as fast as plain ones ({rate})"),
            _ => format!("{word}, no slower that these runs could tell ({rate} against {plain})"),
        }
    };
    let clauses: Vec<String> = found.iter().map(clause).collect();
    let size = size(found.first()?.bs_bytes);
    Some(format!("writes of {size} that are durable one by one are, {}", clauses.join("; ")))
}

fn at_once(found: &DurableAtOnce) -> String {
    let (depth, gain) = (found.iodepth, &found.times);
    match gain.is_more() || !gain.is_known() {
        true => format!("{depth} at once are {} as fast", times(gain)),
        false => format!("{depth} at once bring nothing that these runs show"),
    }
}

fn sharing(found: &[SharedFlush], flush: Option<&FlushTime>) -> Option<String> {
    let clause = |one: &SharedFlush| {
        let (word, writes, share) = (cache_word(one.cache), one.writes, share(&one.of_plain));
        match (one.is_half, one.of_plain.is_known()) {
            (true, _) => format!("{word} ones get at least half of the plain rate from {writes} a flush on: {share}"),
            (false, true) => {
                format!("{word} ones do not surely get half of the plain rate even with {writes} a flush: {share}")
            }
            (false, false) => format!("{word} ones get {share} of the plain rate with {writes} a flush"),
        }
    };
    let clauses: Vec<String> = found.iter().map(clause).collect();
    let flush = flush.map_or(String::new(), flush_time);
    (!clauses.is_empty()).then(|| format!("with fdatasync, {}{flush}", clauses.join("; ")))
}

fn flush_time(found: &FlushTime) -> String {
    let FlushTime { ns_p50, ns_p99, ns_p50_least, ns_p50_most } = *found;
    let [median, late, least, most] = [ns_p50, ns_p99, ns_p50_least, ns_p50_most].map(format::time_ns);
    let range = match ns_p50_most > WIDE * ns_p50_least {
        true => format!(" ({least} to {most} in the runs)"),
        false => String::new(),
    };
    format!("; a flush of a single write takes {median} in the median{range}, one in a hundred {late} or more")
}

fn without_write_cache(found: &[WithoutWriteCache]) -> Option<String> {
    let clause = |one: &WithoutWriteCache| {
        let kept = match &one.of_cached {
            ratio if ratio.is_less() || !ratio.is_known() => share(ratio),
            _ => "as much, as far as these runs tell".to_string(),
        };
        format!("{} writes of {} get {kept}", cache_word(one.cache), size(one.bs_bytes))
    };
    let clauses: Vec<String> = found.iter().map(clause).collect();
    (!clauses.is_empty()).then(|| format!("without the device's write cache, {}", clauses.join(", ")))
}
