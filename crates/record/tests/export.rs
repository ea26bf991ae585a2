//! Checks that CSV and JSON carry every record under the names that the study file uses.

use crate::sample::{environment, record, records};
use halfpower_record::{Record, columns, write_csv, write_json};

#[test]
fn the_csv_has_a_row_a_record_under_the_study_file_s_names() {
    let records = records(12);
    let mut out = Vec::new();
    let mut here = environment("6.1");
    here.machine.hostname = Some("alpha".to_string());
    write_csv(records.iter().map(|record| (record, &here)), "/data", &mut out).unwrap();
    let mut rows = csv::Reader::from_reader(&out[..]);
    let heading: Vec<String> = rows.headers().unwrap().iter().map(str::to_string).collect();
    let from = ["target", "host", "origin"];
    assert_eq!(heading, columns().map(|column| column.name).chain(from).collect::<Vec<_>>());
    let at = |name: &str| heading.iter().position(|column| column == name).unwrap();
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 12);
    for (row, record) in rows.iter().zip(&records) {
        assert_eq!((&row[at("target")], &row[at("host")], &row[at("origin")]), ("/data", "alpha", ""));
        assert_eq!(&row[at("seed")], record.run.seed.to_string());
        assert_eq!(&row[at("workload")], record.run.workload.to_string());
        assert_eq!(row[at("mbps")].parse(), Ok(record.mbps()));
        assert_eq!(row[at("latency_ns_p99")].parse(), Ok(record.latency.quantile_ns(0.99)));
        assert_eq!(row[at("errors")].parse(), Ok(record.error_count()));
        assert_eq!(row[at("soaker_lost_ns")].is_empty(), record.cpu.soaker.is_none());
    }
}

#[test]
fn no_cell_of_the_csv_is_a_formula() {
    for text in ["=HYPERLINK(\"http://evil\")", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "'quoted"] {
        let mut here = environment("6.1");
        here.machine.hostname = Some(text.to_string());
        let mut record = record(1);
        record.errors.insert(text.to_string(), 3);
        let mut out = Vec::new();
        write_csv([(&record, &here)], text, &mut out).unwrap();
        let mut rows = csv::Reader::from_reader(&out[..]);
        let heading = rows.headers().unwrap().clone();
        let row = rows.records().next().unwrap().unwrap();
        for (name, cell) in heading.iter().zip(&row) {
            let is_number = cell.parse::<f64>().is_ok();
            let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
            assert!(!is_formula || is_number || name == "workload", "{name}: {cell}");
        }
        let at = |name: &str| &row[heading.iter().position(|column| column == name).unwrap()];
        // A quotation mark at the beginning is taken off to have the text again.
        assert_eq!((at("target").strip_prefix('\''), at("host").strip_prefix('\'')), (Some(text), Some(text)));
    }
}

#[test]
fn the_json_holds_columns_record_and_environment() {
    let records = records(3);
    let here = environment("6.1");
    let mut out = Vec::new();
    write_json(records.iter().map(|record| (record, &here)), &mut out).unwrap();
    let array: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(array.as_array().unwrap().len(), 3);
    for (object, record) in array.as_array().unwrap().iter().zip(&records) {
        assert_eq!(object["bs_bytes"], record.run.workload.bs.0);
        assert_eq!(object["mbps"], record.mbps());
        assert_eq!(object["environment"]["machine"]["kernel"], "6.1");
        let whole: Record = serde_json::from_str(&object["record"].to_string()).unwrap();
        assert_eq!(whole, *record);
    }
}

#[test]
fn no_records_are_still_a_csv_and_an_array() {
    let mut out = Vec::new();
    write_csv([], "/data", &mut out).unwrap();
    assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 1);
    out.clear();
    write_json([], &mut out).unwrap();
    assert_eq!(out, b"[]\n");
}

#[test]
fn a_stream_that_takes_no_more_is_an_error() {
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    assert!(write_csv([(&record(1), &environment("6.1"))], "/data", full()).is_err());
    assert!(write_json([(&record(1), &environment("6.1"))], full()).is_err());
}
