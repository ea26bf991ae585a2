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

/// Whether `grep -c` has counted the password in a study or a page, however often.
fn holds_password(text: &str) -> bool {
    let counts = text.lines().filter_map(|line| line.rsplit_once(':'));
    let mut of_files = counts.filter(|(file, _)| file.ends_with(".study") || file.ends_with(".html"));
    of_files.any(|(_, count)| count.parse::<u64>().is_ok_and(|count| count > 0))
}

#[test]
fn a_password_is_found_however_often_a_file_has_it() {
    assert!(holds_password("nfs.study:0\nsmb.study:2\nend") && holds_password("s.html:1"));
    assert!(!holds_password("nfs.study:0\ncode 1\ngrep: *.html: No such file or directory"));
}

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
