//! Draws the frame of every table: a region that scrolls if the table is wider than the page.

use maud::{Markup, html};

/// A table with its caption, the cells of its head row, and its bodies.
pub(crate) fn scrolling_table(caption: &str, columns: Markup, bodies: Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr { (columns) } }
                (bodies)
            }
        }
    }
}
