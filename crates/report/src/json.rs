//! Writes findings and comparisons as JSON for other programs, with stable codes beside the texts, and the schemas of
//! these objects.

mod alike;
mod comparison;
mod doctor;
mod duet;
mod far_end;
mod history;
mod predict;
mod replay;
mod run;
mod study;
mod watch;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
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
pub(crate) use study::study_value;
pub use study::{json, repeated_json};
pub use watch::watch_json;

use alike::AlikeDocument;
use comparison::{ComparisonDocument, ComparisonsDocument};
use doctor::DoctorDocument;
use duet::DuetDocument;
use history::HistoryDocument;
use predict::PredictDocument;
use replay::ReplayDocument;
use run::RunDocument;
use study::StudyDocument;
use watch::WatchDocument;

/// An object that `--json` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Document {
    /// By `halfpower run`.
    Run,
    /// By `halfpower report` and `halfpower study`.
    Report,
    /// By `halfpower compare` of two studies.
    Compare,
    /// By `halfpower compare` of more than two studies.
    CompareMany,
    /// By `halfpower compare` of a folder of alike machines.
    Alike,
    /// By `halfpower compare --live`.
    Duet,
    /// By `halfpower doctor`.
    Doctor,
    /// By `halfpower history`.
    History,
    /// By `halfpower watch`.
    Watch,
    /// By `halfpower predict`.
    Predict,
    /// By `halfpower run --workload`.
    Replay,
}

impl Document {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Run,
        Self::Report,
        Self::Compare,
        Self::CompareMany,
        Self::Alike,
        Self::Duet,
        Self::Doctor,
        Self::History,
        Self::Watch,
        Self::Predict,
        Self::Replay,
    ];

    /// File name of its schema, without the extension.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Report => "report",
            Self::Compare => "compare",
            Self::CompareMany => "compare-many",
            Self::Alike => "alike",
            Self::Duet => "duet",
            Self::Doctor => "doctor",
            Self::History => "history",
            Self::Watch => "watch",
            Self::Predict => "predict",
            Self::Replay => "replay",
        }
    }
}

/// The JSON Schema of this object, in draft 2020-12.
pub fn schema(document: Document) -> Value {
    match document {
        Document::Run => of::<RunDocument<'_>>(),
        Document::Report => of::<StudyDocument<'_>>(),
        Document::Compare => of::<ComparisonDocument<'_>>(),
        Document::CompareMany => of::<ComparisonsDocument<'_>>(),
        Document::Alike => of::<AlikeDocument<'_>>(),
        Document::Duet => of::<DuetDocument<'_>>(),
        Document::Doctor => of::<DoctorDocument<'_>>(),
        Document::History => of::<HistoryDocument<'_>>(),
        Document::Watch => of::<WatchDocument<'_>>(),
        Document::Predict => of::<PredictDocument<'_>>(),
        Document::Replay => of::<ReplayDocument<'_>>(),
    }
}

fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}
