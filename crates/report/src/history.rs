//! Shows the history of a target: in the terminal and as a page.

mod page;
mod terminal;

pub use page::history_html;
pub use terminal::history_text;
