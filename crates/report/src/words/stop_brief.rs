//! Divides what stops something into its cause, in a few words, and what follows it.

/// Most words of a cause.
const MOST_WORDS: usize = 5;

/// What stops something, for the first screen: the cause in a few words, which is set in bold, and what follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StopBrief {
    /// The cause, in at most five words: `the link`, `one processor, full of interrupts`.
    pub cause: String,
    /// What follows, beginning with its punctuation or a space: `: 91% of the 1,970 MB/s that it advertises`.
    pub rest: String,
}

impl StopBrief {
    /// A cause with what follows it. A name that is too long for a cause follows one that names no part.
    pub(crate) fn of(cause: impl Into<String>, rest: impl Into<String>) -> Self {
        let cause = cause.into();
        let rest = rest.into();
        match cause.split_whitespace().count() {
            0..=MOST_WORDS => Self { cause, rest },
            _ => Self { cause: "one part of the path".to_string(), rest: format!(", {cause}{rest}") },
        }
    }

    /// What is not known, and why.
    pub(crate) fn unknown(why: &str) -> Self {
        Self::of("unknown", format!(": {why}"))
    }

    /// The pages of a request's buffers, `own`, where others give more.
    pub(crate) fn of_pages(own: &str, reported: &str) -> Self {
        Self::of(format!("the {own} pages"), format!(" of their buffers: {reported}"))
    }

    /// The page cache, where direct requests give more.
    pub(crate) fn of_page_cache(reported: &str) -> Self {
        Self::of("the page cache", format!(", not the device: direct, {reported}"))
    }

    /// The same with more text at its end.
    pub(crate) fn and(mut self, more: &str) -> Self {
        self.rest.push_str(more);
        self
    }
}

impl std::fmt::Display for StopBrief {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.cause, self.rest)
    }
}
