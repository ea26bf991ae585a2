//! How is it told? Findings enter; terminal text, HTML and JSON leave, to any writer.

mod compare;
mod compare_html;
mod compare_tables;
mod environment;
mod html;
mod html_advice;
mod html_answer;
mod html_charts;
mod html_data;
mod html_experiments;
mod html_format;
mod html_measured;
mod html_path;
mod html_settings;
mod html_tables;
mod html_trust;
mod json;
mod memory;
mod run;
mod terminal;

pub use compare::{compare_json, compare_text};
pub use compare_html::compare_html;
pub use environment::environment_text;
pub use html::html;
pub use json::json;
pub use memory::{memory_json, memory_text};
pub use run::{run_json, run_text};
pub use terminal::{Style, terminal};
