//! Runs once on a loop device behind a control group's limit, without judging rates.

use std::process::Command;

use serde_json::Value;

use crate::throttled::{Limit, Loop, MIB, Throttle, skip};

#[test]
#[ignore = "gate: a loop device behind a limit"]
fn runs_of_a_limited_loop_device_end_well_and_their_bytes_and_records_are_right() {
    let there = Loop::new(16 * MIB).and_then(|device| {
        let throttle = Throttle::new("functional", &[Limit::of_reads(&device, Some(40 * MIB), None)])?;
        Ok((throttle, device))
    });
    let (throttle, device) = match there {
        Ok(there) => there,
        Err(why) => return skip(&format!("no throttled loop devices here (root is needed): {why}")),
    };
    let hp = |words: &str| {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("{} \"$0\" {words}", throttle.within()))
            .arg(halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")));
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    let name = device.device.display();
    // losetup of another test may open the device meanwhile.
    for rw in ["--rw read", "--rw write --overwrite --force-in-use"] {
        let words = format!("{name} {rw} --bs 64k --iodepth 4 --runtime 500ms");
        let before = device.bytes_read();
        let run: Value = serde_json::from_str(&hp(&format!("run {words} --json"))).unwrap();
        let figure = |name: &str| run[name].as_u64().unwrap_or_else(|| panic!("{name}: {run}"));
        assert!(figure("errors") == 0 && figure("short_transfers") == 0, "{run}");
        assert!(figure("ios") > 0 && figure("bytes") == figure("ios") * figure("bs_bytes"), "{run}");
        assert!(rw != "--rw read" || device.bytes_read() - before >= figure("bytes"), "the device read them: {run}");
    }
    let verified = hp(&format!("run {name} --rw write --overwrite --force-in-use --bs 64k --runtime 500ms --verify"));
    assert!(verified.contains("no data were wrong"), "{verified}");
    let probed = hp(&format!("probe {name}"));
    assert!(probed.contains("42 MB/s"), "the limit is named: {probed}");
}
