//! Writes findings and comparisons as JSON for other programs, with stable codes beside the texts.

mod alike;
mod comparison;
mod doctor;
mod duet;
mod far_end;
mod history;
mod predict;
mod replay;
mod run;
#[cfg(feature = "schema")]
mod schemas;
mod study;
mod watch;

use std::io::{self, Write};

use serde_json::Value;

pub use alike::alike_json;
pub use comparison::compare_json;
pub(crate) use comparison::comparison_value;
pub use doctor::doctor_json;
pub use duet::duet_json;
pub use history::history_json;
pub use predict::predict_json;
pub use replay::replay_json;
pub use run::run_json;
#[cfg(feature = "schema")]
pub use schemas::schemas;
pub(crate) use study::study_value;
pub use study::{json, repeated_json};
pub use watch::watch_json;

/// What is written as a value. Types that are written in one way only are compiled once.
fn value_of(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Value {
    let mut text = Vec::new();
    write(&mut text).expect("memory takes all");
    serde_json::from_slice(&text).expect("what is written is JSON")
}
