//! Compares what a capture of one disk is predicted to get on another with what it gets there.

use halfpower_lab::{Figure, judge};
use serde_json::Value;

use crate::program::skip;
use crate::subjects::Site;

/// How far a prediction may be off.
const TOLERANCE: f64 = 0.10;
/// Seconds of a capture. A limit lets through what it lets in steps of 100 ms: of a few seconds, slices see too few of them.
const WATCHED: u32 = 16;
/// How long fio runs: the time before the watch, the watch, and a little.
const RUNS: u32 = WATCHED + 4;
/// Requests a second of the disk where the application is captured, and of that where it is predicted.
const HERE: u64 = 400;
const THERE: u64 = 1000;
/// One thread that reads at random, and one that commits each write over what lies there; both think.
const FIRST: &str = "--directory=DIR --size=8m --direct=1 --rw=randread --bs=4k --ioengine=psync --thinktime=500";
const SECOND: &str =
    "--directory=DIR --size=8m --overwrite=1 --rw=write --bs=4k --ioengine=psync --fdatasync=1 --thinktime=2000";
/// What is studied of the other disk.
const STUDIED: &str = "--experiments random,commits --bs 4k,8k --iodepth 1..4 --size 32m --budget 90s";
/// The kinds of operation that are compared.
const KINDS: [&str; 2] = ["read", "fdatasync"];

/// Operations a second of a kind, as they are there; NaN if that is not told.
fn per_second(said: &Value, kind: &str) -> f64 {
    let rows = said["rows"].as_array().cloned().unwrap_or_default();
    let row = rows.into_iter().find(|row| row["kind"] == kind).unwrap_or_default();
    row["after"]["per_second"]["value"].as_f64().unwrap_or(f64::NAN)
}

#[test]
#[ignore = "lab: what a capture is predicted to get on another disk is compared with what it gets there"]
fn a_capture_gets_on_another_disk_what_is_predicted() {
    let both = |iops| [None, Some(iops), None, Some(iops)];
    let site = match Site::mounted().and_then(|site| site.limited(both(THERE))) {
        Ok(site) => site,
        Err(why) => return skip(&format!("no limited disk for fio here (root is needed): {why}")),
    };
    let study = site.studied(STUDIED);
    let words = format!("{FIRST} --name=b --thread --time_based --runtime={RUNS} --allow_file_create=1 {SECOND}");
    let name = |kind: &str| format!("predict: rate of {kind} over that on the other disk");
    let figures = KINDS.map(|kind| Figure::near(name(kind), 1.0, "", TOLERANCE)).into_iter().collect();
    judge("watch", figures, || {
        site.set_limits(both(HERE)).unwrap();
        let fio = site.fio(&words, RUNS);
        let capture = site.capture(fio.id(), WATCHED);
        fio.result();
        site.set_limits(both(THERE)).unwrap();
        let predicted = site.predicted(&capture, &study);
        println!("{}", predicted["text"]);
        let measured = site.asked_again(&capture);
        println!("{}", measured["text"]);
        Some(KINDS.iter().map(|kind| per_second(&predicted, kind) / per_second(&measured, kind)).collect())
    });
}
