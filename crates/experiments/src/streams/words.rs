//! Says what `streams` asks, what it found and what the papers saw.

use halfpower_spec::{Cache, format};

use super::answer::{StreamAmongReaders, StreamsAnswer, StreamsTogether};
use crate::words::share;

pub(crate) const QUESTION: &str =
    "What do several sequential streams take from each other, and what do random readers take from one of them?";
pub(crate) const PAPERS: &str = "Neither study measured it: that of 1998 left streams that share a disk to further work. Both knew why it \
    matters: a disk with an arm loses milliseconds whenever it turns from one place to another. A drive \
    without an arm has nothing to lose there but what it, or the kernel, fetches ahead.";

pub(crate) fn answer(found: &StreamsAnswer) -> String {
    let together: Vec<String> = found.side_by_side.iter().map(side_by_side).collect();
    let together = (!together.is_empty()).then(|| together.join("; ") + ".");
    let sentences = [together, found.among_readers.as_ref().map(among_readers)];
    let sentences: Vec<String> = sentences.into_iter().flatten().collect();
    if sentences.is_empty() { "No stream was measured beside another.".into() } else { sentences.join(" ") }
}

fn side_by_side(found: &StreamsTogether) -> String {
    let figures = format!("{} against {}", format::mbps(found.mbps), format::mbps(found.one_mbps));
    let ratio = &found.of_one;
    let verdict = match ratio.is_more() || ratio.is_less() {
        true => format!("{} of one, {figures}", share(ratio)),
        false if ratio.is_known() => format!("no more or less than one, as far as can be told ({figures})"),
        false => format!("{figures} of one, by one run each"),
    };
    format!("{} {} streams together give {verdict}", found.streams, cache_name(found.cache))
}

fn among_readers(found: &StreamAmongReaders) -> String {
    let StreamAmongReaders { random_readers, iodepth, of_alone: ratio, readers_iops } = found;
    let kept = match ratio.is_more() || ratio.is_less() || !ratio.is_known() {
        true => format!("keeps {}", share(ratio)),
        false => "loses nothing that could be told from chance".to_string(),
    };
    let gain =
        readers_iops.map_or(String::new(), |iops| format!(", while they get {} reads a second", format::number(iops)));
    format!("Among {random_readers} random readers a stream {iodepth} deep {kept}{gain}.")
}

/// The name of a cache setting.
pub(super) fn cache_name(cache: Cache) -> &'static str {
    if cache.direct() { "direct" } else { "buffered" }
}
