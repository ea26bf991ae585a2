//! Tests the crate through its public interface, as one program that links once.

#[path = "../../analyse/tests/built/mod.rs"]
mod built;
mod chromium;
mod compare;
mod first_page;
mod hosts;
mod html;
mod html_charts;
mod issuing;
mod json;
mod sample;
#[path = "../examples/sample_report.rs"]
mod sample_report;
mod screens;
mod settings;
mod text;
