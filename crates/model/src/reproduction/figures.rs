//! Reads the published figures, their interpretations and the remarks on them from `data`.

use serde::Deserialize;

const FIGURES: &str = include_str!("../../data/paper-figures.csv");
const READINGS: &str = include_str!("../../data/readings.csv");
const REMARKS: &str = include_str!("../../data/remarks.csv");

/// How a published figure bounds the quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Relation {
    /// It is the figure.
    #[serde(rename = "equals")]
    Equals,
    /// It is about the figure.
    #[serde(rename = "about")]
    About,
    /// It is at least the figure.
    #[serde(rename = "at least")]
    AtLeast,
    /// It is at most the figure; for a throughput, the figure is the peak reached.
    #[serde(rename = "at most")]
    AtMost,
    /// It is below the figure; for a throughput, slightly below.
    #[serde(rename = "less than")]
    LessThan,
    /// The figure is the lower end of a range.
    #[serde(rename = "range-low")]
    RangeLow,
    /// The figure is the upper end of a range.
    #[serde(rename = "range-high")]
    RangeHigh,
}

/// A published figure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Figure {
    /// Its unique name.
    pub id: String,
    /// The study.
    pub source: String,
    /// Its place in the study.
    pub place: String,
    /// What was measured, in the table's own words.
    pub system: String,
    /// The workload, in the table's own words.
    pub workload: String,
    /// The quantity.
    pub quantity: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// How it bounds the quantity.
    pub relation: Relation,
    /// The study's words for it.
    pub quote: String,
}

/// How to interpret a figure if its own words leave the workload or the comparison open.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Reading {
    /// The figure.
    pub id: String,
    /// The quantity to use; empty for the figure's own.
    pub quantity: String,
    /// System and workload, `system: workload`; empty for the figure's own.
    pub ours: String,
    /// The system and workload to compare with, in the same form; empty for no comparison.
    pub against: String,
}

/// A remark on a figure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Remark {
    /// The figure.
    pub id: String,
    /// `contradiction` (the studies disagree), `miss` (our figure is wrong), or `open` (no system gives it).
    pub kind: String,
    /// The remark: which side is taken, or the reason.
    pub text: String,
}

fn rows<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> Vec<T> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Result<Vec<T>, csv::Error> = reader.deserialize().collect();
    rows.unwrap_or_else(|error| panic!("{name}, which ships with the crate, cannot be read: {error}"))
}

/// Every published figure, in the order of the studies.
pub fn figures() -> Vec<Figure> {
    rows("paper-figures.csv", FIGURES)
}

/// The interpretations of some figures.
pub fn readings() -> Vec<Reading> {
    rows("readings.csv", READINGS)
}

/// The remarks on some figures.
pub fn remarks() -> Vec<Remark> {
    rows("remarks.csv", REMARKS)
}
