//! Generates the JSON Schemas of the printed objects from their types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::comparison::{ComparisonDocument, ComparisonsDocument};
use super::run::RunDocument;
use super::study::StudyDocument;

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
}

impl Document {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Run, Self::Report, Self::Compare, Self::CompareMany];

    /// File name of its schema, without the extension.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Report => "report",
            Self::Compare => "compare",
            Self::CompareMany => "compare-many",
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
    }
}

fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}
