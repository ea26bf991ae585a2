//! Holds the tests that measure shares or cause faults at a certain moment, for the laboratory.

mod faults;
mod first_screen;
mod kills;
mod limits;
mod sealing;
mod ways;
mod windows;
mod wires;

use halfpower_lab::{Figure, judge};

use super::{lab_alone, rates};

/// Share of TCP payload in a frame of 1514 bytes, as the link's limit counts frames.
const PAYLOAD: f64 = 1448.0 / 1514.0;
/// Largest relative error of a rate.
const WITHIN: f64 = 0.03;
/// The runs of a script, in order.
const SHARES: [&str; 4] = ["SMB reads", "SMB writes", "NFS reads", "NFS writes"];

/// Judges that each run that `script` prints has the known rate in MB/s.
fn gives(what: &str, script: &str, runs: [&str; 4], mbps: f64) {
    let figures = runs.map(|run| Figure::near(format!("{what}: {run}"), mbps, "MB/s", WITHIN));
    judge("network", figures.to_vec(), || {
        let text = lab_alone(script)?;
        let rates = rates(&text);
        assert_eq!(rates.len(), runs.len(), "{text}");
        Some(rates)
    });
}
