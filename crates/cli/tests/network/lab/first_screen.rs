//! Judges every figure on the first screens of four shares of known truth: behind a wire, and over a long round trip.

use halfpower_lab::{AskedRow, Figure, RowTruth, Screens, is_state_of_a_path_alone, is_stop_unknown, judge};
use serde_json::Value;

use super::PAYLOAD;
use crate::{documents, lab_alone};

/// The wire in MB/s of payload: 100 Mbit/s.
const WIRE_MBPS: f64 = 12.5 * PAYLOAD;
/// The other way's round trip in nanoseconds.
const ROUND_TRIP_NS: f64 = 20e6;
/// What both ends add to a round trip: their processors wake up late, and look at a request.
const AT_THE_ENDS: f64 = 1.1;
/// How far a 99th percentile may lie above the time that a request has to take: answers may change their order.
const IN_DISORDER: f64 = 1.5;

/// A share, in the order of the script: what is known of it.
struct Share {
    name: &'static str,
    /// The code of what stops both directions.
    stopped_by: &'static str,
    truth: fn(AskedRow) -> RowTruth,
}

const SHARES: [Share; 4] = [
    Share { name: "SMB over 100 Mbit/s", stopped_by: "one-rate", truth: behind_the_wire },
    Share { name: "NFS over 100 Mbit/s", stopped_by: "one-rate", truth: behind_the_wire },
    Share { name: "SMB over 20 ms", stopped_by: "window", truth: over_the_round_trip },
    Share { name: "NFS over 20 ms", stopped_by: "window", truth: over_the_round_trip },
];

/// Many requests queue for the wire, so each waits for all others (Little's law). Heads of messages take up to half a
/// percent of it.
fn behind_the_wire(asked: AskedRow) -> RowTruth {
    let turn_ns = asked.depth * asked.bs_bytes / WIRE_MBPS * 1e3;
    RowTruth {
        mbps: 0.995 * WIRE_MBPS..=1.002 * WIRE_MBPS,
        p50_ns: 0.97 * turn_ns..=1.05 * turn_ns,
        p99_ns: 0.97 * turn_ns..=IN_DISORDER * turn_ns,
    }
}

/// Few requests over a wire without a rate: each takes the round trip, and a little at the ends.
fn over_the_round_trip(asked: AskedRow) -> RowTruth {
    let most_mbps = asked.depth * asked.bs_bytes / ROUND_TRIP_NS * 1e3;
    RowTruth {
        mbps: most_mbps / AT_THE_ENDS..=most_mbps,
        p50_ns: ROUND_TRIP_NS..=AT_THE_ENDS * ROUND_TRIP_NS,
        p99_ns: ROUND_TRIP_NS..=IN_DISORDER * ROUND_TRIP_NS,
    }
}

impl Share {
    /// Whether the state may stand over it, and whether both directions are said to be stopped by what stops them; NaN where
    /// that is said to be not known.
    fn sayings(&self, report: &Value) -> [f64; 2] {
        let stops = report["stops"].as_array().cloned().unwrap_or_default();
        let is_named = |stop: &Value| stop["doubt"].is_null() && stop["stopped_by"]["code"] == self.stopped_by;
        let right = |is_right: bool| f64::from(u8::from(is_right));
        let is_verdict_right = stops.len() == 2 && stops.iter().all(is_named);
        let verdict = if stops.iter().any(is_stop_unknown) { f64::NAN } else { right(is_verdict_right) };
        println!("{}: {}, {}", self.name, report["state"]["word"], report["verdict"]);
        [right(is_state_of_a_path_alone(report)), verdict]
    }
}

#[test]
#[ignore = "lab: servers and wires of their own"]
fn figures_of_the_first_screens_of_four_shares_are_true() {
    let script = "study() { $HP study $1 --size 64MiB --output $2.study --json $3; }\n\
                  wire 100mbit; for share in $SMB $NFS; do study $share wire-${share%%:*} \
                  '--experiments sequential,random --bs 64k,256k --iodepth 8,32 --budget 40s'; done\n\
                  delay 20; for share in $FAR_SMB $FAR_NFS; do study $share far-${share%%:*} \
                  '--experiments sequential --bs 16k,32k --iodepth 1,2 --budget 24s'; done";
    let named = |what: &str| format!("first screen, four shares: {what}");
    let shares = Screens::SHARES.map(|what| Figure::near(named(what), 1.0, "", 0.1));
    let sayings = SHARES.iter().flat_map(|share| {
        ["state", "verdict"].map(|what| Figure::saying(named(&format!("the {what} of {}", share.name))))
    });
    judge("network", shares.into_iter().chain(sayings).collect(), || {
        let text = lab_alone(script)?;
        let reports = documents(&text);
        assert_eq!(reports.len(), SHARES.len(), "{text}");
        let mut screens = Screens::default();
        SHARES.iter().zip(&reports).for_each(|(share, report)| screens.add(share.name, report, share.truth));
        println!("{screens:?}");
        let sayings = SHARES.iter().zip(&reports).flat_map(|(share, report)| share.sayings(report));
        Some(screens.shares().into_iter().chain(sayings).collect())
    });
}
