//! Checks that stopping the process shows as latency in an open loop.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

const STOP: Duration = Duration::from_secs(2);

fn signal(id: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &id.to_string()]).status().unwrap().success());
}

/// Runs the null target for so many times five seconds, stopped for two of them each time; `rate` are the flags of an open
/// loop.
fn stopped_run(rate: &[&str], times: u32) -> Value {
    let child = Command::new(env!("CARGO_BIN_EXE_halfpower"))
        .args(["run", "null:", "--bs", "4KiB", "--iodepth", "4", "--json"])
        .args(["--runtime", &format!("{}s", 5 * times)])
        .args(rate)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500) * times);
    signal(child.id(), "-STOP");
    std::thread::sleep(STOP * times);
    signal(child.id(), "-CONT");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_stop_of_two_seconds_is_two_seconds_of_latency() {
    let has_all = |times: u32| {
        let record = stopped_run(&["--rate-iops", "1000"], times);
        let stop_s = (STOP * times).as_secs_f64();
        let latency_s = |key: &str| record["latency_ns"][key].as_f64().unwrap() / 1e9;
        // Two in five requests were due while it was stopped, and waited evenly up to two seconds; each is accounted for.
        let is_whole = record["ios"].as_u64().unwrap() >= 4_900 * u64::from(times);
        latency_s("max") >= stop_s * 0.95 && latency_s("p90") >= stop_s * 0.6 && is_whole
    };
    // On a busy machine a run may begin late: a longer one still has all of its stop within its window.
    assert!([1, 4, 12].into_iter().any(has_all));
}

#[test]
fn a_closed_loop_hides_all_but_one_of_them() {
    let record = stopped_run(&[], 1);
    assert!(record["latency_ns"]["p999"].as_f64().unwrap() < 1e9, "{record}");
}
