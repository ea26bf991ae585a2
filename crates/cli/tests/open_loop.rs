//! Checks that stopping the process shows as latency in an open loop.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

const STOP: Duration = Duration::from_secs(2);

fn signal(id: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &id.to_string()]).status().unwrap().success());
}

/// Runs the null target for five seconds, stopped for two of them; `rate` are the flags of an open loop.
fn stopped_run(rate: &[&str]) -> Value {
    let child = Command::new(env!("CARGO_BIN_EXE_halfpower"))
        .args(["run", "null:", "--bs", "4KiB", "--iodepth", "4", "--runtime", "5s", "--json"])
        .args(rate)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    signal(child.id(), "-STOP");
    std::thread::sleep(STOP);
    signal(child.id(), "-CONT");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_stop_of_two_seconds_is_two_seconds_of_latency() {
    let record = stopped_run(&["--rate-iops", "1000"]);
    let latency_s = |key: &str| record["latency_ns"][key].as_f64().unwrap() / 1e9;
    assert!(latency_s("max") >= STOP.as_secs_f64() * 0.95, "{record}");
    // Two in five requests were due while it was stopped, and waited evenly up to two seconds.
    assert!(latency_s("p90") >= STOP.as_secs_f64() * 0.6, "{record}");
    assert!(record["ios"].as_u64().unwrap() >= 4_900, "each of them is accounted for: {record}");
}

#[test]
fn a_closed_loop_hides_all_but_one_of_them() {
    let record = stopped_run(&[]);
    assert!(record["latency_ns"]["p999"].as_f64().unwrap() < 1e9, "{record}");
}
