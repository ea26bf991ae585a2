//! Draws the folded sections below the first screen, and the contents list that opens them.

use maud::{Markup, html};

/// A section that opens at its heading.
pub(crate) struct Fold {
    /// Its anchor, the target of links.
    pub id: &'static str,
    /// Its heading.
    pub title: String,
    /// Its content or result in a few words beside the heading; may be empty.
    pub gist: String,
    /// Whether the section appears in print.
    pub printed: bool,
    /// Its content.
    pub body: Markup,
}

impl Fold {
    /// A section that does not appear in print.
    pub fn new(id: &'static str, title: impl Into<String>, gist: impl Into<String>, body: Markup) -> Self {
        Self { id, title: title.into(), gist: gist.into(), printed: false, body }
    }

    /// The section, which also appears in print.
    pub fn printed(self) -> Self {
        Self { printed: true, ..self }
    }
}

/// The sections, folded. The id is inside each, so that a link opens the section even without script.
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

/// The table of contents: a link to each section.
pub(crate) fn contents(folds: &[Fold]) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            a href="#answer" { "Answer" }
            @for fold in folds { a href={ "#" (fold.id) } { (fold.title) } }
            button.all type="button" aria-pressed="false" { "Open all" }
        }
    }
}
