//! Measures a file server from hosts with separate network links.

use std::path::Path;
use std::process::{Command, Stdio};

use halfpower_lab::{Figure, judge};
use serde_json::Value;

use crate::alone;
use crate::processes::program;
use crate::throttled::skip;

/// Share of TCP payload in a frame of 1514 bytes, as the link's limit counts frames.
const PAYLOAD: f64 = 1448.0 / 1514.0;
/// Largest relative error of a rate.
const WITHIN: f64 = 0.03;

/// Output of `script` in the lab, with its errors; `None` if the lab is not available.
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

/// The runs printed as JSON, one per line.
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

/// Judges that the runs of `script` show the given values.
fn gives(what: &str, script: &str, given: &[f64], found: impl Fn(&[Value]) -> Vec<f64>) {
    let figure =
        |(number, mbps): (usize, &f64)| Figure::near(format!("{what}, number {}", number + 1), *mbps, "MB/s", WITHIN);
    judge("hosts", given.iter().enumerate().map(figure).collect(), || {
        let text = lab(script)?;
        let found = found(&runs(&text));
        assert_eq!(found.len(), given.len(), "{text}");
        Some(found)
    });
}

#[test]
#[ignore = "lab: hosts and a server of its own"]
fn four_hosts_before_a_server_of_250_megabits_get_its_payload_together() {
    let _alone = alone();
    let read = "$HP run $SMB --size 64MiB --rw read --bs 256KiB --iodepth 8 --runtime 4s --json";
    let script = format!("hosts 4 100mbit; wire server 250mbit; for n in 1 2 4; do together -n $n {read}; done");
    let given = [100.0, 200.0, 250.0].map(|megabits| megabits / 8.0 * PAYLOAD);
    gives("1, 2 and 4 hosts of 100 Mbit/s before 250", &script, &given, |runs| runs.iter().map(mbps).collect());
}

#[test]
#[ignore = "lab: hosts and a server of its own"]
fn the_host_behind_half_a_wire_gets_half_of_what_the_others_get() {
    let _alone = alone();
    let read = "$HP run $SMB --size 64MiB --rw read --bs 256KiB --iodepth 8 --runtime 4s --json";
    let script = format!("hosts 4 80mbit; wire host2 40mbit; wire server 1gbit; together -n 4 {read}");
    let given = [80.0, 80.0, 40.0, 80.0].map(|megabits| megabits / 8.0 * PAYLOAD);
    let rate = |host: &Value| host["bytes"].as_f64().unwrap() * 1e3 / host["elapsed_ns"].as_f64().unwrap();
    gives("hosts of 80 Mbit/s, the third of 40", &script, &given, |runs| {
        runs.iter().flat_map(|run| run["hosts"].as_array().unwrap()).map(rate).collect()
    });
}

#[test]
#[ignore = "lab: hosts and a server of its own"]
fn a_share_that_one_host_cannot_reach_is_said_with_its_name() {
    let _alone = alone();
    let read = "$HP run $SMB --size 16MiB --rw read --runtime 1s --timeout 2s";
    let script = format!(
        "hosts 3 100mbit; on host1 ip route add blackhole 10.78.0.200/32; \
         together -n 3 {read}; echo \"code $?\"; ls -A ../data; echo end"
    );
    let Some(text) = lab(&script) else { return };
    assert!(text.contains("rank 1 on host1: "), "{text}");
    assert!(text.contains("code 2") && !text.contains(".halfpower-"), "{text}");
}

/// Findings of a study of `hosts` in the lab.
fn study(hosts: &str) -> Option<Value> {
    let words = "$HP study $SMB --size 64MiB --rw read --experiments hosts --budget 40s --json";
    let text = lab(&format!("{hosts}; together -n 4 {words}"))?;
    Some(runs(&text).pop().unwrap_or_else(|| panic!("{text}")))
}

/// Ranks of the stragglers in the findings.
fn stragglers(found: &Value) -> Vec<u64> {
    let named = found["fleet"]["stragglers"].as_array().unwrap();
    let mut ranks: Vec<u64> = named.iter().map(|slow| slow["rank"].as_u64().unwrap()).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

#[test]
#[ignore = "lab: hosts and a server of its own"]
fn a_study_names_the_third_host_as_where_a_shared_wire_takes_over() {
    let _alone = alone();
    let given = 250.0 / 8.0 * PAYLOAD;
    let what = "hosts of 100 Mbit/s before 250";
    let figures = vec![
        Figure::saying(format!("{what}: the third is named")),
        Figure::near(format!("{what}: the ceiling"), given, "MB/s", WITHIN),
    ];
    judge("hosts", figures, || {
        let found = study("hosts 4 100mbit; wire server 250mbit")?;
        let answer = &found["experiments"][0];
        println!("{}", answer["answer"]);
        let kinds = answer["found"]["kinds"].as_array().unwrap();
        let over = &kinds.iter().find(|kind| kind["pattern"] == "sequential").unwrap()["taken_over"];
        let is_third = (&over["n"], &over["before_n"]) == (&Value::from(3), &Value::from(2));
        Some(vec![f64::from(u8::from(is_third)), over["ceiling_mbps"].as_f64().unwrap_or(0.0)])
    });
}

#[test]
#[ignore = "lab: hosts and a server of its own"]
fn the_host_behind_half_a_wire_is_named_in_every_trial_and_none_where_all_are_alike() {
    let _alone = alone();
    let figures = ["the slow one alone is named", "none of alike ones is named"]
        .map(|what| Figure::saying(format!("four hosts: {what}")));
    judge("hosts", figures.to_vec(), || {
        let named = |script: &str, expected: &[u64]| {
            let found = study(script)?;
            let named = stragglers(&found);
            println!("{named:?} for {expected:?}: {}", found["fleet"]);
            Some(f64::from(u8::from(named == expected)))
        };
        let slow = named("hosts 4 80mbit; wire host2 40mbit; wire server 1gbit", &[2])?;
        Some(vec![slow, named("hosts 4 80mbit; wire server 1gbit", &[])?])
    });
}
