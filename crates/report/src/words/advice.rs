//! Writes the advice as one sentence with the numbers behind it.

use halfpower_analyse::Advice;
use halfpower_spec::{cache_word, format};

use super::settings::size_and_depth;

/// Writes advice such as `For random reads: direct I/O, 1 MiB blocks, 4 deep: 2,913 MB/s, 95% of the best (...), for
/// 0.015 ms ...`.
pub(crate) fn sentence(advice: &Advice) -> String {
    let set = &advice.settings;
    let threads = if set.threads > 1 { format!(", {} threads", set.threads) } else { String::new() };
    format!(
        "For {} {}s: {} I/O, {} blocks, {} deep{threads}: {}, {}{}{}.",
        advice.pattern,
        advice.rw,
        cache_word(set.cache),
        format::size(set.bs.0 as f64),
        set.iodepth,
        format::mbps(advice.mbps),
        share(advice),
        advice
            .cpu_ms_per_mb
            .map_or(String::new(), |ms| format!(", for {} ms of processor a megabyte", format::two_digits(ms))),
        advice.latency_ns_p99.map_or(String::new(), |ns| format!(", p99 {}", format::time_ns(ns as f64))),
    )
}

fn share(advice: &Advice) -> String {
    if advice.is_best {
        return "the best measured".to_string();
    }
    let best = &advice.best;
    let elsewhere = match best.cell.cache {
        cache if cache == advice.settings.cache => String::new(),
        cache => format!("{}, ", cache_word(cache)),
    };
    let share = if advice.mbps > best.mbps {
        "within chance of the best".to_string()
    } else {
        format!("{} of the best", format::percent(advice.share_of_peak))
    };
    format!("{share} ({} at {elsewhere}{})", format::mbps(best.mbps), size_and_depth(&best.cell))
}
