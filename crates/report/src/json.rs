//! Writes findings and comparisons as JSON for other programs, with stable codes beside the texts.

mod comparison;
mod far_end;
mod machine_time;
mod run;
mod schema;
mod study;

pub use comparison::compare_json;
pub(crate) use comparison::comparison_value;
pub use run::run_json;
pub use schema::{Document, schema};
pub(crate) use study::study_value;
pub use study::{json, repeated_json};
