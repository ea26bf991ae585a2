//! Writes the figures that `run --json` shows as flat keys, and their JSON Schema.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::Map;

use crate::Record;
use crate::figures::flat_keys;

/// The flat keys of a record that halfpower measured.
#[derive(Debug, Clone, Copy)]
pub struct FlatFigures<'a>(pub &'a Record);

impl Serialize for FlatFigures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for key in flat_keys() {
            map.serialize_entry(key.name, &(key.value)(self.0).map_err(S::Error::custom)?)?;
        }
        map.end()
    }
}

impl JsonSchema for FlatFigures<'_> {
    fn schema_name() -> Cow<'static, str> {
        "FlatFigures".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for key in flat_keys() {
            let mut schema = (key.schema)(generator);
            schema.insert("description".to_string(), key.doc.into());
            properties.insert(key.name.to_string(), schema.to_value());
            required.push(key.name);
        }
        json_schema!({ "type": "object", "properties": properties, "required": required })
    }
}
