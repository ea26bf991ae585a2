//! Compares an application with its capture that is asked again on the same disk: rates, depth and latencies.

use halfpower_lab::{Figure, judge};
use serde_json::Value;

use crate::program::skip;
use crate::subjects::Site;

/// How far a figure may be off.
const TOLERANCE: f64 = 0.05;
/// Seconds of a capture. A limit lets through what it lets in steps of 100 ms: of a few seconds, slices see too few of them.
const WATCHED: u32 = 16;
/// How long fio runs: the time before the watch, the watch, and a little.
const RUNS: u32 = WATCHED + 4;
/// Requests a second that the disk gives, reading and writing.
const LIMIT: u64 = 400;
/// One thread that reads at random, and one that commits each write over what lies there; both think.
const FIRST: &str = "--directory=DIR --size=8m --direct=1 --rw=randread --bs=4k --ioengine=psync --thinktime=500";
const SECOND: &str =
    "--directory=DIR --size=8m --overwrite=1 --rw=write --bs=4k --ioengine=psync --fdatasync=1 --thinktime=2000";
/// What is compared: a kind of operation, and a figure of it.
const COMPARED: [(&str, &str); 6] = [
    ("read", "rate"),
    ("read", "depth"),
    ("read", "p50"),
    ("fdatasync", "rate"),
    ("fdatasync", "depth"),
    ("fdatasync", "p50"),
];

/// The quotient of a figure, after divided by before; NaN if it is not told.
fn quotient(said: &Value, kind: &str, figure: &str) -> f64 {
    let rows = said["rows"].as_array().cloned().unwrap_or_default();
    let row = rows.into_iter().find(|row| row["kind"] == kind).unwrap_or_default();
    row[figure]["ratio"]["value"].as_f64().unwrap_or(f64::NAN)
}

#[test]
#[ignore = "lab: an application is compared with its capture, asked again"]
fn a_capture_asked_again_on_the_same_disk_gives_the_same() {
    let site = Site::mounted().and_then(|site| site.limited([None, Some(LIMIT), None, Some(LIMIT)]));
    let site = match site {
        Ok(site) => site,
        Err(why) => return skip(&format!("no limited disk for fio here (root is needed): {why}")),
    };
    let words = format!("{FIRST} --name=b --thread --time_based --runtime={RUNS} --allow_file_create=1 {SECOND}");
    let name = |(kind, figure): (&str, &str)| format!("replay: {figure} of {kind} over that of the capture");
    let figures = COMPARED.map(|compared| Figure::near(name(compared), 1.0, "", TOLERANCE)).into_iter().collect();
    judge("watch", figures, || {
        let fio = site.fio(&words, RUNS);
        let capture = site.capture(fio.id(), WATCHED);
        fio.result();
        let said = site.asked_again(&capture);
        println!("{}", said["text"]);
        Some(COMPARED.iter().map(|(kind, figure)| quotient(&said, kind, figure)).collect())
    });
}
