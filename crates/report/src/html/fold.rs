//! Draws the folded sections below the first screen, and the contents list that opens them.

use maud::{Markup, html};

/// A section that opens at its heading.
pub(crate) struct Fold {
    /// Where links to it go.
    pub id: &'static str,
    /// Its heading.
    pub title: String,
    /// What it holds or answers, in a few words beside the heading; may be empty.
    pub gist: String,
    /// Whether it is printed.
    pub printed: bool,
    /// What is in it.
    pub body: Markup,
}

impl Fold {
    /// A section that is not printed.
    pub fn new(id: &'static str, title: impl Into<String>, gist: impl Into<String>, body: Markup) -> Self {
        Self { id, title: title.into(), gist: gist.into(), printed: false, body }
    }

    /// The same section, in print too.
    pub fn printed(self) -> Self {
        Self { printed: true, ..self }
    }
}

/// The sections, folded. Each has its id inside, so that a link to it opens it without script too.
pub(crate) fn folds(folds: &[Fold]) -> Markup {
    html! {
        @for fold in folds {
            details.fold.printed[fold.printed] {
                summary { h2 { (fold.title) } @if !fold.gist.is_empty() { span.gist { (fold.gist) } } }
                section.inside id=(fold.id) { (fold.body) }
            }
        }
    }
}

/// The contents list: a link to each section.
pub(crate) fn contents(folds: &[Fold]) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            a href="#answer" { "Answer" }
            @for fold in folds { a href={ "#" (fold.id) } { (fold.title) } }
            button.all type="button" aria-pressed="false" { "Open all" }
        }
    }
}
