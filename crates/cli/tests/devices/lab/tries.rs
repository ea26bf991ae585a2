//! Tries all settings of a loop device for real, and two whose effect is known.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use halfpower_lab::{Figure, judge};
use serde_json::Value;
use tempfile::TempDir;

use super::right;
use crate::throttled::{Limit, Loop, MIB, Throttle, skip};

/// Settings of the queue, each with the file that must be as before.
const SETTINGS: [(&str, &str); 9] = [
    ("scheduler", "queue/scheduler"),
    ("read-ahead", "queue/read_ahead_kb"),
    ("wbt", "queue/wbt_lat_usec"),
    ("rq_affinity", "queue/rq_affinity"),
    ("nomerges", "queue/nomerges"),
    ("nr_requests", "queue/nr_requests"),
    ("max_sectors_kb", "queue/max_sectors_kb"),
    ("iostats", "queue/iostats"),
    ("direct-io", "loop/dio"),
];

/// A file system on a loop device.
struct Mounted {
    point: TempDir,
    device: Loop,
}

impl Mounted {
    /// With room for the files of two tries: the kernel frees those of a process that has ended a moment later.
    fn new() -> Result<Self, String> {
        let mounted = Self { point: tempfile::tempdir().unwrap(), device: Loop::new(768 * MIB)? };
        run(Command::new("mkfs.ext4").arg("-q").arg("-F").arg(&mounted.device.device))?;
        run(Command::new("mount").arg(&mounted.device.device).arg(mounted.point.path()))?;
        Ok(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // What a killed run had open is closed a moment later; --lazy waits for that.
        let umount = |how: &[&str]| {
            let status = Command::new("umount").args(how).arg(self.point.path()).stderr(Stdio::null()).status();
            status.is_ok_and(|status| status.success())
        };
        let _ = umount(&[]) || umount(&["--lazy"]);
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_string()) }
}

/// The trials of a place, made by a shell that first runs `within`.
fn tries(within: &str, target: &Path, settings: &str, budget: &str) -> Vec<Value> {
    let words = format!("doctor \"$1\" --json --budget {budget} --try={settings}");
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{within} \"$0\" {words}"))
        .arg(halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")))
        .arg(target);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["places"][0]["tries"].as_array().cloned().unwrap_or_default()
}

#[test]
#[ignore = "lab: all settings of a loop device are tried"]
fn every_setting_of_a_loop_device_is_measured_and_put_back() {
    let mounted = match Mounted::new() {
        Ok(mounted) => mounted,
        Err(why) => return skip(&format!("no file system on a loop device here (root is needed): {why}")),
    };
    let name = mounted.device.name().to_string();
    let is_there = |file: &str| Path::new("/sys/block").join(&name).join(file).exists();
    // Not every kernel throttles write-back.
    let settings: Vec<(&str, &str)> = SETTINGS.into_iter().filter(|(_, file)| is_there(file)).collect();
    let named: Vec<String> = settings.iter().map(|(setting, _)| format!("{setting}@{name}")).collect();
    let figures =
        settings.iter().map(|(setting, _)| Figure::saying(format!("try of {setting}: measured and put back")));
    judge("devices", figures.collect(), || {
        let before: Vec<String> = settings.iter().map(|(_, file)| mounted.device.setting(file)).collect();
        let seen = tries("exec", mounted.point.path(), &named.join(","), "150s");
        let of = |(at, (_, file)): (usize, &(&str, &str))| {
            let file_name = file.rsplit('/').next().unwrap();
            let its = |trial: &&Value| trial["setting"].as_str().is_some_and(|path| path.ends_with(file_name));
            let its: Vec<&Value> = seen.iter().filter(its).collect();
            its.iter().for_each(|trial| println!("{}", line(trial)));
            let measured = its.iter().any(|trial| trial["ratio"].is_object());
            let back = its.iter().all(|trial| trial["put_back"] == true);
            right(measured && back && mounted.device.setting(file) == before[at])
        };
        Some(settings.iter().enumerate().map(of).collect())
    });
}

/// A trial in a line, for the log of the laboratory.
fn line(trial: &Value) -> String {
    let ratio = &trial["ratio"];
    format!(
        "{} {} -> {}, {}: {} ({} to {}), {} pairs, {}",
        trial["check"],
        trial["from"],
        trial["to"],
        trial["what"],
        ratio["value"],
        ratio["low"],
        ratio["high"],
        trial["pairs"],
        trial["decided"]
    )
}

#[test]
#[ignore = "lab: settings of known effect are tried"]
fn what_a_setting_of_known_effect_gives_is_found() {
    const IOPS: u64 = 1000;
    let there = Loop::new(64 * MIB).and_then(|device| {
        let throttle = Throttle::new("tries", &[Limit::of_reads(&device, None, Some(IOPS))])?;
        Ok((throttle, device))
    });
    let (throttle, device) = match there {
        Ok(there) => there,
        Err(why) => return skip(&format!("no throttled loop devices here (root is needed): {why}")),
    };
    let figures = vec![
        // Of 128 KiB in a request there are 4 KiB left, and the limit counts requests.
        Figure::saying("try of read-ahead behind a limit of requests: without it a 32nd, within a factor of 2"),
        Figure::saying("try of a control group's limit: without it faster"),
    ];
    let name = device.name();
    fs::write(format!("/sys/block/{name}/queue/read_ahead_kb"), "128").unwrap();
    judge("devices", figures, || {
        let seen = tries(&throttle.within(), &device.device, &format!("read-ahead@{name},cgroup-io-limit"), "90s");
        seen.iter().for_each(|trial| println!("{}", line(trial)));
        let is_back = seen.iter().all(|trial| trial["put_back"] == true);
        let without = seen.iter().find(|trial| trial["check"] == "read-ahead" && trial["to"] == "0");
        let ratio = without.and_then(|trial| trial["ratio"]["value"].as_f64());
        let mut limit = seen.iter().filter(|trial| trial["check"] == "cgroup-io-limit");
        let lifted = limit.any(|trial| trial["decided"] == "faster");
        let reading = ratio.is_some_and(|ratio| (1.0 / 64.0..1.0 / 16.0).contains(&ratio));
        Some(vec![right(is_back && reading), right(is_back && lifted)])
    });
}
