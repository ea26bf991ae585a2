//! Checks that JSON output has the keys promised to scripts, with the values of the findings and the record.

use crate::sample::{empty, environment, full, record};
use halfpower_record::Latency;
use halfpower_report::{json, run_json};
use serde_json::Value;

fn findings_json(findings: &halfpower_analyse::Findings) -> Value {
    let mut out = Vec::new();
    json(&findings.clone().into(), &mut out).unwrap();
    assert!(out.ends_with(b"}\n"));
    serde_json::from_slice(&out).unwrap()
}

#[track_caller]
fn assert_keys(value: &Value, keys: &[&str]) {
    for key in keys {
        assert!(value.get(key).is_some(), "no key {key} in {value}");
    }
}

#[test]
fn the_findings_have_the_promised_keys() {
    let value = findings_json(&full());
    assert_keys(&value, &["target", "machine", "levels", "bottleneck", "curves", "cost", "advice", "warnings"]);
    assert_keys(&value["levels"][1], &["level", "pap_mbps", "rap_mbps"]);
    let curve = ["rw", "pattern", "cache", "iodepth", "peak_mbps", "half_power_bs_bytes", "n_half_bytes"];
    assert_keys(&value["curves"][0], &curve);
    assert_keys(&value["cost"][0], &["path", "bound", "fixed_us", "marginal_us_per_kib"]);
    assert_keys(&value["cost"][0]["fixed_us"], &["low", "high"]);
    assert_eq!((&value["cost"][0]["bound"], &value["cost"][1]["bound"]), (&"charged".into(), &"soaker".into()));
    assert_eq!((&value["levels"][0]["pap_mbps"], &value["levels"][1]["pap_mbps"]), (&Value::Null, &1970.0.into()));
    assert_eq!(value["curves"][0]["rw"], "read");
    assert_eq!(value["cells"].as_array().unwrap().len(), full().cells.len());
}

#[test]
fn an_empty_study_is_still_an_object_and_a_number_that_is_none_is_null() {
    let mut findings = empty();
    findings.harness_ns_per_io = Some(f64::NAN);
    let value = findings_json(&findings);
    assert_eq!(value["curves"], Value::Array(vec![]));
    assert_eq!(value["harness_ns_per_io"], Value::Null);
}

#[test]
fn a_run_without_a_request_that_succeeded_has_no_latency() {
    let mut record = record();
    record.errors = [("EIO".to_string(), record.ios)].into();
    (record.ios, record.read_ios, record.bytes) = (0, 0, 0);
    record.latency = Latency::default();
    let mut out = Vec::new();
    run_json(&record, &environment(), &[], &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!((&value["latency_ns"], &value["read"]["latency_ns"]), (&Value::Null, &Value::Null), "{value}");
    assert_eq!(value["read"]["ios"], 0);
}

#[test]
fn a_run_has_the_promised_keys_with_the_record_s_values() {
    let mut record = record();
    record.errors = [("EIO".to_string(), 3)].into();
    let mut out = Vec::new();
    run_json(&record, &environment(), &[], &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    let expected = [
        ("rw", Value::from("randread")),
        ("bs_bytes", 4096.into()),
        ("iodepth", 4.into()),
        ("threads", 1.into()),
        ("cache", "device".into()),
        ("engine", "io_uring".into()),
        ("bytes", 4_096_000.into()),
        ("ios", 1000.into()),
        ("errors", 3.into()),
        ("elapsed_ns", 100_000_000.into()),
        ("mbps", 40.96.into()),
        ("iops", 10_000.0.into()),
        ("achieved_depth", 3.96.into()),
        ("harness_ns_per_io", 31.5.into()),
    ];
    for (key, wanted) in expected {
        assert_eq!(value[key], wanted, "{key}");
    }
    assert_eq!(value["errors_by_kind"]["EIO"], 3);
    let latency = &value["latency_ns"];
    assert_keys(latency, &["min", "p50", "p90", "p99", "p999", "max", "mean"]);
    assert_eq!((&latency["min"], &latency["max"]), (&791.into(), &791_000.into()));
    assert_eq!(latency["mean"], 395_895.5);
    let cpu = &value["cpu"];
    assert_eq!((&cpu["user_ns"], &cpu["system_ns"]), (&2_000_000.into(), &5_000_000.into()));
    assert_eq!((&cpu["machine_busy_ns"], &cpu["charged_us"]), (&60_000_000.into(), &7.0.into()));
    assert_eq!((&cpu["soaker_lost_ns"], &value["direction"]), (&Value::Null, &"read".into()));
    assert_eq!(value["environment"]["machine"]["cpus"], 2);
}
