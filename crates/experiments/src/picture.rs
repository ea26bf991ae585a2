//! Defines a picture as data; terminal and page draw all of them with the same few lines.

use halfpower_analyse::Interval;
use schemars::JsonSchema;
use serde::Serialize;

/// A chart and, by the same numbers, a table.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Picture {
    /// What it shows.
    pub title: String,
    /// How it is drawn.
    pub kind: PictureKind,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// What is compared.
    pub lines: Vec<Line>,
}

/// How a picture is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PictureKind {
    /// A line each, over numbers.
    Lines,
    /// Bars side by side, one group a label.
    Bars,
    /// Bars on top of each other, one column a label: parts of a whole.
    Stack,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Axis {
    /// Its quantity and unit.
    pub title: String,
    /// Whether it is logarithmic.
    pub log: bool,
}

/// A named row of points.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// What it is.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Its place as text: the label of its bar, and of its row in the table.
    pub label: String,
    /// Its place as a number, where the axis has numbers.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// Lower end of its 95% interval; the value itself where there is no telling.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Axis {
    /// An even axis.
    pub fn even(title: impl Into<String>) -> Self {
        Self { title: title.into(), log: false }
    }

    /// A logarithmic axis.
    pub fn log(title: impl Into<String>) -> Self {
        Self { title: title.into(), log: true }
    }
}

impl Point {
    /// A value with its interval at a place that is a number.
    pub fn at(x: f64, label: impl Into<String>, y: Interval) -> Self {
        Self { label: label.into(), x, y: y.value, low: y.low, high: y.high }
    }

    /// A value with its interval at a place that is a word.
    pub fn named(label: impl Into<String>, y: Interval) -> Self {
        Self::at(0.0, label, y)
    }
}
