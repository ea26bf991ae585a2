//! Reads the published figures, their readings and the remarks on them from `data`.

use serde::Deserialize;

const FIGURES: &str = include_str!("../data/paper-figures.csv");
const READINGS: &str = include_str!("../data/readings.csv");
const REMARKS: &str = include_str!("../data/remarks.csv");

/// How a published figure bounds the quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Relation {
    /// The figure itself.
    #[serde(rename = "equals")]
    Equals,
    /// Nearly the figure.
    #[serde(rename = "about")]
    About,
    /// No less.
    #[serde(rename = "at least")]
    AtLeast,
    /// No more; for a throughput, the peak that was reached.
    #[serde(rename = "at most")]
    AtMost,
    /// Below it; for a throughput, slightly.
    #[serde(rename = "less than")]
    LessThan,
    /// The lower end of a range.
    #[serde(rename = "range-low")]
    RangeLow,
    /// The upper end of a range.
    #[serde(rename = "range-high")]
    RangeHigh,
}

/// A published figure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Figure {
    /// Its name, unique.
    pub id: String,
    /// The study.
    pub source: String,
    /// Where in it.
    pub place: String,
    /// What was measured, in the table's own words.
    pub system: String,
    /// How, in the table's own words.
    pub workload: String,
    /// Which quantity.
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

/// How a figure is read where its own words leave the workload or the comparison open.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Reading {
    /// The figure.
    pub id: String,
    /// The quantity to take; empty for the figure's own.
    pub quantity: String,
    /// System and workload, `system: workload`; empty for the figure's own.
    pub ours: String,
    /// What it is compared with, in the same form; empty where it is compared with nothing.
    pub against: String,
}

/// What is to be said about a figure besides its value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Remark {
    /// The figure.
    pub id: String,
    /// `contradiction` (the studies say two things), `miss` (ours is off), or `open` (no system answers it).
    pub kind: String,
    /// What is to be said: the side taken, the reason.
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

/// How some of them are read.
pub fn readings() -> Vec<Reading> {
    rows("readings.csv", READINGS)
}

/// What is to be said about some of them.
pub fn remarks() -> Vec<Remark> {
    rows("remarks.csv", REMARKS)
}
