//! Compares a calibrated model's prediction for four devices behind a shared limit with the four real devices.

use std::path::Path;
use std::process::{Command, Stdio};

use halfpower_lab::{Figure, judge};
use serde_json::Value;

use super::right;
use crate::throttled::{Limit, Loop, MIB, Throttle, skip};

/// Bytes of each device.
const PART: u64 = 64 * MIB;
/// The figures of 2000: disks of 25 MB/s behind a path of 87 MB/s.
const EACH: u64 = 25 * MIB;
const SHARED: u64 = 87 * MIB;
const DEVICES: u64 = 4;
/// Largest relative error of a prediction.
const TOLERANCE: f64 = 0.1;

struct Lab {
    throttle: Throttle,
    devices: Vec<Loop>,
    _beneath: Loop,
    folder: tempfile::TempDir,
}

impl Lab {
    fn new() -> Result<Self, String> {
        let beneath = Loop::new(DEVICES * PART)?;
        let devices: Result<Vec<Loop>, String> =
            (0..DEVICES).map(|number| Loop::part(&beneath, number * PART, PART)).collect();
        let devices = devices?;
        let limit = |device, bps| Limit::of_reads(device, Some(bps), None);
        let mut limits: Vec<Limit> = devices.iter().map(|device| limit(device, EACH)).collect();
        limits.push(limit(&beneath, SHARED));
        let throttle = Throttle::new("calibrate", &limits)?;
        Ok(Self { throttle, devices, _beneath: beneath, folder: tempfile::tempdir().unwrap() })
    }

    /// Output of the program, run behind the limits.
    fn run(&self, words: &str) -> String {
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!("{} \"$0\" {words}", self.throttle.within()))
            .arg(halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn scaling(&self, target: &str, file: &str, more: &str) -> Vec<Value> {
        let words =
            format!("study {target} --json --output {file} --experiments scaling --rw read --cache device {more}");
        let findings: Value = serde_json::from_str(&self.run(&words)).unwrap();
        let mut rows = findings["scaling"].as_array().unwrap().clone();
        rows.retain(|row| row["volume_layout"] == "each");
        rows
    }
}

fn names(devices: &[Loop]) -> String {
    let names: Vec<String> = devices.iter().map(|device| shown(&device.device)).collect();
    names.join(",")
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[test]
#[ignore = "lab: minutes on throttled devices"]
fn one_device_predicts_four_behind_a_shared_limit() {
    let lab = match Lab::new() {
        Ok(lab) => lab,
        Err(why) => return skip(&format!("no throttled loop devices here (root is needed): {why}")),
    };
    let predicted =
        |pattern| Figure::near(format!("four devices, {pattern}: predicted over measured"), 1.0, "", TOLERANCE);
    let figures = vec![
        predicted("sequential"),
        predicted("random"),
        Figure::saying("four devices: what limits each number is predicted"),
    ];
    judge("devices", figures, || Some(measure(&lab)));
}

/// Predicted over measured rates of all devices, sequential and random, and whether what limits each number is
/// predicted.
fn measure(lab: &Lab) -> Vec<f64> {
    for file in ["one.halfpower", "predicted.halfpower", "measured.halfpower", "mine.toml"] {
        let _ = std::fs::remove_file(lab.folder.path().join(file));
    }
    let one = shown(&lab.devices[0].device);
    let sizes = "--bs 4KiB,16KiB,256KiB --iodepth 2,32 --runtime 1s --budget 30s";
    lab.run(&format!("study {one} --output one.halfpower --rw read --cache device {sizes}"));
    println!("{}", lab.run("calibrate one.halfpower -o mine.toml"));
    // One device does not show the shared limit, so the test passes it.
    let known = format!("--set disks={DEVICES} --set shared.read_mbps={}", SHARED as f64 / 1e6);
    // In virtual time, with a budget for three runs of each cell, because single runs decide nothing.
    let predicted = lab.scaling("sim:mine.toml", "predicted.halfpower", &format!("{known} --budget 10m"));
    let target = format!("each:{}", names(&lab.devices));
    let measured = lab.scaling(&target, "measured.halfpower", "--runtime 2s --budget 110s");
    assert_eq!((predicted.len(), measured.len()), (2 * DEVICES as usize, 2 * DEVICES as usize));
    let mut ratios = [0.0; 2];
    let mut are_named = true;
    for row in &measured {
        let same = |other: &&Value| (&other["n"], &other["pattern"]) == (&row["n"], &row["pattern"]);
        let guess = predicted.iter().find(same).unwrap();
        let found = row["mbps"].as_f64().unwrap();
        let said = guess["mbps"].as_f64().unwrap();
        println!(
            "{} {}: measured {found:.1}, predicted {said:.1} MB/s, {:+.1}%; limited by {}, predicted {}",
            row["n"],
            row["pattern"],
            (said / found - 1.0) * 100.0,
            row["limited_by"],
            guess["limited_by"]
        );
        are_named &= guess["limited_by"] == if row["n"] == DEVICES { "shared" } else { "device" };
        if row["n"] == DEVICES {
            ratios[usize::from(row["pattern"] != "sequential")] = said / found;
        }
    }
    vec![ratios[0], ratios[1], right(are_named)]
}
