//! Holds what the report shows of an experiment: a question, an answer, pictures, and what the papers saw.
//!
//! A picture is data; terminal and page draw all of them with the same few lines.

use halfpower_record::LeftOut;
use halfpower_spec::Experiment;
use serde::Serialize;

/// One experiment as the report shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExperimentSection {
    /// Which.
    pub experiment: Experiment,
    /// The question that it answers, in a line.
    pub asks: String,
    /// Whether any of its cells was measured.
    pub ran: bool,
    /// The answer, in a sentence or two; empty where it was not run.
    pub answer: String,
    /// What the answer rests on.
    pub pictures: Vec<Picture>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
    /// What the studies of 1998 and 2000 saw.
    pub papers: String,
}

/// What the analysis of an experiment says.
pub(crate) struct Told {
    /// One sentence, or two.
    pub answer: String,
    pub pictures: Vec<Picture>,
}

/// A chart and, by the same numbers, a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// Its quantity and unit.
    pub title: String,
    /// Whether it is logarithmic.
    pub log: bool,
}

/// A named row of points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// What it is.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    pub fn at(x: f64, label: impl Into<String>, y: halfpower_analyse::Interval) -> Self {
        Self { label: label.into(), x, y: y.value, low: y.low, high: y.high }
    }

    /// A value with its interval at a place that is a word.
    pub fn named(label: impl Into<String>, y: halfpower_analyse::Interval) -> Self {
        Self::at(0.0, label, y)
    }
}

/// What was left out, a sentence for each reason; settings that share one are counted, and one of them is named.
pub(crate) fn notes<'a>(left_out: impl Iterator<Item = &'a LeftOut>) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&LeftOut>)> = Vec::new();
    for left in left_out {
        match reasons.iter_mut().find(|(why, _)| *why == left.why) {
            Some((_, alike)) => alike.push(left),
            None => reasons.push((&left.why, vec![left])),
        }
    }
    let note = |(why, alike): (&str, Vec<&LeftOut>)| {
        let why = why.strip_suffix('.').unwrap_or(why);
        match (alike.iter().find_map(|left| left.workload.as_ref()), alike.len()) {
            (None, _) => sentence(why),
            (Some(workload), 1) => sentence(&format!("{why} ({workload})")),
            (Some(workload), count) => sentence(&format!("{why} ({count} settings, such as {workload})")),
        }
    };
    reasons.into_iter().map(note).collect()
}

/// An answer: each clause as a sentence, or `otherwise` where there is none.
pub(crate) fn answer(clauses: impl IntoIterator<Item = Option<String>>, otherwise: &str) -> String {
    let sentences: Vec<String> = clauses.into_iter().flatten().map(|clause| sentence(&clause)).collect();
    if sentences.is_empty() { otherwise.to_string() } else { sentences.join(" ") }
}

/// A reason as a sentence of its own.
pub(crate) fn sentence(why: &str) -> String {
    let mut letters = why.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let text = format!("{first}{}", letters.as_str());
    if text.ends_with('.') { text } else { text + "." }
}
