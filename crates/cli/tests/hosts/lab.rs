//! Measures a file server from hosts behind wires of their own.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::processes::program;
use crate::throttled::{judge, skip};

/// Of a frame of 1514 bytes, as the wire's limit counts them, so many are payload of TCP.
const PAYLOAD: f64 = 1448.0 / 1514.0;
/// Times that a run is made at most: whoever else uses the processors makes it slower and never faster.
const TRIES: usize = 4;

/// What `script` prints in the lab, with its errors; `None` where the lab cannot be had.
fn lab(script: &str) -> Option<String> {
    let program = program()?;
    let needed = ["unshare", "nsenter", "ip", "tc", "smbd", "smbpasswd"];
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let is_there = |word: &&str| path.split(':').any(|folder| Path::new(folder).join(word).exists());
    if let Some(missing) = needed.iter().find(|word| !is_there(word)) {
        skip(&format!("{missing} is not installed"));
        return None;
    }
    let script_file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts/lab.sh");
    let output = Command::new("bash")
        .arg(script_file)
        .arg(format!("exec 2>&1\n{script}"))
        .env("HP", program.canonicalize().unwrap())
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    if text.is_empty() && (errors.contains("not permitted") || errors.contains("denied")) {
        skip(&format!("the lab takes root: {errors}"));
        return None;
    }
    Some(text)
}

/// The runs that were printed as JSON, a line each.
fn runs(text: &str) -> Vec<Value> {
    let mut runs = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("{\n") {
        let mut stream = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<Value>();
        match stream.next() {
            Some(Ok(run)) => {
                runs.push(run);
                rest = &rest[at + stream.byte_offset()..];
            }
            _ => rest = &rest[at + 2..],
        }
    }
    runs
}

fn mbps(run: &Value) -> f64 {
    run["mbps"].as_f64().unwrap()
}

#[test]
#[ignore = "long: hosts and a server of its own"]
fn four_hosts_before_a_server_of_250_megabits_get_its_payload_together() {
    let read = "$HP run $SMB --size 64MiB --rw read --bs 1MiB --iodepth 4 --runtime 4s --json";
    let script = format!("hosts 4 100mbit; wire server 250mbit; for n in 1 2 4; do together -n $n {read}; done");
    let (one, all) = (100.0 / 8.0 * PAYLOAD, 250.0 / 8.0 * PAYLOAD);
    judge(|| {
        let mut best = [0.0; 3];
        for _ in 0..TRIES {
            let Some(text) = lab(&script) else { return };
            let runs = runs(&text);
            assert_eq!(runs.len(), 3, "{text}");
            let found: Vec<f64> = runs.iter().map(mbps).collect();
            println!("{found:?} of {one:.1}, {:.1}, {all:.1} MB/s", 2.0 * one);
            assert_eq!(runs[2]["hosts"].as_array().map(Vec::len), Some(4), "{text}");
            best.iter_mut().zip(&found).for_each(|(best, found)| *best = found.max(*best));
            let given = [one, 2.0 * one, all];
            assert!(found.iter().zip(given).all(|(found, given)| found / given < 1.03), "{found:?}: {text}");
            if best.iter().zip(given).all(|(best, given)| best / given > 0.97) {
                return;
            }
        }
        panic!("{best:?} MB/s at best, of {all:.1} from all");
    });
}

#[test]
#[ignore = "long: hosts and a server of its own"]
fn the_host_behind_half_a_wire_gets_half_of_what_the_others_get() {
    let read = "$HP run $SMB --size 64MiB --rw read --bs 1MiB --iodepth 4 --runtime 4s --json";
    let script = format!("hosts 4 80mbit; wire host2 40mbit; wire server 1gbit; together -n 4 {read}");
    judge(|| {
        let Some(text) = lab(&script) else { return };
        let runs = runs(&text);
        assert_eq!(runs.len(), 1, "{text}");
        let rate = |host: &Value| host["bytes"].as_f64().unwrap() * 1e3 / host["elapsed_ns"].as_f64().unwrap();
        let rates: Vec<f64> = runs[0]["hosts"].as_array().unwrap().iter().map(rate).collect();
        println!("{rates:.2?} MB/s");
        for (rank, rate) in rates.iter().enumerate() {
            let given = if rank == 2 { 40.0 } else { 80.0 } / 8.0 * PAYLOAD;
            assert!((rate / given - 1.0).abs() < 0.05, "host {rank}: {rate:.2} of {given:.2} MB/s");
        }
    });
}

#[test]
#[ignore = "long: hosts and a server of its own"]
fn a_share_that_one_host_cannot_reach_is_said_with_its_name() {
    let read = "$HP run $SMB --size 16MiB --rw read --runtime 1s --timeout 2s";
    let script = format!(
        "hosts 3 100mbit; on host1 ip route add blackhole 10.78.0.200/32; \
         together -n 3 {read}; echo \"code $?\"; ls -A ../data; echo end"
    );
    let Some(text) = lab(&script) else { return };
    assert!(text.contains("rank 1 on host1: "), "{text}");
    assert!(text.contains("code 2") && !text.contains(".halfpower-"), "{text}");
}
