//! Holds the answer of an experiment as text: a figure and a sentence for those in a hurry, and all sentences.

use halfpower_spec::JsonSchema;
use serde::Serialize;

/// What stands for the figure where nothing was found.
pub(crate) const NOT_KNOWN: &str = "not known";

/// An answer that is read in five seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShortAnswer {
    /// The figure that answers the question, in a few words, such as `20 times slower`, or `not decided`.
    pub figure: String,
    /// One sentence that says what the figure is of.
    pub sentence: String,
}

/// The answer of an experiment in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    /// The short form, of at most three lines on a terminal of 80 columns.
    pub short: ShortAnswer,
    /// All sentences.
    pub sentences: Vec<String>,
}

impl ShortAnswer {
    pub(crate) fn new(figure: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self { figure: figure.into(), sentence: sentence.into() }
    }
}

impl Told {
    /// A short form and all sentences; `otherwise` is said where there is none.
    pub fn of(short: Option<ShortAnswer>, sentences: Vec<String>, otherwise: &str) -> Self {
        let short = short.unwrap_or_else(|| ShortAnswer::new(NOT_KNOWN, otherwise));
        let sentences = if sentences.is_empty() { vec![otherwise.to_string()] } else { sentences };
        Self { short, sentences }
    }

    /// Nothing was found, for this reason.
    pub fn unknown(why: &str) -> Self {
        Self::of(None, Vec::new(), why)
    }
}
