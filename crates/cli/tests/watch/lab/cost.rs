//! Compares how fast an application is while it is watched with how fast it is alone, in pairs.

use halfpower_lab::{Figure, judge};
use serde_json::Value;

use crate::program::skip;
use crate::subjects::Site;

/// Pairs in each observation.
const PAIRS: u32 = 4;
/// How long fio runs; it is watched for nearly all of that.
const RUNS: u32 = 5;
const WATCHED: u32 = 3;
/// What it may lose, and what noise may seem to give.
const BOUND: std::ops::RangeInclusive<f64> = 0.99..=1.03;

/// Requests a second of fio, watched or not.
fn iops(site: &Site, words: &str, is_watched: bool) -> f64 {
    let fio = site.fio(words, RUNS);
    if is_watched {
        site.watched(fio.id(), WATCHED);
    }
    let result = fio.result();
    let rate = |way: &str| result.pointer(&format!("/jobs/0/{way}/iops")).and_then(Value::as_f64).unwrap_or(0.0);
    rate("read") + rate("write")
}

#[test]
#[ignore = "lab: an application is measured with and without a watch"]
fn a_watch_costs_the_application_a_hundredth_at_most() {
    for (name, words) in [
        ("direct reads, 1 deep", "--filename=DISK --direct=1 --rw=randread --bs=4k --ioengine=psync"),
        ("direct reads, 16 deep", "--filename=DISK --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=16"),
        ("reads from the page cache", "--filename=DISK --rw=randread --bs=4k --ioengine=psync"),
    ] {
        let site = match Site::bare() {
            Ok(site) => site,
            Err(why) => return skip(&format!("no disk of its own for fio here (root is needed): {why}")),
        };
        let figure = Figure::between(format!("watch: rate while watched over alone, {name}"), 1.0, "", BOUND);
        judge("watch", vec![figure], || {
            let pair = |number: u32| {
                // Each order as often as the other.
                let watched_first = number.is_multiple_of(2);
                let first = iops(&site, words, watched_first);
                let second = iops(&site, words, !watched_first);
                if watched_first { first / second } else { second / first }
            };
            let logarithms: f64 = (0..PAIRS).map(|number| pair(number).ln()).sum();
            Some(vec![(logarithms / f64::from(PAIRS)).exp()])
        });
    }
}
