//! Writes findings as terminal text, HTML and JSON to any writer. Module `words` makes every sentence.

mod alike;
mod columns;
mod compare;
mod doctor;
mod doctor_tries;
mod duet;
mod environment;
mod history;
mod html;
mod json;
mod memory;
mod predict;
mod replay;
mod replay_asked;
mod run;
mod terminal;
mod watch;
mod words;

pub use alike::{alike_html, alike_text};
pub use compare::{compare_full, compare_html, compare_markdown, compare_text};
pub use doctor::{doctor_markdown, doctor_text};
pub use duet::duet_text;
pub use environment::environment_text;
pub use history::{history_html, history_text};
pub use html::format::date;
pub use html::html;
pub use html::replay::{predict_html, replay_html};
pub use html::watch::watch_html;
#[cfg(feature = "schema")]
pub use json::schemas;
pub use json::{
    alike_json, compare_json, doctor_json, duet_json, history_json, json, predict_json, repeated_json, replay_json,
    run_json, watch_json,
};
pub use memory::{memory_json, memory_text};
pub use predict::predict_text;
pub use replay::{ReplayHead, replay_table, replay_text, verdict_words};
pub use replay_asked::ReplayAsked;
pub use run::{limit_text, run_text, searched as searched_text};
pub use terminal::{InPlace, Now, STYLES, Style, live_frame, terminal, terminal_full, warnings_text};
pub use watch::watch_text;
pub use words::calibrate::{error as calibrate_error_text, not_fitted as not_fitted_text, toml as calibration_toml};
pub use words::compare::{case as condition_case_text, case_figures as condition_case_figures};
pub use words::settings::path as path_text;
