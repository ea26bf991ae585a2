//! Shows the comparison of two studies: in the terminal and as a page.

mod data;
mod page;
mod tables;
mod terminal;

pub use page::compare_html;
pub use terminal::compare_text;
