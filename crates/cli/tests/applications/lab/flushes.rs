//! Compares what `study --for etcd` says of a flush with the histogram of an etcd that takes puts on the same disk.

use std::time::Duration;

use halfpower_lab::{Figure, judge};
use serde_json::Value;

use super::{LAB, TOLERANCE, disk, figure_on, number, there};
use crate::disks::Nature;
use crate::etcd::Etcd;

/// How long keys are put, before and after what is compared with them.
const PUTS: Duration = Duration::from_secs(4);
/// The flush of the log that etcd's project asks for: the 99th percentile is below this.
const NEEDS_US: f64 = 10_000.0;
/// The pause between two flushes by which the profile tells the 99th percentile: at most 500 a second. Near a limit each put more
/// counts, so etcd's flushes pause as long, where it can.
const PAUSE: Duration = Duration::from_millis(2);
/// The words of the profile for the log while the store commits, but for the pauses; one run tells the mean of a flush and its 99th
/// percentile. Its pauses are as long as etcd's between two flushes: behind a limit, who pauses waits less.
const RUN: &str = "run DIR --rw write --bs 2300 --iodepth 1 --cache buffered --fdatasync 1 --layout fallocated --size 64m \
                   --engine sync --beside randwrite,bs=64k,iodepth=1,cache=both,fdatasync=1,thinktime=50ms --runtime 8s";
const STUDY: &str = "--for etcd --size 64m --budget 60s";

/// The need of the profile that speaks of it.
const NEED: &str = "p99 of a flush of the log while the store commits";

/// Whether the need of the study is met; `None` if it does not say so.
fn is_met(need: &Value) -> Option<bool> {
    match need["verdict"].as_str() {
        Some("pass") => Some(true),
        Some("fail") => Some(false),
        _ => None,
    }
}

/// An observation of a sentence: 1 if it is right, 0 if it is wrong, NaN if it is not said.
fn right(is_right: Option<bool>) -> f64 {
    is_right.map_or(f64::NAN, |is_right| f64::from(u8::from(is_right)))
}

/// Compares until the evidence decides.
fn beside(nature: Nature) {
    let Some(disk) = disk(nature) else { return };
    let Some(etcd) = there(Etcd::start(&disk)) else { return };
    let figures = vec![
        Figure::near(figure_on(nature, "mean flush of 2,300 bytes over etcd's own"), 1.0, "", TOLERANCE),
        Figure::saying(figure_on(nature, "PASS or FAIL for etcd, as its own p99 says")),
        Figure::saying(figure_on(nature, "p99 of a flush in the class of etcd's own")),
    ];
    judge(LAB, figures, || {
        let before = etcd.put_for(PUTS, Duration::ZERO);
        let run = format!("{RUN} --thinktime {:.0}us", before.pause_us(PUTS));
        let sync = &disk.halfpower(&run)["sync"]["latency_ns"];
        let [mean_us, p99_us] = ["mean", "p99"].map(|key| number(&sync[key]) / 1e3);
        let at_its_pace = before.and(&etcd.put_for(PUTS, Duration::ZERO));
        let mean_of_etcd_us = at_its_pace.mean_us();
        let (low_us, high_us) = at_its_pace.p99_us();
        let pause = PAUSE.saturating_sub(Duration::from_secs_f64(at_its_pace.pause_us(PUTS * 2) / 1e6));
        let before = etcd.put_for(PUTS, pause);
        let study = disk.studied(STUDY, "etcd.halfpower");
        let flushes = before.and(&etcd.put_for(PUTS, pause));
        let needs = study["experiments"][0]["found"]["needs"].as_array().unwrap();
        let need = needs.iter().find(|need| need["what"] == NEED).unwrap();
        let studied_us = number(&need["measured"]["value"]) * 1e3;
        let on_a_line_us = flushes.p99_us_on_a_line();
        println!("mean {mean_us:.0} and {mean_of_etcd_us:.0} us, p99 {p99_us:.0} and {low_us:.0} to {high_us:.0} us");
        println!("at most 500 a second: p99 {studied_us:.0} and {on_a_line_us:.0} us, {}", need["verdict"]);
        let is_in_class = p99_us >= low_us * (1.0 - TOLERANCE) && p99_us <= high_us * (1.0 + TOLERANCE);
        Some(vec![
            mean_us / mean_of_etcd_us,
            right(is_met(need).map(|is_met| is_met == (on_a_line_us < NEEDS_US))),
            right(Some(is_in_class)),
        ])
    });
}

#[test]
#[ignore = "lab: puts keys into etcd and measures flushes beside it"]
fn flushes_behind_few_requests_are_those_of_etcd() {
    beside(Nature::FewRequests);
}

#[test]
#[ignore = "lab: puts keys into etcd and measures flushes beside it"]
fn flushes_behind_few_bytes_are_those_of_etcd() {
    beside(Nature::FewBytes);
}

#[test]
#[ignore = "lab: puts keys into etcd and measures flushes beside it"]
fn slow_flushes_are_those_of_etcd() {
    beside(Nature::SlowFlush);
}

#[test]
#[ignore = "lab: puts keys into etcd and measures flushes beside it"]
fn flushes_one_at_a_time_are_those_of_etcd() {
    beside(Nature::OneAtATime);
}

#[test]
#[ignore = "lab: puts keys into etcd and measures flushes beside it"]
fn flushes_of_the_real_disk_are_those_of_etcd() {
    beside(Nature::Real);
}
