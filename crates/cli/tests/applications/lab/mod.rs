//! Holds the tests that compare with real databases and with their own tools, for the laboratory.

mod commits;
mod flushes;
mod mariadb;
mod predictions;
mod rocksdb;
mod settings;
mod turns;

use serde_json::Value;

use crate::disks::{Disk, Nature};
use crate::program::skip;

/// The laboratory's name of these tests. `lab/run` lists their figures, which docs/applications.md shows.
const LAB: &str = "applications";
/// How far two ways to measure the same may be apart.
const TOLERANCE: f64 = 0.15;

/// The disk, if it can be made here.
fn disk(nature: Nature) -> Option<Disk> {
    let made = Disk::new(nature);
    made.inspect_err(|why| skip(&format!("{}: no such disk here (root is needed): {why}", nature.words()))).ok()
}

/// The value, if there is one.
fn there<T>(made: Result<T, String>) -> Option<T> {
    made.inspect_err(|why| skip(&format!("a part is missing or does not start: {why}"))).ok()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// A rate a second of a shape that a study measured alone; NaN if it was not measured.
fn per_second_of(study: &Value, shape: &str) -> f64 {
    let rows = study["application"].as_array();
    let row = rows.and_then(|rows| rows.iter().find(|row| row["shape"] == shape));
    row.map_or(f64::NAN, |row| number(&row["per_second"]["value"]))
}

fn figure_on(nature: Nature, what: &str) -> String {
    format!("databases, {}: {what}", nature.words())
}
