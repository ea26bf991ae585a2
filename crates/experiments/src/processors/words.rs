//! Says what `processors` asks, what it found and what the papers saw.

use halfpower_spec::{Cache, Pattern, cache_word, format};

use super::answer::{AffinityComparison, ProcessorsAnswer};
use crate::words::{sentences, share, size};

pub(crate) const QUESTION: &str =
    "What do several processors bring, and does it matter on which one requests are submitted?";
pub(crate) const PAPERS: &str = "In 2000 two processors gave no more throughput than one, since the disks were the limit, at a little more \
    processor time for keeping them in step, and Windows let one adapter run a single deferred interrupt at a \
    time. Disks without arms can be faster than one processor, and queues of their own take each processor's \
    interrupts to where its requests came from; where a device has one queue, the processor that takes its \
    interrupts still does work for all.";

pub(crate) fn answer(found: &ProcessorsAnswer) -> String {
    let one: Vec<String> = found.one.iter().map(|one| compared(one, "all")).collect();
    let one = (!one.is_empty()).then(|| format!("held to one processor, {}", one.join("; ")));
    let interrupt = found.interrupt.as_ref().map(|one| compared(one, "another"));
    let interrupt =
        interrupt.map(|reported| format!("submitted on the processor that takes the interrupts, {reported}"));
    sentences([one, interrupt], "No work could be set on one processor and on all.")
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
