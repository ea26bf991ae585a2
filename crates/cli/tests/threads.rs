//! Checks that a study adds threads if one thread fills its core, and stops when the device is the limit.

use serde_json::Value;

use crate::program::{folder, run};

fn study(target: &str) -> Value {
    let folder = folder();
    let words = "--experiments random --rw read --bs 4KiB,64KiB --iodepth 1,32 --budget 5s --json";
    let words: Vec<&str> = ["study", target].into_iter().chain(words.split(' ')).collect();
    let output = run(folder.path(), &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A device of 400,000 requests a second; at 7 us per request, a core issues 142,857 a second.
const DEVICE: &str =
    "sim:fixed=200us,rate=20GB/s,disks=1000,iops=400000,cpu_fixed=10us,cpu_per_kib=0ns,unseen=30%,cpus=16";

#[test]
fn a_device_that_one_core_cannot_fill_gets_its_own_figure() {
    let found = study(&format!("{DEVICE},core_bound=on"));
    let small = &found["threads"][0];
    // Two cores are not enough for 400,000 requests a second; four are.
    assert_eq!((&small["bs_bytes"], &small["threads"], &small["limit"]), (&4096.into(), &4.into(), &"device".into()));
    let row = &found["how_fast"][0];
    let iops = row["iops"]["value"].as_f64().unwrap();
    assert!(row["threads"] == 4 && (iops / 4e5 - 1.0).abs() < 0.01, "{row}");
    let advice = &found["what_to_set"]["uses"][0];
    assert_eq!(advice["threads"], 4, "the advice names them: {advice}");
    let curves = found["curves"].as_array().unwrap();
    assert!(curves.iter().all(|curve| curve["iodepth"] != 64), "{curves:?}");
}

#[test]
fn where_no_core_is_full_no_time_goes_into_threads() {
    let found = study(&DEVICE.replace("cpu_fixed=10us", "cpu_fixed=2us"));
    assert_eq!(found["threads"].as_array().unwrap().len(), 0);
    assert!(found["cells"].as_array().unwrap().iter().all(|cell| cell["threads"] == 1));
}
