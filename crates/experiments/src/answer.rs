//! Holds the answer of an experiment as text: a figure and a sentence for those in a hurry, and all sentences.

use schemars::JsonSchema;
use serde::Serialize;

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
    /// The short form; `None` if all of it is short.
    pub short: Option<ShortAnswer>,
    /// All sentences.
    pub sentences: Vec<String>,
}

impl ShortAnswer {
    pub(crate) fn new(figure: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self { figure: figure.into(), sentence: sentence.into() }
    }
}

impl From<String> for Told {
    /// An answer without a short form.
    fn from(text: String) -> Self {
        Self { short: None, sentences: vec![text] }
    }
}
