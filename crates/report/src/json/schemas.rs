//! Makes the schemas of the objects that are printed, which `docs/schema` holds.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::alike::AlikeDocument;
use super::comparison::{ComparisonDocument, ComparisonsDocument};
use super::doctor::DoctorDocument;
use super::duet::DuetDocument;
use super::history::HistoryDocument;
use super::predict::PredictDocument;
use super::replay::ReplayDocument;
use super::run::RunDocument;
use super::study::StudyDocument;
use super::watch::WatchDocument;

/// The JSON Schema of each object that `--json` prints, in draft 2020-12, with its file name without the extension.
pub fn schemas() -> [(&'static str, Value); 11] {
    [
        ("run", of::<RunDocument<'_>>()),
        ("report", of::<StudyDocument<'_>>()),
        ("compare", of::<ComparisonDocument<'_>>()),
        ("compare-many", of::<ComparisonsDocument<'_>>()),
        ("alike", of::<AlikeDocument<'_>>()),
        ("duet", of::<DuetDocument<'_>>()),
        ("doctor", of::<DoctorDocument<'_>>()),
        ("history", of::<HistoryDocument<'_>>()),
        ("watch", of::<WatchDocument<'_>>()),
        ("predict", of::<PredictDocument<'_>>()),
        ("replay", of::<ReplayDocument<'_>>()),
    ]
}

fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}
