//! Where did the text go wrong? One sentence that says what, where and what would do.

use std::fmt;

/// Text that could not be read: the text, the place (a byte offset into it) and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The whole text, as it was given.
    pub text: String,
    /// Byte offset of the first character that does not fit.
    pub at: usize,
    /// What is wrong there and what would do.
    pub message: String,
}

impl ParseError {
    /// An error at byte `at` of `text`.
    pub fn new(text: &str, at: usize, message: impl Into<String>) -> Self {
        Self { text: text.to_string(), at, message: message.into() }
    }

    /// The same error seen from a longer text in which `self.text` starts at byte `offset`.
    pub fn within(self, whole: &str, offset: usize) -> Self {
        Self { text: whole.to_string(), at: self.at + offset, message: self.message }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let character = self.text.get(..self.at).map_or(self.at, |head| head.chars().count()) + 1;
        write!(f, "`{}`, character {character}: {}", self.text, self.message)
    }
}

impl std::error::Error for ParseError {}
