//! Exports records as CSV, one row per record, and as JSON with all details.
//!
//! The CSV has a heading line and the [`columns`] of the study file under the same names, then the target, the host
//! and, for imported records, file and result; unknown values are empty. A text that a spreadsheet would take for a formula
//! begins with `'`, by which spreadsheets mark a text. The JSON is an array of objects: `generator`
//! (which marks the file as halfpower's), the same columns, then `record` (complete with histogram and series, as in
//! the study file) and `environment`.

use std::borrow::Cow;
use std::io::Write;

use rusqlite::types::Value;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::{Environment, Record, RecordError, columns};

/// The column of the workload's identity.
const WORKLOAD: &str = "workload";

/// A text as a cell that no spreadsheet takes for a formula: one that begins with a character by which formulas begin gets a
/// `'` before it, and so does one that begins with `'`, so that it can be taken off again.
fn as_text(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r', '\'']) {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

/// Names of the columns after those of the study file: the source of a record.
const FROM: [&str; 3] = ["target", "host", "origin"];

/// Writes a heading line and a row for each record of `target`, with the host that its environment names.
///
/// # Errors
/// [`RecordError::Stream`] if `out` takes no more.
pub fn write_csv<'a>(
    records: impl IntoIterator<Item = (&'a Record, &'a Environment)>,
    target: &str,
    out: impl Write,
) -> Result<(), RecordError> {
    let mut rows = csv::Writer::from_writer(out);
    rows.write_record(columns().map(|column| column.name).chain(FROM))?;
    for (record, environment) in records {
        let values = columns().map(|column| match (column.value)(record) {
            Value::Integer(value) => value.to_string(),
            Value::Real(value) => value.to_string(),
            // A workload begins with `--`, and holds nothing but words of ours.
            Value::Text(value) if column.name == WORKLOAD => value,
            Value::Text(value) => as_text(&value).into_owned(),
            Value::Null | Value::Blob(_) => String::new(),
        });
        let host = environment.machine.hostname.clone().unwrap_or_default();
        let origin = record.origin.as_ref();
        let target = origin.and_then(|origin| origin.target.as_deref()).unwrap_or(target).to_string();
        let origin = origin.map_or(String::new(), |origin| format!("{}, {}", origin.file, origin.result));
        rows.write_record(values.chain([target, host, origin].map(|text| as_text(&text).into_owned())))?;
    }
    Ok(rows.flush()?)
}

/// Writes an array with an object for each record and the environment that it was taken in.
///
/// # Errors
/// [`RecordError::Stream`] if `out` takes no more.
pub fn write_json<'a>(
    records: impl IntoIterator<Item = (&'a Record, &'a Environment)>,
    mut out: impl Write,
) -> Result<(), RecordError> {
    let mut before = "[\n";
    for (record, environment) in records {
        out.write_all(before.as_bytes())?;
        out.write_all(serde_json::to_string(&Whole { record, environment })?.as_bytes())?;
        before = ",\n";
    }
    out.write_all(if before == "[\n" { b"[]\n" } else { b"\n]\n" })?;
    Ok(out.flush()?)
}

/// A record with its columns and its environment.
struct Whole<'a> {
    record: &'a Record,
    environment: &'a Environment,
}

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("generator", concat!("halfpower ", env!("CARGO_PKG_VERSION")))?;
        for column in columns() {
            match (column.value)(self.record) {
                Value::Integer(value) => map.serialize_entry(column.name, &value)?,
                Value::Real(value) => map.serialize_entry(column.name, &value)?,
                Value::Text(value) => map.serialize_entry(column.name, &value)?,
                Value::Null | Value::Blob(_) => map.serialize_entry(column.name, &())?,
            }
        }
        map.serialize_entry("record", self.record)?;
        map.serialize_entry("environment", self.environment)?;
        map.end()
    }
}
