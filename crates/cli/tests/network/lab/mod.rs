//! What measures shares, or brings a fault about at a moment: the laboratory runs it.

mod faults;
mod limits;
mod sealing;
mod ways;
mod wires;

use halfpower_lab::{Figure, judge};

use super::{lab_alone, rates};

/// Of a frame of 1514 bytes, as the wire's limit counts them, so many are payload of TCP.
const PAYLOAD: f64 = 1448.0 / 1514.0;
/// How far a rate may be off.
const WITHIN: f64 = 0.03;
/// What a script does, share by share.
const SHARES: [&str; 4] = ["SMB reads", "SMB writes", "NFS reads", "NFS writes"];

/// The runs that `script` prints each have the rate in MB/s that is known.
fn gives(what: &str, script: &str, runs: [&str; 4], mbps: f64) {
    let figures = runs.map(|run| Figure::near(format!("{what}: {run}"), mbps, "MB/s", WITHIN));
    judge("network", figures.to_vec(), || {
        let text = lab_alone(script)?;
        let rates = rates(&text);
        assert_eq!(rates.len(), runs.len(), "{text}");
        Some(rates)
    });
}
