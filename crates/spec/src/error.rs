//! Defines the error for text that cannot be parsed: the place, and what would be accepted there.

use std::fmt;

use crate::escaped;

/// Text that could not be read: the text, the place (a byte offset into it) and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The whole text, as it was given.
    pub text: String,
    /// Byte offset of the first character that does not fit.
    pub at: usize,
    /// What is wrong there, and what would be accepted.
    pub message: String,
}

impl ParseError {
    /// An error at byte `at` of `text`.
    pub fn new(text: &str, at: usize, message: impl Into<String>) -> Self {
        Self { text: text.to_string(), at, message: message.into() }
    }

    /// The same error, located in a longer text in which `self.text` starts at byte `offset`.
    pub fn within(self, whole: &str, offset: usize) -> Self {
        Self { text: whole.to_string(), at: self.at + offset, message: self.message }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let character = self.text.get(..self.at).map_or(self.at, |head| head.chars().count()) + 1;
        // Escaped here, because the command line's parser prints such an error itself.
        write!(f, "`{}`, character {character}: {}", escaped(&self.text), escaped(&self.message))
    }
}

impl std::error::Error for ParseError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_must_not_get_is_escaped() {
        let error = ParseError::new("sim:\u{1b}[2J", 4, "unknown\nkey");
        assert_eq!(error.to_string(), "`sim:\\u001b[2J`, character 5: unknown\\nkey");
    }
}
