//! Compares latencies that a watch sees with those that fio counts itself.

use halfpower_lab::{Figure, judge};
use halfpower_record::{Latency, OperationKind, Watched};

use super::WATCHED;
use crate::program::skip;
use crate::subjects::{DISK, Site};

/// Largest relative error of a mean.
const TOLERANCE: f64 = 0.05;
/// What a request of the disk takes, and a flush. fio counts over another time than the watch, so the disk is an even one.
const REQUEST_US: u32 = 500;
const FLUSH_US: u32 = 2_000;
/// Requests a second of a limit that lets some through at once and holds one in forty back for most of 100 ms.
const LIMIT: u64 = 400;
/// Seconds of a watch behind it: slices see little of a few seconds.
const WATCHED_BEHIND_IT: u32 = 16;

/// What fio does, and where its JSON has the mean that is compared.
struct Compared {
    name: &'static str,
    site: fn() -> Result<Site, String>,
    words: &'static str,
    kind: OperationKind,
    place: &'static str,
    watched: u32,
}

const COMPARED: [Compared; 5] = [
    Compared {
        name: "direct reads, 1 deep",
        site: || Site::paced(DISK, REQUEST_US, FLUSH_US),
        words: "--filename=DISK --direct=1 --rw=randread --bs=4k --ioengine=psync",
        kind: OperationKind::Read,
        place: "/jobs/0/read/clat_ns/mean",
        watched: WATCHED,
    },
    Compared {
        name: "direct writes, 1 deep",
        site: || Site::paced(DISK, REQUEST_US, FLUSH_US),
        words: "--filename=DISK --direct=1 --rw=randwrite --bs=16k --ioengine=psync",
        kind: OperationKind::Write,
        place: "/jobs/0/write/clat_ns/mean",
        watched: WATCHED,
    },
    Compared {
        name: "direct reads by io_uring, 4 deep",
        site: || Site::paced(DISK, REQUEST_US, FLUSH_US),
        words: "--filename=DISK --direct=1 --rw=randread --bs=64k --ioengine=io_uring --iodepth=4",
        kind: OperationKind::Read,
        place: "/jobs/0/read/clat_ns/mean",
        watched: WATCHED,
    },
    Compared {
        name: "fdatasync after each write",
        site: || Site::paced(DISK, REQUEST_US, FLUSH_US)?.formatted(),
        words: "--directory=DIR --size=16m --rw=write --bs=4k --ioengine=sync --fdatasync=1",
        kind: OperationKind::Fdatasync,
        place: "/jobs/0/sync/lat_ns/mean",
        watched: WATCHED,
    },
    Compared {
        name: "direct reads that a limit holds back now and then",
        site: || Site::bare()?.limited([None, Some(LIMIT), None, None]),
        words: "--filename=DISK --direct=1 --rw=randread --bs=4k --ioengine=psync --thinktime=500",
        kind: OperationKind::Read,
        place: "/jobs/0/read/clat_ns/mean",
        watched: WATCHED_BEHIND_IT,
    },
];

/// The mean latency of all operations of a kind; NaN if there was none.
fn mean_ns(watched: &Watched, kind: OperationKind) -> f64 {
    let mut all = Latency::default();
    watched.operations.iter().filter(|seen| seen.kind == kind).for_each(|seen| all.merge(&seen.latency));
    if all.is_empty() { f64::NAN } else { all.mean_ns() }
}

#[test]
#[ignore = "lab: latencies are compared with fio's"]
fn latencies_are_those_that_fio_counts() {
    for compared in COMPARED {
        let site = match (compared.site)() {
            Ok(site) => site,
            Err(why) => return skip(&format!("no disk of its own for fio here (root is needed): {why}")),
        };
        let name = format!("watch: mean latency over fio's, {}", compared.name);
        judge("watch", vec![Figure::near(name, 1.0, "", TOLERANCE)], || {
            // The time before the watch, the watch, and a little.
            let fio = site.fio(compared.words, compared.watched + 4);
            let seen_ns = mean_ns(&site.watched(fio.id(), compared.watched), compared.kind);
            let counted_ns = fio.result().pointer(compared.place).and_then(serde_json::Value::as_f64);
            println!("{}: {seen_ns:.0} ns seen, {counted_ns:?} counted by fio", compared.name);
            Some(vec![seen_ns / counted_ns.unwrap_or(f64::NAN)])
        });
    }
}
