//! Compares what an application's requests cost while it is watched with what they cost alone.
//!
//! One fio runs all the time, on a disk in memory, and is watched by turns: two runs of fio differ by more than a watch may
//! cost. What is compared is processor time and not the rate, which neighbours change by a tenth from second to second: the
//! time that the kernel charged to fio and to its own threads that serve the disk, for each read. A request waits for its
//! device besides, so that an application slows down by less than what is found here.

use std::fs;
use std::time::Duration;

use halfpower_lab::{Figure, judge};

use crate::program::skip;
use crate::subjects::{Running, Site};

/// Pairs of a time in which fio is watched and one in which it is alone, in each observation.
const PAIRS: u32 = 6;
/// Length of each of both: a watch's slices and pauses.
const TIME: Duration = Duration::from_millis(3000);
/// Until a watch has begun and knows what its tracing costs, or the one before is gone.
const SETTLED: Duration = Duration::from_millis(1500);
/// How long a watch goes on: for longer than it is looked at.
const WATCHED_S: u32 = 5;
/// Longer than all of that takes.
const FIO_S: u32 = 120;
/// What fio may lose, and what noise may seem to give.
const BOUND: std::ops::RangeInclusive<f64> = 0.97..=1.01;

/// Reads of 4 KiB of a process until now; `counter` is their line in `/proc/PID/io`.
fn reads(process: u32, counter: &str) -> f64 {
    let text = fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(counter)?.strip_prefix(": "));
    let bytes: f64 = line.expect("the kernel counts it").parse().unwrap();
    bytes / 4096.0
}

/// Nanoseconds on a processor until now of a process and of the kernel's threads that serve its disk.
fn processor_ns(process: u32) -> f64 {
    let of = |folder: &std::path::Path| -> Option<f64> {
        fs::read_to_string(folder.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
    };
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten().map(|thread| thread.path());
    let kernels = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).filter(|folder| {
        let name = fs::read_to_string(folder.join("comm")).unwrap_or_default();
        name.starts_with("kworker") || name.starts_with("ksoftirqd")
    });
    threads.chain(kernels).filter_map(|folder| of(&folder)).sum()
}

/// Processor time of a read of fio in the middle of a watch, or alone.
fn one_time(site: &Site, fio: &Running, counter: &str, is_watched: bool) -> f64 {
    let watch = is_watched.then(|| site.watch(fio.id(), WATCHED_S));
    std::thread::sleep(SETTLED);
    let before = (processor_ns(fio.id()), reads(fio.id(), counter));
    std::thread::sleep(TIME);
    let after = (processor_ns(fio.id()), reads(fio.id(), counter));
    if let Some(watch) = watch {
        watch.ended();
    }
    (after.0 - before.0) / (after.1 - before.1)
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
        let figure = Figure::between(
            format!("watch: processor time of a read while watched over alone, {name}"),
            1.0,
            "",
            BOUND,
        );
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
            // A neighbour's burst falls on one time of a pair, whichever: as many pairs are left out at either end.
            logarithms.sort_by(f64::total_cmp);
            let left_out = logarithms.len() / 4;
            let middle = &logarithms[left_out..logarithms.len() - left_out];
            Some(vec![(middle.iter().sum::<f64>() / middle.len() as f64).exp()])
        });
    }
}
