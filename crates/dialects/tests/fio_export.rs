//! Checks counts, rates and bins of the json+ export against the records.

use crate::sample::record;
use halfpower_dialects::fio::{fio_documents, write_fio};
use halfpower_record::Record;
use halfpower_spec::{EngineName, Pass, Rw};
use serde_json::Value;

/// Three plain runs of one cell, and one run with the soaker.
fn runs() -> Vec<Record> {
    let mut plain = record(3);
    plain.run.workload.rw = Rw::Randread;
    plain.run.workload.threads = 1;
    plain.read_ios = plain.ios;
    plain.run.pass = Pass::Plain;
    let mut second = plain.clone();
    second.run.repeat = 1;
    second.elapsed_ns *= 2;
    let mut third = plain.clone();
    third.run.repeat = 2;
    third.latency.add(5_000_000_000);
    third.ios += 1;
    third.read_ios += 1;
    let mut soaker = plain.clone();
    soaker.run.pass = Pass::Soaker;
    vec![plain, second, third, soaker]
}

fn document(records: &[Record]) -> Value {
    let mut out = Vec::new();
    write_fio(records, "/data", &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn sum(bins: &Value) -> f64 {
    bins.as_object().unwrap().values().map(|value| value.as_f64().unwrap()).sum()
}

#[test]
fn a_cell_is_one_job_of_its_plain_runs() {
    let records = runs();
    let document = document(&records);
    let jobs = document["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 1);
    let read = &jobs[0]["read"];
    let plain = &records[..3];
    let bytes: u64 = plain.iter().map(|record| record.bytes).sum();
    let ios: u64 = plain.iter().map(|record| record.ios).sum();
    let seconds: f64 = plain.iter().map(Record::seconds).sum();
    assert_eq!((&read["io_bytes"], &read["total_ios"]), (&bytes.into(), &ios.into()));
    assert!((read["bw"].as_f64().unwrap() / (bytes as f64 / 1024.0 / seconds) - 1.0).abs() < 0.01);
    assert!((read["iops"].as_f64().unwrap() / (ios as f64 / seconds) - 1.0).abs() < 1e-9);
    assert_eq!((&read["lat_ns"], &read["slat_ns"]["N"]), (&read["clat_ns"], &Value::from(0)));
    assert_eq!((&jobs[0]["write"]["iops"], &jobs[0]["trim"]["total_ios"]), (&Value::from(0.0), &Value::from(0)));
    let user: u64 = plain.iter().map(|record| record.cpu.user_ns).sum();
    let span: u64 = plain.iter().map(|record| record.cpu.span_ns).sum();
    let expected = 100.0 * user as f64 / span as f64;
    assert!((jobs[0]["usr_cpu"].as_f64().unwrap() / expected - 1.0).abs() < 1e-9);
}

#[test]
fn the_settings_are_text_under_fio_s_names() {
    let options = &document(&runs())["jobs"][0]["job options"];
    for (name, value) in [("rw", "randread"), ("bs", "4k"), ("iodepth", "8"), ("numjobs", "1"), ("direct", "1")] {
        assert_eq!(options[name], value, "{options}");
    }
    assert_eq!(options["ioengine"], "psync", "fio's name for our sync");
}

#[test]
fn the_histograms_hold_every_request_where_it_belongs() {
    let job = &document(&runs())["jobs"][0];
    let bins = &job["read"]["clat_ns"]["bins"];
    assert_eq!(sum(bins), job["read"]["total_ios"].as_f64().unwrap());
    let all = sum(&job["latency_ns"]) + sum(&job["latency_us"]) + sum(&job["latency_ms"]);
    assert!((all - 100.0).abs() < 1e-6, "{all}");
    assert!(job["latency_ms"][">=2000"].as_f64().unwrap() > 0.0, "the one of five seconds");
    assert_eq!(job["latency_ns"].as_object().unwrap().len(), 10);
    assert_eq!(job["latency_ms"].as_object().unwrap().len(), 12);
    let lat = &job["read"]["lat_ns"];
    let spread = lat["stddev"].as_f64().unwrap();
    assert!(spread > 0.0 && spread < lat["max"].as_f64().unwrap());
    assert!(lat["percentile"]["99.000000"].as_u64().unwrap() >= lat["percentile"]["50.000000"].as_u64().unwrap());
}

#[test]
fn a_cell_that_reads_and_writes_is_split_by_its_requests() {
    let mut mixed = record(3);
    mixed.run.pass = Pass::Plain;
    mixed.run.workload.rw = Rw::Randmixed;
    mixed.read_ios = mixed.ios / 4;
    let job = &document(&[mixed.clone()])["jobs"][0];
    let ios = |way: &str| job[way]["total_ios"].as_u64().unwrap();
    let bytes = |way: &str| job[way]["io_bytes"].as_u64().unwrap();
    assert_eq!((ios("read"), ios("read") + ios("write")), (mixed.read_ios, mixed.ios));
    assert_eq!(bytes("read") + bytes("write"), mixed.bytes);
    assert_eq!(job["job options"]["rwmixread"], "70");
}

#[test]
fn each_cell_has_a_file_of_its_own() {
    let mut records = runs();
    let mut other = records[0].clone();
    other.engine = EngineName::IoUring;
    let mut larger = records[0].clone();
    larger.run.workload.bs = halfpower_spec::Bytes(1 << 20);
    records.extend([other, larger]);
    let documents = fio_documents(&records, "/data");
    let places: Vec<String> = documents.iter().map(|one| format!("{}/{}", one.folder, one.file)).collect();
    assert_eq!(
        places,
        ["none/4k/randread-8-1.json", "none/4k/randread-8-1-io_uring-2.json", "none/1m/randread-8-1.json"]
    );
    for document in &documents {
        assert_eq!(document.json["jobs"].as_array().unwrap().len(), 1);
    }
}
