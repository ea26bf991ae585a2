//! Compares how fast an application is while it is watched with how fast it is alone.
//!
//! One fio runs all the time, on a disk in memory, and is watched by turns: two runs of fio differ by more than a watch may
//! cost, and so does a disk that others use.

use std::fs;
use std::time::{Duration, Instant};

use halfpower_lab::{Figure, judge};

use crate::program::skip;
use crate::subjects::{Running, Site};

/// Pairs of a time in which fio is watched and one in which it is alone, in each observation.
const PAIRS: u32 = 8;
/// Length of each of both.
const TIME: Duration = Duration::from_millis(1500);
/// Until a watch has begun and knows what its tracing costs, or the one before is gone.
const SETTLED: Duration = Duration::from_millis(1000);
/// How long a watch goes on: for longer than it is looked at.
const WATCHED_S: u32 = 3;
/// Longer than all of that takes.
const FIO_S: u32 = 120;
/// What fio may lose, and what noise may seem to give.
const BOUND: std::ops::RangeInclusive<f64> = 0.99..=1.03;

/// Bytes a second that a process reads; `counter` is its line in `/proc/PID/io`.
fn rate(process: u32, counter: &str) -> f64 {
    let read = || -> u64 {
        let text = fs::read_to_string(format!("/proc/{process}/io")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(counter)?.strip_prefix(": "));
        line.expect("the kernel counts it").parse().unwrap()
    };
    let began = Instant::now();
    let before = read();
    std::thread::sleep(TIME);
    (read() - before) as f64 / began.elapsed().as_secs_f64()
}

/// The rate of fio in the middle of a watch, or alone.
fn one_time(site: &Site, fio: &Running, counter: &str, is_watched: bool) -> f64 {
    let watch = is_watched.then(|| site.watch(fio.id(), WATCHED_S));
    std::thread::sleep(SETTLED);
    let rate = rate(fio.id(), counter);
    if let Some(watch) = watch {
        watch.ended();
    }
    rate
}

#[test]
#[ignore = "lab: an application is measured with and without a watch"]
fn a_watch_costs_the_application_a_hundredth_at_most() {
    for (name, counter, words) in [
        ("direct reads, 1 deep", "read_bytes", "--filename=DISK --direct=1 --rw=randread --bs=4k --ioengine=psync"),
        (
            "direct reads, 16 deep",
            "read_bytes",
            "--filename=DISK --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=16",
        ),
        ("reads from the page cache", "rchar", "--filename=DISK --rw=randread --bs=4k --ioengine=psync"),
    ] {
        let site = match Site::in_memory() {
            Ok(site) => site,
            Err(why) => return skip(&format!("no disk of its own for fio here (root is needed): {why}")),
        };
        let figure = Figure::between(format!("watch: rate while watched over alone, {name}"), 1.0, "", BOUND);
        judge("watch", vec![figure], || {
            let fio = site.fio(words, FIO_S);
            std::thread::sleep(SETTLED);
            let pair = |number: u32| {
                // Each order as often as the other.
                let watched_first = number.is_multiple_of(2);
                let first = one_time(&site, &fio, counter, watched_first);
                let second = one_time(&site, &fio, counter, !watched_first);
                if watched_first { first / second } else { second / first }
            };
            let mut logarithms: Vec<f64> = (0..PAIRS).map(|number| pair(number).ln()).collect();
            // A neighbour's burst falls on one time of a pair: the middle half of the pairs counts.
            logarithms.sort_by(f64::total_cmp);
            let middle = &logarithms[PAIRS as usize / 4..PAIRS as usize * 3 / 4];
            Some(vec![(middle.iter().sum::<f64>() / middle.len() as f64).exp()])
        });
    }
}
