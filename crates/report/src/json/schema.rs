//! Makes the JSON Schemas of what is printed, from the types that are printed.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::comparison::{ComparisonDocument, ComparisonsDocument};
use super::run::RunDocument;
use super::study::StudyDocument;

/// What `--json` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Document {
    /// By `halfpower run`.
    Run,
    /// By `halfpower report` and `halfpower study`.
    Report,
    /// By `halfpower compare` of two studies.
    Compare,
    /// By `halfpower compare` of more.
    CompareMany,
}

impl Document {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Run, Self::Report, Self::Compare, Self::CompareMany];

    /// The name of its schema's file, without its end.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Report => "report",
            Self::Compare => "compare",
            Self::CompareMany => "compare-many",
        }
    }
}

/// Its JSON Schema, of draft 2020-12.
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
