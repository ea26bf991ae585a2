//! How is it told? Findings enter; terminal text, HTML and JSON leave, to any writer.

mod html;
mod html_advice;
mod html_answer;
mod html_charts;
mod html_data;
mod html_format;
mod html_measured;
mod html_path;
mod html_tables;

pub use html::html;
