//! Sets one known limit on the path to a share, and checks the rate and the named bottleneck.

use halfpower_lab::{Figure, judge};
use serde_json::Value;

use super::{SHARES, WITHIN, gives};
use crate::{documents, lab_alone, rates};

/// The bottleneck of each direction in a study's summary: its code and its words.
fn stops(document: &Value) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let stops = document["stops"].as_array().cloned().unwrap_or_default();
    stops.iter().map(|stop| (word(&stop["stopped_by"]["code"]), word(&stop["text"]))).collect()
}

/// Judges that the script's two studies name this limit in both directions; prints what they name instead.
fn names(limit: &str, script: &str, code: &str, words: &str) {
    let is_named = |(is, text): &(String, String)| is == code && text.contains(words);
    let figures = ["SMB", "NFS"].map(|share| Figure::saying(format!("{limit}: a study of {share} names it")));
    judge("network", figures.to_vec(), || {
        let text = lab_alone(script)?;
        let found: Vec<_> = documents(&text).iter().map(stops).collect();
        assert_eq!(found.len(), 2, "{text}");
        println!("{found:?}");
        let is_right = |stops: &Vec<_>| stops.len() == 2 && stops.iter().all(is_named);
        Some(found.iter().map(|stops| f64::from(u8::from(is_right(stops)))).collect())
    });
}

#[test]
#[ignore = "lab: a server, a wire and a disk of its own"]
fn a_disk_of_30_megabytes_a_second_gives_them() {
    let script = "disk 30000000; for share in $SLOW_SMB $SLOW_NFS; do \
                  $HP run $share --size 256MiB --rw read --bs 1MiB --iodepth 4 --ramp-time 3s --runtime 6s\n\
                  $HP run $share --size 64MiB --rw write --cache none --bs 1MiB --iodepth 4 --ramp-time 1s --runtime 6s; done";
    gives("a disk of 30 MB/s", script, SHARES, 30.0);
}

#[test]
#[ignore = "lab: a server and a wire of its own"]
fn a_wire_is_what_stops_both_directions_at_one_rate() {
    let script = "wire 100mbit; for share in $SMB $NFS; do $HP study $share --size 64MiB --bs 4k,64k,1MiB --iodepth 1,8,32 \
                  --budget 40s --output ${share%%:*}.study --json; done";
    names("a wire of 100 Mbit/s", script, "one-rate", "the wire or the server's link");
}

#[test]
#[ignore = "lab: a server, a wire and a disk of its own"]
fn a_disk_that_its_group_limits_is_what_stops_both_directions() {
    let script = "disk 30000000; for share in $SLOW_SMB $SLOW_NFS; do $HP study $share --size 256MiB --cache none --bs 1MiB \
                  --iodepth 2,4,8 --budget 30s --experiments sequential --output ${share%%:*}.study --far-end \"$WITNESS\" --json; done";
    names("a disk behind its group's limit", script, "far-disk-limit", "the far end's disk loop");
}

/// The other time of a request comes from a shorter round trip on the same link. The shortest link cannot give it:
/// processors that sleep for milliseconds wake up late and are slow at first, at both ends.
#[test]
#[ignore = "lab: a server and a delay of its own"]
fn a_round_trip_of_10_milliseconds_is_added_to_each_request() {
    const BLOCK: f64 = 16384.0;
    let script = "for long in 5 10; do delay $long; for share in $FAR_SMB $FAR_NFS; do for rw in read write; do \
                  $HP run $share --size 16MiB --rw $rw --bs 16k --iodepth 1 --runtime 4s; done; done; done";
    let figures =
        SHARES.map(|run| Figure::near(format!("a round trip of 10 ms: {run}, beside 5 ms more"), 1.0, "", WITHIN));
    judge("network", figures.to_vec(), || {
        let text = lab_alone(script)?;
        let took: Vec<f64> = rates(&text).iter().map(|rate| BLOCK / rate / 1e3).collect();
        let Some((shorter, longer)) = took.split_at_checked(4) else { panic!("{text}") };
        assert_eq!(longer.len(), 4, "{text}");
        println!("a request takes {shorter:.2?} ms over 5 ms, {longer:.2?} ms over 10 ms");
        let is_true = |(shorter, longer): (&f64, &f64)| *shorter >= 5.0 && *longer >= 10.0;
        assert!(shorter.iter().zip(longer).all(is_true), "faster than the wire: {text}");
        Some(shorter.iter().zip(longer).map(|(shorter, longer)| longer / (shorter + 5.0)).collect())
    });
}

#[test]
#[ignore = "lab: a server and a delay of its own"]
fn the_round_trip_is_what_stops_both_directions_over_it() {
    let script = "delay 10; for share in $FAR_SMB $FAR_NFS; do $HP study $share --size 64MiB --bs 16k --iodepth 1,2 \
                  --budget 24s --experiments sequential --output ${share%%:*}.study --json; done";
    names("a round trip of 10 ms", script, "window", "the network's round trip: 32 KiB in flight over 10");
}

/// A single request takes the round trip plus its bytes divided by the rate, so half power is at the block size at
/// which both are equal.
#[test]
#[ignore = "lab: a server and a delay of its own"]
fn half_power_is_where_a_block_takes_the_wire_as_long_as_the_round_trip() {
    const RATE: f64 = 12.5e6;
    const ROUND_TRIP: f64 = 0.01;
    // A processor that sleeps through a round trip wakes up late, so round trips are somewhat longer, never shorter.
    const NEAR: std::ops::RangeInclusive<f64> = 0.92..=1.15;
    let script = format!(
        "delay {} {RATE}; for share in $FAR_SMB $FAR_NFS; do $HP study $share --size 64MiB --bs 16k,32k,64k,128k,256k,512k,1m,2m \
         --iodepth 1 --budget 40s --experiments sequential --output ${{share%%:*}}.study --json; done",
        ROUND_TRIP * 1e3
    );
    let figures =
        SHARES.map(|run| Figure::between(format!("half power over a wire: {run}"), RATE * ROUND_TRIP, "bytes", NEAR));
    judge("network", figures.to_vec(), || {
        let text = lab_alone(&script)?;
        let all = documents(&text).into_iter().flat_map(|document| document["curves"].as_array().unwrap().clone());
        // Durable writes are only measured at the peak.
        let curves: Vec<Value> = all.filter(|curve| curve["cache"] == "device").collect();
        assert_eq!(curves.len(), 4, "reads and writes of two shares: {text}");
        let blocks: Vec<Option<u64>> = curves.iter().map(|curve| curve["half_power_bs_bytes"].as_u64()).collect();
        println!("half of the peak from blocks of {blocks:?} bytes on");
        let half = |curve: &Value| curve["n_half_bytes"].as_f64().unwrap_or(0.0);
        Some(curves.iter().map(half).collect())
    });
}

/// TCP chooses its window itself below the allowed maximum, so only TCP's own figures show it.
#[test]
#[ignore = "lab: a server and a delay of its own"]
fn a_window_below_the_requests_is_what_stops_both_directions() {
    let script = "window 131072; delay 10; for share in $FAR_SMB $FAR_NFS; do $HP study $share --size 64MiB --bs 256KiB,1MiB \
                  --iodepth 4,8 --budget 24s --experiments sequential --output ${share%%:*}.study --json; done";
    names("a window of 128 KiB", script, "window", "TCP's window lets");
}

#[test]
#[ignore = "lab: a server and a processor of its own"]
fn a_server_whose_processor_is_taken_is_what_stops_both_directions() {
    let script = "pinned 80; for share in $SMB $NFS; do $HP study $share --size 256MiB --bs 256k,1MiB --iodepth 4,8 \
                  --budget 20s --experiments sequential --output ${share%%:*}.study --far-end \"$WITNESS\" --json; done";
    names("a busy server", script, "far-processors", "far end's");
}

/// The processor time of a request at the server is unknown in advance, but the server's idle time is known. The run
/// has no ramp, because the far end's account would begin with the ramp and the rate after it, and the cost of a
/// request changes from second to second.
#[test]
#[ignore = "lab: a server and a processor of its own"]
fn a_busy_server_gives_what_its_processor_has_left() {
    const LEFT: f64 = 0.2;
    let script = "pinned 80; for share in $SMB $NFS; do for rw in read write; do $HP run $share --size 256MiB --rw $rw \
                  --bs 256k --iodepth 8 --runtime 5s --far-end \"$WITNESS\" --json 2>/dev/null; done; done";
    let figures = SHARES.map(|run| Figure::near(format!("a busy server: {run}, of what is left"), 1.0, "", WITHIN));
    judge("network", figures.to_vec(), || {
        let text = lab_alone(script)?;
        let share_of_expected = |run: &Value| {
            let request_us = run["far_end"]["processes_us"].as_f64()?;
            Some(run["mbps"].as_f64()? / (LEFT * run["bs_bytes"].as_f64()? / request_us))
        };
        let found: Vec<f64> = documents(&text).iter().filter_map(share_of_expected).collect();
        assert_eq!(found.len(), SHARES.len(), "{text}");
        Some(found)
    });
}
