//! Tries settings of a loop device, and ends that in every way: the settings are as before.

use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::throttled::{Loop, MIB, skip};

const READ_AHEAD: &str = "queue/read_ahead_kb";

fn doctor(device: &Loop, setting: &str, budget: &str) -> Child {
    let mut command = Command::new(halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")));
    command.arg("doctor").arg(&device.device).args(["--json", "--budget", budget]);
    command.arg(format!("--try={setting}@{}", device.name()));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn tries(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["places"][0]["tries"].as_array().cloned().unwrap_or_default()
}

/// Waits until the setting is another one; `None` if the process ended before.
fn until_switched(process: &mut Child, device: &Loop, before: &str) -> Option<()> {
    while device.setting(READ_AHEAD) == before {
        if process.try_wait().unwrap().is_some() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Some(())
}

#[test]
#[ignore = "gate: a loop device whose settings are switched"]
fn a_setting_is_tried_and_is_as_before_however_it_ends() {
    let device = match Loop::new(64 * MIB) {
        Ok(device) => device,
        Err(why) => return skip(&format!("no loop devices here (root is needed): {why}")),
    };
    let before = device.setting(READ_AHEAD);
    let seen = tries(&doctor(&device, "read-ahead", "8s").wait_with_output().unwrap());
    assert!(!seen.is_empty());
    for trial in &seen {
        assert!(trial["check"] == "read-ahead" && trial["put_back"] == true, "{trial}");
        assert_eq!(trial["from"].as_str(), Some(before.as_str()), "{trial}");
        assert!(trial["pairs"].as_u64().is_some_and(|pairs| pairs > 0) || trial["why"].is_string(), "{trial}");
    }
    assert!(seen.iter().any(|trial| trial["ratio"].is_object()), "{seen:?}");
    assert_eq!(device.setting(READ_AHEAD), before);

    // One that had just ended is asked again.
    let interrupted = (0..5).find_map(|_| {
        let mut asked = doctor(&device, "read-ahead", "60s");
        until_switched(&mut asked, &device, &before)?;
        Command::new("kill").args(["-INT", &asked.id().to_string()]).status().unwrap();
        Some(asked.wait_with_output().unwrap()).filter(|output| !output.status.success())
    });
    let output = interrupted.expect("it goes on for long");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("every setting is as it was"), "{output:?}");
    assert_eq!(device.setting(READ_AHEAD), before);

    let mut killed = doctor(&device, "read-ahead", "60s");
    until_switched(&mut killed, &device, &before).expect("it goes on for long");
    killed.kill().unwrap();
    killed.wait().unwrap();
    // Another test may start a command at any time, and that puts it back, too.
    for _ in 0..100 {
        Command::new(halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")))
            .arg("systems")
            .stdout(Stdio::null())
            .status()
            .unwrap();
        if device.setting(READ_AHEAD) == before {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("read-ahead is {} and was {before}", device.setting(READ_AHEAD));
}

#[test]
#[ignore = "gate: a loop device whose settings are switched"]
fn direct_io_of_a_loop_device_is_switched_and_back() {
    let device = match Loop::new(64 * MIB) {
        Ok(device) => device,
        Err(why) => return skip(&format!("no loop devices here (root is needed): {why}")),
    };
    let before = device.setting("loop/dio");
    let seen = tries(&doctor(&device, "direct-io", "12s").wait_with_output().unwrap());
    assert_eq!(seen.len(), 2, "two workloads: {seen:?}");
    assert!(seen.iter().all(|trial| trial["put_back"] == true), "{seen:?}");
    assert_eq!(device.setting("loop/dio"), before);
}
