//! Compares what a study and plain runs of any length say of a wire whose bucket hands out a credit after each pause.

use halfpower_lab::{Figure, judge};
use serde_json::Value;

use super::PAYLOAD;
use crate::{documents, lab_alone, rates};

/// Rate of the wire in MB/s of payload: 80 Mbit/s.
const MBPS: f64 = 10.0 * PAYLOAD;
/// Largest relative error of the headline: its interval must hold the truth, and be narrow.
const WITHIN: f64 = 0.02;
/// Windows of plain runs in seconds.
const WINDOWS: [&str; 4] = ["0.3", "1", "3", "10"];

#[test]
#[ignore = "lab: a server and a wire of its own"]
fn the_headline_of_a_share_behind_a_wire_is_the_wire() {
    let script = "wire 80mbit; for kind in smb nfs; do share=$SMB; [ $kind = nfs ] && share=$NFS\n\
                  $HP study $share --size 64MiB --budget 40s --bs 64k,1MiB --iodepth 1,8 --output $kind.study >/dev/null\n\
                  $HP report $kind.study --json; done";
    let names = ["SMB reads", "SMB writes", "NFS reads", "NFS writes"];
    let near = names.map(|name| Figure::near(format!("study over 80 Mbit/s: {name}"), MBPS, "MB/s", WITHIN));
    let holds =
        names.map(|name| Figure::saying(format!("study over 80 Mbit/s: the interval of {name} holds the truth")));
    judge("network", near.into_iter().chain(holds).collect(), || {
        let text = lab_alone(script)?;
        let headlines: Vec<Value> = documents(&text).iter().flat_map(headlines).collect();
        assert_eq!(headlines.len(), names.len(), "{text}");
        let figure = |headline: &Value, of: &str| headline["mbps"][of].as_f64().unwrap();
        let values = headlines.iter().map(|headline| figure(headline, "value"));
        // The payload itself is known within a few packets. A single run has no interval, and says so.
        let holds = |headline: &Value| {
            let (low, high) = (0.998 * figure(headline, "low"), 1.002 * figure(headline, "high"));
            let is_known = headline["runs"].as_u64() > Some(1);
            if is_known { f64::from(u8::from((low..=high).contains(&MBPS))) } else { f64::NAN }
        };
        Some(values.chain(headlines.iter().map(holds)).collect())
    });
}

/// The headlines of a report, reads first.
fn headlines(report: &Value) -> Vec<Value> {
    let all = report["headline"].as_array().cloned().unwrap_or_default();
    let of = |rw: &str| all.iter().find(|headline| headline["cell"]["rw"] == rw).cloned();
    ["read", "write"].into_iter().filter_map(of).collect()
}

#[test]
#[ignore = "lab: a server and a wire of its own"]
fn runs_of_any_length_agree_over_a_wire() {
    let script = format!(
        "wire 80mbit; for share in $SMB $NFS; do for window in {}; do \
         $HP run $share --size 64MiB --rw read --bs 64k --iodepth 16 --runtime ${{window}}s; done; done",
        WINDOWS.join(" ")
    );
    let names =
        ["SMB", "NFS"].into_iter().flat_map(|share| WINDOWS.map(|window| format!("{share} reads for {window} s")));
    let figures = names.map(|name| Figure::near(format!("run over 80 Mbit/s: {name}"), MBPS, "MB/s", 0.03)).collect();
    judge("network", figures, || {
        let text = lab_alone(&script)?;
        let rates = rates(&text);
        assert_eq!(rates.len(), 2 * WINDOWS.len(), "{text}");
        Some(rates)
    });
}
