//! Defines a picture as data, so that the terminal and the page draw every picture with the same code.

use halfpower_analyse::Interval;
use halfpower_spec::JsonSchema;
use serde::Serialize;

/// A chart, and a table with the same numbers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Picture {
    /// The picture's title.
    pub title: String,
    /// How it is drawn.
    pub kind: PictureKind,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The series that are compared.
    pub lines: Vec<Line>,
}

/// How a picture is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PictureKind {
    /// One line per series, over a numeric axis.
    Lines,
    /// Bars side by side, one group per label.
    Bars,
    /// Stacked bars, one column per label: parts of a whole.
    Stack,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Axis {
    /// Quantity and unit.
    pub title: String,
    /// Whether it is logarithmic.
    pub log: bool,
}

/// A named series of points.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// Name of the series.
    pub name: String,
    /// Points, from left to right.
    pub points: Vec<Point>,
}

/// One point.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Position as text: the label of the bar and of the table row.
    pub label: String,
    /// Position as a number, if the axis is numeric.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// Lower end of the value's 95% interval; the value itself if no interval is known.
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
}

impl Axis {
    /// A linear axis.
    pub fn even(title: impl Into<String>) -> Self {
        Self { title: title.into(), log: false }
    }

    /// A logarithmic axis.
    pub fn log(title: impl Into<String>) -> Self {
        Self { title: title.into(), log: true }
    }
}

impl Point {
    /// A value with its interval, at a numeric position.
    pub fn at(x: f64, label: impl Into<String>, y: Interval) -> Self {
        Self { label: label.into(), x, y: y.value, low: y.low, high: y.high }
    }

    /// A value with its interval, at a named position.
    pub fn named(label: impl Into<String>, y: Interval) -> Self {
        Self::at(0.0, label, y)
    }
}
