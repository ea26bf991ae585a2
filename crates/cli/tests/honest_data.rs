//! Verifies runs on a disk that lies, a file system in user space, and compares what they find with what the disk knows.
//!
//! `HALFPOWER_HONEST_RUNS` sets the number of runs in the laboratory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use halfpower_lab::Campaign;
use serde_json::Value;

use crate::program::{folder, skip};

/// Kinds of wrong data in a record.
const WRONG: [&str; 4] = ["corrupt", "torn", "lost", "misdirected"];
/// What runs do, and what the disk does to a share of the requests. Beside a write in flight a block is not judged, so
/// only reads are deeper than one.
const CASES: [(&str, &str, &str); 6] = [
    ("randread", "8", "flip=0.02"),
    ("randwrite", "1", "torn=0.02"),
    ("randrw", "1", "lost=0.02"),
    ("randrw", "1", "misdirect=0.02"),
    ("write", "1", "torn=0.01,lost=0.01,misdirect=0.01"),
    ("randrw", "1", "flip=0.01,torn=0.01,lost=0.01,misdirect=0.01"),
];

/// What the disk did to a run, and what the run found.
struct Outcome {
    injected: BTreeMap<String, u64>,
    /// Faults whose damage a read met.
    met: BTreeMap<String, u64>,
    wrong_reads: u64,
    found_reads: u64,
}

fn python() -> String {
    std::env::var("HALFPOWER_PYTHON").unwrap_or_else(|_| "python3".to_string())
}

/// Why there is no such disk here.
fn lacking() -> Option<&'static str> {
    let does = |command: &mut Command| {
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    if !does(Command::new("unshare").args(["-m", "true"])) {
        return Some("a mount namespace takes root");
    }
    if !does(Command::new(python()).args(["-c", "import mfusepy"])) {
        return Some("mfusepy is not installed");
    }
    (!Path::new("/dev/fuse").exists()).then_some("there is no /dev/fuse")
}

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}: {text}", path.display()))
}

/// A verified run on such a disk.
fn verified(number: u64, (rw, iodepth, shares): (&str, &str, &str)) -> Outcome {
    let folder = folder();
    let script = "mkdir m; $PYTHON $DISK m 1048576 $NUMBER $SHARES tally & \
                  for i in $(seq 200); do [ -e m/data ] && break; sleep 0.05; done; \
                  $HP run m/data --overwrite --verify --rw $RW --bs 4k --iodepth $DEPTH -d 100ms --seed $NUMBER --json >run; \
                  echo \"code $?\"; \
                  for i in $(seq 100); do umount m && break; sleep 0.05; done 2>/dev/null; umount -l m 2>/dev/null; wait";
    let output = Command::new("unshare")
        .args(["-m", "bash", "-c", script])
        .current_dir(folder.path())
        .env("HP", env!("CARGO_BIN_EXE_halfpower"))
        .env("DISK", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/faulty_disk.py"))
        .env("PYTHON", python())
        .env("NUMBER", number.to_string())
        .envs([("RW", rw), ("DEPTH", iodepth), ("SHARES", shares)])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(["code 0", "code 1"].iter().any(|code| said.contains(code)), "{rw} {shares}, {number}: {said}");
    let run = json(&folder.path().join("run"));
    let tally = json(&folder.path().join("tally"));
    let counts = |value: &Value| -> BTreeMap<String, u64> {
        let counts = value.as_object().expect("counts of kinds");
        counts.iter().map(|(kind, count)| (kind.clone(), count.as_u64().expect("a count"))).collect()
    };
    let found = counts(&run["errors_by_kind"]);
    assert!(found.keys().all(|kind| WRONG.contains(&kind.as_str())), "no request fails: {found:?}");
    Outcome {
        injected: counts(&tally["injected"]),
        met: counts(&tally["met"]),
        wrong_reads: tally["wrong_reads"].as_u64().expect("a count"),
        found_reads: found.values().sum(),
    }
}

/// So many verified runs; a campaign for each kind of fault.
fn campaigns(runs: u64) -> Vec<Campaign> {
    let mut campaigns: BTreeMap<String, Campaign> = BTreeMap::new();
    for number in 0..runs {
        let case = CASES[(number % CASES.len() as u64) as usize];
        let Outcome { injected, met, wrong_reads, found_reads } = verified(number, case);
        assert!(found_reads <= wrong_reads, "{case:?}, {number}: {} false alarms", found_reads - wrong_reads);
        let mut missed_reads = wrong_reads - found_reads;
        for (kind, injected) in injected.into_iter().filter(|(_, injected)| *injected > 0) {
            let met = met[&kind];
            let name = format!("wrong data of a disk: {kind}");
            let campaign = campaigns.entry(kind).or_insert_with(|| Campaign::new(name));
            campaign.tried += injected;
            campaign.survived += injected;
            // A read that is missed may be of any fault that was met.
            let missed = missed_reads.min(met);
            missed_reads -= missed;
            *campaign.found.get_or_insert(0) += met - missed;
            *campaign.missed.get_or_insert(0) += missed;
            let unmet = injected - met;
            match campaign.explained.first_mut() {
                Some((_, count)) => *count += unmet,
                None => campaign.explained.push(("overwritten or never read again:".to_string(), unmet)),
            }
        }
        assert_eq!(missed_reads, 0, "{case:?}, {number}: no fault explains them");
    }
    campaigns.into_values().collect()
}

#[test]
#[ignore = "gate: takes root and a file system in user space"]
fn what_a_disk_does_to_data_is_found_by_every_read_that_meets_it() {
    if let Some(what) = lacking() {
        return skip(what);
    }
    let campaigns = campaigns(CASES.len() as u64);
    assert_eq!(campaigns.len(), 4, "flip, torn, lost and misdirect");
    for campaign in campaigns {
        assert!(campaign.missed == Some(0) && campaign.found > Some(0), "{campaign}");
    }
}

/// Tests for the laboratory.
mod lab {
    use super::*;

    #[test]
    #[ignore = "lab: a thousand verified runs, on a disk of their own each"]
    fn a_thousand_runs_find_what_a_disk_does_to_data() {
        if let Some(what) = lacking() {
            return skip(what);
        }
        let runs = std::env::var("HALFPOWER_HONEST_RUNS").map_or(1000, |text| text.parse().expect("a number"));
        campaigns(runs).iter().for_each(|campaign| campaign.judge("faults"));
    }
}
