//! Tests the crate through its public interface, as one program that links once.

#[path = "../../analyse/tests/built/mod.rs"]
mod built;
mod checks;
mod chromium;
mod compare;
mod first_page;
mod hosts;
mod html;
mod html_charts;
mod issuing;
mod json;
#[allow(dead_code, reason = "one shape is used here")]
#[path = "../../doctor/tests/machines.rs"]
mod machines;
mod most_load;
#[allow(dead_code, reason = "one shape is used here")]
#[path = "../../doctor/tests/parts.rs"]
mod parts;
#[allow(dead_code, reason = "one shape is used here")]
#[path = "../../doctor/tests/raw.rs"]
mod raw;
mod replay;
mod sample;
#[path = "../examples/sample_report.rs"]
mod sample_report;
mod screens;
mod settings;
mod text;
#[path = "../../probe/tests/tree/mod.rs"]
mod tree;
mod watch;
mod watch_page;
#[path = "../../analyse/tests/watched_built/mod.rs"]
mod watched_built;
